"""Emitted code computes what the program says, and leaves its arguments alone."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from srcdiff.emit.load import load
from srcdiff.emit.python import Scope, emit
from srcdiff.ir.check import check
from srcdiff.ir.nodes import Function
from srcdiff.ir.text import show
from tests.support.interpreter import run
from tests.support.random_programs import Writer


def arguments(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=3),
        rng.normal(size=3),
        rng.normal(size=(3, 3)),
        float(rng.normal()),
        int(rng.integers(0, 3)),
        rng.normal(),
    ]


def same(a: Any, b: Any) -> bool:
    """Equal but for rounding: sums and products of ours may be grouped in another way."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-7, atol=1e-7, equal_nan=True))


def arrays(tree: Any) -> list[Any]:
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in arrays(item)]
    return [tree] if isinstance(tree, np.ndarray) and tree.ndim else []


def tick(log: list[Any]) -> Any:
    return lambda value: log.append(copy.deepcopy(value))


def agree(function: Function, seed: int) -> None:
    """The emitted function against the interpreter: values, effects, arguments, and whether results are fresh and apart."""
    args = arguments(seed)
    expected_log: list[Any] = []
    log: list[Any] = []
    with np.errstate(all="ignore"):
        try:
            expected = run(with_log(function, expected_log), args)
        except IndexError:  # an item of an empty list
            return
        emitted = emit(with_log(function, log), Scope({"np": np}))
        compiled = load(emitted, name=function.name, globals={"np": np})
        given = copy.deepcopy(args)
        got = compiled(*given)
        text = f"{show(function)}\n{emitted.source}"
        assert same(got, expected), text
        assert same(given, args), text
        assert same(log, expected_log), text
        returned = arrays(got if isinstance(got, tuple) else (got,)) if not isinstance(got, list) else []
        tops = [item for item in (got if isinstance(got, tuple) else (got,)) if isinstance(item, np.ndarray) and item.ndim]
        for i, array in enumerate(returned):
            assert not any(np.may_share_memory(array, arg) for arg in given if isinstance(arg, np.ndarray) and arg.ndim), text
        for i, array in enumerate(tops):
            assert array.flags.writeable, text
            assert not any(np.shares_memory(array, other) for other in tops[:i]), text
        assert emit(with_log(function, log), Scope({"np": np})).source == emitted.source


def with_log(function: Function, log: list[Any]) -> Function:
    """The function with its effects writing to a log."""
    import dataclasses

    from srcdiff.ir.nodes import Apply, Block, If, Loop
    from tests.support.random_programs import TICK

    op = dataclasses.replace(TICK, fn=tick(log))

    def block(old: Any) -> Any:
        stmts = []
        for stmt in old.stmts:
            if isinstance(stmt, Apply) and stmt.op.key == "tick":
                stmt = dataclasses.replace(stmt, op=op)
            elif isinstance(stmt, If):
                stmt = dataclasses.replace(stmt, then=block(stmt.then), orelse=block(stmt.orelse))
            elif isinstance(stmt, Loop):
                stmt = dataclasses.replace(stmt, body=block(stmt.body))
            stmts.append(stmt)
        end = old.end
        if hasattr(end, "then"):
            end = dataclasses.replace(end, then=block(end.then), orelse=block(end.orelse))
        return Block(tuple(stmts), end)

    return dataclasses.replace(function, body=block(function.body))


@pytest.mark.parametrize("seed", range(400))
def test_emitted_code_agrees_with_the_interpreter(seed: int) -> None:
    function = Writer(seed, size=6 + seed % 14).program()
    check(function)
    agree(function, seed)
