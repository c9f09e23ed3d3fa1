"""Calls: primitives, builtins, methods, constructors, and the user's functions, which are inlined.

dense(h, W, b)        the body of `dense`, with h, W and b for its parameters
x.sum(axis=0)         np.sum(x, axis=0)
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule, SrcdiffError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Number, is_scalar
from srcdiff.ir.nodes import Const, Ref
from srcdiff.prepare import (
    arrays,
    builtin_calls,
    cells,
    containers,
    control,
    derivatives,
    exceptions,
    expressions,
    functional,
    generators,
    loops,
    objects,
    procedures,
    statements,
    writes,
)
from srcdiff.prepare.entry import is_instance, is_library, open_held
from srcdiff.prepare.lowering import MAX_DEPTH, Frame, Lowering
from srcdiff.prepare.values import (
    Closure,
    Derivative,
    DictRef,
    Generator,
    Instance,
    Iterable,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Pulled,
    Record,
    Value,
    is_atom,
)
from srcdiff.read.source import FunctionSource, read_function
from srcdiff.read.subset import check_subset
from srcdiff.rules import chapters
from srcdiff.rules.inference import kind_of
from srcdiff.rules.registry import Rule, qualified_name
from srcdiff.rules.staging import Staged, materialise, staged_argument


def lower_call(low: Lowering, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "<set item>":
        return _set_item(low, node)
    fn = expressions.lower(low, node.func)
    args: list[Value] = []
    for part in node.args:
        if isinstance(part, ast.Starred):
            args.extend(expressions.items_of(low, expressions.lower(low, part.value), None, part))
        else:
            args.append(expressions.lower(low, part))
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = expressions.lower(low, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value, DictRef):
            kwargs.update(dict(low.store[value]))
        else:
            raise low.refuse(KindError, "`**` takes a dict whose keys are known when the function is compiled", keyword.value)
    low.node = node
    return call_value(low, fn, tuple(args), kwargs, node)


def _set_item(low: Lowering, node: ast.Call) -> Value:
    ref, key, value = (expressions.lower(low, a) for a in node.args)
    containers.write_item(low, ref, key, value, node.args[1])
    return Const(None)


def call_value(low: Lowering, fn: Value, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Call a value: a function of the user's, a primitive, a class, a method."""
    match fn:
        case Closure():
            return _inline(low, fn.source, fn.node, fn.frame, fn.defaults, fn.name, args, kwargs, node)
        case Partial(inner, bound, named):
            found = functional.call_getter(low, fn, args, node)
            if found is not None:
                return found
            return call_value(low, inner, (*bound, *args), {**named, **kwargs}, node)
        case Method():
            args = tuple(generators.collected(low, a, node) for a in functional.taken(low, fn, args, node))
            return builtin_calls.call_method(low, fn, args, kwargs, node)
        case Ref(value):
            return _call_object(low, value, fn.text, args, kwargs, node)
        case Derivative():
            return derivatives.call(low, fn, args, kwargs, node)
        case Pulled() if len(args) == 1 and not kwargs:
            return derivatives.pull_back(low, fn, args[0], node)
        case Record() | Instance() | ObjectRef():
            call = objects.method_of(fn, "__call__")
            if call is not None:
                return call_value(low, call, (fn, *args), kwargs, node)
    raise low.refuse(KindError, "this value cannot be called", node)


def handler_of(value: Any) -> Callable[..., Value] | None:
    """What gives the value of a call of a function that is neither read nor has a rule."""
    if not _is_hashable(value):
        return None
    tables = (builtin_calls.HANDLERS, writes.WRITERS, objects.HANDLERS, functional.HANDLERS)
    return next((table[value] for table in tables if value in table), None)


def _is_of_this_package(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return os.path.abspath(value.__code__.co_filename).startswith(_PACKAGE)
    return not isinstance(value, type) and type(value).__module__.startswith("srcdiff.")


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _call_object(low: Lowering, value: Any, text: str, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if args and isinstance(args[0], objects.OBJECTS) and _is_hashable(value) and value in objects.CALLED:
        found = objects.call_special(low, args[0], objects.CALLED[value], args[1:], node)
        if found is not None:
            return found
    handler = handler_of(value)
    if handler is not None:
        args = functional.taken(low, value, args, node)
        if not (_is_hashable(value) and value in functional.STREAMING):
            args = tuple(generators.collected(low, a, node) for a in args)
        return handler(low, args, kwargs, node)
    rule = chapters.find(value)
    if rule is not None:
        objects.refuse_numpy(low, text, args, node)
        out, args, kwargs = writes.out_of(value, args, kwargs)
        if out is not None:
            return writes.call_with_out(low, value, out, args, kwargs, node)
        return call_primitive(low, rule, args, kwargs, node)
    mode = getattr(value, "differentiates", None) if isinstance(value, types.FunctionType) else None
    if mode is not None:
        return derivatives.make(low, mode, args, kwargs, node)
    controls = getattr(value, "controls", None) if isinstance(value, types.FunctionType) else None
    if controls is not None:
        return control.call(low, controls, args, kwargs, node)
    if hasattr(type(value), "runs_again"):
        return control.call_checkpointed(low, Ref(value.runs_again, text), args, kwargs, node)
    if value is control.run_again and args:
        return control.call_checkpointed(low, args[0], args[1:], kwargs, node)
    if hasattr(type(value), "custom_rule"):
        return control.call_custom(low, value.custom_rule, value, text, args, kwargs, node)
    if hasattr(type(value), "as_derivative"):
        return derivatives.call(low, Derivative(*value.as_derivative(Ref)), args, kwargs, node)
    if _is_of_this_package(value):
        raise low.refuse(
            NoRule,
            f"`{text}` is called inside a differentiated function",
            node,
            why="Of the functions of this package those that take derivatives, or control them, are accepted there.",
            instead="compute it outside, and pass its result as an argument.",
        )
    if isinstance(value, (functools.partial, types.MethodType)):
        return call_value(low, open_held(low, value, "held"), args, kwargs, node)
    found = functional.getter(low, value, args, kwargs, node)
    if found is not None:
        return found
    if isinstance(value, functools._lru_cache_wrapper):
        return call_value(low, Ref(value.__wrapped__, text), args, kwargs, node)
    if isinstance(value, types.FunctionType):
        source = read_function(value)
        check_subset(source)
        defaults = _defaults(low, value, source, node)
        return _inline(low, source, source.node, None, defaults, value.__name__, args, kwargs, node)
    if isinstance(value, type):
        return _construct(low, value, args, kwargs, node)
    name = _spoken_name(value, text)
    if isinstance(value, (types.BuiltinFunctionType, np.ufunc)) or getattr(value, "__module__", None) or callable(value):
        raise low.refuse(
            NoRule,
            f"no derivative rule for `{name}`",
            node,
            why="It is a function that srcdiff cannot read, and it has no rule.",
            instead="write it in terms of functions that have rules, or compute it outside and pass its result as an argument.",
        )
    raise low.refuse(KindError, f"`{text}` cannot be called", node)


def _spoken_name(value: Any, text: str) -> str:
    module = getattr(value, "__module__", None)
    name = qualified_name(value) if module or isinstance(value, np.ufunc) else text
    return (
        name
        if module is None or module.startswith(("numpy", "scipy", "math", "builtins"))
        else f"{module}.{getattr(value, '__name__', text)}"
    )


def constant(low: Lowering, value: Any, node: ast.AST, name: str = "held") -> Value:
    """A value that a function, partial or class holds since it was made."""
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return Const(value)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        items = tuple(constant(low, v, node, name) for v in value)
        if isinstance(value, tuple):
            return items
        made = low.new_list(items)
        low.foreign[made] = name
        return made
    if isinstance(value, enum.Enum) or callable(value) and not is_instance(value):
        return Ref(value, getattr(value, "__name__", "function"))
    return open_held(low, value, name)


def _defaults(low: Lowering, fn: types.FunctionType, source: FunctionSource, node: ast.AST) -> dict[str, Value]:
    parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
    return {p.name: constant(low, p.default, node, p.name) for p in parameters if p.default is not p.empty}


# ---------------------------------------------------------------- the user's functions


def _inline(
    low: Lowering,
    source: FunctionSource,
    fn: Any,
    outer: Frame | None,
    defaults: dict[str, Value],
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    node: ast.AST,
) -> Value:
    """The value of a call, with the function's body in place."""
    bound = bind_arguments(low, fn.args, args, kwargs, defaults, name, node)
    if generators.is_generator(fn):
        return Generator(fn, source, outer, bound, f"the generator `{name}`", low.depth)
    callee = procedures.Callee(source, fn, outer, name)
    if fn in low.procedures.recursive or fn in low.procedures.long:
        return procedures.call(low, callee, bound, node)
    procedures.note_site(low, callee, node)
    active = procedures.active_arguments(low, callee, bound, node)
    if low.frame.depth >= MAX_DEPTH:
        if fn in low.procedures.unrolled:
            raise low.procedures.unrolled[fn]
        raise procedures.too_deep(low, name, node)
    frame = Frame(source, bound, outer, function_locals(fn), low.frame.depth + 1)
    frame.node, frame.caller, frame.site, frame.arguments = fn, low.frame, node, active
    cells.open_cells(low, frame, fn)
    caller, caller_loops, origin = low.frame, low.loops, low.builder.origin
    low.frame, low.loops = frame, []
    builder = low.builder
    try:
        if isinstance(fn, ast.Lambda):
            return expressions.lower(low, fn.body)
        tree = statements.lower_stmts(low, fn.body, lambda: statements.leaf(low, "return", Const(None)))
        arm = statements.settle(low, tree, builder)
        low.store = arm.state[1]
        if arm.is_dead:
            raise exceptions.PathEnds
        return arm.value
    except SrcdiffError as error:
        if error.origin is None or not is_library(source.file) or caller.depth > 0 and is_library(caller.source.file):
            raise
        where = f"In `{name}`, {os.path.basename(error.origin.file)} line {error.origin.line}: {error.what}."
        raise NoRule(
            f"no derivative rule for `{name}`",
            caller.source.origin(node),
            why=where,
            instead="write it in terms of functions that have rules.",
        ) from None
    finally:
        low.frame, low.loops, low.builder, low.node = caller, caller_loops, builder, node
        low.builder.origin = origin


@functools.lru_cache(maxsize=1024)
def function_locals(fn: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that are local to a function: its parameters and what it binds."""
    a = fn.args
    names = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
    names |= {p.arg for p in (a.vararg, a.kwarg) if p is not None}
    if isinstance(fn, ast.FunctionDef):
        names |= set(loops.assigned_names(fn.body)) - frozenset().union(*cells.declared(fn))
    return frozenset(names)


def bind_arguments(
    low: Lowering,
    spec: ast.arguments,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    defaults: dict[str, Value],
    name: str,
    node: ast.AST,
) -> dict[str, Value]:
    positional = [p.arg for p in (*spec.posonlyargs, *spec.args)]
    bound: dict[str, Value] = dict(zip(positional, args))
    extra = args[len(positional) :]
    if spec.vararg is not None:
        bound[spec.vararg.arg] = tuple(extra)
    elif extra:
        raise low.refuse(KindError, f"{name}() takes {len(positional)} positional arguments but {len(args)} were given", node)
    keyword_only = [p.arg for p in spec.kwonlyargs]
    others: list[tuple[str, Value]] = []
    for key, value in kwargs.items():
        if key in bound and key in positional:
            raise low.refuse(KindError, f"{name}() got several values for `{key}`", node)
        if key in positional or key in keyword_only:
            bound[key] = value
        elif spec.kwarg is not None:
            others.append((key, value))
        else:
            raise low.refuse(KindError, f"{name}() got an unexpected keyword argument `{key}`", node)
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = low.new_dict(tuple(others))
    for key in (*positional, *keyword_only):
        if key not in bound:
            if key not in defaults:
                raise low.refuse(KindError, f"{name}() is missing the argument `{key}`", node)
            bound[key] = defaults[key]
    return bound


def _construct(low: Lowering, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if issubclass(cls, np.generic) and len(args) == 1 and not kwargs:
        return builtin_calls.as_scalar(low, cls, args[0], node)
    if cls.__module__ in ("builtins", "functools", "itertools", "operator", "collections"):
        name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
        raise low.refuse(NoRule, f"no derivative rule for `{name}`", node, instead="write it as a loop or a comprehension.")
    if not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        return objects.construct(low, cls, args, kwargs, node)
    try:
        bound = inspect.signature(cls).bind(*args, **kwargs)
    except TypeError as error:
        raise low.refuse(KindError, f"{cls.__name__}(): {error}", node) from None
    values = dict(bound.arguments)
    for p in inspect.signature(cls).parameters.values():
        if p.name not in values:
            values[p.name] = constant(low, p.default, node)
    return Record(cls, cls._fields, tuple(values[f] for f in cls._fields))


# ---------------------------------------------------------------- primitives


def call_numpy(low: Lowering, fn: Callable[..., Any], args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A call of a NumPy function that a method or syntax stands for."""
    return _call_object(low, fn, getattr(fn, "__name__", "function"), args, kwargs, node)


def call_primitive(low: Lowering, rule: Rule, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if rule.sort == "decomposed":
        return _staged(low, rule, args, kwargs, node)
    if rule.signature is not None:
        try:
            rule.signature.bind(*args, **kwargs)
        except TypeError as error:
            accepted = ", ".join(rule.signature.parameters)
            raise low.refuse(
                NoRule, f"no derivative rule for `{rule.name}` called so: {error}", node, why=f"The rule takes: {accepted}."
            ) from None
    if rule.fn is np.transpose and len(args) == 1 and not kwargs and is_atom(args[0]):
        if not is_scalar(kind_of(args[0])):
            return low.builder.apply(ops.TRANSPOSE, (args[0],))
        return call_numpy(low, np.array, args, {}, node) if isinstance(kind_of(args[0]), Number) else args[0]
    op = ops.call_op(rule.fn, rule.name)
    args, kwargs = _as_arrays(low, rule, args, kwargs, node)
    operands = tuple(_operand(low, a, node) for a in args)
    named = tuple((k, _operand(low, v, node)) for k, v in kwargs.items())
    targets = low.builder.apply_all(op, operands, named)
    if rule.is_view:
        for target in targets:
            if arrays.view_of(low, target) is None:  # a view or a copy, as the memory of the argument lies
                arrays.tie_like(low, target, arrays.arrays_in(low, (*args, *kwargs.values())))
                arrays.shape_anew(low, target)
    if len(targets) == 1:
        return expressions.opened(low, targets[0])
    values: Any = tuple(targets)
    if rule.fn in _LISTS:
        return low.new_list(values)
    names = RESULT_FIELDS.get(rule.fn)
    return values if names is None else Record(names, names._fields, values)


def _staged(low: Lowering, rule: Rule, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A function that is defined by others: its text run on staged values."""
    assert rule.text is not None
    values = [staged_argument(low.builder, _operand(low, a, node)) for a in args]
    named = {k: staged_argument(low.builder, _operand(low, v, node)) for k, v in kwargs.items()}
    try:
        result = rule.text(*values, **named)
    except TypeError as error:
        raise low.refuse(NoRule, f"no derivative rule for `{rule.name}` called so: {error}", node) from None
    return _unstaged(result)


def _unstaged(result: Any) -> Value:
    if isinstance(result, tuple):
        return tuple(_unstaged(r) for r in result)
    return materialise(result).atom if isinstance(result, Staged) else Const(result)


_LISTS = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
RESULT_FIELDS: dict[Any, Any] = {}
for _name in ("slogdet", "eigh", "eig", "qr", "svd"):
    _cls = getattr(
        getattr(np.linalg, "_linalg", None),
        {"slogdet": "SlogdetResult", "eigh": "EighResult", "eig": "EigResult", "qr": "QRResult", "svd": "SVDResult"}[_name],
        None,
    )
    if _cls is not None:
        RESULT_FIELDS[getattr(np.linalg, _name)] = _cls


TAKE_SEQUENCES = {
    np.stack,
    np.concatenate,
    np.vstack,
    np.hstack,
    np.dstack,
    np.column_stack,
    np.broadcast_arrays,
    np.einsum,
    np.select,
    np.choose,
    np.meshgrid,
    np.linalg.multi_dot,
    np.ix_,
    np.lexsort,
}


def _as_arrays(
    low: Lowering, rule: Rule, args: tuple[Value, ...], kwargs: dict[str, Value], node: ast.AST
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """Lists where the function takes arrays become arrays, as NumPy has it."""
    if rule.fn in TAKE_SEQUENCES:
        return tuple(_arrays(low, a, node) for a in args), kwargs
    names = list(rule.signature.parameters) if rule.signature is not None else []
    every = rule.sort == "elementwise" or not names

    def made(name: str, value: Value) -> Value:
        is_list = isinstance(value, ListRef) or (isinstance(value, tuple) and rule.sort == "elementwise")
        return (
            call_numpy(low, np.array, (value,), {}, node)
            if is_list and (every or name in rule.wrt or name == names[0])
            else value
        )

    positional = tuple(made(names[i] if i < len(names) else "", a) for i, a in enumerate(args))
    return positional, {k: made(k, v) for k, v in kwargs.items()}


def _arrays(low: Lowering, value: Value, node: ast.AST) -> Value:
    """A sequence of arrays with plain lists among them (`np.concatenate([x, [1.0]])`), with arrays in their place."""
    items = low.items(value) if isinstance(value, ListRef) else value if isinstance(value, tuple) else None
    if items is None or not any(is_atom(i) and isinstance(kind_of(i), Array) and kind_of(i) != Array("int64", ()) for i in items):
        return value
    if not any(isinstance(i, (ListRef, tuple)) for i in items):
        return value
    made = tuple(call_numpy(low, np.array, (i,), {}, node) if isinstance(i, (ListRef, tuple)) else i for i in items)
    return made if isinstance(value, tuple) else low.new_list(made)


def _operand(low: Lowering, value: Value, node: ast.AST) -> Any:
    if isinstance(value, Iterable):
        items = expressions.known_items(low, value)
        if items is not None:
            return tuple(_operand(low, i, node) for i in items)
    if isinstance(value, (Closure, Partial, Method, Iterable, DictRef)):
        raise low.refuse(KindError, "a function, iterator or dict is passed to a primitive", node)
    if isinstance(value, Ref) and isinstance(value.value, types.FunctionType):
        raise low.refuse(KindError, f"the function `{value.text}` is passed to a primitive", node)
    return low.operand(value)
