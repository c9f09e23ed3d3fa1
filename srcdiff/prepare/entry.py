"""The entry of a function: what its arguments are, as kinds, as values to compute with, and as tests of the guard.

params = {"W": W, "b": b}     →  Dict("W": Array("float64", (m, n)), "b": …)
                                 W = params["W"];  b = params["b"]
                                 type(params) is dict and len(params) == 2 and "W" in params and …
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import sys
import sysconfig
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from srcdiff.errors import KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Dim, Kind, ListOf, Number, Opaque, Unknown, is_scalar
from srcdiff.ir.nodes import Const, Free, Op, Ref, SliceOf, Var
from srcdiff.prepare.values import Instance, Partial, Record, Value
from srcdiff.rules.builder import Builder

if TYPE_CHECKING:
    from srcdiff.prepare.lowering import Lowering
    from srcdiff.read.source import FunctionSource

LONG = 8


@dataclass(frozen=True)
class Leaf:
    """A number or array, or a long list of them, at `path` (a Python expression of the argument)."""

    kind: Kind
    path: str
    cls: type | None = None  # of a number of a class of its own (an IntEnum); np.ndarray of an array without axes
    is_contiguous: bool = field(default=False, compare=False)  # an array that lies in memory in the order of its indices


@dataclass(frozen=True)
class Known:
    """A value that the variant is compiled for: None, a string, a function, a class."""

    value: Any
    path: str


@dataclass(frozen=True)
class Sequence:
    cls: type
    items: tuple[Structure, ...]
    path: str


@dataclass(frozen=True)
class Mapping:
    """A dict; `factory` is that of a defaultdict."""

    cls: type
    keys: tuple[Any, ...]
    items: tuple[Structure, ...]
    path: str
    factory: Any = None


@dataclass(frozen=True)
class Fields:
    """A NamedTuple, a dataclass, or an object by all its attributes; `value` is the object where it may be written to."""

    cls: type
    fields: tuple[str, ...]
    items: tuple[Structure, ...]
    path: str
    value: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Object:
    """An object of a class of the user's; what is read of it joins the guard as it is read."""

    value: Any
    path: str


@dataclass(frozen=True)
class Bound:
    """A functools.partial, or a method bound to its object: a function, and what it is given first."""

    cls: type
    items: tuple[Structure, ...]  # the function, the arguments by position, and those by name
    names: tuple[str, ...]
    path: str


Structure = Leaf | Known | Sequence | Mapping | Fields | Object | Bound


def describe(value: Any, path: str) -> Structure:
    """The structure of an argument, and the kinds of its leaves."""
    match value:
        case (
            None
            | str()
            | bytes()
            | types.FunctionType()
            | types.ModuleType()
            | types.BuiltinFunctionType()
            | type()
            | np.ufunc()
            | enum.Enum()
            | slice()
            | np.dtype()
        ):
            return Known(value, path)
        case np.ndarray() | np.generic():
            if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap):
                raise KindError(
                    f"`{path}` is a `{type(value).__module__}.{type(value).__name__}`",
                    why="Its operators may mean something else than an array's.",
                    instead="pass a plain array: np.asarray(x).",
                )
            cls = np.ndarray if isinstance(value, np.ndarray) and value.ndim == 0 else None
            return Leaf(_array_kind(value, path), path, cls, value.flags.c_contiguous)
        case bool() | int() | float() | complex():
            of = next(t for t in (bool, int, float, complex) if isinstance(value, t))
            kind = Number(of.__name__, Dim(path, int(value)) if of is int and isinstance(value, int) else None)
            return Leaf(kind, path, None if type(value) is of else type(value))
        case tuple() if hasattr(value, "_fields"):
            return Fields(
                type(value), value._fields, tuple(describe(v, f"{path}.{f}") for f, v in zip(value._fields, value)), path
            )
        case list() | tuple():
            return _describe_sequence(value, path)
        case dict():
            for key in value:
                if not isinstance(key, (str, int, float, bool, type(None), tuple)):
                    raise KindError(f"the key {key!r} of the dict `{path}` is not a literal")
            items = tuple(describe(v, f"{path}[{k!r}]") for k, v in value.items())
            return Mapping(type(value), tuple(value), items, path, getattr(value, "default_factory", None))
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = tuple(f.name for f in dataclasses.fields(value) if hasattr(value, f.name))
            items = tuple(describe(getattr(value, n), f"{path}.{n}") for n in names)
            return Fields(type(value), names, items, path, None if is_record(type(value)) else value)
        case functools.partial() if type(value) is functools.partial:
            given = [describe(v, f"{path}.args[{i}]") for i, v in enumerate(value.args)]
            named = [describe(v, f"{path}.keywords[{k!r}]") for k, v in value.keywords.items()]
            return Bound(functools.partial, (describe(value.func, f"{path}.func"), *given, *named), tuple(value.keywords), path)
        case types.MethodType():
            items = (describe(value.__func__, f"{path}.__func__"), describe(value.__self__, f"{path}.__self__"))
            return Bound(types.MethodType, items, (), path)
        case _ if is_instance(value):
            return Object(value, path)
        case _:
            return Known(value, path)


def is_instance(value: Any) -> bool:
    """Whether a value is an object of a class written in Python that is no function in disguise."""
    cls = type(value)
    if (
        isinstance(value, (type, types.ModuleType))
        or cls.__module__ in ("builtins", "functools", "operator", "types")
        or cls.__module__.startswith(("numpy", "srcdiff."))
    ):
        return False
    return bool(cls.__flags__ & 1 << 9)  # a heap type: made by a class statement


def is_record(cls: type) -> bool:
    """Whether objects of a class stay what they are: NamedTuples and frozen dataclasses."""
    params = getattr(cls, "__dataclass_params__", None)
    return hasattr(cls, "_fields") if params is None else bool(params.frozen)


def vars_of_object(value: Any) -> dict[str, Any]:
    """The attributes that an object itself holds, in its `__dict__` or in slots."""
    slots = [n for c in reversed(type(value).__mro__) for n, m in vars(c).items() if isinstance(m, types.MemberDescriptorType)]
    held = {n: getattr(value, n) for n in slots if hasattr(value, n)}
    return {**held, **getattr(value, "__dict__", {})}


def is_object(value: Any) -> bool:
    """Whether a value is an object that is differentiated by its attributes, or may be."""
    return is_instance(value) and not isinstance(value, (tuple, list, dict, np.ndarray, enum.Enum, int, float, str))


def object_like(value: Any, attributes: dict[str, Any]) -> Any:
    """An object of the same class with these attributes; it is made without `__init__`."""
    made = object.__new__(type(value))
    for name, held in attributes.items():
        object.__setattr__(made, name, held)
    return made


def differentiated(s: Structure, around: tuple[int, ...] = ()) -> Structure:
    """The structure of an argument that is differentiated by: objects are described by all their attributes."""
    match s:
        case Object(value, path):
            if id(value) in around:
                raise KindError(
                    f"`{path}` is an object that contains itself",
                    why="Its gradient would have to contain itself, too.",
                    instead="leave the reference back out, or differentiate by its attributes.",
                )
            items = {
                n: differentiated(describe(v, f"{path}.{n}"), (*around, id(value))) for n, v in vars_of_object(value).items()
            }
            return Fields(type(value), tuple(items), tuple(items.values()), path, value)
        case Sequence() | Mapping() | Fields():
            return dataclasses.replace(s, items=tuple(differentiated(i, around) for i in s.items))
        case _:
            return s


def _array_kind(value: np.ndarray[Any, Any] | np.generic, path: str) -> Kind:
    dtype = value.dtype
    if not dtype.isnative:
        raise KindError(f"`{path}` has the byte order of another machine (dtype {dtype.str})", instead="pass x.astype(float).")
    if dtype.kind not in "fciub":
        return Opaque(f"array of dtype {dtype}")
    return Array(dtype.name, tuple(Dim(f"{path}.shape[{i}]", n) for i, n in enumerate(value.shape)))


def _describe_sequence(value: Any, path: str) -> Structure:
    if type(value) is list and len(value) > LONG:
        first = describe(value[0], f"{path}[0]")
        if isinstance(first, Leaf) and isinstance(first.kind, Number) and all(type(v) is type(value[0]) for v in value):
            return Leaf(ListOf(Number(first.kind.type), Dim(f"len({path})", len(value))), path)
        if isinstance(first, Leaf) and isinstance(first.kind, Array):
            kinds = [_array_kind(v, path) if isinstance(v, np.ndarray) else None for v in value]
            if all(
                isinstance(k, Array) and k.dtype == first.kind.dtype and np.shape(v) == np.shape(value[0])
                for k, v in zip(kinds, value)
            ):
                dims = tuple(Dim(f"{path}[0].shape[{i}]", n) for i, n in enumerate(np.shape(value[0])))
                return Leaf(ListOf(Array(first.kind.dtype, dims), Dim(f"len({path})", len(value))), path)
    return Sequence(type(value), tuple(describe(v, f"{path}[{i}]") for i, v in enumerate(value)), path)


def unknown(name: str, type: str | None = None) -> Structure:
    """The structure of an argument of which nothing is known, or only that it is a Python number of this type."""
    return Leaf(Unknown() if type is None else Number(type), name)


# ---------------------------------------------------------------- values to compute with


def open_structure(low: Lowering, s: Structure, atom: Any, hint: str) -> Value:
    """An argument as a value: its containers taken apart, its leaves as atoms."""
    leaves: dict[int, Var] = {}
    if isinstance(s, (Sequence, Fields)) and not isinstance(s, Fields) and _count(s) > 1 and _is_unpackable(s):
        leaves = _unpack(low.builder, s, atom, hint)
    return _open(low, s, atom, hint, leaves)


def _count(s: Structure) -> int:
    return 1 if isinstance(s, (Leaf, Known, Object, Bound)) else sum(_count(i) for i in s.items)


def _is_unpackable(s: Structure) -> bool:
    return isinstance(s, (Leaf, Known)) or (
        isinstance(s, Sequence) and len(s.items) > 0 and all(_is_unpackable(i) for i in s.items)
    )


def _unpack(builder: Builder, s: Sequence, atom: Any, hint: str) -> dict[int, Var]:
    """One unpacking statement for nested tuples and lists: `(W0, b0), (W1, b1) = layers`."""
    targets: list[Var] = []
    leaves: dict[int, Var] = {}

    def pattern(t: Structure, name: str) -> Any:
        if isinstance(t, Sequence):
            return tuple(pattern(i, f"{name}_{n}") for n, i in enumerate(t.items))
        if isinstance(t, Known) and t.value is not None and not isinstance(t.value, str):
            return None
        kind: Kind = t.kind if isinstance(t, Leaf) else Opaque("known")
        var = Var(name, kind)
        leaves[id(t)] = var
        targets.append(var)
        return len(targets) - 1

    shape = pattern(s, hint)
    op = Op("unpack", "unpack", pattern=shape)
    builder.apply_all(op, (atom,), kind=tuple(t.kind for t in targets))
    stmt = builder.stmts[-1]
    made = dict(zip(range(len(targets)), stmt.targets))  # type: ignore[union-attr]
    for i, target in enumerate(targets):
        made[i].hint = target.hint
    order = {id(v): i for i, v in enumerate(targets)}
    return {key: made[order[id(var)]] for key, var in leaves.items()}


def _open(low: Lowering, s: Structure, atom: Any, hint: str, leaves: dict[int, Var]) -> Value:
    builder = low.builder
    match s:
        case Leaf(ListOf(), _):
            return _foreign(low, low.new_list(leaves.get(id(s), atom)), s)
        case Leaf():
            value = leaves.get(id(s), atom)
            if isinstance(s.kind, Array) and isinstance(value, Var):
                low.paths[value] = s.path
                if s.is_contiguous and s.kind.dims:
                    low.contiguous[value] = s.path
            if s.cls is np.ndarray and is_scalar(s.kind):
                low.without_axes[value] = True
            return value
        case Known(value, _):
            if isinstance(value, slice):
                return SliceOf(Const(value.start), Const(value.stop), Const(value.step))
            return (
                Const(value) if value is None or isinstance(value, (str, bytes)) else Ref(value, getattr(value, "__name__", hint))
            )
        case Sequence(cls, items, _):
            parts = tuple(
                _open(low, i, _item(builder, i, atom, Const(n), f"{hint}_{n}", leaves), f"{hint}_{n}", leaves)
                for n, i in enumerate(items)
            )
            return _foreign(low, low.new_list(parts), s) if issubclass(cls, list) else parts
        case Mapping(_, keys, items, _):
            opened = []
            for key, i in zip(keys, items):
                name = key if isinstance(key, str) and key.isidentifier() else f"{hint}_item"
                opened.append((key, _open(low, i, _item(builder, i, atom, Const(key), name, leaves), name, leaves)))
            return _foreign(low, low.new_dict(tuple(opened)), s)
        case Object(value, path):
            return _instance(low, value, atom, path)
        case Bound(cls, items, names, _):
            return _open_bound(low, cls, items, names, atom)
        case Fields(cls, fields, items, path, value):
            values = []
            for f, i in zip(fields, items):
                if isinstance(i, Known) or id(i) in leaves:
                    values.append(_open(low, i, None, f, leaves))
                    continue
                kind = i.kind if isinstance(i, Leaf) else Opaque(type(i).__name__)
                read = builder.apply(Op(f"field {f}", "attribute", f), (atom,), hint=f, kind=kind)
                values.append(_open(low, i, read, f, leaves))
            if value is None:
                return Record(cls, fields, tuple(values))
            ref = low.new_object(cls, tuple(zip(fields, values)))
            low.arguments.append((path, value, ref))
            low.foreign[ref] = path
            return ref


def _open_bound(low: Lowering, cls: type, items: tuple[Structure, ...], names: tuple[str, ...], atom: Any) -> Partial:
    """A partial or a bound method, with what it is given read from it."""
    builder = low.builder

    def read(holder: Any, name: str) -> Any:
        return builder.apply(Op(f"attribute {name}", "attribute", name), (holder,), hint=name.strip("_"), kind=Opaque(name))

    fn, *given = items
    count = len(given) - len(names)
    function = _open(low, fn, read(atom, "func" if cls is functools.partial else "__func__"), "function", {})
    if cls is types.MethodType:
        return Partial(function, (_open(low, given[0], read(atom, "__self__"), "owner", {}),), {})
    keys: list[tuple[str, Const, str]] = [("args", Const(i), f"given_{i}") for i in range(count)]
    keys += [("keywords", Const(name), name) for name in names]
    values = []
    for s, (holder, key, hint) in zip(given, keys):
        part = None if isinstance(s, Known) else _item(builder, s, read(atom, holder), key, hint, {})
        values.append(_open(low, s, part, hint, {}))
    return Partial(function, tuple(values[:count]), dict(zip(names, values[count:])))


def _instance(low: Lowering, value: Any, atom: Any, path: str) -> Instance:
    """An object that outlives the call: by whatever path it is reached, it is the same one."""
    for other, held, ref in low.arguments:
        if held is value and isinstance(ref, Instance):
            low.requirements[f"{other} is {path}"] = True
            return ref
    instance = Instance(value, atom, path)
    low.arguments.append((path, value, instance))
    low.foreign[instance] = path
    return instance


def _foreign(low: Lowering, ref: Any, s: Leaf | Sequence | Mapping) -> Value:
    """A list or dict that outlives the call: it may be read, not changed."""
    low.foreign[ref] = s.path
    low.paths[ref] = s.path
    if isinstance(s, (Sequence, Mapping)) and s.cls not in (list, dict):
        low.classes[ref] = s.cls
    return ref


def _item(builder: Builder, s: Structure, atom: Any, key: Const, hint: str, leaves: dict[int, Var]) -> Any:
    if isinstance(s, Known) or id(s) in leaves or (isinstance(s, Sequence) and leaves):
        return None
    kind = s.kind if isinstance(s, Leaf) else Opaque(type(s).__name__)
    return builder.apply(ops.ITEM, (atom, key), hint=hint, kind=kind)


# ---------------------------------------------------------------- globals and cells


def open_global(
    low: Lowering, value: Any, name: str, source: FunctionSource, *, is_cell: bool, owner: Ref | None = None
) -> Value:
    """A global, a cell or a module's attribute: functions and modules are known, numbers and arrays are read when it runs."""
    if name == "TYPE_CHECKING" and value is False:
        return Const(False)
    if (
        (callable(value) and not is_instance(value) and type(value) not in (functools.partial, types.MethodType))
        or isinstance(value, (types.ModuleType, np.dtype, enum.Enum))
        or value is None
        or isinstance(value, (str, bytes))
    ):
        known = Const(value) if value is None or isinstance(value, (str, bytes)) else Ref(value, name)
        path = _guard_path(low, name, source, is_cell=is_cell, owner=owner)
        if path is not None:
            low.requirements[path] = Known(value, path)
        return known
    if owner is not None and getattr(owner.value, "__name__", "") in _CONSTANT_MODULES and isinstance(value, float):
        text = f"{owner.text}.{name}"
        return Free(text, Number("float"), value) if _is_in_scope(low, owner) else Const(value)
    if owner is not None:
        return _read_through(low, value, name, owner, name, _guard_path(low, name, source, is_cell=is_cell, owner=owner))
    if _is_of_root(low, name, source, is_cell=is_cell):

        def read() -> Value:
            structure = describe(value, name)
            low.requirements[name] = structure
            return open_structure(low, structure, Free(name, _structure_kind(structure)), name)

        return low.opened(name, read)
    path = _guard_path(low, name, source, is_cell=is_cell, owner=None)
    if is_cell:
        return _read_through(low, value, name, Ref(source.cells[name], f"{name}_cell"), "cell_contents", path)
    module = _module_of(source)
    return _read_through(low, value, name, Ref(module, module.__name__.split(".")[-1]), name, path)


def _read_through(low: Lowering, value: Any, name: str, holder: Ref, attribute: str, path: str | None) -> Value:
    """A value of another module or function, read through what holds it; the guard tests its kind at `path`."""

    def read() -> Value:
        structure = describe(value, path or name)
        if path is None:
            structure = _without_paths(structure)
        else:
            low.requirements[path] = structure
        kind = _structure_kind(structure)
        atom = low.builder.apply(Op(f"attribute {attribute}", "attribute", attribute), (holder,), hint=name, kind=kind)
        return open_structure(low, structure, atom, name)

    return low.opened((id(holder.value), attribute), read)


def _structure_kind(s: Structure) -> Kind:
    return s.kind if isinstance(s, Leaf) else Opaque(type(s).__name__)


def _guard_path(low: Lowering, name: str, source: FunctionSource, *, is_cell: bool, owner: Ref | None) -> str | None:
    """How the guard reaches a global, a cell or a module's attribute; None for those of Python and installed packages."""
    if owner is None and _is_of_root(low, name, source, is_cell=is_cell):
        return name
    if owner is not None:
        holder, attribute = owner.value, name
        module = sys.modules.get(holder.__module__) if isinstance(holder, type) else holder
        if not isinstance(module, types.ModuleType) or is_library(getattr(module, "__file__", None) or "<frozen>"):
            return None
    elif is_cell:
        if name not in source.cells:
            return None
        holder, attribute = source.cells[name], "cell_contents"
    elif name in source.globals and not is_library(source.file):
        holder, attribute = _module_of(source), name
    else:
        return None
    text = next((t for t, held in low.holders.items() if held is holder), f"holder_{len(low.holders)}")
    low.holders[text] = holder
    return f"{text}.{attribute}"


_OF_PYTHON = (sysconfig.get_path("stdlib"), "<frozen")


def is_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python itself."""
    return file.startswith(_OF_PYTHON) or "site-packages" in file


def _is_of_root(low: Lowering, name: str, source: FunctionSource, *, is_cell: bool) -> bool:
    """Whether a name is a global or a cell of the function that is compiled, not only of one that it calls."""
    root = low.root_source
    if is_cell:
        return source.cells.get(name) is root.cells.get(name)
    return source.globals is root.globals and name in source.globals


_CONSTANT_MODULES = ("math", "numpy")


def _is_in_scope(low: Lowering, owner: Ref) -> bool:
    return low.root_source.globals.get(owner.text) is owner.value


def _module_of(source: FunctionSource) -> Any:
    name = source.globals.get("__name__", "")
    module = sys.modules.get(name)
    if module is None or vars(module) is not source.globals:
        raise KindError(f"the module `{name}` of an inlined function is not imported, so its global values cannot be read")
    return module


def read_attribute(low: Lowering, instance: Instance, name: str) -> Value:
    """An attribute that the object itself holds, as it was on entry."""
    path = f"{instance.path}.{name}"

    def read() -> Value:
        structure = describe(getattr(instance.value, name), path)
        low.requirements[path] = structure
        kind = _structure_kind(structure)
        atom = low.builder.apply(Op(f"attribute {name}", "attribute", name), (instance.atom,), hint=name, kind=kind)
        before = dict(low.foreign)
        value = open_structure(low, structure, atom, name)
        if instance not in low.foreign:  # what the function changes of its arguments is a view of its own
            low.foreign = before
        return value

    return low.opened(path, read)


def open_held(low: Lowering, value: Any, name: str) -> Value:
    """A value that a function or class holds since it was made: it stays what it is, and is read when the gradient runs."""

    def read() -> Value:
        path = f"holder_{len(low.holders)}"
        low.holders[path] = value
        structure = _without_paths(describe(value, path))
        atom: Any = Ref(value, name)
        if isinstance(structure, Leaf):
            atom = low.builder.apply(Op(f"held {id(value)}", "display"), (atom,), hint=name, kind=structure.kind)
        return open_structure(low, structure, atom, name)

    return low.opened(("held", id(value)), read)


def is_plain_attribute(cls: type, name: str) -> bool:
    """Whether a class gives its objects a value under a name, rather than a method or what a descriptor computes."""
    found = inspect.getattr_static(cls, name, None)
    return found is not None and not hasattr(type(found), "__get__")


def read_class_attribute(low: Lowering, cls: type, name: str) -> Value:
    """A value that a class holds for all its objects."""
    return open_global(low, getattr(cls, name), name, low.frame.source, is_cell=False, owner=Ref(cls, cls.__name__))


def _without_paths(s: Structure) -> Structure:
    """A structure whose lengths no argument tells."""
    match s:
        case Leaf(Array(dtype, dims), path) if dims is not None:
            return Leaf(Array(dtype, tuple(Dim(None, n.hint if isinstance(n, Dim) else n) for n in dims)), path)
        case Leaf(Number(name), path):
            return Leaf(Number(name), path)
        case Sequence() | Mapping() | Fields() | Bound():
            return dataclasses.replace(s, items=tuple(_without_paths(i) for i in s.items))
        case _:
            return s


# ---------------------------------------------------------------- the guard's tests


def tests(s: Structure, known: dict[str, Any]) -> list[str]:
    """Python expressions that hold for exactly the arguments of this structure; `known` names what they compare with."""
    match s:
        case Leaf(Number(name), path, cls):
            return [f"{path}.__class__ is {name if cls is None else _class_name(cls, known)}"]
        case Leaf(Array(dtype, dims), path, cls):
            name = f"{dtype}_dtype"
            known[name] = np.dtype(dtype)
            known["ndarray"] = np.ndarray
            if dims == () and cls is None:
                known["generic"] = np.generic
                return [f"isinstance({path}, generic) and {path}.dtype == {name}"]
            return [f"{path}.__class__ is ndarray and {path}.dtype == {name} and {path}.ndim == {len(dims or ())}"]
        case Leaf(ListOf(Number(name), _), path):
            return [f"{path}.__class__ is list and len({path}) > {LONG} and set(map(type, {path})) == {{{name}}}"]
        case Leaf(ListOf(Array(dtype, dims), _), path):
            name = f"{dtype}_dtype"
            known[name] = np.dtype(dtype)
            known["ndarray"] = np.ndarray
            same = f"all(v.__class__ is ndarray and v.dtype == {name} and v.shape == {path}[0].shape for v in {path})"
            return [f"{path}.__class__ is list and len({path}) > {LONG} and {same} and {path}[0].ndim == {len(dims or ())}"]
        case Leaf():
            return []
        case Known(None, path):
            return [f"{path} is None"]
        case Known(str() | bytes() as value, path):
            return [f"{path} == {value!r}"]
        case Known(types.FunctionType() as value, path) if (
            not value.__closure__ and not value.__defaults__ and not value.__kwdefaults__
        ):
            name = f"known_{len(known)}"
            known[name] = value.__code__
            return [f"{path}.__code__ is {name}"]
        case Known(value, path):
            name = f"known_{len(known)}"
            known[name] = value
            return [f"{path} is {name}" if not isinstance(value, (slice, np.dtype)) else f"{path} == {name}"]
        case Sequence(cls, items, path):
            return [
                f"{path}.__class__ is {_class_name(cls, known)} and len({path}) == {len(items)}",
                *(t for i in items for t in tests(i, known)),
            ]
        case Mapping(cls, keys, items, path, factory):
            made = []
            if factory is not None:
                name = f"known_{len(known)}"
                known[name] = factory
                made = [f"{path}.default_factory is {name}"]
            return [
                f"{path}.__class__ is {_class_name(cls, known)} and [*{path}] == {list(keys)!r}",
                *made,
                *(t for i in items for t in tests(i, known)),
            ]
        case Object(value, path):
            return [f"{path}.__class__ is {_class_name(type(value), known)}"]
        case Bound(functools.partial, items, names, path):
            count = f"len({path}.args) == {len(items) - len(names) - 1} and [*{path}.keywords] == {list(names)!r}"
            return [
                f"{path}.__class__ is {_class_name(functools.partial, known)} and {count}",
                *(t for i in items for t in tests(i, known)),
            ]
        case Bound(cls, items, _, path):
            return [f"{path}.__class__ is {_class_name(cls, known)}", *(t for i in items for t in tests(i, known))]
        case Fields(cls, names, items, path, value):
            claims = [f"{path}.__class__ is {_class_name(cls, known)}"]
            if hasattr(value, "__dict__"):
                claims.append(f"[*{path}.__dict__] == {[n for n in names if n in vars(value)]!r}")
            return [*claims, *(t for i in items for t in tests(i, known))]


def _class_name(cls: type, known: dict[str, Any]) -> str:
    if cls in (list, tuple, dict):
        return cls.__name__
    name = f"class_{cls.__name__}"
    known[name] = cls
    return name
