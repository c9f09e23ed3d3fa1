"""What users control of derivatives: where none passes, what becomes of an adjoint, and rules of their own.

>>> import srcdiff
>>> srcdiff.grad(lambda x: x * stop_gradient(x))(3.0)
3.0
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from srcdiff.api import written_around
from srcdiff.errors import KindError
from srcdiff.task import CustomRule


def stop_gradient(x: Any) -> Any:
    """The value itself, through which no derivative passes, in either mode.

    Args:
        x: a number, an array, or a tuple, list, dict or object of them, nested at will.

    Returns:
        `x`. In a function that is differentiated it counts as constant; in emitted source it prints as `x`.

    >>> import srcdiff
    >>> srcdiff.grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    return x


def map_adjoint(x: Any, fn: Callable[[Any], Any]) -> Any:
    """The value itself, whose adjoint becomes `fn(adjoint)` on its way back: to clip it, scale it, or turn its sign.

    Args:
        x: a number, an array, or a container of them.
        fn: a function that srcdiff can read, from the adjoint of `x`, in the structure and shapes of `x`, to the one that the
            reverse sweep goes on with, of the same structure and shapes.

    Returns:
        `x`. `fn` is put into the reverse sweep; it is not called otherwise.

    Raises:
        KindError: `fn` returns an adjoint of another structure or number of axes.
        NotDifferentiable: forward mode reaches the call; there are no adjoints in it.

    >>> import srcdiff
    >>> srcdiff.grad(lambda x: map_adjoint(x, lambda x_bar: min(x_bar, 5.0)) ** 2)(3.0)
    5.0
    """
    return x


def watch_adjoint(x: Any, fn: Callable[[Any], Any]) -> Any:
    """The value itself; `fn` is called with its adjoint where the reverse sweep has it complete: to print it, or to check it.

    Args:
        x: a number, an array, or a container of them.
        fn: `print`, or a function that srcdiff can read; what it returns is not looked at.

    Returns:
        `x`. In forward mode nothing is watched.

    >>> import srcdiff
    >>> srcdiff.grad(lambda x: watch_adjoint(x, lambda x_bar: print("adjoint", x_bar)) ** 2)(3.0)
    adjoint 6.0
    6.0
    """
    return x


stop_gradient.controls = "stop_gradient"  # type: ignore[attr-defined]
map_adjoint.controls = "map_adjoint"  # type: ignore[attr-defined]
watch_adjoint.controls = "watch_adjoint"  # type: ignore[attr-defined]


class Checkpointed:
    """A function whose reverse sweep runs it again; see `checkpoint`. Called, it is the function."""

    __name__: str

    def __init__(self, f: Callable[..., Any]) -> None:
        if not callable(f):
            raise KindError(f"checkpoint takes a function, not {type(f).__name__}")
        self._f = f
        self._function: types.FunctionType | None = None
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._f(*args, **kwargs)

    @property
    def runs_again(self) -> Callable[..., Any]:
        """The function itself: what the compiler puts into a procedure of its own."""
        return self._f

    def as_function(self) -> types.FunctionType:
        """A Python function that calls this one, so that it can be differentiated itself."""
        if self._function is None:
            self._function = written_around(self.runs_again, "", "return run({call})", {"run": self}, name=self.__name__)
        return self._function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<checkpoint of {getattr(self.runs_again, '__qualname__', self.runs_again)}>"


class Budget:
    """What `with checkpoint():` enters: it does nothing when the function itself runs."""

    def __init__(self, budget: int | None) -> None:
        if budget is not None and (not isinstance(budget, int) or budget < 1):
            raise KindError(f"budget={budget!r}: it takes a number of states")
        self.budget = budget

    def __enter__(self) -> Budget:
        return self

    def __exit__(self, *error: Any) -> None:
        return None


def checkpoint(f: Callable[..., Any] | None = None, *, budget: int | None = None) -> Any:
    """Compute again in the reverse sweep rather than keep: `checkpoint(f)(x)`, or `with checkpoint():` around a for loop.

    Args:
        f: a function. The reverse sweep of a call keeps the arguments alone, and runs the function again.
        budget: around a loop, how many states and trips of it are kept at once. The larger it is, the fewer trips are run again.
            Without it, a loop of n trips keeps about 2 log2(n), and each trip runs a few times again: at most log2(n).

    Returns:
        The function, or what the with statement enters; neither changes what is computed. In forward mode, which keeps nothing,
        neither has an effect.

    Raises:
        SyntaxNotAccepted: when compiling, for what prints or has another effect, since it would run again; for a loop that
            may be left in the middle of a trip, or that carries a list.

    >>> import srcdiff
    >>> def run(x):
    ...     with checkpoint():
    ...         for _ in range(1000):
    ...             x = x - 0.001 * x**3
    ...     return x
    >>> round(srcdiff.grad(run)(1.0), 6)
    0.192099
    """
    if f is not None:
        if budget is not None:
            raise KindError("checkpoint takes a function or a budget, which is for a loop")
        return Checkpointed(f)
    return Budget(budget)


checkpoint.controls = "checkpoint"  # type: ignore[attr-defined]


class Custom:
    """A function with a derivative rule of its own. Called, it is the function."""

    sort = ""
    __name__: str

    def __init__(self, f: Callable[..., Any], nondiff_argnums: Sequence[int], like: Callable[..., Any] | None) -> None:
        if not callable(f):
            raise KindError(f"custom_{self.sort} takes a function, not {type(f).__name__}")
        self.fun, self.like = f, like
        self.nondiff_argnums = tuple(nondiff_argnums)
        if any(not isinstance(n, int) or n < 0 for n in self.nondiff_argnums):
            raise KindError(f"nondiff_argnums={nondiff_argnums!r}: it takes positions, counted from 0")
        self._rule: tuple[Callable[..., Any], ...] = ()
        self._function: types.FunctionType | None = None
        functools.update_wrapper(self, f, updated=())

    def _define(self, *rule: Callable[..., Any]) -> None:
        """Set the rule, once: what is compiled holds for it."""
        if self._rule not in ((), rule):
            raise KindError(
                f"`{self.__name__}` has a derivative rule already",
                why="What was compiled before would go on with it.",
                instead=f"make the function anew: custom_{self.sort}(f).",
            )
        self._rule = rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    @property
    def custom_rule(self) -> CustomRule:
        """What the compiler puts in the place of a call."""
        return CustomRule(self.sort, self.fun, self._rule, self.nondiff_argnums, self.like)

    def as_function(self) -> types.FunctionType:
        """A Python function that calls this one, so that it can be differentiated itself."""
        if self._function is None:
            self._function = written_around(self.like or self.fun, "", "return rule({call})", {"rule": self}, name=self.__name__)
        return self._function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<custom_{self.sort} of {getattr(self.fun, '__qualname__', self.fun)}>"


class CustomVjp(Custom):
    """A function with a rule for reverse mode; see `custom_vjp`."""

    sort = "vjp"

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Give the function its rule.

        Args:
            fwd: from the arguments of the function to the pair of its result and of what `bwd` reads.
            bwd: from the arguments in nondiff_argnums, what `fwd` left, and the adjoint of the result to a tuple of the adjoints
                of the other arguments, each in the structure and shapes of the argument, or None for none.
        """
        self._define(fwd, bwd)


class CustomJvp(Custom):
    """A function with a rule for both modes; see `custom_jvp`."""

    sort = "jvp"

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Give the function its rule; it may be used as a decorator.

        Args:
            jvp: from the arguments in nondiff_argnums, the tuple of the other arguments, and the tuple of their tangents to the
                pair of the result and its tangent. It is linear in the tangents.
        """
        self._define(jvp)
        return jvp


def custom_vjp(
    f: Callable[..., Any] | None = None, nondiff_argnums: Sequence[int] = (), *, like: Callable[..., Any] | None = None
) -> Any:
    """A function whose derivative in reverse mode is the user's: `f.defvjp(f_fwd, f_bwd)`.

    Args:
        f: the function. It is read and put in place where it is called, unless `like` is given.
        nondiff_argnums: the positions of arguments that no derivative is by, as functions and options; the reverse function gets
            them first.
        like: for a function that srcdiff cannot read (in C, or without a rule), which is then called as it is: a function of the
            same arguments that srcdiff can read, and whose result has the type, shape and dtype of the function's.

    Returns:
        The function with the method `defvjp`; without `f`, a decorator. Both functions of the rule are read and put in place, and
        so are differentiated in turn.

    Raises:
        NotDifferentiable: when compiling, where forward mode reaches the function, or where it reads what is differentiated by
            beside its arguments.
        KindError: when compiling, where adjoints do not fit the arguments.

    >>> import srcdiff
    >>> @custom_vjp
    ... def log1pexp(x):
    ...     return math.log(1 + math.exp(x))
    >>> def forward(x):
    ...     return log1pexp(x), x
    >>> def reverse(x, out_bar):
    ...     return (out_bar * (1 - 1 / (1 + math.exp(x))),)
    >>> log1pexp.defvjp(forward, reverse)
    >>> import math
    >>> srcdiff.grad(log1pexp)(0.0)
    0.5
    """
    if f is None:
        return lambda g: custom_vjp(g, nondiff_argnums, like=like)
    return CustomVjp(f, nondiff_argnums, like)


def custom_jvp(
    f: Callable[..., Any] | None = None, nondiff_argnums: Sequence[int] = (), *, like: Callable[..., Any] | None = None
) -> Any:
    """A function whose derivative is the user's, in both modes: `f.defjvp(f_jvp)`. Reverse mode transposes the rule.

    Args, result and errors are those of `custom_vjp`; NotDifferentiable also says that a rule is not linear in the tangents.

    >>> import srcdiff
    >>> @custom_jvp
    ... def cube(x):
    ...     return x * x * x
    >>> @cube.defjvp
    ... def cube_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return cube(x), 3 * x * x * x_dot
    >>> srcdiff.grad(cube)(2.0)
    12.0
    """
    if f is None:
        return lambda g: custom_jvp(g, nondiff_argnums, like=like)
    return CustomJvp(f, nondiff_argnums, like)
