"""Objects that are returned are made without their `__init__`, which may compute, or refuse what a gradient holds.

return Model(W=W_bar, b=b_bar)      →      model_bar = object.__new__(Model)
                                           model_bar.W = W_bar
                                           model_bar.b = b_bar
                                           return model_bar

NamedTuples, and dataclasses that only hold what they are given, are made by calling their class.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from dataclasses import replace
from typing import Any

from srcdiff.analysis.ownership import Ownership
from srcdiff.ir.kinds import Opaque
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Const,
    DictDisplay,
    End,
    Function,
    ListDisplay,
    Op,
    Operand,
    RecordDisplay,
    Return,
    Stmt,
    Var,
)
from srcdiff.ir.walk import statements_of, with_end
from srcdiff.passes.place import Placed

_NEW = Op("object.__new__", "effect", "object.__new__", has_effect=True)
_SET = Op("object.__setattr__", "effect", "object.__setattr__", has_effect=True)


def make_objects(placed: Placed) -> Placed:
    function = replace(placed.function, body=with_end(placed.function.body, _end))
    if statements_count(function) == statements_count(placed.function):
        return placed
    return replace(placed, function=function, ownership=Ownership(function))


def statements_count(function: Function) -> int:
    return sum(1 for _ in statements_of(function.body))


def _end(end: End) -> Block | End:
    if not isinstance(end, Return):
        return end
    stmts: list[Stmt] = []
    value = _made(end.value, stmts)
    return Block(tuple(stmts), Return(value)) if stmts else end


def _made(value: Operand, stmts: list[Stmt]) -> Operand:
    """An operand whose objects are variables, which the statements bind."""
    match value:
        case tuple():
            return tuple(_made(v, stmts) for v in value)
        case ListDisplay(items):
            return ListDisplay(tuple(_made(v, stmts) for v in items))
        case DictDisplay(keys, items):
            return DictDisplay(keys, tuple(_made(v, stmts) for v in items))
        case RecordDisplay(cls, fields, items):
            parts = tuple(_made(v, stmts) for v in items)
            if is_made_by_call(cls.value, fields):
                return replace(value, items=parts)
            made = Var(value.hint or cls.value.__name__.lower(), Opaque(cls.value.__name__), True)
            stmts.append(Apply((made,), _NEW, (cls,)))
            sets = "__setattr__" in {n for c in cls.value.__mro__[:-1] for n in vars(c)}
            for name, part in zip(fields, parts):
                if sets:
                    stmts.append(Apply((), _SET, (made, Const(name), part)))
                else:
                    stmts.append(Apply((), Op(f"set {name}", "set_attribute", name, has_effect=True), (made, part)))
            return made
    return value


def is_made_by_call(cls: Any, fields: tuple[str, ...]) -> bool:
    """Whether calling a class with keywords makes an object of these attributes, and does nothing else."""
    if hasattr(cls, "_fields"):
        return True
    if not dataclasses.is_dataclass(cls) or hasattr(cls, "__post_init__"):
        return False
    init = inspect.getattr_static(cls, "__init__")
    is_generated = isinstance(init, types.FunctionType) and init.__code__.co_filename == "<string>"
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    own = [f.name for f in dataclasses.fields(cls)]
    return is_generated and names == own and [*inspect.signature(init).parameters][1:] == own and sorted(fields) == sorted(own)
