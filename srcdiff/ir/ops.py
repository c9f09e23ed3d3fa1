"""The primitives that print as syntax: one `Op` an operator, attribute, method or container step.

    ADD    x + y         TRANSPOSE  x.T         ITEM   x[i]         APPEND   l.append(v)

A function is a primitive through `call_op`. An operator stands for the NumPy function of the same meaning (`Op.fn`), and
so shares its rule.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from srcdiff.ir.nodes import Op, Procedure


def _binary(key: str, text: str, fn: Callable[..., Any]) -> Op:
    return Op(key, "binary", text, fn)


ADD = _binary("add", "+", np.add)
SUB = _binary("sub", "-", np.subtract)
MUL = _binary("mul", "*", np.multiply)
DIV = _binary("div", "/", np.divide)
FLOORDIV = _binary("floordiv", "//", np.floor_divide)
MOD = _binary("mod", "%", np.remainder)
POW = _binary("pow", "**", np.power)
MATMUL = _binary("matmul", "@", np.matmul)
LSHIFT = _binary("lshift", "<<", np.left_shift)
RSHIFT = _binary("rshift", ">>", np.right_shift)
BITAND = _binary("bitand", "&", np.bitwise_and)
BITOR = _binary("bitor", "|", np.bitwise_or)
BITXOR = _binary("bitxor", "^", np.bitwise_xor)
LT = _binary("lt", "<", np.less)
LE = _binary("le", "<=", np.less_equal)
GT = _binary("gt", ">", np.greater)
GE = _binary("ge", ">=", np.greater_equal)
EQ = _binary("eq", "==", np.equal)
NE = _binary("ne", "!=", np.not_equal)
IS = Op("is", "binary", "is", operator.is_)
IS_NOT = Op("is_not", "binary", "is not", operator.is_not)
IN = Op("in", "binary", "in", operator.contains)
NOT_IN = Op("not_in", "binary", "not in")
AND = Op("and", "binary", "and")
OR = Op("or", "binary", "or")
NEG = Op("neg", "unary", "-", np.negative)
POS = Op("pos", "unary", "+", np.positive)
INVERT = Op("invert", "unary", "~", np.invert)
NOT = Op("not", "unary", "not")

TRANSPOSE = Op("transpose", "attribute", "T", np.transpose)
SHAPE = Op("shape", "attribute", "shape", np.shape)
SIZE = Op("size", "attribute", "size", np.size)
NDIM = Op("ndim", "attribute", "ndim", np.ndim)
DTYPE = Op("dtype", "attribute", "dtype")
LEN = Op("len", "call", "len", len)
ASTYPE = Op("astype", "method", "astype")
ARRAY_COPY = Op("array_copy", "method", "copy", np.copy)

ITEM = Op("item", "item", "", operator.getitem)
DISPLAY = Op("display", "display")
COPY = Op("copy", "copy")
STOP = Op("stop_gradient", "copy")  # the value itself, through which no derivative passes
SAME = Op("same", "copy")  # the value itself, under the name of a result
ALIASES = frozenset([STOP, SAME])  # `expand` puts the value in their place
INDEX_ADD = Op("index_add", "index_add")
INDEX_SET = Op("index_set", "index_set")
SCATTER_ADD = Op("scatter_add", "scatter_add", "", np.add.at)
APPEND = Op("append", "append")
POP = Op("pop", "pop")
INSERT = Op("insert", "insert")
BOUND = Op("bound", "display", has_effect=True)  # a name by itself: it raises where no path has bound it
ASSERT = Op("assert", "assert", has_effect=True)
RAISE = Op("raise", "raise", has_effect=True)
CAUGHT = Op("caught", "caught")

BINARY = {
    "Add": ADD, "Sub": SUB, "Mult": MUL, "Div": DIV, "FloorDiv": FLOORDIV, "Mod": MOD, "Pow": POW, "MatMult": MATMUL,
    "LShift": LSHIFT, "RShift": RSHIFT, "BitAnd": BITAND, "BitOr": BITOR, "BitXor": BITXOR,
    "Lt": LT, "LtE": LE, "Gt": GT, "GtE": GE, "Eq": EQ, "NotEq": NE, "Is": IS, "IsNot": IS_NOT, "In": IN, "NotIn": NOT_IN,
}  # fmt: skip
UNARY = {"USub": NEG, "UAdd": POS, "Invert": INVERT, "Not": NOT}

OPERATOR_OF = {op.fn: op for op in (*BINARY.values(), NEG, POS, INVERT) if isinstance(op.fn, np.ufunc)}
"""The operator that stands for a NumPy function, for staged arithmetic."""


@lru_cache(maxsize=4096)
def call_op(fn: Callable[..., Any], text: str, has_effect: bool = False) -> Op:
    """The primitive that calls `fn`; `text` is its name where nothing better is in scope."""
    return Op(text, "effect" if has_effect else "call", text, fn, has_effect)


def procedure_op(procedure: Procedure, *, has_effect: bool = False) -> Op:
    """The primitive that calls a procedure."""
    style = "effect" if has_effect else "call"
    return Op(procedure.name, style, procedure.name, has_effect=has_effect, procedure=procedure)
