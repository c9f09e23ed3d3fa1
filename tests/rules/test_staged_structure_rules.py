"""The texts of the structure rules on staged values: the statements that they emit, run, give what the texts give on arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from srcdiff import runtime
from srcdiff.ir.kinds import Array, Dim
from srcdiff.ir.nodes import Apply, Const, Free, If, ListDisplay, Loop, Next, Range, Ref, SliceOf, Stmt, Var, Yield
from srcdiff.rules.builder import Builder
from srcdiff.rules.registry import Case, Rule
from srcdiff.rules.staging import Staged, materialise, wrap

from .test_structure_rules import CASES, active, arguments, contributions, is_differentiable, leaves, sample, weights


def value_of(operand: Any, known: dict[Var, Any]) -> Any:
    match operand:
        case Var():
            return known[operand]
        case Const() | Ref():
            return operand.value
        case tuple():
            return tuple(value_of(item, known) for item in operand)
        case ListDisplay(items):
            return [value_of(item, known) for item in items]
        case SliceOf(start, stop, step):
            return slice(value_of(start, known), value_of(stop, known), value_of(step, known))
        case Free():
            raise AssertionError("a rule reads no globals")
    raise AssertionError(operand)


def run(stmts: Sequence[Stmt], known: dict[Var, Any]) -> None:
    """Each statement, in order."""
    for stmt in stmts:
        if isinstance(stmt, Loop):
            run_loop(stmt, known)
            continue
        if isinstance(stmt, If):
            arm = stmt.then if value_of(stmt.cond, known) else stmt.orelse
            run(arm.stmts, known)
            assert isinstance(arm.end, Yield)
            known.update(zip(stmt.results, [value_of(v, known) for v in arm.end.values]))
            continue
        assert isinstance(stmt, Apply)
        args = [value_of(arg, known) for arg in stmt.args]
        kwargs = {name: value_of(arg, known) for name, arg in stmt.kwargs}
        result = result_of(stmt, args, kwargs)
        for target, part in zip(stmt.targets, result if len(stmt.targets) > 1 else [result]):
            if isinstance(target.kind, Array) and target.kind.dims is not None and isinstance(part, (np.ndarray, np.generic)):
                shape = tuple(n if isinstance(n, int) else n.hint for n in target.kind.dims)
                assert len(shape) == part.ndim and all(n is None or n == m for n, m in zip(shape, part.shape)), stmt
                assert part.dtype.name == target.kind.dtype, stmt
            known[target] = part


def run_loop(loop: Loop, known: dict[Var, Any]) -> None:
    (source,) = loop.sources
    assert isinstance(source.iterable, Range) and isinstance(source.target, Var) and isinstance(loop.body.end, Next)
    carried = [value_of(init, known) for init in loop.inits]
    for index in range(value_of(source.iterable.start, known), value_of(source.iterable.stop, known)):
        known.update(dict(zip(loop.params, carried)))
        known[source.target] = index
        run(loop.body.stmts, known)
        carried = [value_of(value, known) for value in loop.body.end.values]
    known.update(dict(zip(loop.results, carried)))


def result_of(stmt: Apply, args: list[Any], kwargs: dict[str, Any]) -> Any:
    op = stmt.op
    match op.style:
        case "call":
            return runtime.unbroadcast(*args) if op.fn is runtime.unbroadcast else op.fn(*args, **kwargs)
        case "binary" | "unary":
            return op.fn(*args)
        case "attribute":
            return getattr(args[0], op.text)
        case "method":
            return getattr(args[0], op.text)(*args[1:])
        case "item":
            return operator.getitem(*args)
        case "display" | "copy":
            return args[0]
        case "index_add":
            buffer = args[0].copy()
            buffer[args[1]] += args[2]
            return buffer
        case "scatter_add":
            buffer = args[0].copy()
            np.add.at(buffer, args[1], args[2])
            return buffer
    raise AssertionError(op.style)


class Arguments:
    """Variables for arrays, their lengths expressions with the present values as hints."""

    def __init__(self, builder: Builder, *, is_known: bool) -> None:
        self.builder = builder
        self.is_known = is_known
        self.known: dict[Var, Any] = {}

    def staged(self, value: Any) -> Any:
        if isinstance(value, list) and any(isinstance(item, np.ndarray) for item in value):
            return [self.staged(item) for item in value]
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        name = f"x{len(self.known)}"
        dims = value.shape if self.is_known else tuple(Dim(f"{name}.shape[{i}]", n) for i, n in enumerate(value.shape))
        var = Var(name, Array(value.dtype.name, dims))
        self.known[var] = value
        return wrap(self.builder, var)


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "lengths"])
@pytest.mark.parametrize("rule, c", CASES)
def test_what_a_text_emits_gives_the_same(rule: Rule, c: Case, is_known: bool) -> None:
    rng = np.random.default_rng(5)
    args, kwargs = arguments(c, lambda shape: sample(shape, c.domain, rng))
    y = rule.fn(*args, **kwargs)
    y_bar = weights(y, rng)
    expected = contributions(rule, args, kwargs, y, y_bar)

    builder = Builder()
    make = Arguments(builder, is_known=is_known)
    staged_args = [make.staged(arg) for arg in args]
    staged_y = tuple(make.staged(np.asarray(part)) for part in y) if isinstance(y, (tuple, list)) else make.staged(np.asarray(y))
    staged_y_bar = [make.staged(part) for part in y_bar] if isinstance(y_bar, list) else make.staged(y_bar)
    found = contributions(rule, staged_args, kwargs, staged_y, staged_y_bar)

    finished = [materialise(part).atom if isinstance(part, Staged) else part for part in found]
    run(builder.stmts, make.known)
    for x, x_bar, right in zip(leaves(list(active(rule, args, kwargs).values())), finished, expected):
        if is_differentiable(x):
            got = value_of(x_bar, make.known) if isinstance(x_bar, (Var, Const)) else x_bar
            np.testing.assert_allclose(np.broadcast_to(got, x.shape), right, rtol=1e-12, atol=1e-12)
