"""The public functions: grad, value_and_grad, vjp, verify. Names and meanings are JAX's."""

from __future__ import annotations

import functools
import inspect
import itertools
import keyword
import re
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from srcdiff.errors import KindError, NotDifferentiable, SourceNotFound
from srcdiff.notebook import as_html
from srcdiff.task import Task

if TYPE_CHECKING:
    from srcdiff.pipeline import Live
    from srcdiff.proofs.report import Report

Argnums = int | str | Sequence[int | str]


def compiler() -> Any:
    """The pipeline, imported when first needed: `import srcdiff` costs little more than `import numpy`."""
    from srcdiff import pipeline

    return pipeline


class Gradient:
    """The gradient of a function, or its value and gradient: call it with the function's arguments.

    It compiles at the first call for the kinds of the arguments, and picks a compiled variant at later ones. It keeps no
    state between calls and may be called from several threads. `primal` is the function as it was written.

    >>> import srcdiff
    >>> gradient = srcdiff.grad(lambda x, n: x**n)
    >>> gradient(3.0, 2)
    6.0
    """

    def __init__(self, f: Callable[..., Any], task: Task) -> None:
        self._f, self._bound, self._named = resolve(f)
        self._task = shifted(task, len(self._bound))
        self._options = task
        self._lives: list[Live] = []
        self._lock = threading.Lock()
        self._pairs: list[tuple[Callable[..., bool], Callable[..., Any]]] = []
        self.primal = f
        functools.update_wrapper(self, f, updated=())
        self._companion: Gradient | None = None
        self._around: types.FunctionType | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient at these arguments; an exception of the function's own comes through, with a note of its line."""
        if self._bound or self._named:
            args, kwargs = (*self._bound, *args), {**self._named, **kwargs}
        for guard, fn in self._pairs:
            try:
                is_for = guard(*args, **kwargs)
            except Exception:  # an argument of another structure
                continue
            if is_for:
                try:
                    return fn(*args, **kwargs)
                except Exception as error:
                    self._note(error, fn)
                    raise
        return self._first_call(args, kwargs)

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        live = self._added(compiler().find_or_compile(self._f, self._task, args, kwargs))
        try:
            return live.functions[0](*args, **kwargs)
        except Exception as error:
            compiler().annotate(error, live)
            raise

    def _added(self, live: Live) -> Live:
        """The variant for later calls; of several threads that come with the same one, the first adds it."""
        with self._lock:
            known = next((x for x in self._lives if x.variant is live.variant), None)
            if known is not None:
                return known
            self._lives.append(live)
            self._pairs = [*self._pairs, (live.guard, live.functions[0])]
            return live

    def _note(self, error: BaseException, fn: Callable[..., Any]) -> None:
        for live in self._lives:
            if live.functions[0] is fn:
                compiler().annotate(error, live)

    # ------------------------------------------------------------ looking inside

    def _live_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Live:
        live: Live = compiler().find_or_compile(self._f, self._task, (*self._bound, *args), {**self._named, **kwargs})
        return live

    def source_for(self, *args: Any, **kwargs: Any) -> str:
        """The source of the variant for arguments of the kinds of these.

        Args:
            args, kwargs: example arguments; only their kinds count (types, dtypes, number of axes, which axes are 1).

        Returns:
            The text of one function; it calls nothing of srcdiff unless a shape depends on values.

        Raises:
            SrcdiffError: for what cannot be differentiated.

        >>> import srcdiff
        >>> print(srcdiff.grad(lambda x: x * x, comments=False).source_for(3.0))
        def lambda_grad(x):
            return 2 * x
        <BLANKLINE>
        """
        return self._live_for(args, kwargs).variant.source

    def compile(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """The function of the variant for arguments of the kinds of these, without the test of their kinds at each call.

        Args:
            args, kwargs: example arguments, as in `source_for`.

        Returns:
            The emitted function. It holds for arguments of these kinds only, and tests nothing.

        Raises:
            SrcdiffError: for what cannot be differentiated.

        >>> import srcdiff
        >>> fast = srcdiff.grad(lambda x: x * x).compile(1.0)
        >>> fast(3.0)
        6.0
        """
        fn = self._live_for(args, kwargs).functions[0]
        return functools.partial(fn, *self._bound, **self._named) if self._bound or self._named else fn

    @property
    def source(self) -> str:
        """The source of the variant that was compiled last; before any call, of the general form.

        The general form holds for numbers and arrays of any kind, or for the kinds that the annotations tell; where it needs a
        fact that only the arguments know it calls srcdiff.

        Raises:
            KindError: the function takes containers apart, so that no form is general.

        >>> import srcdiff
        >>> def cube(x: float):
        ...     return x**3
        >>> print(srcdiff.grad(cube, comments=False).source)
        def cube_grad(x):
            return 3 * x**2
        <BLANKLINE>
        """
        if self._lives:
            return self._lives[-1].variant.source
        try:
            return compiler().general_source(self._f, self._task)  # type: ignore[no-any-return]
        except (KindError, NotDifferentiable) as error:
            raise KindError(
                f"the source of `{self._f.__name__}`'s gradient depends on the kinds of its arguments",
                error.origin,
                why=f"Without them: {error.what}.",
                instead="call it first, or ask for source_for(*args) with example arguments.",
            ) from None

    @property
    def value_and_grad(self) -> Gradient:
        """The function that gives the value and the gradient, computed together.

        Its result is `(value, gradient)`, with `has_aux` `((value, auxiliary data), gradient)`; shapes and dtypes are those of
        the function's result and of its arguments.

        >>> import srcdiff
        >>> srcdiff.grad(lambda x: x * x).value_and_grad(3.0)
        (9.0, 6.0)
        """
        if self._companion is None:
            task = self._options
            self._companion = Gradient(
                self.primal, Task("value_and_grad", task.argnums, task.is_single, task.has_aux, task.comments)
            )
        return self._companion

    def __repr__(self) -> str:
        count = len(self._lives)
        what = "gradient" if self._task.mode == "grad" else "value and gradient"
        by = ", ".join(self._spoken_argnums())
        variants = "1 variant" if count == 1 else f"{count} variants"
        return f"<{what} of {self._f.__qualname__}{self._spoken_signature()} by {by}; {variants} compiled>"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self._lives[-1].variant.source if self._lives else None)

    def _spoken_signature(self) -> str:
        return str(inspect.signature(self._f, follow_wrapped=False))

    def _spoken_argnums(self) -> list[str]:
        names = list(inspect.signature(self._f, follow_wrapped=False).parameters)
        return [a if isinstance(a, str) else names[a] if -len(names) <= a < len(names) else str(a) for a in self._task.argnums]

    def as_derivative(self, ref: Callable[[Any, str], Any]) -> tuple[Any, Task]:
        """What is differentiated, and how: for a compiler that meets it inside another function."""
        return ref(self.primal, getattr(self.primal, "__name__", "function")), self._options

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        module = inspect.getmodule(self._f)
        found: Any = module
        for name in self._f.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return self._f.__qualname__
        return type(self), (self.primal, self._options)

    def __copy__(self) -> Gradient:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Gradient:
        return self


def resolve(f: Any) -> tuple[types.FunctionType, tuple[Any, ...], dict[str, Any]]:
    """The Python function behind a callable, and the arguments that are bound to it already."""
    if isinstance(f, types.FunctionType):
        return f, (), {}
    if isinstance(f, functools.partial):
        inner, args, kwargs = resolve(f.func)
        return inner, (*args, *f.args), {**kwargs, **f.keywords}
    if isinstance(f, types.MethodType):
        inner, args, kwargs = resolve(f.__func__)
        return inner, (*args, f.__self__), kwargs
    if isinstance(f, Gradient):
        return _around(f), (), {}
    if isinstance(f, functools._lru_cache_wrapper):
        return resolve(f.__wrapped__)
    if hasattr(type(f), "as_function"):
        return f.as_function(), (), {}
    from srcdiff.rules import chapters

    if chapters.find(f) is not None:
        return _around_primitive(f), (), {}
    call = inspect.getattr_static(type(f), "__call__", None)
    if isinstance(call, types.FunctionType):
        return call, (f,), {}
    name = getattr(f, "__name__", repr(f))
    raise SourceNotFound(
        f"no source for `{name}`",
        why="It is not a function written in Python, and it has no rule.",
        instead="wrap it in a function that srcdiff can read.",
    )


def _around(f: Gradient) -> types.FunctionType:
    """A Python function that calls a derivative, so that it can be differentiated in turn."""
    if f._around is None:
        f._around = written_around(f, f._task.mode, "return derivative({call})", {"derivative": f})
    return f._around


def written_around(
    f: Any, suffix: str, body: str, names: Mapping[str, Any], further: Sequence[str] = (), *, name: str = ""
) -> types.FunctionType:
    """A Python function with the parameters of `f` and some further ones, in whose body `names` are bound.

    `{call}` in the body stands for the arguments as they are passed on, `{positional}` and `{named}` for those that go by
    position and by name, `{further}` for the names of the further parameters. The function is called `name`, or as
    `f` is with a suffix.
    """
    from srcdiff.emit.load import register

    inner, bound, named = (f._f, f._bound, f._named) if isinstance(f, Gradient) else resolve(f)
    name = "".join(c for c in name or f"{inner.__name__}_{suffix}" if c.isalnum() or c == "_")
    name = f"{name}_" if keyword.iskeyword(name) else name
    kinds = inspect.Parameter
    stars: dict[Any, str] = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}
    parameters = list(inspect.signature(inner, follow_wrapped=False).parameters.values())[len(bound) :]
    parameters = [p for p in parameters if p.name not in named]
    by_name = (kinds.KEYWORD_ONLY, kinds.VAR_KEYWORD)
    positional = [stars.get(p.kind, "") + p.name for p in parameters if p.kind not in by_name]
    keywords = [f"**{p.name}" if p.kind is p.VAR_KEYWORD else f"{p.name}={p.name}" for p in parameters if p.kind in by_name]
    taken = {p.name for p in parameters}
    more = [_unused(n, taken) for n in further]
    for clash in taken & set(names):
        new = _unused(clash, taken | set(names))
        body = re.sub(rf"\b{clash}\b", new, body)
        names = {new if n == clash else n: value for n, value in names.items()}
    optional = {p.name for p in parameters if p.default is not p.empty and p.kind not in by_name}
    required = [p for p in positional if p not in optional and not p.startswith("*")]
    shown = [*required, *more, *positional[len(required) :]]
    only = [p.name if p.kind is not p.VAR_KEYWORD else f"**{p.name}" for p in parameters if p.kind in by_name]
    if any(not p.startswith("**") for p in only) and not any(p.startswith("*") for p in positional):
        shown.append("*")
    text = body.format(
        call=", ".join((*positional, *keywords)),
        positional="".join(f"{p}, " for p in positional),
        named="".join(f", {k}" for k in keywords),
        further=", ".join(more),
    )
    indented = "".join(f"        {line}\n" for line in text.splitlines())
    source = f"def around({', '.join(names)}):\n    def {name}({', '.join((*shown, *only))}):\n{indented}    return {name}\n"
    filename = f"<{name} {next(_written)}>"
    register(filename, source)
    namespace: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), namespace)
    first: types.FunctionType = namespace["around"](**names)
    made = types.FunctionType(first.__code__, inner.__globals__, name, None, first.__closure__)
    made.__module__ = inner.__module__
    made.__defaults__ = tuple(p.default for p in parameters if p.name in optional) or None
    made.__kwdefaults__ = {p.name: p.default for p in parameters if p.default is not p.empty and p.kind in by_name} or None
    return made


_written = itertools.count()


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


@functools.lru_cache(maxsize=256)
def _around_primitive(f: Any) -> types.FunctionType:
    """A Python function that calls a primitive, so that the primitive itself can be differentiated."""
    from srcdiff.emit.load import register
    from srcdiff.rules import chapters

    rule = chapters.find(f)
    assert rule is not None
    parameters = list(rule.signature.parameters.values()) if rule.signature is not None else []
    required = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in parameters if p.default is p.empty] or ["*args"]
    name = rule.name.rsplit(".", 1)[-1]
    arguments = ", ".join(required)
    source = f"def {name}({arguments}):\n    return primitive({arguments})\n"
    filename = f"<{rule.name}>"
    register(filename, source)
    namespace: dict[str, Any] = {"primitive": f, "__name__": __name__}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]  # type: ignore[no-any-return]


def shifted(task: Task, count: int) -> Task:
    """Positions counted from behind the arguments that are bound already."""
    if count == 0:
        return task
    shifted = tuple(a + count if isinstance(a, int) and a >= 0 else a for a in task.argnums)
    return Task(task.mode, shifted, task.is_single, task.has_aux, task.comments)


def task_of(mode: str, argnums: Argnums, has_aux: bool, holomorphic: bool, comments: bool) -> Task:
    if holomorphic:
        raise KindError(
            "holomorphic=True is not accepted: complex arguments have no gradient here",
            instead="differentiate by the real and the imaginary part.",
        )
    is_single = isinstance(argnums, str) or not isinstance(argnums, Sequence)
    numbers: tuple[Any, ...] = (argnums,) if is_single else tuple(argnums)  # type: ignore[arg-type]
    for a in numbers:
        if isinstance(a, bool) or not (isinstance(a, str) or hasattr(a, "__index__")):
            raise KindError(f"argnums holds {a!r}: it takes positions (int) and names of parameters (str)")
    return Task(mode, tuple(a if isinstance(a, str) else a.__index__() for a in numbers), is_single, has_aux, comments)


def grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    comments: bool = True,
) -> Any:
    """The gradient of `f`, a function that returns a real scalar.

    Args:
        f: a function, lambda, method, callable instance, partial, or a NumPy function. Left out, `grad` is a decorator.
        argnums: the position or name of the parameter to differentiate by, or a sequence of these.
        has_aux: whether `f` returns a pair (scalar, auxiliary data).
        holomorphic: not accepted; there for JAX's signature.
        comments: whether the emitted source names the user's lines.

    Returns:
        A function of `f`'s arguments that returns the gradient: of the structure, shapes and dtypes of the argument (float32
        stays float32), a tuple of these where `argnums` is a sequence, a pair (gradient, auxiliary data) where `has_aux`.
        Leaves that are neither real numbers nor arrays of them give None.

    Raises, at the first call for arguments of a kind:
        SourceNotFound: `f` is not written in Python, and has no rule.
        SyntaxNotAccepted: it uses Python that is outside the accepted subset.
        NoRule: it calls a function that has no derivative rule.
        NotDifferentiable: its result is no real scalar, or the argument has no derivative.
        KindError: the kinds of its values do not settle, or `argnums` names no parameter.

    >>> import numpy as np
    >>> def energy(x, k):
    ...     return 0.5 * k * np.sum(x**2)
    >>> grad(energy)(np.array([1.0, -2.0]), 3.0)
    array([ 3., -6.])
    >>> grad(energy, argnums=("x", "k"))(np.array([1.0, -2.0]), 3.0)
    (array([ 3., -6.]), np.float64(2.5))
    """
    if f is None:
        return lambda g: grad(g, argnums, has_aux, holomorphic, comments=comments)
    return Gradient(f, task_of("grad", argnums, has_aux, holomorphic, comments))


def value_and_grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    comments: bool = True,
) -> Any:
    """The value of `f` and its gradient, computed together: `(value, gradient)`.

    Args and errors are those of `grad`.

    Returns:
        A function of `f`'s arguments that returns the value, as `f` does, and the gradient, as `grad(f)` does; with `has_aux`
        `((value, auxiliary data), gradient)`. It is what `scipy.optimize.minimize(jac=True)` takes.

    >>> value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    """
    if f is None:
        return lambda g: value_and_grad(g, argnums, has_aux, holomorphic, comments=comments)
    return Gradient(f, task_of("value_and_grad", argnums, has_aux, holomorphic, comments))


grad.differentiates = "grad"  # type: ignore[attr-defined]
value_and_grad.differentiates = "value_and_grad"  # type: ignore[attr-defined]


class Pullback:
    """What `vjp` returns: from an adjoint of the result to those of the arguments. It may be called again and again.

    `source` is that of the two functions behind it: the forward sweep, and the reverse sweep that reads what it kept.
    """

    def __init__(self, reverse: Callable[..., Any], record: Any, source: str, result: Any) -> None:
        self._reverse, self._record, self.source = reverse, record, source
        self._template = template_of(result)

    def __call__(self, y_bar: Any) -> Any:
        """The adjoints of the arguments.

        Args:
            y_bar: an adjoint of the result: of its structure and shapes; numbers and lists are taken as arrays of its dtype,
                what stands for an integer or a string is not read.

        Raises:
            KindError: `y_bar` has another structure or shape than the result.

        >>> _, pullback = vjp(lambda x: x * x, 3.0)
        >>> pullback(2.0)
        (12.0,)
        """
        return self._reverse(self._record, seed_like(self._template, y_bar, "y_bar"))

    def __repr__(self) -> str:
        return f"<pullback {self._reverse.__name__}>"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.source)


def template_of(value: Any) -> Any:
    """The structure of a result, with the shape and dtype of each number and array; None for what has no adjoint."""
    import numpy as np

    if hasattr(value, "_fields"):
        return {k: template_of(v) for k, v in zip(value._fields, value)}
    if isinstance(value, (list, tuple)):
        return [template_of(v) for v in value]
    if isinstance(value, dict):
        return {k: template_of(v) for k, v in value.items()}
    if holds_attributes(value):
        return {k: template_of(v) for k, v in attributes_of(value).items()}
    if type(value) is float:
        return (), float
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f":
        return value.shape, value.dtype
    return None


def seed_like(template: Any, y_bar: Any, path: str, of: str = "the result") -> Any:
    """An adjoint in the structure, shape and dtype of the result; what does not fit is refused."""
    import numpy as np

    if template is None:
        return None
    if isinstance(template, (list, dict)):
        keys = range(len(template)) if isinstance(template, list) else template
        if isinstance(template, list) and not (isinstance(y_bar, (list, tuple)) and len(y_bar) == len(template)):
            raise KindError(f"`{path}` is no sequence of {len(template)}, as {of} is")
        if isinstance(template, dict) and holds_attributes(y_bar):
            y_bar = attributes_of(y_bar)
        elif isinstance(template, dict) and isinstance(y_bar, (list, tuple)) and len(y_bar) == len(template):
            y_bar = dict(zip(template, y_bar))
        if isinstance(template, dict) and not (isinstance(y_bar, dict) and y_bar.keys() == template.keys()):
            raise KindError(f"`{path}` has other keys than {of}: {', '.join(map(repr, template))}")
        seeds = {k: seed_like(template[k], y_bar[k], f"{path}[{k!r}]", of) for k in keys}
        return _Seeds(seeds) if isinstance(template, dict) else list(seeds.values())
    shape, dtype = template
    try:
        seed = np.asarray(y_bar)
    except ValueError:
        raise KindError(f"`{path}` is no array; {of} is one of shape {shape} and dtype {dtype}") from None
    if seed.dtype.kind not in "fiub" or seed.shape != shape:
        raise KindError(
            f"`{path}` is of shape {seed.shape} and dtype {seed.dtype}; {of} is of shape {shape} and dtype {np.dtype(dtype)}"
        )
    return float(seed) if dtype is float else seed.astype(dtype, copy=False)[()]


class _Seeds:
    """The adjoint of a dict or of an object: by key and by attribute, whatever these are called."""

    def __init__(self, seeds: dict[Any, Any]) -> None:
        self.__dict__ = seeds

    def __getitem__(self, key: Any) -> Any:
        return self.__dict__[key]


def vjp(
    f: Callable[..., Any], *primals: Any, argnums: Argnums | None = None, has_aux: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The value of `f` at `primals`, and its pullback.

    Args:
        f: a function; its result may be an array or a nested container.
        primals: its positional arguments.
        argnums: by which of them to differentiate; None means all.
        has_aux: whether `f` returns a pair (result, auxiliary data).
        kwargs: keyword arguments of `f`.

    Returns:
        `(result, pullback)`, and the auxiliary data third where `has_aux`. `pullback(y_bar)` takes an adjoint of the result's
        structure, and gives the adjoints of the arguments, in their shapes and dtypes: a tuple, or a single one where
        `argnums` is an int or a name.

    Raises:
        SrcdiffError: as `grad` does, here at once.

    >>> import numpy as np
    >>> y, pullback = vjp(np.tanh, np.array([0.0, 0.5]))
    >>> pullback(np.array([1.0, 0.0]))
    (array([1., 0.]),)
    """
    chosen: Argnums = tuple(range(len(primals))) if argnums is None else argnums
    function, bound, named = resolve(f)
    task = shifted(task_of("vjp", chosen, has_aux, False, True), len(bound))
    args, keywords = (*bound, *primals), {**named, **kwargs}
    live = compiler().find_or_compile(function, task, args, keywords)
    try:
        head, record = live.functions[0](*args, **keywords)
    except Exception as error:
        compiler().annotate(error, live)
        raise
    pullback = Pullback(live.functions[1], record, live.variant.source, head[0] if has_aux else head)
    return (head[0], pullback, head[1]) if has_aux else (head, pullback)


vjp.differentiates = "vjp"  # type: ignore[attr-defined]


def verify(f: Callable[..., Any], *example_args: Any, argnums: Argnums = 0, **kwargs: Any) -> Report:
    """Prove the gradient of `f` with SymPy: the emitted source itself runs on symbols of the example's shapes.

    Args:
        f: a function without branches that depend on data, or what `grad` made of one.
        example_args: arguments of the kinds to prove for; long axes are shortened.
        argnums: as in `grad`.
        kwargs: keyword arguments of `f`.

    Returns:
        A report that prints what was proved, for which shapes and under which conditions, and what was not; it is true where
        everything was proved. What is too large for SymPy is reported as not proved.

    Raises:
        KindError: a branch depends on the values of the arguments.
        NotDifferentiable: the function computes something that symbols cannot.

    >>> import numpy as np
    >>> print(verify(lambda x: x * np.exp(x), 0.5))  # doctest: +ELLIPSIS
    gradient of ... by x: proved...
    """
    from srcdiff.proofs.functions import verify_gradient

    gradient = f if isinstance(f, Gradient) else grad(f, argnums)
    live = gradient._live_for(example_args, kwargs)
    chosen = gradient._options.argnums
    names = list(inspect.signature(gradient.primal).parameters)
    numbers = tuple(a if isinstance(a, int) else names.index(a) for a in chosen)
    args = (*gradient._bound, *example_args)
    shifted = tuple(n + len(gradient._bound) if n >= 0 else n for n in numbers)
    return verify_gradient(
        gradient._f,
        live.functions[0],
        args,
        {**gradient._named, **kwargs},
        argnums=shifted[0] if gradient._options.is_single else shifted,
        guard=live.guard,
    )


def holds_attributes(value: Any) -> bool:
    from srcdiff.prepare.entry import is_object

    return is_object(value)


def attributes_of(value: Any) -> dict[str, Any]:
    from srcdiff.prepare.entry import vars_of_object

    return vars_of_object(value)
