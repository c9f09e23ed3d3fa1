"""The tangents of the results of one primitive.

y = x1 * x2        y_dot = x2 * x1_dot + x1 * x2_dot           the partials of an elementwise rule
y = sum(x)         y_dot = sum(x_dot)                          a linear function of its tangents
y = a @ b          y_dot = a_dot @ b + a @ b_dot               a bilinear one
y = solve(a, b)    the reverse of the rule's text by y_bar     (`transposition`), or the rule's own text for tangents
y[i] = v           y_dot[i] = v_dot                            what writes into arrays and lists
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcdiff.analysis.activity import may_carry, named_args
from srcdiff.errors import KindError, NoRule
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Opaque, TupleOf, Unknown
from srcdiff.ir.nodes import Apply, Const, ListDisplay, Operand, Var
from srcdiff.ir.walk import vars_of
from srcdiff.rules import factors
from srcdiff.rules.builder import Builder
from srcdiff.rules.complex_values import TANGENTS, is_complex
from srcdiff.rules.inference import bind, call_bound, item_kind, kind_of
from srcdiff.rules.registry import Rule, rule_for, tangent_texts
from srcdiff.rules.staging import (
    Staged,
    astype,
    dims_of,
    lift,
    linear_call,
    materialise,
    operand,
    scalar_of,
    staged_argument,
    staged_partials,
    unbroadcast_at_run_time,
)
from srcdiff.runtime import unbroadcast
from srcdiff.transform.forward import Tangent, dot_kind
from srcdiff.transform.reverse import without_rule_for
from srcdiff.transform.transposition import transposed

if TYPE_CHECKING:
    from srcdiff.transform.forward import Forwarder


def tangents_of(fw: Forwarder, stmt: Apply, b: Builder) -> Sequence[Tangent]:
    """The tangent of each target of a statement; None for one that does not change."""
    op, args = stmt.op, stmt.args
    match op.style:
        case "binary" | "unary" | "call":
            return _called(fw, stmt, b)
        case "attribute" if op is ops.TRANSPOSE:
            tangent = fw.tangent(args[0], b)
            return [tangent.T if isinstance(tangent, Staged) else None]
        case "item":
            return [_item(fw, stmt, b)]
        case "display" | "copy":
            return [_same(fw, stmt, b)]
        case "method":
            tangent = fw.tangent(args[0], b)
            kind = stmt.targets[0].kind
            if op is ops.ASTYPE and isinstance(tangent, Staged) and isinstance(kind, Array):
                return [astype(tangent, kind.dtype)]
            return [tangent]
        case "append" | "insert" | "pop":
            return _list_change(fw, stmt, b)
        case "index_set" | "index_add" | "scatter_add":
            return [_write(fw, stmt, b)]
        case "unpack":
            return _unpacked(fw, stmt, b)
        case _:
            raise NoRule(f"no derivative rule for `{op.text or op.key}`")


# ---------------------------------------------------------------- containers and writes


def _same(fw: Forwarder, stmt: Apply, b: Builder) -> Tangent:
    """Of a display, a display of the tangents; of a copy, the tangent itself."""
    source, target = stmt.args[0], stmt.targets[0]
    if isinstance(source, ListDisplay):
        if not fw.has_tangent(source):
            return None
        dots = fw.whole(source, b)
        return Staged(b, b.apply(ops.DISPLAY, (dots,), kind=dot_kind(target.kind), hint=f"{target.hint}_dot"))
    return fw.tangent(source, b)


def _item(fw: Forwarder, stmt: Apply, b: Builder) -> Tangent:
    base, index = stmt.args
    tangent = fw.tangent(base, b)
    if tangent is None:
        return None
    if isinstance(tangent, tuple):
        if isinstance(index, Const):
            part = tangent[index.value]
            return part  # type: ignore[no-any-return]
        raise KindError("a tuple of values with derivatives is indexed by a number that only the run knows")
    if isinstance(tangent.kind, (ListOf, TupleOf)):
        kind = item_kind(tangent.kind, index)
        return Staged(b, b.apply(ops.ITEM, (tangent.atom, index), kind=kind, hint=_dot(stmt.targets[0])))
    dims = dims_of(stmt.targets[0].kind)
    if dims_of(tangent.kind) == () and dims is not None:
        return Staged(b, tangent.atom, dims, lambda: stmt.targets[0])
    own = stmt.targets[0].kind
    whole = materialise(tangent)
    return Staged(
        b, b.apply(ops.ITEM, (whole.atom, index), hint=_dot(stmt.targets[0]), kind=own if isinstance(own, Array) else None)
    )


def _write(fw: Forwarder, stmt: Apply, b: Builder) -> Tangent:
    """The same write into the tangent: of what is written, or of zeros."""
    base, index, value = stmt.args
    target = stmt.targets[0]
    is_set = stmt.op is ops.INDEX_SET
    if not fw.has_tangent(base) and not fw.has_tangent(value):
        return None
    if not is_set and not fw.has_tangent(value):
        return fw.tangent(base, b)
    buffer = fw.whole(base, b)
    if not isinstance(buffer, Var):
        buffer = b.apply(ops.DISPLAY, (buffer,), kind=dot_kind(kind_of(base)))
    if isinstance(target.kind, ListOf):
        part = fw.whole(value, b)
    else:
        tangent = fw.tangent(value, b)
        if isinstance(tangent, tuple):
            part = fw.whole(value, b)
        elif tangent is None:
            part = Const(0.0)
        else:
            part = (materialise(tangent) if stmt.op is ops.SCATTER_ADD else tangent).atom
    return Staged(b, b.apply(stmt.op, (buffer, index, part), kind=dot_kind(target.kind), hint=_dot(target)))


def _list_change(fw: Forwarder, stmt: Apply, b: Builder) -> Sequence[Tangent]:
    base = fw.whole(stmt.args[0], b)
    if not isinstance(base, Var):
        base = b.apply(ops.DISPLAY, (base,), kind=dot_kind(kind_of(stmt.args[0])))
    places = stmt.args[1:] if stmt.op is ops.POP else stmt.args[1:-1]
    given = () if stmt.op is ops.POP else (fw.whole(stmt.args[-1], b),)
    kinds = tuple(dot_kind(t.kind) for t in stmt.targets)
    results = b.apply_all(stmt.op, (base, *places, *given), kind=kinds)
    for result, target in zip(results, stmt.targets):
        result.hint = _dot(target)
    return [Staged(b, r) for r in results]


def _unpacked(fw: Forwarder, stmt: Apply, b: Builder) -> Sequence[Tangent]:
    tangent = fw.tangent(stmt.args[0], b)
    if not isinstance(tangent, Staged):
        raise KindError("the derivative of what is unpacked is not accepted here")
    targets = tuple(Var(_dot(t) if may_carry(t.kind) else "_", dot_kind(t.kind)) for t in stmt.targets)
    b.add(Apply(targets, stmt.op, (tangent.atom,), (), b.origin))
    return [Staged(b, t) for t in targets]


def _dot(var: Var) -> str:
    return f"{var.hint}_dot"


# ---------------------------------------------------------------- functions with rules


def _called(fw: Forwarder, stmt: Apply, b: Builder) -> Sequence[Tangent]:
    target, rule = stmt.targets[0], rule_for(stmt.op.fn)
    if stmt.op.fn in TANGENTS and is_complex(kind_of(stmt.args[0])):
        tangent = fw.tangent(stmt.args[0], b)
        z, y = staged_argument(b, stmt.args[0]), Staged(b, target)
        return [None if tangent is None else TANGENTS[stmt.op.fn](z, y, tangent)]
    if stmt.op.style == "binary" and isinstance(target.kind, ListOf):
        return [_joined(fw, stmt, b)]
    if rule is None:
        return [_conversion(fw, stmt, b)]
    given = {name for name, arg in named_args(rule, stmt) if name in rule.wrt and fw.has_tangent(arg)}
    if not given:
        return [None] * len(stmt.targets)
    text = tangent_texts.get(stmt.op.fn)
    if text is not None:
        return _own_text(fw, stmt, rule, text, b)
    match rule.sort:
        case "elementwise":
            return [_elementwise(fw, stmt, rule, b)]
        case "linear":
            return _linear(fw, stmt, rule, b)
        case "bilinear":
            return [_bilinear(fw, stmt, rule, b)]
        case "vjp":
            return _transposed(fw, stmt, rule, b)
        case _:
            raise NoRule(f"no derivative rule for `{stmt.op.text}`")


def _joined(fw: Forwarder, stmt: Apply, b: Builder) -> Tangent:
    """Of `left + right` and `[v] * n`."""
    args = tuple(fw.whole(a, b) if isinstance(kind_of(a), ListOf) or isinstance(a, ListDisplay) else a for a in stmt.args)
    return Staged(b, b.apply(stmt.op, args, kind=dot_kind(stmt.targets[0].kind), hint=_dot(stmt.targets[0])))


def _conversion(fw: Forwarder, stmt: Apply, b: Builder) -> Tangent:
    """Of functions without a rule that arrange or convert: np.array, list, np.float32, the sum of a list, unbroadcast."""
    op, (first, *rest) = stmt.op, stmt.args
    is_scalar = isinstance(op.fn, type) and issubclass(op.fn, np.floating)
    if not (is_scalar or op.fn in (sum, list, unbroadcast) or op.text == "np.array"):
        raise without_rule_for(stmt)
    tangent = fw.tangent(first, b)
    if tangent is None:
        return None
    if is_scalar and isinstance(tangent, Staged):
        return scalar_of(tangent, op.fn.__name__)  # type: ignore[union-attr]
    if op.fn is unbroadcast and isinstance(tangent, Staged):
        return unbroadcast_at_run_time(tangent, rest[0])  # type: ignore[arg-type]
    kind = dot_kind(stmt.targets[0].kind)
    return Staged(b, b.apply(op, (fw.whole(first, b), *rest), stmt.kwargs, kind=kind, hint=_dot(stmt.targets[0])))


def _elementwise(fw: Forwarder, stmt: Apply, rule: Rule, b: Builder) -> Tangent:
    """The sum of each partial times the tangent of its operand; of equal operands the partials are added first."""
    partials = staged_partials(rule, stmt, b)
    by_operand: dict[Var, Any] = {}
    for arg, partial in zip(stmt.args, partials):
        if not isinstance(arg, Var) or not isinstance(fw.tangents.get(arg), Staged):
            continue
        if partial is None or (isinstance(partial, (int, float)) and partial == 0):
            continue
        by_operand[arg] = partial if arg not in by_operand else by_operand[arg] + partial
    total: Staged | None = None
    for arg, partial in by_operand.items():
        tangent = fw.tangent(arg, b)
        assert isinstance(tangent, Staged)
        if isinstance(tangent.kind, ListOf):
            tangent = Staged(b, b.apply(ops.call_op(np.asarray, "np.asarray"), (tangent.atom,)))
        term = factors.mul(lift(b, partial), tangent)
        total = term if total is None else factors.add(total, term)
    return _spread(fw, total, stmt, b)


def _spread(fw: Forwarder, total: Staged | None, stmt: Apply, b: Builder) -> Staged | None:
    """A tangent as wide as its value, where only the run knows whether it is smaller."""
    target = stmt.targets[0]
    kind = target.kind
    is_vague = any(v in fw.enlarged for v in (*vars_of(stmt.args), target)) or isinstance(kind, Unknown)
    is_vague = is_vague or (isinstance(kind, Array) and kind.dims is None)
    if total is None or not is_vague or len(stmt.args) == 1:
        return total
    shape = b.apply(ops.call_op(np.shape, "np.shape"), (target,), kind=Opaque("tuple"))
    spread = b.apply(ops.call_op(np.broadcast_to, "np.broadcast_to"), (total.atom, shape), kind=kind)
    return Staged(b, spread)


def _linear(fw: Forwarder, stmt: Apply, rule: Rule, b: Builder) -> Sequence[Tangent]:
    """The function of the tangents, with zeros for the other arguments in which it is linear."""
    named = list(named_args(rule, stmt))
    first = next(arg for name, arg in named if name in rule.wrt)
    tangent = fw.tangent(first, b)
    is_negative = False
    if isinstance(tangent, Staged) and not isinstance(tangent.kind, (ListOf, TupleOf)):
        small = _small(rule, stmt, tangent, b)
        if small is not None:
            return [small]
        is_negative = len(rule.wrt) == 1 and factors.is_negative(tangent)
    if rule.fn in (np.where, np.select, np.choose):
        return [_applied(stmt, b, [_chosen(fw, arg, b) if name in rule.wrt else arg for name, arg in named])]
    if is_negative:
        assert isinstance(tangent, Staged)
        values = [factors.neg(tangent) if arg is first else arg for _, arg in named]
    else:
        values = [_read(fw, arg, b) if name in rule.wrt else arg for name, arg in named]
    args = tuple(operand(b, v) for v in values[: len(stmt.args)])
    kwargs = tuple((k, operand(b, v)) for (k, _), v in zip(stmt.kwargs, values[len(stmt.args) :]))
    results = b.apply_all(stmt.op, args, kwargs, kind=tuple(dot_kind(t.kind) for t in stmt.targets))
    staged = [Staged(b, r) for r in results]
    return [factors.neg(v) for v in staged] if is_negative else staged


def _small(rule: Rule, stmt: Apply, tangent: Staged, b: Builder) -> Staged | None:
    """The tangent where nothing is computed for it: of a copy, of what is broadcast, of one that is smaller than its value."""
    target, fn = stmt.targets[0], rule.fn
    if fn in (np.copy, np.ascontiguousarray):
        return tangent
    if fn in (np.array, np.asarray, np.asanyarray, np.astype) and tangent.kind == target.kind:
        return tangent
    if not tangent.is_full and fn in (np.sum, np.expand_dims, np.transpose):
        statics = [staged_argument(b, a, is_static=True) for a in stmt.args[1:]]
        call: Any = rule.fn
        return call(tangent, *statics, **{k: staged_argument(b, v, is_static=True) for k, v in stmt.kwargs})  # type: ignore[no-any-return]
    if fn in (np.broadcast_to, np.full_like) or (fn is np.full and dims_of(tangent.kind) == ()):
        return Staged(b, tangent.atom, dims_of(target.kind), lambda: target)
    return None


def _read(fw: Forwarder, arg: Operand, b: Builder) -> Any:
    """The tangent of an argument, or zeros, to be read alone: a view where it was smaller."""
    tangent = fw.tangent(arg, b)
    if isinstance(tangent, Staged):
        if isinstance(arg, Var) and not isinstance(arg.kind, ListOf) and not tangent.is_full:
            return materialise(tangent)
        return tangent
    if isinstance(arg, ListDisplay):
        return [_read(fw, item, b) for item in arg.items]
    if isinstance(arg, tuple):
        return tuple(_read(fw, item, b) for item in arg)
    return fw.whole(arg, b)


def _chosen(fw: Forwarder, arg: Operand, b: Builder) -> Any:
    """The tangent of a value that others broadcast with: 0.0 where it has none."""
    if isinstance(arg, ListDisplay):
        return [_chosen(fw, item, b) for item in arg.items]
    if isinstance(arg, tuple):
        return tuple(_chosen(fw, item, b) for item in arg)
    tangent = fw.tangent(arg, b)
    if isinstance(tangent, Staged):
        return materialise(tangent)
    return fw.whole(arg, b) if isinstance(kind_of(arg), ListOf) else Const(0.0)


def _applied(stmt: Apply, b: Builder, values: Sequence[Any]) -> Any:
    """The statement's primitive applied to other values, in the order of its arguments; a minus goes outermost."""
    count = len(stmt.args)
    return linear_call(stmt.op, tuple(values[:count]), {k: v for (k, _), v in zip(stmt.kwargs, values[count:])})


def _bilinear(fw: Forwarder, stmt: Apply, rule: Rule, b: Builder) -> Tangent:
    """The sum over the factors: with the tangent of one in its place, the others as they are."""
    pairs = list(named_args(rule, stmt))
    terms: list[list[Any]] = []
    for place, item in _factors(pairs, rule):
        values: list[Any] = [arg for _, arg in pairs]
        if item is None:
            values[place] = fw.tangent(values[place], b)
        else:
            items: list[Any] = list(values[place].items)
            items[item] = fw.tangent(items[item], b)
            values[place] = None if items[item] is None else items
        if values[place] is not None:
            terms.append(values)
    if len(terms) == 2 and _is_symmetric(rule, pairs):
        return factors.mul(lift(b, 2), _applied(stmt, b, terms[1]))
    if len(terms) == 2 and _is_product_with_own_transpose(rule, pairs, b):
        part = _applied(stmt, b, terms[0])
        return factors.add(part, Staged(b, b.apply(ops.TRANSPOSE, (part.atom,))))
    total: Any = None
    for values in terms:
        part = _applied(stmt, b, values)
        total = part if total is None else factors.add(total, part)
    return total  # type: ignore[no-any-return]


def _factors(pairs: Sequence[tuple[str, Operand]], rule: Rule) -> Iterator[tuple[int, int | None]]:
    """The places of the factors: of an argument, or of an item of a list of them."""
    for place, (name, arg) in enumerate(pairs):
        if name not in rule.wrt:
            continue
        if isinstance(arg, ListDisplay):
            yield from ((place, i) for i in range(len(arg.items)))
        else:
            yield place, None


def _is_symmetric(rule: Rule, pairs: Sequence[tuple[str, Operand]]) -> bool:
    """Whether a product of two equal factors has equal terms: an inner product of an array with itself."""
    operands = [arg for name, arg in pairs if name in rule.wrt]
    if len(operands) != 2 or not isinstance(operands[0], Var) or operands[0] is not operands[1]:
        return False
    ndim = getattr(operands[0].kind, "ndim", None)
    return rule.fn in (np.vdot, np.vecdot) or (ndim == 1 and rule.fn in (np.dot, np.inner, np.matmul))


def _is_product_with_own_transpose(rule: Rule, pairs: Sequence[tuple[str, Operand]], b: Builder) -> bool:
    """Whether a product is one of a matrix and its transpose, whose terms are each other's transpose."""
    if rule.fn not in (np.matmul, np.dot) or len(pairs) != 2:
        return False
    (_, left), (_, right) = pairs
    if not (isinstance(left, Var) and isinstance(right, Var)) or getattr(left.kind, "ndim", None) != 2:
        return False
    return b.transposed.get(right) is left or b.transposed.get(left) is right


def _own_text(fw: Forwarder, stmt: Apply, rule: Rule, text: Any, b: Builder) -> Sequence[Tangent]:
    """The rule's own text for tangents; an argument without one has None."""
    bound = bind(rule, stmt.args, stmt.kwargs)
    values = {name: staged_argument(b, v, is_static=name not in rule.wrt) for name, v in bound.items()}
    extra: dict[str, Any] = {f"{name}_dot": fw.tangent(bound[name], b) if name in bound else None for name in rule.wrt}
    if "y" in inspect.signature(text).parameters:
        results = tuple(Staged(b, t) for t in stmt.targets)
        extra["y"] = results if len(results) > 1 else results[0]
    found = call_bound(rule, text, values, **extra)
    return list(found) if isinstance(found, tuple) else [found]


def _transposed(fw: Forwarder, stmt: Apply, rule: Rule, b: Builder) -> Sequence[Tangent]:
    given = {v: t for v in vars_of(stmt.args) + vars_of(v for _, v in stmt.kwargs) if isinstance(t := fw.tangent(v, b), Staged)}
    return transposed(rule, stmt, given, fw.pairs, b)
