"""match: the cases as branches, each pattern a test and the names that it binds.

match shape:                 the class of `shape` is known: one case is left
    case Circle(r): …        r = shape.r
match n:
    case 0 | 1: …            if n == 0 or n == 1: …
    case k if k > 5: …       else: k = n; if k > 5: …
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import BOOL, ListOf
from srcdiff.ir.nodes import Const, Ref, SliceOf
from srcdiff.prepare import builtin_calls, containers, expressions, loops, statements
from srcdiff.prepare.lowering import Lowering, truth
from srcdiff.prepare.values import DictRef, Instance, Iterable, ListRef, Record, Value, is_atom
from srcdiff.rules.inference import kind_of

_SELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern is matched against the value itself."""


@dataclass
class _Match:
    """What a pattern asks: tests that only the run decides, and the names it binds, their values found when it fits."""

    tests: list[Value] = field(default_factory=list)
    names: list[tuple[str, Callable[[], Value]]] = field(default_factory=list)


def lower_match(low: Lowering, node: ast.Match, after: statements.Continuation) -> statements.Tree | None:
    """None when what follows goes on in the same block; otherwise the tree of everything that follows."""
    subject = expressions.lower(low, node.subject)
    if loops.has_jump([node]):
        return _cases(low, node, 0, subject, after)
    builder = low.builder
    arm = statements.settle(low, _cases(low, node, 0, subject, lambda: statements.leaf(low, "fall")), builder)
    low.builder = builder
    low.restore(arm.state)
    return statements.leaf(low, "raise") if arm.is_dead else None


def _cases(low: Lowering, node: ast.Match, at: int, subject: Value, after: statements.Continuation) -> statements.Tree:
    if at == len(node.cases):
        return after()
    case = node.cases[at]
    low.node = case.pattern
    match = _Match()
    if not _fits(low, case.pattern, subject, match):
        return _cases(low, node, at + 1, subject, after)

    def otherwise() -> statements.Tree:
        return _cases(low, node, at + 1, subject, after)

    def taken() -> statements.Tree:
        for name, value in match.names:
            statements.bind_name(low, name, value())
        if case.guard is None:
            return statements.lower_stmts(low, case.body, after)
        guard = expressions.lower(low, case.guard)
        known = truth(guard, low)
        if known is not None:
            return statements.lower_stmts(low, case.body, after) if known else otherwise()
        return statements.fork(low, guard, lambda: statements.lower_stmts(low, case.body, after), otherwise, case.guard)

    if not match.tests:
        return taken()
    cond = match.tests[0]
    for test in match.tests[1:]:
        cond = low.builder.apply(ops.AND, (cond, test), kind=BOOL)
    return statements.fork(low, cond, taken, otherwise, case.pattern)


def _fits(low: Lowering, pattern: ast.pattern, value: Value, match: _Match) -> bool:
    """Whether a pattern may fit, as far as that is known when compiling."""
    if isinstance(value, Instance) and isinstance(pattern, (ast.MatchSequence, ast.MatchMapping)):
        raise low.refuse(SyntaxNotAccepted, "an object is matched as a sequence or mapping", pattern, instead="use its class.")
    match pattern:
        case ast.MatchAs(inner, name):
            if inner is not None and not _fits(low, inner, value, match):
                return False
            if name is not None:
                match.names.append((name, lambda: value))
            return True
        case ast.MatchValue(expr):
            return _equals(low, value, expressions.lower(low, expr), match, pattern)
        case ast.MatchSingleton(constant):
            if not is_atom(value) or (constant is not None and kind_of(value) != BOOL):
                return False
            return _asks(low, expressions.binary(low, "Is", value, Const(constant), pattern), match)
        case ast.MatchSequence(parts):
            return _fits_sequence(low, parts, value, match, pattern)
        case ast.MatchMapping(keys, parts, rest):
            return _fits_mapping(low, keys, parts, rest, value, match)
        case ast.MatchClass():
            return _fits_class(low, pattern, value, match)
        case ast.MatchOr(alternatives):
            return _fits_one(low, alternatives, value, match, pattern)
    raise low.refuse(SyntaxNotAccepted, f"the pattern `{type(pattern).__name__}` is not accepted", pattern)


def _asks(low: Lowering, test: Value, match: _Match) -> bool:
    known = truth(test, low)
    if known is None:
        match.tests.append(low.atom(test))
    return known is not False


def _equals(low: Lowering, value: Value, wanted: Value, match: _Match, node: ast.AST) -> bool:
    if isinstance(value, Ref) and isinstance(wanted, Ref):
        return bool(value.value == wanted.value)
    if not is_atom(value) or isinstance(value, Ref) or isinstance(wanted, Ref):
        return False
    return _asks(low, expressions.binary(low, "Eq", value, wanted, node), match)


def _fits_sequence(low: Lowering, parts: list[ast.pattern], value: Value, match: _Match, node: ast.AST) -> bool:
    star = next((i for i, p in enumerate(parts) if isinstance(p, ast.MatchStar)), None)
    items = expressions.known_items(low, value) if isinstance(value, (tuple, ListRef, Record)) else None
    if items is None:
        return _fits_list_of_the_run(low, parts, star, value, match, node)
    if len(items) != len(parts) if star is None else len(items) < len(parts) - 1:
        return False
    if star is None:
        return all(_fits(low, p, i, match) for p, i in zip(parts, items))
    after = len(parts) - star - 1
    middle = items[star : len(items) - after]
    starred = parts[star]
    assert isinstance(starred, ast.MatchStar)
    if starred.name is not None:
        match.names.append((starred.name, lambda: low.new_list(tuple(middle))))
    pairs = [*zip(parts[:star], items), *zip(parts[star + 1 :], items[len(items) - after :])]
    return all(_fits(low, p, i, match) for p, i in pairs)


def _fits_list_of_the_run(
    low: Lowering, parts: list[ast.pattern], star: int | None, value: Value, match: _Match, node: ast.AST
) -> bool:
    atom = low.store[value] if isinstance(value, ListRef) else value
    kind = kind_of(atom) if is_atom(atom) else None
    if not isinstance(kind, ListOf):
        return False
    n = low.builder.apply(ops.LEN, (atom,))
    wanted = Const(len(parts) if star is None else len(parts) - 1)
    match.tests.append(low.builder.apply(ops.EQ if star is None else ops.GE, (n, wanted)))
    for i, part in enumerate(parts):
        place: Any = i if star is None or i < star else i - len(parts)
        if i == star:
            end = i - len(parts) + 1
            place = SliceOf(Const(i), Const(end) if end else Const(None), Const(None))
        name = part.name if isinstance(part, (ast.MatchAs, ast.MatchStar)) else None
        if not isinstance(part, (ast.MatchAs, ast.MatchStar)) or isinstance(part, ast.MatchAs) and part.pattern is not None:
            raise low.refuse(
                KindError,
                "the items of a list whose length the run decides are matched",
                node,
                instead="bind them to names, and test them in the case or its guard.",
            )
        if name is not None:
            index = place if isinstance(place, SliceOf) else Const(place)
            match.names.append((name, lambda index=index: expressions.subscript(low, value, index, node)))  # type: ignore[misc]
    return True


def _fits_mapping(
    low: Lowering, keys: list[ast.expr], parts: list[ast.pattern], rest: str | None, value: Value, match: _Match
) -> bool:
    if not isinstance(value, DictRef):
        return False
    entries = dict(low.store[value])
    names = [containers.known_key(low, expressions.lower(low, k), k) for k in keys]
    if any(n not in entries for n in names):
        return False
    if rest is not None:
        others = tuple((k, v) for k, v in entries.items() if k not in names)
        match.names.append((rest, lambda: low.new_dict(others)))
    return all(_fits(low, p, entries[n], match) for p, n in zip(parts, names))


def _fits_class(low: Lowering, pattern: ast.MatchClass, value: Value, match: _Match) -> bool:
    cls = expressions.lower(low, pattern.cls)
    if not (isinstance(cls, Ref) and isinstance(cls.value, type)):
        raise low.refuse(KindError, "the class of a pattern is not known when the function is compiled", pattern)
    if isinstance(value, Iterable):
        raise low.refuse(KindError, "an iterator is matched", pattern)
    if not _asks(low, builtin_calls.HANDLERS[isinstance](low, (value, cls), {}, pattern), match):
        return False
    positional = pattern.patterns
    if positional and issubclass(cls.value, _SELF) and "__match_args__" not in vars(cls.value):
        return len(positional) == 1 and _fits(low, positional[0], value, match)
    names = list(getattr(cls.value, "__match_args__", ()))[: len(positional)]
    if len(names) < len(positional):
        raise low.refuse(KindError, f"`{cls.text}` has {len(names)} positional patterns", pattern)
    for name, part in [*zip(names, positional), *zip(pattern.kwd_attrs, pattern.kwd_patterns)]:
        if not _fits(low, part, expressions.attribute(low, value, name, pattern), match):
            return False
    return True


def _fits_one(low: Lowering, alternatives: list[ast.pattern], value: Value, match: _Match, node: ast.AST) -> bool:
    """The first alternative that certainly fits; otherwise a test of each that may."""
    tests: list[Value] = []
    for alternative in alternatives:
        inner = _Match()
        if not _fits(low, alternative, value, inner):
            continue
        if not inner.tests and not tests:
            match.names += inner.names
            return True
        if inner.names:
            raise low.refuse(
                SyntaxNotAccepted,
                "alternatives that bind names are chosen by the run",
                node,
                instead="write a case for each.",
            )
        test: Value = Const(True)
        for part in inner.tests:
            test = part if isinstance(test, Const) else low.builder.apply(ops.AND, (test, part), kind=BOOL)
        tests.append(test)
    if not tests:
        return False
    if any(isinstance(t, Const) for t in tests):  # one fits in any case
        return True
    whole = tests[0]
    for test in tests[1:]:
        whole = low.builder.apply(ops.OR, (whole, test), kind=BOOL)
    match.tests.append(whole)
    return True
