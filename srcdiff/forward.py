"""The public functions of forward mode: jvp, linearize, jacfwd. Names and meanings are JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from srcdiff.api import Argnums, Gradient, compiler, resolve, seed_like, shifted, task_of, template_of
from srcdiff.errors import KindError
from srcdiff.notebook import as_html

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
        if not isinstance(primals, (tuple, list)):
            raise KindError(
                f"jvp takes its primals in a tuple or list, not in a `{type(primals).__name__}`",
                instead="write jvp(f, (x,), (v,)).",
            )
        argnums = self._options[0]
        if argnums is None:
            return tuple(range(len(primals))), False
        is_single = isinstance(argnums, str) or not isinstance(argnums, Sequence)
        return ((argnums,), True) if is_single else (tuple(argnums), False)  # type: ignore[arg-type,return-value]

    def _live(
        self, primals: Sequence[Any], kwargs: Mapping[str, Any], chosen: tuple[int | str, ...]
    ) -> tuple[Live, Sequence[Any], dict[str, Any]]:
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


class Linear:
    """What `linearize` returns: from tangents of the arguments to that of the result. It may be called again and again.

    `source` is that of the two functions behind it: the values, and the tangents that read them.
    """

    def __init__(self, fn: Callable[..., Any], record: Any, source: str, templates: Sequence[Any]) -> None:
        self._fn, self._record, self.source = fn, record, source
        self._templates = templates

    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the result.

        Args:
            tangents: one for each argument that is differentiated by, in its structure.

        Raises:
            KindError: a tangent has another structure or shape than its argument.

        >>> from srcdiff import linearize
        >>> _, f_jvp = linearize(lambda x, y: x * y, 3.0, 2.0)
        >>> f_jvp(1.0, 0.0), f_jvp(0.0, 1.0)
        (2.0, 3.0)
        """
        if len(tangents) != len(self._templates):
            count = len(self._templates)
            raise KindError(f"{count} tangent{'s are' if count != 1 else ' is'} wanted, one for each argument")
        dots = (tangent_like(t, dot, f"tangents[{i}]") for i, (t, dot) in enumerate(zip(self._templates, tangents)))
        return self._fn(self._record, *dots)

    def __repr__(self) -> str:
        return f"<linear map {self._fn.__name__}>"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.source)


def linearize(
    f: Callable[..., Any], *primals: Any, argnums: Argnums | None = None, has_aux: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The value of `f` at `primals`, and the linear map from tangents to the tangent of the value, without computing it anew.

    Args:
        f: a function; its result may be an array or a nested container.
        primals: its positional arguments.
        argnums: by which of them to differentiate; None means all.
        has_aux: whether `f` returns a pair (result, auxiliary data).
        kwargs: keyword arguments of `f`.

    Returns:
        `(out, f_jvp)`, and the auxiliary data third where `has_aux`; `f_jvp(*tangents)` is `jvp(f, primals, tangents)[1]`.

    Raises:
        SrcdiffError: as `grad` does, here at once.

    >>> import numpy as np
    >>> from srcdiff import linearize
    >>> y, f_jvp = linearize(np.sin, 0.0)
    >>> f_jvp(2.0)
    np.float64(2.0)
    """
    chosen: Argnums = tuple(range(len(primals))) if argnums is None else argnums
    function, bound, named = resolve(f)
    task = shifted(task_of("linearize", chosen, has_aux, False, True), len(bound))
    args, keywords = (*bound, *primals), {**named, **kwargs}
    live = compiler().find_or_compile(function, task, args, keywords)
    try:
        head, record = live.functions[0](*args, **keywords)
    except Exception as error:
        compiler().annotate(error, live)
        raise
    values = compiler().bound_arguments(function, args, keywords)
    templates = [template_of(values[name] if item is None else values[name][item]) for name, item in live.variant.result]
    linear = Linear(live.functions[1], record, live.variant.source, templates)
    return (head[0], linear, head[1]) if has_aux else (head, linear)


class Jacobian(Gradient):
    """The Jacobian of a function: call it with the function's arguments. It shows its source as a `Gradient` does."""

    def __repr__(self) -> str:
        return f"<jacobian of {self._f.__qualname__} by {', '.join(self._spoken_argnums())}>"


def jacfwd(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, comments: bool = True) -> Any:
    """The Jacobian of `f` by forward mode: one tangent for each number of the arguments. It suits few arguments, many results.

    Args:
        f: a function; its result may be an array or a nested container. Left out, `jacfwd` is a decorator.
        argnums: the position or name of the parameter to differentiate by, or a sequence of these.
        has_aux: whether `f` returns a pair (result, auxiliary data).
        comments: whether the emitted source names the user's lines.

    Returns:
        A function of `f`'s arguments. It gives, for each array of the result, in the structure of the result, the derivatives by
        each array of the argument, in the structure of the argument (a tuple of these where `argnums` is a sequence): arrays of
        shape `out.shape + x.shape`. What carries no derivative gives None.

    Raises, at the first call for arguments of a kind:
        SrcdiffError: as `grad` does.

    >>> import numpy as np
    >>> from srcdiff import jacfwd
    >>> jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if f is None:
        return lambda g: jacfwd(g, argnums, has_aux, comments=comments)
    return Jacobian(f, task_of("jacfwd", argnums, has_aux, False, comments))


def tangent_like(template: Any, dot: Any, path: str) -> Any:
    """A tangent in the structure, shape and dtype of its argument; what does not fit is refused."""
    return seed_like(template, dot, path, of="the argument")


jvp.differentiates = "jvp"  # type: ignore[attr-defined]
jacfwd.differentiates = "jacfwd"  # type: ignore[attr-defined]
