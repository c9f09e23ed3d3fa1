"""A loaded function lives in the user's module: globals and cells are read when it runs, its text is found by tools."""

from __future__ import annotations

import inspect
import traceback
from types import CellType
from typing import Any

import numpy as np
import pytest

from srcdiff.emit.load import load
from srcdiff.emit.python import Scope, emit
from srcdiff.ir import ops
from srcdiff.ir.kinds import FLOAT
from srcdiff.ir.nodes import Block, Free, Function, Parameter, Ref, Return, Var
from tests.support.build import Build, user


def scaled(text: str = "scale") -> Function:
    b, x = Build(), user("x")
    y = b(ops.MUL, b(ops.call_op(np.sin, "np.sin"), x), Free(text, FLOAT))
    return b.function("f_grad", [x], y, "Doc.")


def test_globals_are_read_at_call_time_and_not_written() -> None:
    module: dict[str, Any] = {"scale": 2.0, "__name__": "users"}
    f = load(emit(scaled(), Scope(module)), name="f_grad", globals=module)
    assert f(1.0) == 2 * np.sin(1.0)
    module["scale"] = 3.0
    assert f(1.0) == 3 * np.sin(1.0)
    assert set(module) == {"scale", "__name__"}
    assert f.__module__ == "users"


def test_a_name_of_the_module_is_used() -> None:
    assert "sine(x) * scale" in emit(scaled(), Scope({"sine": np.sin})).source
    assert "numpy.sin(x) * scale" in emit(scaled(), Scope({"numpy": np})).source
    clashing = emit(scaled(), Scope({"np": 3}))
    assert "np_1.sin(x) * scale" in clashing.source
    assert load(clashing, name="f_grad", globals={"np": 3, "scale": 1.0})(0.5) == np.sin(0.5)


def test_cells_are_shared() -> None:
    cell = CellType(2.0)
    f = load(emit(scaled(), Scope({})), name="f_grad", globals={}, cells={"scale": cell})
    cell.cell_contents = 5.0
    assert f(1.0) == 5 * np.sin(1.0)


def test_tools_find_the_source() -> None:
    emitted = emit(scaled(), Scope({"np": np}))
    f = load(emitted, name="f_grad", globals={"np": np})
    assert inspect.getsource(f) == emitted.source
    assert f.__doc__ == "Doc."
    with pytest.raises(NameError) as caught:
        f(1.0)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.line == "return np.sin(x) * scale"
    assert frame.filename.startswith("<srcdiff f_grad ")


def test_defaults_are_the_objects_themselves() -> None:
    table = np.ones(2)
    params = [
        Parameter("x", Var("x", FLOAT, True)),
        Parameter("n", Var("n", FLOAT, True), default=Ref(3)),
        Parameter("rest", Var("rest", FLOAT, True), "star"),
        Parameter("table", Var("table", FLOAT, True), "keyword_only", Ref(table, "TABLE")),
        Parameter("dtype", Var("dtype", FLOAT, True), "keyword_only", Ref(np.float32)),
    ]
    function = Function("f", tuple(params), Block((), Return(params[0].var)))
    emitted = emit(function, Scope({}))
    assert emitted.source.splitlines()[0] == "def f(x, n=3, *rest, table=TABLE, dtype=np.float32):"
    f = load(emitted, name="f", globals={})
    assert f.__defaults__ == (3,)
    assert f.__kwdefaults__["table"] is table
    assert f.__kwdefaults__["dtype"] is np.float32
