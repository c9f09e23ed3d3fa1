"""Long lines are broken where formatters break them, and mean the same as before."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from srcdiff.emit.wrapping import WIDTH, wrapped

A = "alpha_value_long"
SUM = " + ".join(f"{A}{i} * q" for i in range(6))
NAMES = ", ".join(f"total_{i}" for i in range(20))
GRADIENTS = ", ".join(f'"W{i}": X.T @ {A}' for i in range(6))
LINES = [
    f"    x = {SUM}",
    f"    x_bar[:, 0] -= {SUM}",
    f"    w = ({SUM}) * 2",
    f"    w = -({SUM})",
    f"    w = f({SUM}).T[0]",
    f"    w = q * f({SUM}, axis=1, keepdims=True) / r",
    f"    x = a if {' or '.join(f'{A}{i}' for i in range(7))} else b",
    f"    x = {SUM} if c else b",
    f"    x, y = np.foo({SUM.replace(' +', ',')})",
    f"    (W0, b0), (W1, b1) = np.foo({SUM.replace(' +', ',')})",
    f"    return {A}**2 / 3 + {A} * 4, {{{GRADIENTS}}}",
    f"    return {', '.join(f'np.sum(X.T @ {A}, axis={i})' for i in range(6))}",
    f"    return f({A}), np.sum({SUM})",
    f"    return [(X.T @ a, np.sum(a)), {', '.join(f'(X.T @ {A}, np.sum({A}))' for _ in range(3))}]",
    f"    return Params(W={SUM}, b=3)",
    f"    kept.append(({NAMES}))",
    f"    for {NAMES} in reversed(kept):",
    f"    for i, ({NAMES}) in zip(reversed(range(n)), reversed(kept)):",
    f"    for x in zip({SUM.replace(' +', ',')}):",
    f"    if {' and '.join(f'{A}{i} < {i} + n' for i in range(6))}:",
    f"    while {SUM} < 3:",
    f'    print("no, (a b) + c", {SUM.replace(" +", ",")})',
    f"    np.add.at(x_bar, (slice(None, None), i), {SUM})",
    f"    x[{', '.join(f'{A}{i}' for i in range(7))}] = 3",
    f"    assert {' and '.join(f'{A}{i}' for i in range(7))}, 'no'",
    f"    return ({{{GRADIENTS}}},)",
    f"    return ({SUM},)",
    f"    return a, ({{{GRADIENTS}}},)",
    f"    return (({SUM}, b),)",
    f"    x_bar, = f(({{{GRADIENTS}}},))",
    "    x = " + "b" * 120,
]


def meaning(source: str) -> str:
    source = dedent(source)
    return ast.dump(ast.parse(source + " pass" if source.endswith(":") else source))


@pytest.mark.parametrize("line", LINES)
def test_a_wrapped_line_means_the_same(line: str) -> None:
    lines = wrapped(line)
    assert meaning("\n".join(lines)) == meaning(line)
    has_place = "[alpha" not in line and "assert" not in line and "bbb" not in line
    assert not has_place or all(len(part) <= WIDTH for part in lines)


def test_what_fits_stays() -> None:
    line = "    z_bar = " + "x" * (WIDTH - 12)
    assert wrapped(line) == [line]


def test_where_lines_break() -> None:
    line = f"    z_bar = np.sum({A}, axis=1, keepdims=True) / np.sum({A}, axis=1, keepdims=True) * {A} - {A} * y"
    text = f"""
    z_bar = (
        np.sum({A}, axis=1, keepdims=True)
        / np.sum({A}, axis=1, keepdims=True)
        * {A}
        - {A} * y
    )
    kept.append((
        total_0, total_1, total_2, total_3, total_4, total_5, total_6, total_7, total_8, total_9, total_10,
        total_11, total_12, total_13, total_14, total_15, total_16, total_17, total_18, total_19
    ))
    for (
        total_0, total_1, total_2, total_3, total_4, total_5, total_6, total_7, total_8, total_9, total_10,
        total_11, total_12, total_13, total_14, total_15, total_16, total_17, total_18, total_19
    ) in reversed(kept):
    """
    got = [
        part for long in (line, f"    kept.append(({NAMES}))", f"    for {NAMES} in reversed(kept):") for part in wrapped(long)
    ]
    assert dedent("\n".join(got)) == dedent(text).strip("\n")
