"""What a primitive's result shares memory with: nothing (fresh), its arguments (a view), or what nobody knows.

np.tanh(x)  fresh        x.T  a view of x        f(x)  unknown        l[i]  what the list holds
"""

from __future__ import annotations

import builtins
import copy
import math
from enum import Enum

import numpy as np

from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Opaque, TupleOf, Unknown
from srcdiff.ir.nodes import Apply, Const, Free, ListDisplay, Operand, Ref, SliceOf, Var
from srcdiff.rules.without_axes import gives_array


class Sharing(Enum):
    """How a result's memory relates to the arguments'."""

    NONE = "a number, string or None: nothing to share"
    FRESH = "new memory"
    VIEW = "the memory of an argument"
    FROZEN = "the memory of an argument, and not to be written to"
    HOLDS = "a new container of what the arguments are"
    SHALLOW = "a new container of what the argument holds"
    ITEM = "what the argument holds"
    SAME = "the same object"
    UNKNOWN = "the memory of the arguments, or of anything else"


_FRESH = frozenset(
    """
    zeros ones full empty zeros_like ones_like full_like empty_like copy stack concatenate vstack hstack dstack column_stack
    block outer dot vdot matmul inner tensordot kron cross sum mean prod std var max min amax amin cumsum cumprod nansum nanmean
    nanmax nanmin nanprod nanstd nanvar median nanmedian percentile quantile average where sort argsort tile repeat arange
    linspace logspace geomspace eye identity tri tril triu take take_along_axis argmax argmin bincount roll clip interp
    searchsorted nonzero flatnonzero argwhere trace pad convolve correlate vander cov corrcoef append delete insert unique
    histogram gradient trapezoid trapz ptp all any isclose allclose array_equal count_nonzero digitize choose select
    logical_and isfinite polyval polyfit indices tril_indices triu_indices diag_indices fromiter fromfunction meshgrid
    shape size ndim result_type nan_to_num sinc i0 angle
    solve inv pinv det slogdet cholesky eig eigh eigvals eigvalsh svd svdvals qr lstsq norm cond matrix_rank tensorsolve
    tensorinv multi_dot expm logm sqrtm solve_triangular cho_solve lu_factor lu_solve logsumexp softmax log_softmax
    fft ifft rfft irfft fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq
    """.split()
)  # fmt: skip
_VIEWS = frozenset(
    """
    transpose reshape ravel swapaxes moveaxis rollaxis expand_dims squeeze asarray asanyarray ascontiguousarray asfortranarray
    atleast_1d atleast_2d atleast_3d real imag flip fliplr flipud rot90 real_if_close require matrix_transpose permute_dims
    split array_split hsplit vsplit dsplit unstack diff matrix_power fftshift ifftshift conj conjugate round around ix_
    """.split()
)  # fmt: skip
_FROZEN = frozenset("broadcast_to broadcast_arrays diagonal diag".split())
_FRESH_METHODS = frozenset(
    """
    copy sum mean prod std var max min dot cumsum cumprod flatten argmax argmin argsort clip take repeat tolist item
    trace nonzero any all ptp tobytes index count keys format join
    """.split()
)  # fmt: skip
_VIEW_METHODS = frozenset("reshape ravel swapaxes transpose squeeze view astype conj conjugate round".split())
_IMMUTABLE = frozenset("str NoneType bytes ellipsis type dtype bool builtin_function_or_method ufunc slice".split())
_SHALLOW = (list, tuple, sorted)
_NUMBERS = (len, float, int, bool, complex, abs, pow, range, isinstance, type, divmod, any, all, str, repr, ord, hash)
_HARMLESS = frozenset(["print", "format", "repr"])


def sharing_of(stmt: Apply) -> Sharing:
    """How the targets of a statement share memory with its arguments."""
    match stmt.op.style:
        case "binary" if stmt.op.text in ("and", "or"):
            return Sharing.SAME
        case "binary" | "unary":
            if any(isinstance(t.kind, ListOf) for t in stmt.targets):
                return Sharing.SHALLOW
            return Sharing.NONE if _are_scalars(stmt.targets) else Sharing.FRESH
        case "call":
            return _sharing_of_call(stmt)
        case "attribute":
            return Sharing.VIEW if _is_array(_kind_of(stmt.args[0])) else Sharing.UNKNOWN
        case "method":
            return _sharing_of_method(stmt)
        case "item":
            return _sharing_of_item(stmt)
        case "display":
            return Sharing.HOLDS
        case "unpack":
            return Sharing.VIEW if _is_array(_kind_of(stmt.args[0])) else Sharing.ITEM
        case "copy":
            return Sharing.SAME
        case "format" | "assert":
            return Sharing.NONE
        case _:
            return Sharing.UNKNOWN


def _sharing_of_call(stmt: Apply) -> Sharing:
    fn = stmt.op.fn
    if isinstance(fn, np.ufunc) and not stmt.kwargs:
        return Sharing.NONE if _are_scalars(stmt.targets) else Sharing.FRESH
    if _are_scalars(stmt.targets) and _gives_scalars(stmt):
        return Sharing.NONE
    if any(name in ("out", "copy", "overwrite_a", "overwrite_b") for name, _ in stmt.kwargs):
        return Sharing.UNKNOWN
    name, module = getattr(fn, "__name__", ""), str(getattr(fn, "__module__", None) or "")
    if module == "builtins" and getattr(builtins, name, None) is fn:
        if fn in _SHALLOW:
            return Sharing.UNKNOWN if _kind_of(stmt.args[0] if stmt.args else None) == Unknown() else Sharing.SHALLOW
        return Sharing.FRESH if fn in _NUMBERS else Sharing.UNKNOWN
    if fn is not None and getattr(math, name, None) is fn:
        return Sharing.NONE
    if isinstance(fn, np.ufunc) or fn is copy.deepcopy:
        return Sharing.FRESH
    if module.split(".")[0] not in ("numpy", "scipy"):
        return Sharing.UNKNOWN
    if name == "einsum":
        return Sharing.FRESH if len(stmt.args) > 2 or _sums(stmt.args[0]) else Sharing.FROZEN
    if name == "array":
        return Sharing.FRESH if len(stmt.args) == 1 else Sharing.UNKNOWN
    if name in _FRESH:
        return Sharing.FRESH
    if name in _VIEWS:
        return Sharing.VIEW
    return Sharing.FROZEN if name in _FROZEN else Sharing.UNKNOWN


def _sums(subscripts: Operand) -> bool:
    """Whether np.einsum sums one of the axes of its one operand, rather than give a view of it."""
    text = subscripts.value if isinstance(subscripts, Const) else None
    given, arrow, result = text.partition("->") if isinstance(text, str) else ("", "", "")
    return arrow != "" and any(letter.isalpha() and letter not in result for letter in given)


def _sharing_of_method(stmt: Apply) -> Sharing:
    kind, name = _kind_of(stmt.args[0]), stmt.op.text
    if isinstance(kind, ListOf) and name == "copy":
        return Sharing.SHALLOW
    if not _is_array(kind):
        return Sharing.UNKNOWN
    if name in _FRESH_METHODS and not any(key == "out" for key, _ in stmt.kwargs):
        return Sharing.FRESH
    return Sharing.VIEW if name in _VIEW_METHODS else Sharing.FROZEN


def _sharing_of_item(stmt: Apply) -> Sharing:
    base, index = stmt.args
    kind = _kind_of(base)
    if isinstance(kind, ListOf) and isinstance(index, tuple) and _are_scalars(stmt.targets):
        return Sharing.NONE  # a number of a list in the list
    if isinstance(kind, (ListOf, TupleOf)):
        is_slice = isinstance(index, SliceOf) or _kind_of(index) == Opaque("slice")
        return Sharing.SHALLOW if is_slice else Sharing.ITEM
    if not _is_array(kind):
        return Sharing.UNKNOWN
    parts = index if isinstance(index, tuple) else (index,)
    if any(_selects_copy(part) for part in parts):
        return Sharing.FRESH
    if all(_is_place(part) for part in parts) and _are_scalars(stmt.targets):
        return Sharing.NONE
    return Sharing.VIEW


def _selects_copy(part: Operand) -> bool:
    """Whether an index certainly gathers into new memory: an array or list of places, or a mask."""
    if isinstance(part, ListDisplay):
        return True
    kind = _kind_of(part)
    return isinstance(kind, ListOf) or (isinstance(kind, Array) and bool(kind.dims))


def _is_place(part: Operand) -> bool:
    """Whether an index is certainly one place along an axis, so that the item is no view."""
    kind = _kind_of(part)
    if isinstance(part, Const):
        return isinstance(part.value, int) and not isinstance(part.value, bool)
    match kind:
        case Number(type):
            return type == "int"
        case Array(dtype, dims):
            return dims == () and "int" in dtype
        case _:
            return False


def _are_scalars(targets: tuple[Var, ...]) -> bool:
    """Numbers: NumPy's arithmetic never gives an array without axes."""
    return all(isinstance(t.kind, Number) or (isinstance(t.kind, Array) and t.kind.dims == ()) for t in targets)


def _gives_scalars(stmt: Apply) -> bool:
    """Whether a function of NumPy's certainly gives scalars, and no arrays without axes."""
    module = str(getattr(stmt.op.fn, "__module__", None) or "").split(".")[0]
    return module == "numpy" and not any(gives_array(stmt, i, lambda _: True) is not False for i in range(len(stmt.targets)))


def _is_array(kind: Kind | None) -> bool:
    return isinstance(kind, (Array, Number, Unknown))


def _kind_of(operand: Operand | None) -> Kind | None:
    return operand.kind if isinstance(operand, (Var, Const, Free, Ref)) else None


def keeps_arguments(stmt: Apply) -> bool:
    """Whether a statement with an effect may hand its arguments to something that outlives it."""
    return getattr(stmt.op.fn, "__name__", "") not in _HARMLESS


def is_immutable(kind: Kind) -> bool:
    """Whether values of a kind cannot be written to, nor hold anything that can."""
    match kind:
        case Number():
            return True
        case Opaque(type):
            return type in _IMMUTABLE
        case TupleOf(items):
            return all(is_immutable(item) for item in items)
        case _:
            return False
