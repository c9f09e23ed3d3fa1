"""Rules: what is known of each primitive; one text a rule, staged into source, run on numbers, run on symbols.

    @elementwise(np.tanh, at=[case((2, 3))])
    def tanh(x, *, y):
        return 1 - y * y                              # the partial

    @linear("x", of=np.sum, shape=shapes.reduced, at=[case((2, 3), axis=0)])
    def sum(x, axis=None, keepdims=False, *, y_bar):
        ...                                           # the contribution to x_bar

    @bilinear("a", "b", of=np.matmul, shape=shapes.matmul, at=[...])
    def matmul(a, b, *, y_bar):
        return a_contribution, b_contribution

    @vjp("a", "b", of=np.linalg.solve, shape=..., at=[...])
    def solve(a, b, *, y, y_bar): ...

    @decomposed(np.cov, ...)                          # in terms of functions that have rules
    def cov(m): ...

    nondifferentiable(np.argmax, np.floor, ...)       # derivative zero or none

The positional part of the text's signature is the accepted signature of the function: an argument that it does not
name is refused. Of `y` (the result) and `y_bar` (its adjoint) a text takes what it needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcdiff.ir.kinds import Length

Text = Callable[..., Any]


@dataclass(frozen=True)
class Shaped:
    """What a shape function sees of an array or number: its lengths and dtype.

    A Python number has the dtype None, but a type (`number`); an int may be known as a length.
    """

    shape: tuple[Length, ...]
    dtype: str | None = "float64"
    number: str = "float"
    length: Length | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype_name(self) -> str:
        """The dtype; of a Python number that which NumPy gives it."""
        return self.dtype or {"int": "int64", "bool": "bool", "complex": "complex128"}.get(self.number, "float64")

    @property
    def weak_dtype(self) -> Any:
        """What stands for the dtype among others: a Python number gives way to the dtype of an array."""
        return {"int": 1, "bool": True, "complex": 0.5j}.get(self.number, 0.5) if self.dtype is None else np.dtype(self.dtype)


@dataclass(frozen=True)
class Case:
    """A call that a rule is proved or checked for: tuples are shapes of arguments, anything else is passed as it is."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    domain: str = "real"  # "real", "positive", "unit" (-1, 1), "probability" (0, 1), "above_one", "spd", "distinct"


@dataclass(frozen=True)
class Fixed:
    """In a case: an argument that is passed as it is although it is a tuple."""

    value: Any


@dataclass(frozen=True)
class Many:
    """In a case: a list of arrays of these shapes (`np.stack`)."""

    shapes: tuple[tuple[int, ...], ...]


def case(*args: Any, domain: str = "real", **kwargs: Any) -> Case:
    return Case(args, kwargs, domain)


@dataclass(frozen=True, eq=False)
class Rule:
    """`sort` is "elementwise", "linear", "bilinear", "vjp", "decomposed" or "nondifferentiable"."""

    fn: Callable[..., Any]
    name: str
    sort: str
    text: Text | None
    wrt: tuple[str, ...]
    signature: inspect.Signature | None
    shape: Callable[..., Any] | None
    dtype: str | Callable[..., str]
    at: tuple[Case, ...]
    status: str  # "proved", "checked" or "trusted"
    reason: str
    needs: frozenset[str] = field(default_factory=frozenset)
    is_view: bool = False  # the result may share memory with an argument
    has_effect: bool = False
    constant: tuple[str, ...] = ()  # parameters by which the derivative is zero

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


rules: dict[Any, Rule] = {}

tangent_texts: dict[Any, Text] = {}
"""The functions whose rule has a text for tangents of its own."""


def rule_for(fn: Any) -> Rule | None:
    try:
        return rules.get(fn)
    except TypeError:  # unhashable
        return None


def qualified_name(fn: Callable[..., Any]) -> str:
    """`np.tanh`, `math.exp`, `np.linalg.solve`, `abs`: as a user would write it."""
    module = getattr(fn, "__module__", None) or ""
    name = getattr(fn, "__name__", repr(fn))
    if module == "builtins":
        return name
    if type(fn).__name__ == "ufunc" and not module:
        import numpy as np

        module = "numpy" if getattr(np, name, None) is fn else "scipy.special"
    return ".".join([module.replace("numpy", "np", 1), name]) if module else name


def _register(
    fns: Sequence[Callable[..., Any]],
    sort: str,
    text: Text | None,
    wrt: tuple[str, ...],
    *,
    shape: Callable[..., Any] | None,
    dtype: str | Callable[..., str],
    at: Sequence[Case],
    checked: str | None,
    trusted: str | None,
    is_view: bool = False,
    constant: tuple[str, ...] = (),
) -> None:
    signature = None
    needs: frozenset[str] = frozenset()
    if text is not None:
        parameters = inspect.signature(text).parameters.values()
        needs = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in ("y", "y_bar"))
        signature = inspect.Signature([p for p in parameters if p.name not in needs])
    status = "trusted" if trusted else "checked" if checked else "proved"
    for fn in fns:
        rules[fn] = Rule(
            fn,
            qualified_name(fn),
            sort,
            text,
            wrt,
            signature,
            shape,
            dtype,
            tuple(at),
            status,
            trusted or checked or "",
            needs,
            is_view,
            constant=constant,
        )


def elementwise(
    *fns: Callable[..., Any], wrt: tuple[str, ...] | None = None, dtype: str | Callable[..., str] = "sample",
    at: Sequence[Case] = (), checked: str | None = None, trusted: str | None = None,
) -> Callable[[Text], Text]:  # fmt: skip
    """The text gives the partial for each parameter of `wrt` (default: every positional one); the result broadcasts."""

    def decorate(text: Text) -> Text:
        names = tuple(p.name for p in inspect.signature(text).parameters.values() if p.kind is not p.KEYWORD_ONLY)
        _register(
            fns,
            "elementwise",
            text,
            names if wrt is None else wrt,
            shape=None,
            dtype=dtype,
            at=at,
            checked=checked,
            trusted=trusted,
        )
        return text

    return decorate


def _with_adjoint(sort: str) -> Callable[..., Callable[[Text], Text]]:
    def of_sort(
        *wrt: str, of: Callable[..., Any] | Sequence[Callable[..., Any]], shape: Callable[..., Any],
        dtype: str | Callable[..., str] = "same", at: Sequence[Case] = (), checked: str | None = None,
        trusted: str | None = None, is_view: bool = False, constant: tuple[str, ...] = (),
    ) -> Callable[[Text], Text]:  # fmt: skip
        def decorate(text: Text) -> Text:
            fns: list[Callable[..., Any]] = [of] if callable(of) else list(of)
            _register(
                fns, sort, text, wrt, shape=shape, dtype=dtype, at=at, checked=checked, trusted=trusted, is_view=is_view,
                constant=constant,
            )  # fmt: skip
            return text

        return decorate

    return of_sort


linear = _with_adjoint("linear")
"""The text takes `y_bar` and gives the contribution to each parameter of `wrt`; the function is linear in them together."""

bilinear = _with_adjoint("bilinear")
"""Linear in each parameter of `wrt` alone; the text gives both contributions."""

vjp = _with_adjoint("vjp")
"""The general case: the text gives the contributions, from `y_bar` and, if it names it, `y`."""


def jvp(*fns: Callable[..., Any]) -> Callable[[Text], Text]:
    """The text gives the tangent of the result, from those of the parameters of the rule (`x_dot`, None for one that does not
    change) and, if it names it, `y`. It is for functions of which the transpose of the reverse would be poor source.
    """

    def decorate(text: Text) -> Text:
        tangent_texts.update(dict.fromkeys(fns, text))
        return text

    return decorate


def decomposed(
    *fns: Callable[..., Any], at: Sequence[Case] = (), checked: str | None = None, trusted: str | None = None
) -> Callable[[Text], Text]:
    """The text is the function itself, in terms of functions that have rules."""

    def decorate(text: Text) -> Text:
        _register(fns, "decomposed", text, (), shape=None, dtype="same", at=at, checked=checked, trusted=trusted)
        return text

    return decorate


def nondifferentiable(
    *fns: Callable[..., Any], shape: Callable[..., Any] | None = None, dtype: str | Callable[..., str] = "sample",
    signature: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """The derivative is zero or none. `shape` None: elementwise; `signature` None: that of `shape`, or any."""
    for fn in fns:
        model = signature or shape
        sig = inspect.signature(model) if model is not None else None
        rules[fn] = Rule(
            fn, qualified_name(fn), "nondifferentiable", None, (), sig, shape, dtype, (), "trusted", "derivative zero or none"
        )
