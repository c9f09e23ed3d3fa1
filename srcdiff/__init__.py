"""srcdiff differentiates plain NumPy code: source in, the gradient's source out.

    >>> import srcdiff
    >>> srcdiff.grad(lambda x: x * x)  # doctest: +ELLIPSIS
    <gradient of <lambda>(x) by x; 0 variants compiled>
"""

from srcdiff.api import check_grads, grad, value_and_grad, vjp
from srcdiff.errors import InternalError, KindError, NoRule, NotDifferentiable, SourceNotFound, SrcdiffError, SyntaxNotAccepted

__version__ = "0.1.0"

__all__ = [
    "InternalError", "KindError", "NoRule", "NotDifferentiable", "SourceNotFound", "SrcdiffError", "SyntaxNotAccepted",
    "check_grads", "grad", "value_and_grad", "vjp",
]  # fmt: skip
