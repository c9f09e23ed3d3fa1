"""The IR's operands and primitives as Python expressions.

Apply(add, (x, Const(1)))      →      BinOp(Name("x"), Add(), Constant(1))
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.analysis.liveness import Folds
from srcdiff.emit.naming import UNREAD
from srcdiff.emit.scope import Globals
from srcdiff.errors import InternalError
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Opaque, Unknown, is_scalar
from srcdiff.ir.nodes import Apply, Const, DictDisplay, Free, If, ListDisplay, Operand, RecordDisplay, Ref, SliceOf, Var
from srcdiff.ir.walk import operands_of
from srcdiff.passes.fold import is_own

BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow, "@": ast.MatMult,
    "<<": ast.LShift, ">>": ast.RShift, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
}  # fmt: skip
COMPARE: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert, "not": ast.Not}
_NEGATION = {"==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_OF_ANYTHING = {np.shape, np.size, np.ndim, np.copy}
_FLIPPED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def name(text: str) -> ast.expr:
    """A name, dotted or not."""
    first, *rest = text.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for attribute in rest:
        node = ast.Attribute(node, attribute, ast.Load())
    return node


def constant(value: Any) -> ast.expr:
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):
        return ast.Call(name("float"), [ast.Constant(repr(float(value)).replace("+", ""))], [])
    if isinstance(value, (int, float)) and not isinstance(value, bool) and (value < 0 or repr(value).startswith("-")):
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    if isinstance(value, tuple):
        return ast.Tuple([constant(item) for item in value], ast.Load())
    return ast.Constant(value)


@dataclass
class Expressions:
    """What prints operands: the names of variables and outside objects, and what is folded where it is read."""

    names: Mapping[Var, str]
    folds: Folds
    outside: Globals

    def operand(self, operand: Operand) -> ast.expr:
        match operand:
            case Var():
                stmt = self.folds.get(operand)
                if stmt is None:
                    return ast.Name(self.names[operand], ast.Load())
                return self.apply(stmt) if isinstance(stmt, Apply) else self.conditional(stmt)
            case Const(value):
                return constant(value)
            case Free(text):
                return name(text)
            case Ref(value, text):
                return name(self.outside.name(value, text))
            case tuple():
                return ast.Tuple([self.operand(item) for item in operand], ast.Load())
            case SliceOf(start, stop, step):
                parts = [start, stop] if step == Const(None) else [start, stop, step]
                return ast.Call(name("slice"), [self.operand(part) for part in parts], [])
            case ListDisplay(items):
                return ast.List([self.operand(item) for item in items], ast.Load())
            case DictDisplay(keys, items):
                return ast.Dict([constant(key) for key in keys], [self.operand(item) for item in items])
            case RecordDisplay(cls, fields, items):
                keywords = [ast.keyword(field, self.operand(item)) for field, item in zip(fields, items, strict=True)]
                return ast.Call(self.operand(cls), [], keywords)
            case _:
                raise InternalError(f"not an operand: {operand!r}")

    def operands(self, operands: tuple[Operand, ...]) -> list[ast.expr]:
        return [self.operand(operand) for operand in operands]

    def target(self, var: Var) -> ast.Name:
        return ast.Name(self.names.get(var, UNREAD), ast.Store())

    # ------------------------------------------------------------ primitives

    def apply(self, stmt: Apply) -> ast.expr:
        """The expression of a statement with one value."""
        op, args = stmt.op, stmt.args
        match op.style:
            case "binary":
                return self.binary(stmt)
            case "unary":
                return ast.UnaryOp(UNARY[op.text](), self.operand(args[0]))
            case "call" if op.fn is np.sum and is_own(stmt) and _has_axes(args[0]):
                method = ast.Attribute(self.operand(args[0]), "sum", ast.Load())  # half the cost of np.sum where arrays are small
                return ast.Call(method, self.operands(args[1:]), self.keywords(stmt))
            case "call" | "effect":
                fn = name(self.function(stmt))
                return ast.Call(fn, self.operands(args), self.keywords(stmt))
            case "attribute" | "method" if op.fn in _OF_ANYTHING and is_own(stmt) and _may_be_number(args[0]):
                fn = name(self.outside.name(op.fn, f"np.{op.fn.__name__}"))
                return ast.Call(fn, self.operands(args), [])
            case "attribute":
                return ast.Attribute(self.operand(args[0]), op.text, ast.Load())
            case "method":
                fn = ast.Attribute(self.operand(args[0]), op.text, ast.Load())
                return ast.Call(fn, self.operands(args[1:]), self.keywords(stmt))
            case "item":
                return self.subscript(self.operand(args[0]), args[0], args[1], ast.Load())
            case "display" | "copy" | "unpack":
                return self.operand(args[0])
            case "format":
                return self.format(stmt)
            case "pop":
                return ast.Call(ast.Attribute(self.operand(args[0]), "pop", ast.Load()), self.operands(args[1:]), [])
            case _:
                raise InternalError(f"{op.key} is no expression", stmt.origin)

    def function(self, stmt: Apply) -> str:
        op = stmt.op
        return op.text if op.fn is None else self.outside.name(op.fn, op.text)

    def keywords(self, stmt: Apply) -> list[ast.keyword]:
        return [ast.keyword(key, self.operand(value)) for key, value in stmt.kwargs]

    def binary(self, stmt: Apply) -> ast.expr:
        text, (a, b) = stmt.op.text, stmt.args
        if text in ("and", "or"):
            op = ast.And() if text == "and" else ast.Or()
            return ast.BoolOp(op, [*self.terms(a, text), self.operand(b)])
        if text in COMPARE:
            return ast.Compare(self.operand(a), [COMPARE[text]()], [self.operand(b)])
        if text in ("+", "-") and is_own(stmt):
            return self.sum(text, a, b)
        if text == "*" and is_own(stmt) and is_scalar(kind_of(a)):
            return self.product(self.operand(a), b)
        return ast.BinOp(self.operand(a), BINARY[text](), self.operand(b))

    def product(self, left: ast.expr, operand: Operand) -> ast.expr:
        """A number times an operand: `2 * (x * y) / z` is `2 * x * y / z`."""
        first, factors = self.factors(operand)
        if not _keeps_dtype(kind_of(first)):
            first, factors = operand, []
        product: ast.expr = ast.BinOp(left, ast.Mult(), self.operand(first))
        for text, factor in factors:
            product = ast.BinOp(product, BINARY[text](), self.operand(factor))
        return product

    def factors(self, operand: Operand) -> tuple[Operand, list[tuple[str, Operand]]]:
        """The first factor of a folded product of ours, and what it is multiplied with and divided by."""
        stmt = self.folds.get(operand) if isinstance(operand, Var) else None
        if not (isinstance(stmt, Apply) and stmt.op.style == "binary" and stmt.op.text in ("*", "/") and is_own(stmt)):
            return operand, []
        first, factors = self.factors(stmt.args[0])
        return first, [*factors, (stmt.op.text, stmt.args[1])]

    def terms(self, operand: Operand, text: str) -> list[ast.expr]:
        """The operands of a chain of `and` or `or`."""
        stmt = self.folds.get(operand) if isinstance(operand, Var) else None
        if isinstance(stmt, Apply) and stmt.op.style == "binary" and stmt.op.text == text:
            return [*self.terms(stmt.args[0], text), self.operand(stmt.args[1])]
        return [self.operand(operand)]

    def sum(self, text: str, a: Operand, b: Operand) -> ast.expr:
        """A sum of ours: a minus goes into the operator."""
        positive = self.negated(b)
        if positive is not None:
            return ast.BinOp(self.operand(a), ast.Sub() if text == "+" else ast.Add(), self.operand(positive))
        positive = self.negated(a)
        if positive is not None and text == "+":
            return ast.BinOp(self.operand(b), ast.Sub(), self.operand(positive))
        return ast.BinOp(self.operand(a), BINARY[text](), self.operand(b))

    def negated(self, operand: Operand) -> Operand | None:
        """What a folded operand of ours is the negative of."""
        stmt = self.folds.get(operand) if isinstance(operand, Var) else None
        if isinstance(stmt, Apply) and stmt.op.style == "unary" and stmt.op.text == "-" and is_own(stmt):
            return stmt.args[0]
        return None

    def opposite(self, operand: Operand) -> ast.expr | None:
        """The negative of what is printed for an operand, where that drops a minus of ours: in front, or of a first factor."""
        if isinstance(operand, Const) and type(operand.value) in (int, float) and operand.value < 0:
            return self.operand(Const(-operand.value))
        positive = self.negated(operand)
        if positive is not None:
            return self.operand(positive)
        stmt = self.folds.get(operand) if isinstance(operand, Var) else None
        if isinstance(stmt, Apply) and stmt.op.text in ("*", "/") and stmt.op.style == "binary" and is_own(stmt):
            first = self.opposite(stmt.args[0])
            if first is not None:
                return ast.BinOp(first, BINARY[stmt.op.text](), self.operand(stmt.args[1]))
        return None

    def subscript(self, value: ast.expr, base: Operand, index: Operand, context: ast.expr_context) -> ast.Subscript:
        """`base[i]`; of lists in lists `base[i][j]`."""
        if isinstance(index, tuple) and isinstance(getattr(base, "kind", None), ListOf):
            for part in index[:-1]:
                value = ast.Subscript(value, self.index(part), ast.Load())
            index = index[-1]
        return ast.Subscript(value, self.index(index), context)

    def index(self, index: Operand) -> ast.expr:
        if isinstance(index, tuple):
            return ast.Tuple([self.index(part) for part in index], ast.Load())
        if isinstance(index, SliceOf):
            parts = [None if part == Const(None) else self.operand(part) for part in (index.start, index.stop, index.step)]
            return ast.Slice(*parts)
        return self.operand(index)

    def format(self, stmt: Apply) -> ast.expr:
        values: list[ast.expr] = []
        for arg, how in zip(stmt.args, stmt.op.pattern, strict=True):
            conversion, spec = how or (None, None)
            is_plain = conversion in (None, -1) and not spec
            if how is None or (is_plain and isinstance(arg, Const) and isinstance(arg.value, str)):
                assert isinstance(arg, Const)
                values.append(ast.Constant(arg.value))
                continue
            code = -1 if conversion is None else ord(conversion) if isinstance(conversion, str) else conversion
            format_spec = None if not spec else ast.JoinedStr([ast.Constant(spec)])
            values.append(ast.FormattedValue(self.operand(arg), code, format_spec))
        return ast.JoinedStr(values)

    # ------------------------------------------------------------ conditions

    def conditional(self, stmt: If) -> ast.expr:
        (then,), (orelse,) = operands_of(stmt.then.end), operands_of(stmt.orelse.end)
        return ast.IfExp(self.operand(stmt.cond), self.operand(then), self.operand(orelse))

    def negation(self, cond: Operand) -> ast.expr:
        """The opposite of a condition. An order flips for integers only: a float may be NaN."""
        stmt = self.folds.get(cond) if isinstance(cond, Var) else None
        if isinstance(stmt, Apply) and stmt.op.style == "unary" and stmt.op.text == "not":
            return self.operand(stmt.args[0])
        if isinstance(stmt, Apply) and stmt.op.style == "binary":
            text, (a, b) = stmt.op.text, stmt.args
            opposite = _NEGATION.get(text) or (_FLIPPED.get(text) if _is_int(a) and _is_int(b) else None)
            is_scalar = text not in ("==", "!=") or (_is_number(a) and _is_number(b))
            if opposite is not None and is_scalar:
                return ast.Compare(self.operand(a), [COMPARE[opposite]()], [self.operand(b)])
        return ast.UnaryOp(ast.Not(), self.operand(cond))


def kind_of(operand: Operand) -> Kind:
    return operand.kind if isinstance(operand, (Var, Const, Free, Ref)) else Opaque("container")


def _keeps_dtype(kind: Kind) -> bool:
    """Whether a number times a value of that kind has the value's own dtype."""
    return isinstance(kind, Number) or (isinstance(kind, Array) and kind.dtype.startswith(("float", "complex")))


def _is_int(operand: Operand) -> bool:
    kind = kind_of(operand)
    return isinstance(kind, Number) and kind.type in ("int", "bool")


def _is_number(operand: Operand) -> bool:
    return isinstance(kind_of(operand), Number) or (isinstance(operand, Const) and isinstance(operand.value, str))


def _may_be_number(operand: Operand) -> bool:
    """Whether an operand may be a Python number when it runs, which has no attributes of an array."""
    kind = kind_of(operand)
    return isinstance(kind, (Number, Unknown)) or (isinstance(kind, Array) and not kind.dims)


def _has_axes(operand: Operand) -> bool:
    """Whether an operand is certainly an array, not one of NumPy's scalars."""
    kind = kind_of(operand)
    return isinstance(kind, Array) and bool(kind.dims)
