"""srcdiff differentiates plain NumPy code: source in, the gradient's source out.

>>> import srcdiff
>>> srcdiff.grad(lambda x: x * x)  # doctest: +ELLIPSIS
<gradient of <lambda>(x) by x; 0 variants compiled>
"""

from srcdiff.api import Gradient, Pullback, grad, value_and_grad, verify, vjp
from srcdiff.checking import check_grads
from srcdiff.compositions import hessian, hvp, jacobian, jacrev, vhp
from srcdiff.control import checkpoint, custom_jvp, custom_vjp, map_adjoint, stop_gradient, watch_adjoint
from srcdiff.errors import (
    InternalError,
    KindError,
    NoRule,
    NotDifferentiable,
    SourceNotFound,
    SrcdiffError,
    SyntaxNotAccepted,
)
from srcdiff.forward import Jacobian, Jvp, Linear, jacfwd, jvp, linearize

__version__ = "0.1.0"

__all__ = [
    "Gradient",
    "InternalError",
    "Jacobian",
    "Jvp",
    "KindError",
    "Linear",
    "NoRule",
    "NotDifferentiable",
    "Pullback",
    "SourceNotFound",
    "SrcdiffError",
    "SyntaxNotAccepted",
    "check_grads",
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "map_adjoint",
    "stop_gradient",
    "value_and_grad",
    "verify",
    "vhp",
    "vjp",
    "watch_adjoint",
]


def __dir__() -> list[str]:
    """What a prompt completes: the public names."""
    return [*__all__, "__version__"]
