"""Objects of the user's classes: their attributes are values that the store holds, their methods are inlined.

cell = Cell(W)        store[cell] = (("W", W), ("h", 0.0))      no object is made when the gradient runs
cell.h = v            store[cell] = (("W", W), ("h", v))
a + b                 the body of `type(a).__add__`
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import types
from typing import Any

from srcdiff.errors import KindError, NoRule, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import UNBOUND, Const, Ref, Var
from srcdiff.prepare import builtin_calls, calls, containers, expressions
from srcdiff.prepare.entry import is_record, open_global
from srcdiff.prepare.lowering import Lowering, truth
from srcdiff.prepare.values import Instance, Method, ObjectRef, Partial, Poison, Record, Super, Value, is_atom
from srcdiff.rules.inference import kind_of

OBJECTS = (ObjectRef, Instance, Record)
_MISSING = object()


def class_of(owner: ObjectRef | Instance | Record) -> type:
    return type(owner.value) if isinstance(owner, Instance) else owner.cls


# ---------------------------------------------------------------- reading attributes


def attribute(low: Lowering, owner: Value, name: str, node: ast.AST) -> Value:
    """`owner.name`: what the object holds, a method bound to it, what a property computes, or a value of its class."""
    found = find_attribute(low, owner, name, node)
    if found is not None:
        return found
    cls = owner.cls if isinstance(owner, Super) else class_of(owner)
    if isinstance(owner, ObjectRef) and any(key == name for key, _ in low.store[owner]):
        raise low.refuse(KindError, f"the attribute `{name}` is read before it is set", node)
    raise low.refuse(KindError, f"an object of class `{cls.__name__}` has no attribute `{name}`", node)


def find_attribute(low: Lowering, owner: Value, name: str, node: ast.AST) -> Value | None:
    """The value of an attribute; None where the object has none of that name."""
    if isinstance(owner, Super):
        return _bound(low, owner.owner, _after(owner, name), name, node)
    cls = class_of(owner)
    if name == "__class__":
        return Ref(cls, cls.__name__)
    if name == "__dict__":
        return handle_vars(low, (owner,), {}, node)
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property):
        return _bound(low, owner, found, name, node)
    value = _own(low, owner, name, node)
    if value is not None:
        return value
    if isinstance(owner, Record) and name in ("_replace", "_asdict"):
        return Method(owner, name)
    if found is not None:
        return _bound(low, owner, found, name, node)
    fallback = inspect.getattr_static(cls, "__getattr__", None)
    if isinstance(fallback, types.FunctionType):
        return calls.call_value(low, Ref(fallback, "__getattr__"), (owner, Const(name)), {}, node)
    return None


def _own(low: Lowering, owner: Value, name: str, node: ast.AST) -> Value | None:
    """What the object itself holds, or its class holds for it."""
    if isinstance(owner, Record):
        return owner.get(name) if name in owner.fields else None
    value = low.attribute_in(low.store, owner, name)
    if isinstance(value, Poison):
        raise low.refuse(KindError, value.reason, node, instead="give it one kind on every path.")
    if isinstance(value, Const) and value.value is UNBOUND:
        return None
    if isinstance(value, Var) and value in low.unsure:
        low.builder.apply_all(ops.BOUND, (value,), kind=())
    return value


def attributes_of(low: Lowering, owner: Value) -> dict[str, Value]:
    """All attributes that the object itself holds."""
    match owner:
        case Record():
            return dict(zip(owner.fields, owner.values))
        case ObjectRef():
            return {n: v for n, v in low.store[owner] if not (isinstance(v, Const) and v.value is UNBOUND)}
        case _:
            own = vars_of_instance(low, owner)
            return {**own, **dict(low.state_in(low.store, owner))}


def vars_of_instance(low: Lowering, owner: Instance) -> dict[str, Value]:
    from srcdiff.prepare.entry import read_attribute, vars_of_object

    return {n: read_attribute(low, owner, n) for n in vars_of_object(owner.value)}


def _after(owner: Super, name: str) -> Any:
    """What the classes after one in the order of resolution give under a name."""
    order = class_of(owner.owner).__mro__ if isinstance(owner.owner, OBJECTS) else owner.owner.value.__mro__
    for cls in order[order.index(owner.cls) + 1 :]:
        if name in vars(cls):
            return vars(cls)[name]
    return None


def _bound(low: Lowering, owner: Value, found: Any, name: str, node: ast.AST) -> Value | None:
    """What a class holds under a name, as an attribute of one of its objects."""
    cls = owner.value if isinstance(owner, Ref) else class_of(owner)
    match found:
        case None:
            return None
        case types.FunctionType() | types.WrapperDescriptorType():
            return Partial(Ref(found, name), (owner,), {})
        case staticmethod():
            return Ref(found.__func__, name)
        case classmethod():
            return Partial(Ref(found.__func__, name), (Ref(cls, cls.__name__),), {})
        case property() if found.fget is not None:
            return calls.call_value(low, Ref(found.fget, name), (owner,), {}, node)
        case functools.cached_property():
            value = calls.call_value(low, Ref(found.func, name), (owner,), {}, node)
            if isinstance(owner, (ObjectRef, Instance)):
                low.set_attribute(owner, name, value)
            return value
        case functools.partialmethod():
            args = tuple(calls.constant(low, a, node) for a in found.args)
            named = {k: calls.constant(low, v, node) for k, v in found.keywords.items()}
            return Partial(Ref(found.func, name), (owner, *args), named)
        case types.BuiltinFunctionType():
            return Ref(found, name)
    if hasattr(type(found), "__get__"):
        raise low.refuse(
            SyntaxNotAccepted,
            f"the attribute `{name}` is computed by a descriptor of class `{type(found).__name__}`",
            node,
            instead="use a property.",
        )
    return open_global(low, found, name, low.frame.source, is_cell=False, owner=Ref(cls, cls.__name__))


def super_of(low: Lowering, args: tuple[Value, ...], node: ast.AST) -> Super:
    """`super()`, in a method or in a function within one."""
    if len(args) == 2 and isinstance(args[0], Ref):
        return Super(args[0].value, args[1])
    frame: Any = low.frame
    while frame is not None:
        cell = frame.source.class_cell
        if cell is not None and frame.outer is None:
            spec = frame.node.args
            first = [*spec.posonlyargs, *spec.args][0].arg
            return Super(cell.cell_contents, frame.vars[first])
        frame = frame.outer
    raise low.refuse(KindError, "super() stands outside a method", node)


# ---------------------------------------------------------------- setting attributes


def write_attribute(low: Lowering, owner: Value, name: str, value: Value, node: ast.AST) -> None:
    """`owner.name = value`."""
    if isinstance(owner, Ref):
        raise low.refuse(
            SyntaxNotAccepted,
            f"an attribute of `{owner.text}` is set",
            node,
            why="It outlives the call, and others would see it change.",
            instead="pass the value as an argument, and return the new one.",
        )
    if not isinstance(owner, OBJECTS):
        raise low.refuse(SyntaxNotAccepted, f"the attribute `.{name}` of this value cannot be set", node)
    cls = class_of(owner)
    if is_record(cls):
        raise low.refuse(
            SyntaxNotAccepted,
            f"an object of class `{cls.__name__}` stays what it is",
            node,
            instead=f"make another: {'x._replace' if issubclass(cls, tuple) else 'dataclasses.replace(x, …)'}.",
        )
    setter = inspect.getattr_static(cls, "__setattr__", None)
    if isinstance(setter, types.FunctionType):
        calls.call_value(low, Ref(setter, "__setattr__"), (owner, Const(name), value), {}, node)
        return
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property):
        if found.fset is None:
            raise low.refuse(KindError, f"the property `{name}` of class `{cls.__name__}` has no setter", node)
        calls.call_value(low, Ref(found.fset, name), (owner, value), {}, node)
        return
    set_own_attribute(low, owner, name, value, node)


def set_own_attribute(low: Lowering, owner: Value, name: str, value: Value, node: ast.AST) -> None:
    """`object.__setattr__(owner, name, value)`."""
    if isinstance(owner, Record):
        raise low.refuse(SyntaxNotAccepted, f"an object of class `{owner.cls.__name__}` stays what it is", node)
    containers.refuse_hidden_change(low, owner, node)
    if not _has_room(class_of(owner), name):
        raise low.refuse(KindError, f"an object of class `{class_of(owner).__name__}` has no attribute `{name}`", node)
    if isinstance(value, Var) and not value.is_users and value in low.builder.made:
        value.hint, value.is_users = name.strip("_") or name, True
    low.set_attribute(owner, name, value)


def _has_room(cls: type, name: str) -> bool:
    """Whether objects of a class may hold an attribute of this name: `__slots__` name all there are."""
    return any("__dict__" in vars(c) for c in cls.__mro__) or isinstance(
        inspect.getattr_static(cls, name, None), types.MemberDescriptorType
    )


def require_distinct(low: Lowering) -> None:
    """An object that is written to, by whatever path it is reached, is no other object that the variant knows."""
    for path, held, ref in low.arguments:
        for other, second, peer in low.arguments:
            if ref in low.written and peer is not ref and type(held) is type(second):
                if held is second:
                    raise KindError(
                        f"`{path}` and `{other}` are one object, and the function sets an attribute of it",
                        instead="pass a copy of it for one of them.",
                    )
                low.requirements[f"{path} is not {other}"] = True


# ---------------------------------------------------------------- making objects


def construct(low: Lowering, cls: Any, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`cls(…)`: its `__init__` inlined, on an object without attributes."""
    if issubclass(cls, enum.Enum):
        return _member(low, cls, args, node)
    _refuse_unreadable(low, cls, node)
    new = inspect.getattr_static(cls, "__new__", None)
    if isinstance(new, staticmethod) and isinstance(new.__func__, types.FunctionType):
        made = calls.call_value(low, Ref(new.__func__, "__new__"), (Ref(cls, cls.__name__), *args), kwargs, node)
        if not (isinstance(made, ObjectRef) and issubclass(made.cls, cls)):
            return made
    else:
        made = low.new_object(cls, ())
    initialise(low, made, cls, args, kwargs, node)
    return _as_record(low, made)


def _as_record(low: Lowering, made: ObjectRef) -> Value:
    """An object of a frozen class, once it is made, is known by its fields."""
    state = dict(low.store[made])
    if is_record(made.cls) and list(state) == [f.name for f in dataclasses.fields(made.cls)]:
        return Record(made.cls, tuple(state), tuple(state.values()))
    return made


def initialise(
    low: Lowering, made: ObjectRef, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST
) -> None:
    """`cls.__init__(made, …)`."""
    init = inspect.getattr_static(cls, "__init__", None)
    if not isinstance(init, types.FunctionType):
        if args or kwargs:
            raise low.refuse(KindError, f"{cls.__name__}() takes no arguments", node)
    elif is_generated(init):
        base = next(c for c in cls.__mro__ if vars(c).get("__init__") is init)
        _fill_fields(low, made, base, init, args, kwargs, node)
    else:
        calls.call_value(low, Ref(init, cls.__name__), (made, *args), kwargs, node)


def is_generated(fn: Any) -> bool:
    """Whether a method is one that the dataclass decorator wrote."""
    return isinstance(fn, types.FunctionType) and fn.__code__.co_filename == "<string>"


def _fill_fields(
    low: Lowering,
    made: ObjectRef,
    base: Any,
    init: Any,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    node: ast.AST,
) -> None:
    """The `__init__` that a dataclass has."""
    try:
        bound = inspect.signature(init).bind(made, *args, **kwargs).arguments
    except TypeError as error:
        raise low.refuse(KindError, f"{base.__name__}(): {error}", node) from None
    late: list[Value] = []
    for field in base.__dataclass_fields__.values():
        sort = field._field_type.name
        if sort == "_FIELD_CLASSVAR":
            continue
        value = bound.get(field.name) if field.init else None
        if value is None and field.default_factory is not dataclasses.MISSING:
            value = calls.call_value(low, Ref(field.default_factory, field.name), (), {}, node)
        elif value is None and field.default is not dataclasses.MISSING:
            value = calls.constant(low, field.default, node)
        if sort == "_FIELD_INITVAR":
            late.append(value)
        elif value is not None:
            low.store[made] = (*((k, v) for k, v in low.store[made] if k != field.name), (field.name, value))
    after = inspect.getattr_static(made.cls, "__post_init__", None)
    if isinstance(after, types.FunctionType):
        calls.call_value(low, Ref(after, "__post_init__"), (made, *late), {}, node)


def _member(low: Lowering, cls: Any, args: tuple[Value, ...], node: ast.AST) -> Value:
    """`Mode(1)`: the member of an enumeration that has this value."""
    if len(args) != 1 or not isinstance(args[0], Const):
        raise low.refuse(KindError, f"which member of `{cls.__name__}` is meant is not known when the function is compiled", node)
    member = cls(args[0].value)
    return Ref(member, f"{cls.__name__}.{member.name}")


def number_of(value: Value) -> Value:
    """A member of an enumeration of numbers or strings, where it is computed with."""
    if isinstance(value, Ref) and isinstance(value.value, enum.Enum) and isinstance(value.value, (int, float, str)):
        return Const(value.value.value)
    return value


def member_attribute(low: Lowering, owner: Ref, name: str, node: ast.AST) -> Value:
    """An attribute of a member of an enumeration: its name and value, or a method bound to it."""
    found = inspect.getattr_static(type(owner.value), name, None)
    if isinstance(found, types.FunctionType):
        return Partial(Ref(found, name), (owner,), {})
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType) and name not in ("name", "value"):
        return calls.call_value(low, Ref(found.fget, name), (owner,), {}, node)
    if not hasattr(owner.value, name):
        raise low.refuse(KindError, f"`{owner.text}` has no attribute `{name}`", node)
    return calls.constant(low, getattr(owner.value, name), node)


def _refuse_unreadable(low: Lowering, cls: Any, node: ast.AST) -> None:
    """Classes whose objects are not their attributes alone."""
    bases = [c for c in cls.__mro__ if c.__module__ in ("builtins", "collections", "numpy") and c is not object]
    if bases:
        raise low.refuse(
            NoRule,
            f"an object of class `{cls.__name__}`, which extends `{bases[0].__name__}`, is made",
            node,
            why="What the base class does cannot be read.",
            instead="hold the list, dict or array as an attribute.",
        )
    if isinstance(inspect.getattr_static(type(cls), "__call__", None), types.FunctionType):
        raise low.refuse(SyntaxNotAccepted, f"the class of the class `{cls.__name__}` decides how its objects are made", node)
    if inspect.isabstract(cls):
        raise low.refuse(KindError, f"`{cls.__name__}` is abstract, so no object of it can be made", node)


# ---------------------------------------------------------------- replace, asdict, copy


def replaced(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """dataclasses.replace, and `_replace` of a NamedTuple."""
    owner = args[0]
    if not isinstance(owner, OBJECTS):
        raise low.refuse(KindError, "replace() takes an object of a dataclass", node)
    cls: Any = class_of(owner)
    held = attributes_of(low, owner)
    unknown = next((k for k in kwargs if k not in held), None)
    if issubclass(cls, tuple):
        if unknown is not None:
            raise low.refuse(KindError, f"`{cls.__name__}` has no field `{unknown}`", node)
        values = {**held, **kwargs}
        return Record(cls, tuple(values), tuple(values.values()))
    fields = [f.name for f in dataclasses.fields(cls) if f.init]
    return construct(low, cls, (), {**{n: held[n] for n in fields}, **kwargs}, node)


def as_dict(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """dataclasses.asdict: dataclasses, lists, tuples and dicts within are taken along; `_asdict` takes the fields alone."""
    owner = args[0]
    if isinstance(owner, Record) and issubclass(owner.cls, tuple):
        return low.new_dict(tuple(zip(owner.fields, owner.values)))
    return _plain(low, owner)


def as_tuple(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    held = attributes_of(low, args[0])
    return tuple(held[f.name] for f in dataclasses.fields(class_of(args[0])))


def _plain(low: Lowering, value: Value) -> Value:
    from srcdiff.prepare.values import DictRef, ListRef

    match value:
        case tuple():
            return tuple(_plain(low, v) for v in value)
        case ListRef() if low.items(value) is not None:
            return low.new_list(tuple(_plain(low, v) for v in low.items(value) or ()))
        case DictRef():
            return low.new_dict(tuple((k, _plain(low, v)) for k, v in low.store[value]))
        case ObjectRef() | Instance() | Record() if dataclasses.is_dataclass(class_of(value)):
            held = attributes_of(low, value)
            names = [f.name for f in dataclasses.fields(class_of(value))]
            return low.new_dict(tuple((n, _plain(low, held[n])) for n in names))
    return value


# ---------------------------------------------------------------- operators and protocols

_BINARY = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "MatMult": "matmul", "LShift": "lshift", "RShift": "rshift", "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
}  # fmt: skip
_COMPARED = {
    "Lt": ("lt", "gt"),
    "LtE": ("le", "ge"),
    "Gt": ("gt", "lt"),
    "GtE": ("ge", "le"),
    "Eq": ("eq", "eq"),
    "NotEq": ("ne", "ne"),
}
_UNARY = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}
CALLED = {
    len: "__len__", abs: "__abs__", float: "__float__", int: "__int__", complex: "__complex__", reversed: "__reversed__",
    iter: "__iter__", next: "__next__", round: "__round__", str: "__str__", repr: "__repr__",
}  # fmt: skip


def method_of(value: Value, name: str) -> Value | None:
    """A method of an object's class, to be called with the object first."""
    if not isinstance(value, OBJECTS):
        return None
    found = inspect.getattr_static(class_of(value), name, None)
    return Ref(found, name) if isinstance(found, types.FunctionType) else None


def call_special(low: Lowering, owner: Value, name: str, args: tuple[Value, ...], node: ast.AST) -> Value | None:
    """What a special method of an object's class gives; None where it has none."""
    found = method_of(owner, name)
    return None if found is None else calls.call_value(low, found, (owner, *args), {}, node)


def binary(low: Lowering, symbol: str, a: Value, b: Value, node: ast.AST) -> Value | None:
    """`a + b` where one is an object: the method that Python calls; None where neither is one."""
    if not (isinstance(a, OBJECTS) or isinstance(b, OBJECTS)):
        return None
    if symbol in ("In", "NotIn"):
        return _contains(low, symbol == "In", b, a, node) if isinstance(b, OBJECTS) else None
    if symbol in ("Is", "IsNot") or symbol not in _BINARY and symbol not in _COMPARED:
        return None
    forward, backward = _COMPARED.get(symbol) or (_BINARY[symbol], "r" + _BINARY[symbol])
    attempts = [(a, f"__{forward}__", b), (b, f"__{backward}__", a)]
    is_nearer = (
        all(isinstance(x, OBJECTS) for x in (a, b)) and class_of(b) is not class_of(a) and issubclass(class_of(b), class_of(a))
    )
    if is_nearer:
        attempts.reverse()
    if isinstance(b, OBJECTS) and is_atom(a) and isinstance(kind_of(a), Array):
        _refuse_elementwise(low, b, node)
    for owner, name, other in attempts:
        if symbol in _COMPARED and isinstance(owner, OBJECTS):
            generated = _compared_fields(low, symbol, owner, other, name, node)
            if generated is not None:
                return generated
        result = call_special(low, owner, name, (other,), node)
        if result is not None and not (isinstance(result, Ref) and result.value is NotImplemented):
            return result
    if symbol == "NotEq":
        equal = binary(low, "Eq", a, b, node)
        return None if equal is None else expressions.lower_unary(low, "Not", equal, node)
    if symbol == "Eq":
        same = expressions.is_same(a, b)
        if same is not None:
            return Const(same)
    spoken = next(class_of(x).__name__ for x in (a, b) if isinstance(x, OBJECTS))
    raise low.refuse(
        KindError,
        f"`{ops.BINARY[symbol].text}` is given an object of class `{spoken}`, which does not say what that is",
        node,
        instead=f"give the class a method `__{forward}__`, or compute with its attributes.",
    )


def _compared_fields(low: Lowering, symbol: str, owner: Value, other: Value, name: str, node: ast.AST) -> Value | None:
    """The comparison that a dataclass or NamedTuple has: that of the tuples of fields."""
    cls = class_of(owner)
    found = inspect.getattr_static(cls, name, None)
    if not (isinstance(other, OBJECTS) and class_of(other) is cls):
        return None
    if not (is_generated(found) or issubclass(cls, tuple) and found is vars(tuple).get(name)):
        return None
    names = cls._fields if issubclass(cls, tuple) else [f.name for f in dataclasses.fields(cls) if f.compare]  # type: ignore
    left, right = (attributes_of(low, x) for x in (owner, other))
    return expressions.binary(low, symbol, tuple(left[n] for n in names), tuple(right[n] for n in names), node)


def _refuse_elementwise(low: Lowering, owner: Value, node: ast.AST) -> None:
    """An array beside an object asks NumPy, which leaves it to the object only where its class says so."""
    cls: Any = class_of(owner)
    leaves = getattr(cls, "__array_ufunc__", _MISSING) is None or getattr(cls, "__array_priority__", 0) > 0
    if not leaves:
        raise low.refuse(
            KindError,
            f"an array is combined with an object of class `{cls.__name__}` to its right",
            node,
            why="NumPy makes an array of objects of it.",
            instead="set `__array_ufunc__ = None` in the class, or swap the two.",
        )


def _contains(low: Lowering, is_in: bool, owner: Value, item: Value, node: ast.AST) -> Value | None:
    result = call_special(low, owner, "__contains__", (item,), node)
    if result is None:
        return None
    known = truth(result, low)
    if known is not None:
        return Const(known == is_in)
    return result if is_in else expressions.lower_unary(low, "Not", result, node)


def unary(low: Lowering, symbol: str, value: Value, node: ast.AST) -> Value | None:
    return call_special(low, value, _UNARY[symbol], (), node) if symbol in _UNARY else None


def truth_of(low: Lowering, value: Value, node: ast.AST) -> Value:
    """An object as a condition: `__bool__`, else `__len__`, else it is true."""
    if not isinstance(value, OBJECTS):
        return value
    result = call_special(low, value, "__bool__", (), node)
    if result is None:
        result = call_special(low, value, "__len__", (), node)
    if result is None and isinstance(value, Record) and issubclass(value.cls, tuple):
        return Const(bool(value.values))
    return Const(True) if result is None else result


def in_place(low: Lowering, symbol: str, value: Value, operand: Value, node: ast.AST) -> Value | None:
    """`value += operand` by the object's `__iadd__`; None where its class has none."""
    if not isinstance(value, OBJECTS) or symbol not in _BINARY:
        return None
    result = call_special(low, value, f"__i{_BINARY[symbol]}__", (operand,), node)
    return None if isinstance(result, Ref) and result.value is NotImplemented else result


def iterated(low: Lowering, value: Value, node: ast.AST) -> Value:
    """What a loop over an object runs over: what `__iter__` gives, or the items by number."""
    if not isinstance(value, OBJECTS) or isinstance(value, Record) and issubclass(value.cls, tuple):
        return value
    result = call_special(low, value, "__iter__", (), node)
    if result is not None:
        return iterated(low, result, node) if result is not value else value
    if method_of(value, "__getitem__") is not None:
        count = call_special(low, value, "__len__", (), node)
        if isinstance(count, Const):
            return tuple(call_special(low, value, "__getitem__", (Const(i),), node) for i in range(count.value))
    raise low.refuse(
        KindError,
        f"a loop over an object of class `{class_of(value).__name__}` is not accepted",
        node,
        instead="give the class a method `__iter__` that returns iter(…) of a sequence.",
    )


def refuse_numpy(low: Lowering, name: str, args: tuple[Value, ...], node: ast.AST) -> None:
    for value in args:
        if isinstance(value, OBJECTS) and not (isinstance(value, Record) and issubclass(value.cls, tuple)):
            raise low.refuse(
                KindError,
                f"`{name}` is given an object of class `{class_of(value).__name__}`",
                node,
                instead="pass the numbers and arrays that it holds.",
            )


def handle_super(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return super_of(low, args, node)


def handle_new(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`object.__new__(cls)`: an object without attributes."""
    return low.new_object(args[0].value, ())


def handle_init(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`object.__init__(self)`, which does nothing."""
    return Const(None)


def handle_setattr(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    owner, name, value = args
    if not isinstance(name, Const):
        raise low.refuse(KindError, "the name of the attribute is not known when the function is compiled", node)
    write_attribute(low, owner, name.value, value, node)
    return Const(None)


def handle_object_setattr(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    owner, name, value = args
    if not isinstance(name, Const):
        raise low.refuse(KindError, "the name of the attribute is not known when the function is compiled", node)
    set_own_attribute(low, owner, name.value, value, node)
    return Const(None)


def handle_getattr(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`getattr(x, name)`, with or without a default."""
    name = args[1]
    if not (isinstance(name, Const) and isinstance(name.value, str)):
        raise low.refuse(KindError, "the name of the attribute is not known when the function is compiled", node)
    if len(args) > 2 and not _has_attribute(low, args[0], name.value, node):
        return args[2]
    return expressions.attribute(low, args[0], name.value, node)


def handle_hasattr(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return Const(_has_attribute(low, args[0], args[1].value, node))


def _has_attribute(low: Lowering, owner: Value, name: str, node: ast.AST) -> bool:
    if isinstance(owner, OBJECTS):
        return find_attribute(low, owner, name, node) is not None
    if isinstance(owner, Ref):
        return hasattr(owner.value, name)
    cls = builtin_calls.type_of(low, owner)
    if cls is None:
        raise low.refuse(KindError, "whether this value has the attribute is not known when the function is compiled", node)
    return hasattr(cls, name)


def handle_vars(low: Lowering, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args or not isinstance(args[0], OBJECTS):
        raise low.refuse(KindError, "vars() takes an object of a class of the user's", node)
    held = low.new_dict(tuple(attributes_of(low, args[0]).items()))
    low.foreign[held] = "__dict__"
    return held


HANDLERS: dict[Any, Any] = {
    super: handle_super,
    object.__new__: handle_new,
    object.__init__: handle_init,
    object.__setattr__: handle_object_setattr,
    setattr: handle_setattr,
    getattr: handle_getattr,
    hasattr: handle_hasattr,
    vars: handle_vars,
    dataclasses.replace: replaced,
    dataclasses.asdict: as_dict,
    dataclasses.astuple: as_tuple,
}
