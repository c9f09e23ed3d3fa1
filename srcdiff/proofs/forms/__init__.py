"""What functions of arrays and numbers do with symbols: a form for each that is not elementwise, and not plain shaping."""

from srcdiff.proofs.forms import creation, numbers, order, products, reductions

__all__ = ["creation", "numbers", "order", "products", "reductions"]
