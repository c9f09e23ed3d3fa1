"""Derivatives that are made of others: each is a Python function of a line or two, which the compiler reads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from srcdiff.api import Argnums, Gradient, grad, task_of, written_around
from srcdiff.forward import Jacobian, jacfwd, jvp
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


def jacrev(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, comments: bool = True) -> Any:
    """The Jacobian of `f` by reverse mode: one reverse sweep for each number of the result. It suits few results, many arguments.

    Args, result and errors are those of `jacfwd`.

    >>> import numpy as np
    >>> jacrev(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    if f is None:
        return lambda g: jacrev(g, argnums, has_aux, comments=comments)
    return Jacobian(f, task_of("jacrev", argnums, has_aux, False, comments))


def jacobian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, comments: bool = True) -> Any:
    """The Jacobian of `f` by the mode that takes fewer sweeps: reverse mode where the result has fewer numbers than the argument.

    Which mode it is the source shows: a loop over tangents (`x_dot`) or over adjoints (`y_bar`). It is chosen for the sizes of
    the arguments of the first call of a kind. Args, result and errors are those of `jacfwd`.

    >>> import numpy as np
    >>> jacobian(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    if f is None:
        return lambda g: jacobian(g, argnums, has_aux, comments=comments)
    return Jacobian(f, task_of("jacobian", argnums, has_aux, False, comments))


def hessian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, comments: bool = True) -> Any:
    """The matrix of second derivatives of `f`: forward mode over reverse mode.

    Args:
        f: a function that returns a real scalar. Left out, `hessian` is a decorator.
        argnums: the position or name of the parameter to differentiate by, or a sequence of these.
        has_aux: whether `f` returns a pair (scalar, auxiliary data).
        comments: whether the emitted source names the user's lines.

    Returns:
        A function of the arguments of `f`: an array of shape `x.shape + x.shape`; for containers and several arguments, in the
        structure of the gradient, and within that again.

    Raises, at the first call for arguments of a kind:
        SrcdiffError: as `grad` does.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    if f is None:
        return lambda g: hessian(g, argnums, has_aux, comments=comments)
    return jacfwd(grad(f, argnums, has_aux, comments=comments), argnums, has_aux, comments=comments)


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


for _function in (jacrev, jacobian, hessian, hvp, vhp):
    _function.differentiates = _function.__name__  # type: ignore[union-attr]
