"""The headers of for loops.

t in 0..n                     for t in range(n):
i in 0.., x in xs             for i, x in enumerate(xs):
x in xs, (h, c) in kept       for x, (h, c) in zip(xs, kept):
t in reversed 0..n            for t in reversed(range(n)):
"""

from __future__ import annotations

import ast
import itertools

from srcdiff.emit.expressions import Expressions, name
from srcdiff.ir.nodes import Const, Range, Source
from srcdiff.ir.walk import source_targets


def loop_header(sources: tuple[Source, ...], of: Expressions) -> tuple[ast.expr, ast.expr]:
    """The target and the iterable of a for statement."""
    counter, counted = _counter(sources, of)
    target = _joined([_target(source, of) for source in counted])
    iterable = _zipped(counted, of)
    if counter is None:
        return target, iterable
    assert isinstance(counter.iterable, Range)
    start = [] if counter.iterable.start == Const(0) else [of.operand(counter.iterable.start)]
    pair: list[ast.expr] = [_target(counter, of), target]
    return ast.Tuple(pair, ast.Store()), ast.Call(name("enumerate"), [iterable, *start], [])


def _counter(sources: tuple[Source, ...], of: Expressions) -> tuple[Source | None, tuple[Source, ...]]:
    """The count that goes into `enumerate`, if there is one, and the other sources. A count that nobody reads is dropped."""
    endless = [source for source in sources if isinstance(source.iterable, Range) and source.iterable.stop is None]
    unread = {source for source in endless if not any(target in of.names for target in source_targets(source))}
    if len(unread) < len(sources):
        sources = tuple(source for source in sources if source not in unread)
    first = sources[0]
    if len(sources) > 1 and first in endless and isinstance(first.iterable, Range) and first.iterable.step == Const(1):
        return first, sources[1:]
    return None, sources


def _target(source: Source, of: Expressions) -> ast.expr:
    targets: list[ast.expr] = [of.target(target) for target in source_targets(source)]
    return ast.Tuple(targets, ast.Store()) if isinstance(source.target, tuple) else targets[0]


def _joined(targets: list[ast.expr]) -> ast.expr:
    return targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())


def _zipped(sources: tuple[Source, ...], of: Expressions) -> ast.expr:
    iterables = [_iterable(source, of) for source in sources]
    return iterables[0] if len(iterables) == 1 else ast.Call(name("zip"), iterables, [])


def _iterable(source: Source, of: Expressions) -> ast.expr:
    node: ast.expr
    match source.iterable:
        case Range(start, None, step):
            args = [of.operand(start)] if step == Const(1) else [of.operand(start), of.operand(step)]
            return ast.Call(name(of.outside.name(itertools.count, "itertools.count")), args, [])
        case Range(start, stop, step):
            assert stop is not None
            args = [] if start == Const(0) and step == Const(1) else [of.operand(start)]
            args.append(of.operand(stop))
            args += [] if step == Const(1) else [of.operand(step)]
            node = ast.Call(name("range"), args, [])
        case atom:
            node = of.operand(atom)
    return ast.Call(name("reversed"), [node], []) if source.is_reversed else node
