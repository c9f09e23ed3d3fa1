"""check_grads: the derivatives of a function against central differences, in both modes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from srcdiff.api import Argnums, Gradient, attributes_of, holds_attributes, vjp
from srcdiff.errors import KindError
from srcdiff.forward import jvp


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    argnums: Argnums | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Compare the derivatives of `f` with central differences in random directions.

    Args:
        f: a function of floats, arrays and containers of them; its result may be an array.
        args: the arguments to check at.
        order: 1; higher orders are not accepted in this version.
        modes: "fwd" for forward mode, "rev" for reverse mode.
        atol, rtol, eps: tolerances, and the step of the differences.
        argnums: which arguments; None means all that have a derivative.
        kwargs: keyword arguments of `f`.

    The default tolerances follow the coarsest dtype among arguments and results: 1e-5 for float64, 2e-3 for float32.

    Raises:
        AssertionError: a mode disagrees.
        KindError: `order` or `modes` are not of this version.

    >>> import numpy as np
    >>> check_grads(np.sin, [0.5])
    """
    from srcdiff.proofs import numeric

    if order != 1 or not modes or not set(modes) <= {"fwd", "rev"}:
        raise KindError('check_grads takes order=1, and of the modes "fwd" and "rev", in this version')
    primal = f.primal if isinstance(f, Gradient) else f
    chosen = (
        tuple(i for i, a in enumerate(args) if _has_derivative(a))
        if argnums is None
        else ((argnums,) if isinstance(argnums, (int, str)) else tuple(argnums))
    )
    numbers = [a if isinstance(a, int) else list(inspect.signature(primal).parameters).index(a) for a in chosen]

    def pair(*xs: Any, **named: Any) -> tuple[Any, Callable[[Any], Any]]:
        return vjp(primal, *xs, argnums=tuple(numbers), **named)

    def along(xs: Sequence[Any], tangents: Sequence[Any], **named: Any) -> Any:
        return jvp(primal, xs, tuple(tangents[n] for n in numbers), argnums=tuple(numbers), **named)

    tolerances = {"atol": atol, "rtol": rtol, "eps": eps}
    forward, reverse = (along if "fwd" in modes else None), (pair if "rev" in modes else None)
    numeric.check(primal, args, vjp=reverse, jvp=forward, argnums=numbers, kwargs=kwargs, **tolerances)


def _has_derivative(value: Any) -> bool:
    import numpy as np

    if isinstance(value, (list, tuple)):
        return any(_has_derivative(v) for v in value)
    if isinstance(value, dict):
        return any(_has_derivative(v) for v in value.values())
    if holds_attributes(value):
        return any(_has_derivative(v) for v in attributes_of(value).values())
    return isinstance(value, float) or (isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f")
