"""The checker accepts well-formed programs and names what is wrong with others."""

from __future__ import annotations

import pytest

from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.check import check
from srcdiff.ir.kinds import BOOL, FLOAT
from srcdiff.ir.nodes import Block, Const, Exit, Function, If, Loop, Next, Parameter, Return, Var, Yield
from srcdiff.ir.text import show
from tests.support.build import Build, user


def test_show_prints_versions_and_blocks() -> None:
    b, x = Build(), user("x")
    c = b(ops.LT, x, 0, hint="c", kind=BOOL)
    arm = Build()
    y = arm(ops.NEG, x, hint="x", users=True)
    r = user("x")
    b.add(If(c, arm.end(Yield((y,))), Block((), Yield((x,))), (r,)))
    function = check(b.function("f", [x], r))
    assert show(function).splitlines() == [
        "def f(x):",
        "    c = lt(x, 0)",
        "    x_1 = if c:",
        "        x_2 = neg(x)",
        "        yield x_2",
        "    else:",
        "        yield x",
        "    return x_1",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: Block((), Return(y)), "y is read before it is bound"),
        (lambda x, y: Block((), Yield((x,))), "a block ends in Yield where one of Return is due"),
        (
            lambda x, y: Block((If(x, Block((), Yield(())), Block((), Yield((x,))), (y,)),), Return(y)),
            "a Yield has 0 values where 1 are due",
        ),
        (
            lambda x, y: Block((Loop((), (y,), (), Block((), Exit((x,))), (Var("r", FLOAT),)),), Return(x)),
            "a loop has 0 first values",
        ),
        (lambda x, y: Block((Loop((), (), (), Block((), Yield(())), ()),), Return(x)), "one of Next, Exit, Branch is due"),
        (
            lambda x, y: Block((Loop((), (y,), (x,), Block((), Next((y,))), (Var("r", FLOAT),)),), Return(y)),
            "y is read out of its scope",
        ),
        (lambda x, y: Block((If(x, Block((), Yield((x,))), Block((), Yield((x,))), (x,)),), Return(x)), "x is bound twice"),
    ],
)
def test_what_is_wrong_is_named(make: object, message: str) -> None:
    x, y = Var("x", FLOAT), Var("y", FLOAT)
    function = Function("f", (Parameter("x", x),), make(x, y))  # type: ignore[operator]
    with pytest.raises(InternalError, match="in f: .*" + message.split("(")[0]):
        check(function)


def test_the_wrong_number_of_arguments_is_named() -> None:
    b, x = Build(), user("x")
    y = b(ops.ADD, x)
    with pytest.raises(InternalError, match="add has 1 arguments, not 2"):
        check(b.function("f", [x], (y, Const(1))))
