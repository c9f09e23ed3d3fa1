"""The IR's statements as Python statements: assignments, branches, loops, and copies where names differ.

If(c, [..] Yield(a), [..] Yield(b), (r,))      →      if c: …; r = a
                                                      else: …; r = b
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from srcdiff.analysis.liveness import leaves_of, resolved
from srcdiff.emit.expressions import BINARY, Expressions, name
from srcdiff.emit.headers import loop_header
from srcdiff.errors import InternalError
from srcdiff.ir.kinds import ListOf, Number
from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Block,
    Branch,
    Caught,
    Const,
    End,
    Exit,
    If,
    Loop,
    Managed,
    Next,
    Operand,
    Origin,
    Return,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.ops import ITEM
from srcdiff.ir.walk import ends_of, operands_of, vars_of
from srcdiff.passes.fold import is_own
from srcdiff.passes.place import VERSIONS
from srcdiff.rules.inference import item_kind

_SHORT = 3


@dataclass
class Statements:
    """What prints statements. `comments` collects the text of comments, in the order of their marks; `origins` the user's
    line of each statement. `said` is the line that the last comment names. `bound` are variables that are None where they
    have no value.
    """

    expressions: Expressions
    conditionals: frozenset[If]
    bound: frozenset[Var] = frozenset()
    with_comments: bool = True
    comments: list[str] = field(default_factory=list)
    origins: dict[ast.stmt, Origin] = field(default_factory=dict)
    said: Origin | None = None
    exits: tuple[Var, ...] = ()

    def body(self, block: Block) -> list[ast.stmt]:
        return self.block(block, (), in_loop=False)

    def block(self, block: Block, into: tuple[Var, ...], in_loop: bool) -> list[ast.stmt]:
        """The statements of a block; `into` is what its Yield or Next binds, `exits` what an Exit does."""
        out: list[ast.stmt] = []
        for stmt in block.stmts:
            before = self.said
            is_new = _is_reverse(stmt.origin) and not _same_line(stmt.origin, before)
            if is_new:
                self.said = stmt.origin
            lines = self.stmt(stmt, in_loop)
            self.note(lines, self.place_of(stmt.origin, operands_of(stmt)))
            if not lines:
                self.said = before
            elif is_new and self.with_comments:
                out.append(self.comment(stmt.origin))
            out += lines
        origin = self.origin_of(operands_of(block.end))
        lines = self.end(block.end, into, in_loop)
        self.note(lines, self.place_of(None, operands_of(block.end)))
        is_new = _is_reverse(origin) and not _same_line(origin, self.said) and not isinstance(block.end, (Branch, Return))
        if lines and is_new and self.with_comments:
            self.said = origin
            out.append(self.comment(origin))
        return out + lines

    def note(self, lines: list[ast.stmt], origin: Origin | None) -> None:
        """Note where statements come from, unless that is known better."""
        if origin is not None:
            for line in lines:
                self.origins.setdefault(line, origin)

    def place_of(self, origin: Origin | None, operands: tuple[Operand, ...]) -> Origin | None:
        """The line to name when a statement fails: that of a call of the user's that is folded into ours, else its own."""
        if origin is not None and origin.column >= 0:
            return origin
        return self.called(operands) or origin or self.origin_of(operands)

    def called(self, operands: tuple[Operand, ...]) -> Origin | None:
        """Where the first call of the user's comes from that is folded into operands."""
        for var in vars_of(operands):
            stmt = self.expressions.folds.get(var)
            if stmt is None:
                continue
            is_users = stmt.origin is not None and stmt.origin.column >= 0
            is_call = isinstance(stmt, Apply) and stmt.op.style in ("call", "method", "item")
            found = stmt.origin if is_users and is_call else self.called(operands_of(stmt))
            if found is not None:
                return found
        return None

    def origin_of(self, operands: tuple[Operand, ...]) -> Origin | None:
        """Where the first expression comes from that is folded into operands."""
        for var in vars_of(operands):
            stmt = self.expressions.folds.get(var)
            origin = None if stmt is None else stmt.origin or self.origin_of(operands_of(stmt))
            if origin is not None:
                return origin
        return None

    def comment(self, origin: Origin | None) -> ast.stmt:
        assert origin is not None
        lines = origin.text.strip().splitlines()
        self.comments.append(f"# line {origin.line}: {lines[0] if lines else ''}".rstrip())
        return ast.Expr(name(comment_mark(len(self.comments) - 1)))

    def end(self, end: End, into: tuple[Var, ...], in_loop: bool) -> list[ast.stmt]:
        match end:
            case Yield(values) | Next(values):
                return self.copies(into, values, in_loop)
            case Exit(values):
                return [*self.copies(self.exits, values, in_loop), ast.Break()]
            case Return(value):
                return [ast.Return(self.expressions.operand(value))]
            case Branch():
                return self.branch(end, into, in_loop)
            case _:
                raise InternalError(f"not the end of a block: {end!r}")

    # ------------------------------------------------------------ assignments

    def stmt(self, stmt: Stmt, in_loop: bool) -> list[ast.stmt]:
        match stmt:
            case Apply():
                return list(self.apply(stmt))
            case If():
                return self.conditional(stmt, in_loop)
            case Loop():
                return self.loop(stmt, in_loop)
            case _:
                raise InternalError(f"not a statement: {stmt!r}")

    def apply(self, stmt: Apply) -> Iterator[ast.stmt]:
        of, op = self.expressions, stmt.op
        if op.style in VERSIONS:
            yield from self.version(stmt)
        elif op.style == "augment":
            yield self.augment(stmt)
        elif op.style == "caught":
            pass
        elif op.style == "raise":
            yield ast.Raise(*of.operands(stmt.args))
        elif op.style == "assert":
            yield ast.Assert(*of.operands(stmt.args))
        elif op.style == "set_attribute":
            owner, value = of.operands(stmt.args)
            yield ast.Assign([ast.Attribute(owner, op.text, ast.Store())], value)
        elif op.style == "unpack":
            target = self.pattern(op.pattern, stmt.targets)
            yield ast.Assign([target], of.apply(stmt))
        elif not any(target in of.names for target in stmt.targets):
            yield ast.Expr(of.apply(stmt))
        elif len(stmt.targets) == 1:
            yield from self.assign(of.names[stmt.targets[0]], of.apply(stmt))
        else:
            targets: list[ast.expr] = [of.target(target) for target in stmt.targets]
            yield ast.Assign([ast.Tuple(targets, ast.Store())], of.apply(stmt))

    def assign(self, target: str, value: ast.expr) -> Iterator[ast.stmt]:
        if not (isinstance(value, ast.Name) and value.id == target):
            yield ast.Assign([ast.Name(target, ast.Store())], value)

    def pattern(self, pattern: object, targets: tuple[Var, ...]) -> ast.expr:
        match pattern:
            case None:
                return ast.Name("_", ast.Store())
            case int():
                return self.expressions.target(targets[pattern])
            case tuple() | list():
                return ast.Tuple([self.pattern(part, targets) for part in pattern], ast.Store())
            case _:
                raise InternalError(f"not a pattern: {pattern!r}")

    def version(self, stmt: Apply) -> Iterator[ast.stmt]:
        """A version written into the memory of the one before."""
        of, (base, *rest) = self.expressions, stmt.args
        target = of.names[stmt.targets[0]]
        yield from self.assign(target, of.operand(base))
        match stmt.op.style:
            case "append":
                yield ast.Expr(ast.Call(name(f"{target}.append"), [of.operand(rest[0])], []))
            case "insert":
                yield ast.Expr(ast.Call(name(f"{target}.insert"), of.operands(tuple(rest)), []))
            case "pop":
                call = ast.Call(name(f"{target}.pop"), of.operands(tuple(rest)), [])
                item = stmt.targets[1]
                yield ast.Assign([of.target(item)], call) if item in of.names else ast.Expr(call)
            case "scatter_add":
                index = of.operand(rest[0]) if not isinstance(rest[0], tuple) else _as_key(of.index(rest[0]))
                fn = name(f"{of.outside.name(_numpy_add(), 'np.add')}.at")
                yield ast.Expr(ast.Call(fn, [name(target), index, of.operand(rest[1])], []))
            case "index_set" if (updated := self.updated(stmt, target)) is not None:
                yield updated
            case "index_set":
                yield ast.Assign([self.place(stmt, target, ast.Store())], of.operand(rest[1]))
            case "index_add":
                yield self.index_add(stmt, target, rest[1])
            case style:
                raise InternalError(f"{style} makes no version", stmt.origin)

    def place(self, stmt: Apply, target: str, context: ast.expr_context) -> ast.Subscript:
        return self.expressions.subscript(name(target), stmt.targets[0], stmt.args[1], context)

    def index_add(self, stmt: Apply, target: str, value: Operand) -> ast.stmt:
        is_subtracted = stmt.origin is not None and "-=" in stmt.origin.text
        operator, added = self.signed("+", value, is_own(stmt) or is_subtracted)
        kind = stmt.targets[0].kind
        if isinstance(kind, ListOf) and not isinstance(item_kind(kind, stmt.args[1]), Number):
            # `l[i] += v` would write into the array that the list holds.
            total = ast.BinOp(self.place(stmt, target, ast.Load()), operator, added)
            return ast.Assign([self.place(stmt, target, ast.Store())], total)
        return ast.AugAssign(self.place(stmt, target, ast.Store()), operator, added)

    def updated(self, stmt: Apply, target: str) -> ast.stmt | None:
        """`x[i] = x[i] * v` as `x[i] *= v`, where the user writes so or the line is ours."""
        of = self.expressions
        index, value = stmt.args[1:]
        made = of.folds.get(value) if isinstance(value, Var) else None
        if not isinstance(made, Apply) or made.op.style != "binary" or made.op.text not in BINARY:
            return None
        if not (is_own(stmt) or (stmt.origin is not None and f"{made.op.text}=" in stmt.origin.text)):
            return None
        pairs = [made.args, made.args[::-1]] if is_own(stmt) and made.op.text == "*" else [made.args]
        for read, other in pairs:
            item = of.folds.get(read) if isinstance(read, Var) else None
            if isinstance(item, Apply) and item.op is ITEM and item.args[1] == index:
                base = resolved(item.args[0], of.folds)
                if isinstance(base, Var) and base not in of.folds and of.names[base] == target:
                    return ast.AugAssign(self.place(stmt, target, ast.Store()), BINARY[made.op.text](), of.operand(other))
        return None

    def signed(self, text: str, value: Operand, is_ours: bool) -> tuple[ast.operator, ast.expr]:
        """The operator and operand of a sum: a minus in front of the operand goes into the operator."""
        positive = self.expressions.opposite(value) if is_ours and text in ("+", "-") else None
        if positive is None:
            return BINARY[text](), self.expressions.operand(value)
        return (ast.Sub() if text == "+" else ast.Add()), positive

    def augment(self, stmt: Apply) -> ast.stmt:
        of, (base, other) = self.expressions, stmt.args
        base = resolved(base, of.folds)
        assert isinstance(base, Var)
        target = of.names[stmt.targets[0]]
        operator, value = self.signed(stmt.op.text, other, is_own(stmt))
        if of.names[base] == target:
            return ast.AugAssign(ast.Name(target, ast.Store()), operator, value)
        return ast.Assign([ast.Name(target, ast.Store())], ast.BinOp(of.operand(base), operator, value))

    # ------------------------------------------------------------ copies

    def copies(self, into: tuple[Var, ...], values: tuple[Operand, ...], in_loop: bool) -> list[ast.stmt]:
        """Bind several variables at once: those that others still read come last, a ring in one assignment."""
        of = self.expressions
        pending: list[tuple[str, Operand, set[str]]] = []
        for var, value in zip(into, values, strict=True):
            if var not in of.names:
                continue
            if value == Const(UNBOUND):
                if not in_loop and var not in self.bound:
                    continue
                value = Const(None)
            value = resolved(value, of.folds)
            if isinstance(value, Var) and value not in of.folds and of.names[value] == of.names[var]:
                continue
            pending.append((of.names[var], value, {of.names[leaf] for leaf in leaves_of((value,), of.folds)}))
        out: list[ast.stmt] = []
        while pending:
            ready = next((i for i, (target, _, _) in enumerate(pending) if not _is_read(target, pending, i)), None)
            if ready is None:
                targets: list[ast.expr] = [ast.Name(target, ast.Store()) for target, _, _ in pending]
                values_of = [of.operand(value) for _, value, _ in pending]
                out.append(ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values_of, ast.Load())))
                break
            target, value, _ = pending.pop(ready)
            out.append(ast.Assign([ast.Name(target, ast.Store())], of.operand(value)))
        return out

    # ------------------------------------------------------------ branches

    def conditional(self, stmt: If, in_loop: bool) -> list[ast.stmt]:
        of = self.expressions
        if stmt in self.conditionals:
            if stmt.results[0] not in of.names:
                return []
            return list(self.assign(of.names[stmt.results[0]], of.conditional(stmt)))
        then, orelse = self.arms(stmt.then, stmt.orelse, stmt.results, in_loop)
        if stmt.around is not None:
            return self.guarded(stmt, stmt.around, then, orelse)
        return self.choice(stmt.cond, then, orelse)

    def guarded(self, stmt: If, around: Caught | Managed, then: list[ast.stmt], orelse: list[ast.stmt]) -> list[ast.stmt]:
        """A try or with statement."""
        of = self.expressions
        if not then:
            return []
        if isinstance(around, Managed):
            if around.op is None:
                manager = of.operand(around.args[0])
            else:
                manager = of.apply(Apply((), around.op, around.args, around.kwargs))
            return [ast.With([ast.withitem(manager, None)], then)]
        errors = [of.operand(error) for error in around.errors]
        first = stmt.orelse.stmts[0] if stmt.orelse.stmts else None
        caught = first.targets[0] if isinstance(first, Apply) and first.op.style == "caught" else None
        handler = ast.ExceptHandler(
            errors[0] if len(errors) == 1 else ast.Tuple(errors, ast.Load()) if errors else None,
            of.names.get(caught) if caught is not None else None,
            orelse or [ast.Pass()],
        )
        return [ast.Try(then, [handler], [], [])]

    def arms(self, then: Block, orelse: Block, into: tuple[Var, ...], in_loop: bool) -> tuple[list[ast.stmt], list[ast.stmt]]:
        said = self.said
        first = self.block(then, into, in_loop)
        self.said = said
        return first, self.block(orelse, into, in_loop)

    def choice(self, cond: Operand, then: list[ast.stmt], orelse: list[ast.stmt]) -> list[ast.stmt]:
        of = self.expressions
        if not then and not orelse:
            stmt = of.folds.get(cond) if isinstance(cond, Var) else None
            return [] if stmt is None else [ast.Expr(of.operand(cond))]
        if not then:
            return [ast.If(of.negation(cond), orelse, [])]
        return [ast.If(of.operand(cond), then, orelse)]

    def branch(self, branch: Branch, into: tuple[Var, ...], in_loop: bool) -> list[ast.stmt]:
        """The end of a loop's body or of a function: what leaves goes first, the rest follows without indentation."""
        then, orelse = self.arms(branch.then, branch.orelse, into, in_loop)
        leaves, others = ([type(end) for end in ends_of(arm)] for arm in (branch.then, branch.orelse))
        is_left, is_other_left = Next not in leaves, Next not in others
        of = self.expressions
        if is_left and not (is_other_left and _is_shorter(orelse, then)):
            return [ast.If(of.operand(branch.cond), then, []), *orelse]
        if is_other_left:
            return [ast.If(of.negation(branch.cond), orelse, []), *then]
        return self.choice(branch.cond, then, orelse)

    # ------------------------------------------------------------ loops

    def loop(self, loop: Loop, in_loop: bool) -> list[ast.stmt]:
        of = self.expressions
        out = self.copies(loop.params, loop.inits, in_loop)
        outer, self.exits = self.exits, loop.results
        if loop.sources:
            target, iterable = loop_header(loop.sources, of)
            body = self.block(loop.body, loop.params, in_loop=True)
            out.append(ast.For(target, iterable, body or [ast.Pass()], []))
        else:
            test, block = self.while_header(loop)
            body = self.block(block, loop.params, in_loop=True)
            out.append(ast.While(test, body or [ast.Pass()], []))
        self.exits = outer
        return out

    def while_header(self, loop: Loop) -> tuple[ast.expr, Block]:
        """The condition of a `while`, and the body behind it; True where the body decides."""
        body, of = loop.body, self.expressions
        if not body.stmts and isinstance(body.end, Branch):
            if self.is_bare_exit(body.end.orelse, loop):
                return of.operand(body.end.cond), body.end.then
            if self.is_bare_exit(body.end.then, loop):
                return of.negation(body.end.cond), body.end.orelse
        return ast.Constant(True), body

    def is_bare_exit(self, block: Block, loop: Loop) -> bool:
        return not block.stmts and isinstance(block.end, Exit) and not self.copies(loop.results, operands_of(block.end), True)


def comment_mark(number: int) -> str:
    return f"__comment_{number}__"


def _is_reverse(origin: Origin | None) -> bool:
    return origin is not None and origin.column == -1


def _same_line(a: Origin | None, b: Origin | None) -> bool:
    return a is not None and b is not None and (a.file, a.line, a.text) == (b.file, b.line, b.text)


def _is_read(target: str, pending: list[tuple[str, Operand, set[str]]], but: int) -> bool:
    return any(target in reads for i, (_, _, reads) in enumerate(pending) if i != but)


def _is_shorter(a: list[ast.stmt], b: list[ast.stmt]) -> bool:
    return len(b) > _SHORT and len(a) <= _SHORT


def _as_key(index: ast.expr) -> ast.expr:
    """An index as an argument: a slice is written out."""
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_as_key(part) for part in index.elts], ast.Load())
    if isinstance(index, ast.Slice):
        parts = [index.lower, index.upper, *([index.step] if index.step is not None else [])]
        return ast.Call(name("slice"), [part if part is not None else ast.Constant(None) for part in parts], [])
    return index


def _numpy_add() -> object:
    import numpy as np

    return np.add
