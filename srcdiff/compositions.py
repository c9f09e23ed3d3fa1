"""Derivatives that are made of others: each is a Python function of a line or two, which the compiler reads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from srcdiff.api import Argnums, Gradient, grad, written_around
from srcdiff.forward import jvp
from srcdiff.task import Task


class Composed(Gradient):
    """A function that takes derivatives inside, as compiled source."""

    def __init__(self, f: Callable[..., Any], what: str, primal: Callable[..., Any], remake: Callable[[], Any]) -> None:
        super().__init__(f, Task("value", ()))
        self._what, self._remake = what, remake
        self.primal = primal
        functools.update_wrapper(self, primal, updated=())

    def as_derivative(self, ref: Callable[[Any, str], Any]) -> tuple[Any, Task]:
        """It is read as the function that it is."""
        return ref(self._f, self._f.__name__), self._task

    def __repr__(self) -> str:
        return f"<{self._what} of {getattr(self.primal, '__qualname__', 'function')}>"

    def __reduce__(self) -> Any:
        return self._remake, ()


def hvp(f: Callable[..., Any], argnums: Argnums = 0) -> Composed:
    """The product of the Hessian of `f` with a vector, without the Hessian: forward mode over reverse mode.

    Args:
        f: a function that returns a real scalar.
        argnums: the argument that the Hessian is by, or a sequence of them.

    Returns:
        A function of the arguments of `f` and, behind those without a default, of the vector (a tuple of vectors where `argnums`
        is a sequence), in the structure and shapes of the argument; so is its result, at the cost of a few gradients.

    Raises:
        SrcdiffError: as `grad` does.

    >>> import numpy as np
    >>> product = hvp(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    array([6., 6.])
    """
    return _product(f, argnums, "hvp")


def vhp(f: Callable[..., Any], argnums: Argnums = 0) -> Composed:
    """The product of a vector with the Hessian of `f`: reverse mode over forward mode. It equals `hvp` where `f` is smooth.

    Args, result and errors are those of `hvp`.

    >>> import numpy as np
    >>> product = vhp(lambda x: np.sum(x**3))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    array([6., 6.])
    """
    return _product(f, argnums, "vhp")


def _product(f: Callable[..., Any], argnums: Argnums, mode: str) -> Composed:
    is_single = isinstance(argnums, str) or not isinstance(argnums, Sequence)
    chosen = (argnums,) if is_single else tuple(argnums)  # type: ignore[arg-type]
    vectors = "({further},)" if is_single else "{further}"
    by = repr(chosen[0] if is_single else chosen)
    if mode == "hvp":
        body = f"return jvp(derivative, ({{positional}}), {vectors}, argnums={chosen!r}{{named}})[1]"
        names: dict[str, Any] = {"jvp": jvp, "derivative": grad(f, argnums)}
    else:
        body = (
            "def slope({positional}):\n"
            f"    return jvp(f, ({{positional}}), {vectors}, argnums={chosen!r}{{named}})[1]\n"
            f"return grad(slope, argnums={by})({{positional}})"
        )
        names = {"jvp": jvp, "grad": grad, "f": f}
    made = written_around(f, mode, body, names, ("v",))
    return Composed(made, f"{mode}", f, functools.partial(_product, f, argnums, mode))
