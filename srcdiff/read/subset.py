"""The accepted subset: one table that says of every node of Python's syntax whether srcdiff reads it.

    y = x[1:] - x[:-1]      accepted
    async with lock: …      SyntaxNotAccepted: async code is not accepted

An entry is `None` for what is accepted, a `Refusal` for what is not, and a function of the node and the one around it
where that decides. What an accepted node means is known in `lower`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.read.source import FunctionSource


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a piece of syntax is not accepted: the three sentences of the error."""

    what: str
    why: str
    instead: str


Decision = Refusal | None
Rule = Decision | Callable[[ast.AST, ast.AST], Decision]

_RESUMED = "Such a function stops and is resumed by its caller, so it has no reverse sweep of its own."

ASYNC_COMPREHENSION = Refusal(
    "an async comprehension is not accepted", _RESUMED, "gather the values first, and pass them as arguments."
)
TRY_STAR = Refusal(
    "except* is not accepted",
    "Groups of exceptions come from code that runs side by side.",
    "use except, or catch around the call.",
)
ASYNC = Refusal("async code is not accepted", _RESUMED, "await outside, and pass the values as arguments.")
YIELD = Refusal("a generator function is not accepted", _RESUMED, "build a list with append, and return it.")
YIELDED = Refusal(
    "a value that is sent into a generator is not accepted",
    "Generators are put in place of the loops that consume them, which send nothing.",
    "use yield as a statement.",
)
SET = Refusal(
    "a set comprehension is not accepted",
    "A set of numbers keeps one of two equal ones, so its elements have no adjoints of their own.",
    "use a list.",
)
CLASS = Refusal(
    "a class definition inside the function is not accepted",
    "It would make a new class at each call, which nothing outside can name.",
    "define the class at module level.",
)


def _as_statement(node: ast.AST, around: ast.AST) -> Decision:
    return None if isinstance(around, ast.Expr) else YIELDED


def _synchronous(node: ast.AST, around: ast.AST) -> Decision:
    return ASYNC_COMPREHENSION if getattr(node, "is_async", 0) else None


_ACCEPTED: tuple[type[ast.AST], ...] = (
    # statements
    ast.FunctionDef,
    ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Assert, ast.Expr, ast.Pass,
    ast.Break, ast.Continue, ast.Delete, ast.Match, ast.match_case, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom,
    ast.alias, ast.Raise, ast.Try, ast.ExceptHandler, ast.With, ast.withitem,
    # expressions
    ast.GeneratorExp,
    ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.Compare,
    ast.Call, ast.JoinedStr, ast.FormattedValue, ast.Constant, ast.Starred, ast.Name, ast.NamedExpr, ast.List, ast.Tuple,
    ast.Slice, ast.keyword, ast.arguments, ast.arg, ast.Attribute, ast.Subscript,
    # patterns
    ast.MatchValue, ast.MatchSingleton, ast.MatchSequence, ast.MatchMapping, ast.MatchClass, ast.MatchStar, ast.MatchAs,
    ast.MatchOr,
    # contexts and operators
    ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Not, ast.Invert, ast.UAdd, ast.USub, ast.Add, ast.Sub, ast.Mult,
    ast.MatMult,
    ast.Div, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd, ast.FloorDiv, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn,
)  # fmt: skip

SUBSET: dict[type[ast.AST], Rule] = {
    **dict.fromkeys(_ACCEPTED),
    ast.Yield: _as_statement,
    ast.YieldFrom: _as_statement,
    ast.comprehension: _synchronous,
    ast.TryStar: TRY_STAR,
    ast.Await: ASYNC,
    ast.AsyncFunctionDef: ASYNC,
    ast.AsyncFor: ASYNC,
    ast.AsyncWith: ASYNC,
    ast.ClassDef: CLASS,
    ast.SetComp: SET,
}

if hasattr(ast, "TypeAlias"):  # Python 3.12
    SUBSET[ast.TypeAlias] = None

_UNKNOWN = Refusal("this syntax is not accepted", "srcdiff does not know what it means.", "write it with older syntax.")


def check_subset(source: FunctionSource) -> None:
    """Raise `SyntaxNotAccepted` for the first piece of the function's text that is outside the accepted subset.

    Its decorators, annotations and default values are not part of it: they ran when it was defined.
    """
    node = source.node
    if isinstance(node, ast.AsyncFunctionDef):
        raise _error(source, node, ASYNC)
    for part in node.body if isinstance(node, ast.FunctionDef) else [node.body]:
        _check(source, part, node)


def _check(source: FunctionSource, node: ast.AST, around: ast.AST) -> None:
    rule = SUBSET.get(type(node), _UNKNOWN)
    refusal = rule(node, around) if callable(rule) else rule
    if refusal is not None:
        raise _error(source, node, refusal)
    for name in node._fields:
        if name in ("annotation", "returns", "type_params") or type(node).__name__ == "TypeAlias":
            continue
        part = getattr(node, name, None)
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST):
                _check(source, child, node)


def _error(source: FunctionSource, node: ast.AST, refusal: Refusal) -> SyntaxNotAccepted:
    place = node.target if isinstance(node, ast.comprehension) else node
    return SyntaxNotAccepted(refusal.what, source.origin(place), refusal.why, refusal.instead)
