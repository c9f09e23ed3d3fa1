"""Generators: functions with `yield` and generator expressions, put in place where a loop runs over them.

def halves(x):                      for h in halves(a): total += h
    while x > 1:                    x = a
        yield x              →      while x > 1:
        x = x / 2                       h = x;  total += h
                                        x = x / 2

So each step of the generator runs where Python runs it: between the trips of the loop. The generator's names get hidden
ones of their own, and the names from around it are read where it was made.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.ir.nodes import Const
from srcdiff.prepare import builtin_calls, calls, expressions, iterators, loops, statements
from srcdiff.prepare.lowering import Frame, Lowering
from srcdiff.prepare.values import Generator, Iterable, Value
from srcdiff.read.source import FunctionSource

_FIRST = ".0"
_MOST_YIELDS = 8
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class OuterName(ast.expr):
    """A name of a generator's surroundings, read in the frame that it was made in."""

    id: str
    frame: Frame | None
    source: FunctionSource

    def __init__(self, id: str, frame: Frame | None, source: FunctionSource) -> None:
        super().__init__()
        self.id, self.frame, self.source = id, frame, source


@functools.lru_cache(maxsize=1024)
def is_generator(fn: ast.AST) -> bool:
    """Whether a function yields."""

    def visit(node: ast.AST) -> bool:
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        return not isinstance(node, _SCOPES) and any(visit(child) for child in ast.iter_child_nodes(node))

    return isinstance(fn, ast.FunctionDef) and any(visit(stmt) for stmt in fn.body)


def expression(low: Lowering, node: ast.GeneratorExp) -> Value:
    """A generator expression: its first iterable is evaluated here, the rest where it is consumed."""
    first = expressions.lower(low, node.generators[0].iter)
    return Generator(node, low.frame.source, low.frame, {_FIRST: first}, "the generator expression", low.depth)


# ---------------------------------------------------------------- consuming


def consumed(low: Lowering, generator: Generator, node: ast.AST) -> None:
    """A generator gives its items once."""
    is_outer = generator.depth < low.depth
    if is_outer or low.store.get(generator):
        raise low.refuse(
            SyntaxNotAccepted,
            f"{generator.name} is consumed {'in each trip of a loop' if is_outer else 'twice'}",
            node,
            why="A generator gives its items once, and is empty afterwards.",
            instead="make a list of it before.",
        )
    low.store[generator] = (Const(True),)


def in_place(low: Lowering, loop: ast.For, generator: Generator) -> list[ast.stmt]:
    """The statements that a loop over a generator stands for."""
    consumed(low, generator, loop.iter)
    prefix = next(low.serial)
    if isinstance(generator.fn, ast.GeneratorExp):
        body, names = _body_of_expression(generator.fn), frozenset([_FIRST, *_targets(generator.fn)])
    else:
        body, names = generator.fn.body, calls.function_locals(generator.fn)
    hidden = {name: f"<{name}<{prefix}>" for name in names}
    for name, value in generator.args.items():
        low.frame.vars[hidden[name]] = value
    frame = None if generator.frame is low.frame else generator.frame
    renaming = _Renaming(hidden, frame, generator, is_own=generator.frame is low.frame, node=loop.iter)
    weaving = _Weaving(low, loop, generator, f"<done<{prefix}>")
    program = weaving.program([renaming.visit(_copied(stmt)) for stmt in body])
    whole = ast.Module(program, [])
    names_of_ours = (n.id for n in ast.walk(whole) if isinstance(n, ast.Name) and n.id.endswith(f"<{prefix}>"))
    low.frame.woven.update(dict.fromkeys((*hidden.values(), *names_of_ours), whole))
    return program


def _body_of_expression(node: ast.GeneratorExp) -> list[ast.stmt]:
    """`(e for x in xs if p)` as the body of the generator function that it is."""
    body: ast.stmt = ast.Expr(ast.Yield(node.elt))
    for i, part in reversed(list(enumerate(node.generators))):
        for test in reversed(part.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(part.target, ast.Name(_FIRST, ast.Load()) if i == 0 else part.iter, [body], [])
    for child in ast.walk(body):
        if not hasattr(child, "lineno"):
            ast.copy_location(child, node)
    return [body]


def _targets(node: ast.GeneratorExp) -> list[str]:
    return list(loops.assigned_names([part.target for part in node.generators]))


def _copied(node: Any) -> Any:
    """A tree of its own, which refers to the same sources and frames."""
    if isinstance(node, list):
        return [_copied(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    new = type(node).__new__(type(node))
    new.__dict__.update(node.__dict__)
    for name in node._fields:
        if hasattr(node, name):
            setattr(new, name, _copied(getattr(node, name)))
    return new


class _Renaming(ast.NodeTransformer):
    """The generator's names as hidden ones, and those from around it as names to be read there."""

    def __init__(self, hidden: dict[str, str], frame: Frame | None, generator: Generator, *, is_own: bool, node: ast.AST) -> None:
        self.hidden, self.frame, self.generator, self.is_own, self.node = hidden, frame, generator, is_own, node
        self.bound: list[set[str]] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.stmt, ast.expr)) and hasattr(node, "lineno"):
            if self.generator.source.file == iterators.__file__:
                ast.copy_location(node, self.node)  # a text of ours stands for the user's call
            elif not hasattr(node, "source"):
                node.source = self.generator.source  # type: ignore[union-attr]
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if any(node.id in names for names in self.bound):
            return node
        if node.id in self.hidden:
            return ast.copy_location(ast.Name(self.hidden[node.id], node.ctx), node)
        if self.is_own or not isinstance(node.ctx, ast.Load):
            return node
        outer = ast.copy_location(OuterName(node.id, self.frame, self.generator.source), node)
        return outer

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._function(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.hidden.get(node.name, node.name)
        return self._function(node)

    def _function(self, node: ast.Lambda | ast.FunctionDef) -> ast.AST:
        """Default values are of the scope around."""
        args = node.args
        defaults, keyword = args.defaults, args.kw_defaults
        args.defaults, args.kw_defaults = [], []
        self._within(node, set(calls.function_locals(node)))
        args.defaults = [self.visit(default) for default in defaults]
        args.kw_defaults = [default and self.visit(default) for default in keyword]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """What the first loop runs over is of the scope around."""
        first = node.generators[0]
        iterable, first.iter = first.iter, ast.Constant(None)
        self._within(node, set(loops.assigned_names([part.target for part in node.generators])))
        first.iter = self.visit(iterable)
        return node

    visit_GeneratorExp = visit_DictComp = visit_SetComp = visit_ListComp  # type: ignore[assignment]

    def _within(self, node: ast.AST, names: set[str]) -> None:
        self.bound.append(names)
        self.generic_visit(node)
        self.bound.pop()


class _Weaving:
    """Puts the body of a loop at each `yield` of a generator.

    `continue` goes on after the yield. `break`, and a `return` of the generator, leave all of the generator's loops.
    """

    def __init__(self, low: Lowering, loop: ast.For, generator: Generator, done: str) -> None:
        self.low, self.loop, self.generator, self.done = low, loop, generator, done
        self.breaks = loops.has_jump(loop.body, (ast.Break,))
        self.continues = loops.has_jump(loop.body, (ast.Continue,))
        self.is_left = self.breaks
        self.yields = 0

    def program(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self.is_left = self.breaks or _has_return(body)
        if self.loop.orelse and self.is_left and _has_return(body):
            raise self.refuse("the generator of a loop with else returns early")
        woven = self.block(body, depth=0, is_tail=True)
        if self.is_left or self.loop.orelse:
            # One trip of a loop that a break may leave.
            once = ast.For(self.name("<once>", ast.Store()), ast.Tuple([ast.Constant(None)], ast.Load()), woven, self.loop.orelse)
            woven = [self.at(ast.Assign([self.name(self.done, ast.Store())], ast.Constant(False))), self.at(once)]
        return woven

    def refuse(self, what: str) -> SyntaxNotAccepted:
        error = self.low.refuse(
            SyntaxNotAccepted,
            f"{what}, which cannot be put in place of its loop",
            self.loop.iter,
            instead="make a list of it before: for x in list(…).",
        )
        assert isinstance(error, SyntaxNotAccepted)
        return error

    def at(self, stmt: ast.stmt) -> ast.stmt:
        for child in ast.walk(stmt):
            if not hasattr(child, "lineno") and isinstance(child, (ast.stmt, ast.expr)):
                ast.copy_location(child, self.loop)
        return stmt

    def name(self, name: str, context: ast.expr_context) -> ast.Name:
        return ast.Name(name, context)

    def leave(self) -> list[ast.stmt]:
        return [self.at(ast.Assign([self.name(self.done, ast.Store())], ast.Constant(True))), self.at(ast.Break())]

    def block(self, body: list[ast.stmt], depth: int, is_tail: bool) -> list[ast.stmt]:
        """`depth`: how many of the generator's loops are around; `is_tail`: nothing of the innermost follows the block."""
        out: list[ast.stmt] = []
        for i, stmt in enumerate(body):
            out += self.stmt(stmt, depth, is_tail and i == len(body) - 1)
        return out

    def stmt(self, stmt: ast.stmt, depth: int, is_tail: bool) -> list[ast.stmt]:
        match stmt:
            case ast.Expr(ast.Yield(value)):
                return self.give(value or ast.copy_location(ast.Constant(None), stmt), depth, is_tail)
            case ast.Expr(ast.YieldFrom(value)):
                item = self.done.replace("done", f"item{self.yields}")
                target = ast.copy_location(ast.Name(item, ast.Store()), stmt)
                each: ast.stmt = ast.Expr(ast.Yield(ast.copy_location(ast.Name(item, ast.Load()), stmt)))
                loop = ast.For(target, value, [ast.copy_location(each, stmt)], [])
                return self.stmt(ast.copy_location(loop, stmt), depth, is_tail)
            case ast.Return():
                return self.leave()
            case ast.For() | ast.While():
                may_leave = self.is_left and (_yields(stmt) or _has_return([stmt]))
                stmt.body = self.block(stmt.body, depth + 1, True)
                stmt.orelse = self.block(stmt.orelse, depth, is_tail)
                is_last = depth == 0 and is_tail and not self.loop.orelse
                if may_leave and not is_last:
                    return [stmt, self.at(ast.If(self.name(self.done, ast.Load()), [ast.Break()], []))]
                return [stmt]
            case ast.If():
                stmt.body = self.block(stmt.body, depth, is_tail)
                stmt.orelse = self.block(stmt.orelse, depth, is_tail)
                return [stmt]
            case ast.With():
                stmt.body = self.block(stmt.body, depth, False)
                return [stmt]
            case ast.Match():
                for each_case in stmt.cases:
                    each_case.body = self.block(each_case.body, depth, is_tail)
                return [stmt]
            case _ if _yields(stmt):
                raise self.refuse(f"{self.generator.name} yields within `{type(stmt).__name__.lower()}`")
        return [stmt]

    def give(self, value: ast.expr, depth: int, is_tail: bool) -> list[ast.stmt]:
        self.yields += 1
        if self.yields > _MOST_YIELDS:
            raise self.refuse(f"{self.generator.name} yields at more than {_MOST_YIELDS} places")
        bind = ast.copy_location(ast.Assign([self.loop.target], value), value)
        if hasattr(value, "source"):
            bind.source = value.source  # type: ignore[attr-defined]
        body = self.loop.body
        if self.continues and not (is_tail and depth > 0):
            once = ast.For(
                self.name("<once>", ast.Store()),
                ast.Tuple([ast.Constant(None)], ast.Load()),
                self.leaving(body),
                [],
            )
            after = [self.at(ast.If(self.name(self.done, ast.Load()), [ast.Break()], []))] if self.breaks else []
            return [bind, self.at(once), *after]
        return [bind, *self.leaving(body)]

    def leaving(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The loop's body, which says so where it leaves the loop."""
        if not self.breaks:
            return body
        out: list[ast.stmt] = []
        for stmt in body:
            match stmt:
                case ast.Break():
                    out += self.leave()
                case ast.If(test, then, orelse) if loops.has_jump([stmt], (ast.Break,)):
                    out.append(ast.copy_location(ast.If(test, self.leaving(then), self.leaving(orelse)), stmt))
                case ast.For() | ast.While() if loops.has_jump(stmt.orelse, (ast.Break,)):
                    raise self.refuse("a loop over a generator is left from the else of another")
                case _ if loops.has_jump([stmt], (ast.Break,)):
                    raise self.refuse(f"a loop over a generator is left from `{type(stmt).__name__.lower()}`")
                case _:
                    out.append(stmt)
        return out


def _yields(node: ast.AST) -> bool:
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return True
    return not isinstance(node, _SCOPES) and any(_yields(child) for child in ast.iter_child_nodes(node))


def _has_return(body: list[ast.stmt]) -> bool:
    return loops.has_jump(body, (ast.Return,))


def collected(low: Lowering, value: Value, node: ast.AST) -> Value:
    """The items of a generator as a list; any other value is itself."""
    match value:
        case Generator():
            return builtin_calls.collected(low, value, node)
        case Iterable(sort, args) if any(isinstance(a, (Generator, Iterable)) for a in args):
            return Iterable(sort, tuple(collected(low, a, node) for a in args))
    return value


def lower_loop(low: Lowering, node: ast.For, generator: Generator, rest: Any) -> Any:
    """A loop over a generator, by what it stands for."""
    program = in_place(low, node, generator)
    if loops.has_jump(program) or loops.has_jump(node.body, (ast.Return,)):
        return statements.lower_stmts(low, program, rest)
    statements.lower_whole(low, program)
    return None
