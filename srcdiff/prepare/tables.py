"""Dicts whose keys are counted by the run: a list of the keys beside a list of the values.

    d = {i: f(v) for i, v in enumerate(xs)}      keys = [0, 1, …];  values = [f(v), …]
    for i, w in d.items(): …                     for i, w in zip(keys, values): …
    d[k]                                         values[keys.index(k)]

The keys are those that `enumerate` or `range` counts, so no two are equal. Such a dict is read, not changed.
"""

from __future__ import annotations

import ast

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Number
from srcdiff.ir.nodes import Const, Op
from srcdiff.prepare import expressions
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import Iterable, ListRef, Value, is_atom


def has_counted_keys(node: ast.DictComp) -> bool:
    """Whether the keys of a comprehension are what its one loop counts."""
    if len(node.generators) != 1 or not isinstance(node.key, ast.Name):
        return False
    (generator,) = node.generators
    if not (isinstance(generator.iter, ast.Call) and isinstance(generator.iter.func, ast.Name)):
        return False
    target = generator.target
    if generator.iter.func.id == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    elif generator.iter.func.id != "range":
        return False
    binds = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
    rebinds = any(isinstance(n, ast.NamedExpr) and n.target.id in binds for n in ast.walk(node))
    return isinstance(target, ast.Name) and target.id == node.key.id and not rebinds


def keys_of(table: Iterable) -> ListRef:
    return table.args[0]  # type: ignore[no-any-return]


def call_method(low: Lowering, table: Iterable, name: str, args: tuple[Value, ...], node: ast.AST) -> Value:
    keys, values = table.args
    match name:
        case "items":
            return Iterable("zip", (keys, values))
        case "keys":
            return keys
        case "values":
            return values
    raise low.refuse(
        SyntaxNotAccepted,
        f"the method `.{name}` of a dict whose keys the run counts is not accepted",
        node,
        instead="use a list, which any number may index.",
    )


def item(low: Lowering, table: Iterable, index: Value, node: ast.AST) -> Value:
    """`d[k]`: the value beside the key."""
    keys, values = table.args
    if not is_atom(index) or not isinstance(getattr(index, "kind", None), Number):
        raise low.refuse(KindError, "the key of a dict whose keys the run counts is a number", node)
    held = low.store[keys]
    at = Op("list.index", "method", "index")
    atom = held if is_atom(held) else low.builder.apply(ops.DISPLAY, (low.operand(keys),), hint="keys")
    place = low.builder.apply(at, (atom, low.atom(index)), kind=Number("int"), hint="place")
    return expressions.subscript(low, values, place, node)


def length(low: Lowering, table: Iterable) -> Value:
    held = low.store[keys_of(table)]
    return low.builder.apply(ops.LEN, (held,)) if is_atom(held) else Const(len(held))
