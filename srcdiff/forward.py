"""The public functions of forward mode: jvp, linearize, jacfwd. Names and meanings are JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from srcdiff.api import Argnums, compiler, resolve, seed_like, shifted, task_of, template_of
from srcdiff.errors import KindError

if TYPE_CHECKING:
    from srcdiff.pipeline import Live


class Jvp:
    """A function of primals and tangents: the value of a function, and how it changes along the tangents.

    It compiles at the first call for the kinds of the primals, and keeps no state between calls.

    >>> from srcdiff import jvp
    >>> along = jvp(lambda x, y: x * y)
    >>> along((3.0, 2.0), (1.0, 0.5))
    (6.0, 3.5)
    """

    def __init__(self, f: Callable[..., Any], argnums: Argnums | None, has_aux: bool, comments: bool) -> None:
        self._f, self._bound, self._named = resolve(f)
        self._options = (argnums, has_aux, comments)
        self.primal = f
        functools.update_wrapper(self, f, updated=())

    def __call__(self, primals: Sequence[Any], tangents: Any, **kwargs: Any) -> Any:
        """The value and its tangent, and the auxiliary data where there is some.

        Args:
            primals: the positional arguments, a tuple or list.
            tangents: one for each of `argnums`, in the structure of the argument: numbers and lists are taken as arrays of its
                dtype. None stands for an argument that does not change; what stands for an integer or a string is not read.
            kwargs: keyword arguments of the function.

        Raises:
            KindError: a tangent has another structure or shape than its argument.
        """
        chosen, dots = self._moving(primals, tangents)
        live, args, keywords = self._live(primals, kwargs, chosen)
        bound = compiler().bound_arguments(self._f, args, keywords)
        named = {
            parameter: tangent_like(template_of(bound[name] if item is None else bound[name][item]), dot, parameter)
            for (name, item, parameter), dot in zip(live.variant.result, dots)
        }
        try:
            return live.functions[0](*args, **keywords, **named)
        except Exception as error:
            compiler().annotate(error, live)
            raise

    def _moving(self, primals: Sequence[Any], tangents: Any) -> tuple[tuple[int | str, ...], list[Any]]:
        """The arguments that have a tangent, and their tangents."""
        chosen, is_single = self._chosen(primals)
        given = (tangents,) if is_single else tangents
        if not isinstance(given, (tuple, list)) or len(given) != len(chosen):
            count = f"{len(chosen)} tangent{'s' if len(chosen) != 1 else ''}"
            raise KindError(f"jvp takes a tuple or list of {count} here, one for each argument that is differentiated by")
        pairs = [(argnum, dot) for argnum, dot in zip(chosen, given) if dot is not None]
        return tuple(argnum for argnum, _ in pairs), [dot for _, dot in pairs]

    def _chosen(self, primals: Sequence[Any]) -> tuple[tuple[int | str, ...], bool]:
        argnums = self._options[0]
        if argnums is None:
            return tuple(range(len(primals))), False
        is_single = isinstance(argnums, str) or not isinstance(argnums, Sequence)
        return ((argnums,), True) if is_single else (tuple(argnums), False)  # type: ignore[arg-type,return-value]

    def _live(
        self, primals: Sequence[Any], kwargs: Mapping[str, Any], chosen: tuple[int | str, ...]
    ) -> tuple[Live, Sequence[Any], dict[str, Any]]:
        if not isinstance(primals, (tuple, list)):
            raise KindError(
                f"jvp takes its primals in a tuple or list, not in a `{type(primals).__name__}`",
                instead="write jvp(f, (x,), (v,)).",
            )
        _, has_aux, comments = self._options
        task = shifted(task_of("jvp", chosen, has_aux, False, comments), len(self._bound))
        args, keywords = (*self._bound, *primals), {**self._named, **kwargs}
        return compiler().find_or_compile(self._f, task, args, keywords), args, keywords

    def source_for(self, *primals: Any, **kwargs: Any) -> str:
        """The source of the variant for arguments of the kinds of these.

        >>> from srcdiff import jvp
        >>> print(jvp(lambda x: x * x).source_for(3.0))
        def lambda_jvp(x, *, x_dot):
            return x * x, 2 * x * x_dot
        <BLANKLINE>
        """
        return self._live(primals, kwargs, self._chosen(primals)[0])[0].variant.source

    def compile(self, *primals: Any, **kwargs: Any) -> Callable[..., Any]:
        """The emitted function for arguments of the kinds of these; the tangents are keyword arguments: `x_dot=…`.

        >>> from srcdiff import jvp
        >>> jvp(lambda x: x * x).compile(1.0)(3.0, x_dot=1.0)
        (9.0, 6.0)
        """
        fn = self._live(primals, kwargs, self._chosen(primals)[0])[0].functions[0]
        return functools.partial(fn, *self._bound, **self._named) if self._bound or self._named else fn

    def __repr__(self) -> str:
        return f"<jvp of {self._f.__qualname__}>"

    def __reduce__(self) -> Any:
        return Jvp, (self.primal, *self._options)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any] | None = None,
    tangents: Any = None,
    argnums: Argnums | None = None,
    has_aux: bool = False,
    *,
    comments: bool = True,
    **kwargs: Any,
) -> Any:
    """The value of `f` at `primals`, and how it changes along `tangents`.

    Args:
        f: a function; its result may be an array or a nested container.
        primals: its positional arguments. Left out, the result is the function of primals and tangents, which shows its source.
        tangents: the tangents, in the structure of the primals; None for one that does not change.
        argnums: which arguments have a tangent, positions or names; None means all of `primals`.
        has_aux: whether `f` returns a pair (result, auxiliary data).
        kwargs: keyword arguments of `f`.

    Returns:
        `(out, out_dot)`, and the auxiliary data third where `has_aux`. `out_dot` has the structure, shapes and dtypes of `out`;
        what carries no derivative (an integer, a string) has the tangent None.

    Raises:
        SrcdiffError: as `grad` does, here at once.
        KindError: a tangent has another structure or shape than its argument.

    >>> import numpy as np
    >>> from srcdiff import jvp
    >>> jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    made = Jvp(f, argnums, has_aux, comments)
    return made if primals is None else made(primals, tangents, **kwargs)


def tangent_like(template: Any, dot: Any, path: str) -> Any:
    """A tangent in the structure, shape and dtype of its argument; what does not fit is refused."""
    return seed_like(template, dot, path, of="the argument")


jvp.differentiates = "jvp"  # type: ignore[attr-defined]
