"""The adjoint of sliding windows, as a loop over the places in a window.

y = sliding_window_view(x, 3)    ⟶    x_bar = np.zeros_like(x)
                                      for i in range(3):
                                          x_bar[i:i + n] += y_bar[..., i]
"""

from __future__ import annotations

from typing import Any

from srcdiff.ir.kinds import INT
from srcdiff.ir.nodes import Atom, Const, Loop, Next, Range, Source, Var
from srcdiff.rules.builder import Builder
from srcdiff.rules.staging import Staged, add_at, materialise, operand


def accumulate(y_bar: Staged, x: Staged, axes: tuple[int, ...], windows: tuple[Any, ...]) -> Staged:
    """Zeros like x, to which each window's adjoint is added; the last axes of `y_bar` run within the window."""
    builder = y_bar.builder
    full = materialise(y_bar)
    ends = [operand(builder, window) for window in windows]
    counts = [full.shape[axis] for axis in axes]
    buffer = x.__srcdiff_zeros_like__()
    if isinstance(buffer.atom, Var) and isinstance(x.atom, Var):
        buffer.atom.hint = f"{x.atom.hint}_bar"
    return Staged(builder, _loop(builder, full, buffer.atom, axes, counts, ends, ()))


def _loop(
    builder: Builder, y_bar: Staged, buffer: Atom, axes: tuple[int, ...], counts: list[Any], ends: list[Any], at: tuple[Var, ...]
) -> Atom:
    """A loop for each axis, inside one another; `at` are the indices of the loops around."""
    if len(at) == len(axes):
        return _add(builder, y_bar, buffer, axes, counts, at)
    inside = builder.inside()
    hint = buffer.hint if isinstance(buffer, Var) else "x_bar"
    index, param, result = Var("ijklmn"[len(at) % 6], INT), Var(hint, buffer.kind), Var(hint, buffer.kind)
    added = _loop(inside, y_bar, param, axes, counts, ends, (*at, index))
    source = Source(index, Range(Const(0), ends[len(at)]))
    builder.add(Loop((source,), (param,), (buffer,), inside.block(Next((added,))), (result,), builder.origin))
    return result


def _add(builder: Builder, y_bar: Staged, buffer: Atom, axes: tuple[int, ...], counts: list[Any], at: tuple[Var, ...]) -> Atom:
    place: list[Any] = [slice(None)] * (max(axes) + 1)
    for axis, count, index in zip(axes, counts, at):
        place[axis] = slice(index, Staged(builder, index) + count)
    part = Staged(builder, builder.item(y_bar.atom, (Const(Ellipsis), *at)))
    target = operand(builder, tuple(place) if len(place) > 1 else place[0])
    return add_at(Staged(builder, buffer), target, part, repeats=False).atom
