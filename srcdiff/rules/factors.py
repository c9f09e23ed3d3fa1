"""The normal form of adjoint terms: minus outermost, constants and scalars first, quotients before products.

    (1 / n) * (2 * r)        2 / n * r
    x_bar * (-y / d)         -(x_bar / d * y)
    a + (-b)                 a - b

Only terms that staging itself has made are taken apart; the user's expressions stay as they are. Nothing is regrouped that
would cost an array operation more where the parts are shared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Number, is_one
from srcdiff.ir.nodes import Apply, Const, Var

if TYPE_CHECKING:
    from srcdiff.rules.staging import Staged


@dataclass(frozen=True)
class Product:
    """sign · number · Π scalars / Π scalar divisors · Π arrays / Π array divisors"""

    is_negative: bool = False
    number: float | int = 1
    scalars: tuple[Staged, ...] = ()
    scalar_divisors: tuple[Staged, ...] = ()
    arrays: tuple[Staged, ...] = ()
    divisors: tuple[Staged, ...] = field(default=())


def _definition(value: Staged) -> Apply | None:
    atom = value.atom
    return value.builder.made.get(atom) if isinstance(atom, Var) else None


def _operands(value: Staged, stmt: Apply) -> list[Staged]:
    """The operands of the statement that made `value`, with logical shapes that broadcast to its own."""
    from srcdiff.rules.staging import Staged

    out = [Staged(value.builder, a) for a in stmt.args]  # type: ignore[arg-type]
    if value.is_full:
        return out
    # The value is broadcast as a whole: so is the operand of its own physical shape.
    return [Staged(value.builder, s.atom, value.dims, value.like) if _is_biggest(s, value) else s for s in out]


def _is_biggest(operand: Staged, value: Staged) -> bool:
    return bool(operand.dims == _own(value))


def _own(value: Staged) -> Any:
    from srcdiff.rules.staging import dims_of

    return dims_of(value.kind)


def is_number(value: Staged) -> bool:
    atom = value.atom
    return isinstance(atom, Const) and isinstance(atom.value, (int, float)) and not isinstance(atom.value, bool)


def _is_scalar(value: Staged) -> bool:
    """Physically without axes."""
    kind = value.kind
    return isinstance(kind, Number) or (isinstance(kind, Array) and kind.dims == ())


def is_negative(value: Staged) -> bool:
    if is_number(value):
        return bool(value.atom.value < 0)  # type: ignore[union-attr]
    stmt = _definition(value)
    return stmt is not None and stmt.op is ops.NEG


def view(value: Staged) -> Product:
    """What `value` is made of, as far as it may be taken apart."""
    if is_number(value):
        number = value.atom.value  # type: ignore[union-attr]
        return Product(number < 0, abs(number))
    stmt = _definition(value)
    if stmt is not None and stmt.op is ops.NEG:
        inner = view(_operands(value, stmt)[0])
        return replace(inner, is_negative=not inner.is_negative)
    if stmt is not None and stmt.op is ops.MUL:
        a, b = _operands(value, stmt)
        if is_number(a):
            inner = view(b)
            return replace(inner, number=a.atom.value * inner.number)  # type: ignore[union-attr]
        if _is_scalar(a) and not _is_scalar(b):
            left, inner = view(a), view(b)
            if not inner.scalars and not inner.scalar_divisors and inner.number == 1 and not inner.is_negative:
                return replace(left, arrays=inner.arrays, divisors=inner.divisors)
    if stmt is not None and stmt.op is ops.DIV:
        a, b = _operands(value, stmt)
        if is_number(a) and _is_scalar(b):
            number = a.atom.value  # type: ignore[union-attr]
            return Product(number < 0, abs(number), (), (b,))
        if is_number(a):
            number = a.atom.value  # type: ignore[union-attr]
            return Product(number < 0, abs(number), divisors=(b,))
        if _is_scalar(a) and _is_scalar(b):
            inner = view(a)
            if not inner.scalar_divisors and len(inner.scalars) <= 1:
                return replace(inner, scalar_divisors=(b,))
        if _is_scalar(b) and not _is_scalar(a):
            inner = view(a)
            if inner.number != 1 and len(inner.arrays) == 1 and not inner.scalars and not inner.scalar_divisors:
                return replace(inner, scalar_divisors=(b,))
        if not _is_scalar(b) and not _is_scalar(a):
            inner = view(a)
            if inner.is_negative or inner.number == 1:
                return Product(inner.is_negative, 1, (), (), (_strip(a),), (b,))
        if is_negative(a):
            inner_quotient = div(neg(a), b)
            return replace(view(inner_quotient), is_negative=True)
    return Product(scalars=(value,)) if _is_scalar(value) else Product(arrays=(value,))


def _strip(value: Staged) -> Staged:
    return neg(value) if is_negative(value) else value


def _atomic(value: Staged) -> Product:
    """`value` as one factor; a minus is taken out, and a constant of a scalar."""
    if is_negative(value):
        return replace(_atomic(neg(value)), is_negative=True)
    return Product(scalars=(value,)) if _is_scalar(value) else Product(arrays=(value,))


def neg(value: Staged) -> Staged:
    from srcdiff.rules.staging import Staged, elementwise

    if is_number(value):
        return Staged(value.builder, Const(-value.atom.value), value.dims, value.like)  # type: ignore[union-attr]
    stmt = _definition(value)
    if stmt is not None and stmt.op is ops.NEG:
        return Staged(value.builder, stmt.args[0], value.dims, value.like)  # type: ignore[arg-type]
    kind = value.kind
    if isinstance(kind, Array) and kind.dtype == "bool":  # NumPy does not negate booleans
        return elementwise(ops.MUL, Staged(value.builder, Const(-1)), value)
    return elementwise(ops.NEG, value)


def mul(a: Staged, b: Staged) -> Staged:
    """`a * b`; `a` is the adjoint where one of them is."""
    if is_number(a) and is_number(b):
        return _rescale(a, a.atom.value * b.atom.value, b)  # type: ignore[union-attr]
    for one, other in ((a, b), (b, a)):
        if is_number(one) and one.atom.value == 1:  # type: ignore[union-attr]
            return _as_wide(other, a, b)
    left, right = view(a), view(b)
    if not _may_break(left, right):
        left = _atomic(a)
    if not _may_break(right, left):
        right = _atomic(b)
    product = Product(
        left.is_negative != right.is_negative, _tidy(left.number * right.number), left.scalars + right.scalars,
        left.scalar_divisors + right.scalar_divisors, left.arrays + right.arrays, left.divisors + right.divisors,
    )  # fmt: skip
    result = _build(product, a, b)
    return result


def _may_break(one: Product, other: Product) -> bool:
    """Whether taking `one` apart costs no array operation more, were it needed elsewhere too."""
    if not one.arrays:
        return not one.scalars or one.number == 1 or not other.arrays or len(one.scalars) <= 1
    if one.number == 1 and not one.scalars and not one.scalar_divisors:
        return True
    extent, others = max(_extent(x) for x in one.arrays), max((_extent(x) for x in other.arrays), default=0)
    if extent < others:
        return True
    if one.divisors or len(one.arrays) != 1:
        return False
    # A number goes to the smaller of two arrays, where it costs little.
    is_number_alone = not one.scalars and not one.scalar_divisors
    return _has_scalars(other) or (is_number_alone and others < extent)


def _has_scalars(product: Product) -> bool:
    return product.number != 1 or bool(product.scalars or product.scalar_divisors) or not product.arrays


def _rescale(a: Staged, number: float, b: Staged) -> Staged:
    from srcdiff.rules.staging import Staged

    wide = a if len(a.dims or ()) >= len(b.dims or ()) else b
    return Staged(a.builder, Const(_tidy(number)), wide.dims, wide.like)


def _tidy(number: float) -> float | int:
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 2**53 else number


def _build(p: Product, a: Staged, b: Staged) -> Staged:
    from srcdiff.rules.staging import Staged, elementwise

    builder = a.builder
    scalars = [x for x in p.scalars if not (is_number(x) and x.atom.value == 1)]  # type: ignore[union-attr]
    scalar: Staged | None = None
    # A quotient comes first, since both partials of a division share it; a constant over a divisor is one.
    if scalars and p.scalar_divisors:
        scalar = scalars.pop(0)
        for d in p.scalar_divisors:
            scalar = _quotient(scalar, d)
    for x in scalars:
        scalar = x if scalar is None else elementwise(ops.MUL, scalar, x)
    if p.number != 1 or (scalar is None and (p.scalar_divisors or not p.arrays)):
        number = Staged(builder, Const(_tidy(p.number)))
        if scalar is None:
            scalar = number
            for d in p.scalar_divisors:
                scalar = elementwise(ops.DIV, scalar, d)
        else:
            scalar = elementwise(ops.MUL, number, scalar)
    array: Staged | None = None
    # What is small is combined first; among equals the order stays, so that the adjoint leads.
    arrays = sorted(p.arrays, key=_extent)
    divisors = sorted(p.divisors, key=_extent)
    if not arrays and divisors:
        scalar = scalar if scalar is not None else Staged(builder, Const(1))
        array = elementwise(ops.DIV, scalar, divisors.pop(0))
        scalar = None
    for x in arrays:
        if array is not None and scalar is not None and _extent(x) > _extent(array):
            array, scalar = elementwise(ops.MUL, scalar, array), None
        array = x if array is None else elementwise(ops.MUL, array, x)
        # The quotient by the adjoint comes first, since both partials of a division share it.
        while divisors and _extent(divisors[0]) <= _extent(array):
            array = elementwise(ops.DIV, array, divisors.pop(0))
    for d in divisors:
        assert array is not None
        array = elementwise(ops.DIV, array, d)
    if array is None:
        assert scalar is not None
        result = scalar
    else:
        result = array if scalar is None else elementwise(ops.MUL, scalar, array)
    if p.is_negative:
        result = neg(result)
    return _as_wide(result, a, b)


def _as_wide(result: Staged, a: Staged, b: Staged) -> Staged:
    """The result with the shape of `a * b`: a constant that stood for a whole array leaves none behind."""
    from srcdiff.rules.shapes import broadcast
    from srcdiff.rules.staging import Staged, like_of

    if a.dims is None or b.dims is None:
        return result
    dims = broadcast(a.dims, b.dims)
    return result if result.dims == dims else Staged(result.builder, result.atom, dims, like_of((a, b), dims))


def _extent(value: Staged) -> int:
    """How many axes of a value are physically longer than one, as far as that is known."""
    return sum(n != 1 for n in _own(value) or ())


def div(a: Staged, b: Staged) -> Staged:
    from srcdiff.rules.staging import elementwise

    if is_number(b) and b.atom.value == 1 and b.is_full:  # type: ignore[union-attr]
        return a
    if is_negative(a) and not (is_number(a) and _is_scalar(b)):
        return neg(div(neg(a), b))
    if is_number(a) and is_negative(a):
        return neg(div(neg(a), b))
    if is_negative(b):
        return neg(div(a, neg(b)))
    if is_number(a) and is_number(b) and b.atom.value != 0:  # type: ignore[union-attr]
        quotient = a.atom.value / b.atom.value  # type: ignore[union-attr]
        if quotient * b.atom.value == a.atom.value and float(quotient * 1024).is_integer():  # type: ignore[union-attr]
            return _rescale(a, quotient, b)
    # A scalar divisor joins the scalars: (2 / n) of an array is one operation on the array.
    if _is_scalar(b) and not _is_scalar(a):
        left = view(a)
        if len(left.arrays) == 1 and not left.divisors and (left.number != 1 or left.scalars or left.scalar_divisors):
            return _build(replace(left, scalar_divisors=(*left.scalar_divisors, b)), a, b)
    return elementwise(ops.DIV, a, b)


def _quotient(a: Staged, b: Staged) -> Staged:
    """`a / b` of scalars; x * r / k as x * (r / k), whose quotient other adjoints share that go through such an expression."""
    from srcdiff.rules.staging import elementwise

    stmt = _definition(a)
    if stmt is not None and stmt.op is ops.MUL and _is_primal_float(b):
        x, factor = _operands(a, stmt)
        if _is_primal_float(factor) and isinstance(x.kind, Number):
            return elementwise(ops.MUL, x, elementwise(ops.DIV, factor, b))
    return elementwise(ops.DIV, a, b)


def _is_primal_float(value: Staged) -> bool:
    """A Python float of the forward sweep."""
    return value.kind == Number("float") and isinstance(value.atom, Var) and value.atom not in value.builder.made


def add(a: Staged, b: Staged) -> Staged:
    from srcdiff.rules.staging import Staged, elementwise

    if is_number(a) and a.atom.value == 0 and a.is_full:  # type: ignore[union-attr]
        return b
    if is_number(b) and b.atom.value == 0 and b.is_full:  # type: ignore[union-attr]
        return a
    if is_number(a) and is_number(b):
        return _rescale(a, a.atom.value + b.atom.value, b)  # type: ignore[union-attr]
    if isinstance(a.atom, Var) and a.atom is b.atom and a.dims == b.dims:
        return mul(Staged(a.builder, Const(2)), a)
    common = _common_scalar(a, b)
    if common is not None:
        scalar, x, y = common
        return mul(scalar, add(x, y))
    if is_negative(b):
        if is_negative(a):
            return neg(elementwise(ops.ADD, neg(a), neg(b)))
        return elementwise(ops.SUB, a, neg(b))
    if is_negative(a):
        return elementwise(ops.SUB, b, neg(a))
    return elementwise(ops.ADD, a, b)


def _common_scalar(a: Staged, b: Staged) -> tuple[Staged, Staged, Staged] | None:
    """The scalar that multiplies two arrays of one shape, and the arrays: one product is made instead of two."""
    (a_sign, a_stmt), (b_sign, b_stmt) = _unsigned(a), _unsigned(b)
    if a_stmt is None or b_stmt is None or a_stmt.op is not ops.MUL or b_stmt.op is not ops.MUL:
        return None
    (scalar, x), (other, y) = _operands(a, a_stmt), _operands(b, b_stmt)
    if scalar.atom is not other.atom or not _is_scalar(scalar) or is_number(scalar):
        return None
    if _is_scalar(x) or not x.is_full or not y.is_full or not _is_one_shape(_own(x), _own(y)):
        return None
    return scalar, neg(x) if a_sign else x, neg(y) if b_sign else y


def _is_one_shape(a: Any, b: Any) -> bool:
    """Whether two shapes are certainly the same: lengths of which neither is 1 are equal where they broadcast."""
    if a is None or b is None or len(a) != len(b):
        return False
    return all(m == n or (is_one(m) is False and is_one(n) is False) for m, n in zip(a, b))


def _unsigned(value: Staged) -> tuple[bool, Apply | None]:
    """Whether a minus stands before a term, and the statement that made the term without it."""
    stmt = _definition(value)
    if stmt is not None and stmt.op is ops.NEG:
        return True, _definition(_operands(value, stmt)[0])
    return False, stmt


def sub(a: Staged, b: Staged) -> Staged:
    from srcdiff.rules.staging import elementwise

    if is_number(b) and b.atom.value == 0 and b.is_full:  # type: ignore[union-attr]
        return a
    if is_number(a) and a.atom.value == 0 and a.is_full:  # type: ignore[union-attr]
        return neg(b)
    if is_number(a) and is_number(b):
        return _rescale(a, a.atom.value - b.atom.value, b)  # type: ignore[union-attr]
    if is_negative(b):
        return add(a, neg(b))
    if is_negative(a) and not is_number(a):
        return neg(elementwise(ops.ADD, neg(a), b))
    return elementwise(ops.SUB, a, b)
