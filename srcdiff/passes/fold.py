"""Put a temporary that is read once back into the expression that reads it.

    t1 = matmul(X, w)
    t2 = add(t1, b)                  r = (X @ w + b) - y        as the text will be: the program holds `r = sub(t2, y)`
    r = sub(t2, y)            →                                 and `folds` says what t1 and t2 stand for

What the user named stays a statement. Nothing moves into a loop, past a write to what it reads, or past an effect that
could change it; and what makes arrays does not move past a loop, which their operands would have to outlive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from srcdiff.analysis.liveness import Folds
from srcdiff.analysis.ownership import Ownership
from srcdiff.errors import InternalError
from srcdiff.ir.kinds import ListOf, is_scalar
from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Block,
    Branch,
    Const,
    End,
    Free,
    Function,
    If,
    Loop,
    Operand,
    Ref,
    Return,
    SliceOf,
    Stmt,
    Var,
)
from srcdiff.ir.ops import COPY
from srcdiff.ir.walk import bound_by, operands_of, parts_of, source_targets, vars_of
from srcdiff.passes.dead_code import has_effect
from srcdiff.passes.place import VERSIONS, Placed, written_by

_EXPRESSIONS = frozenset(["binary", "unary", "call", "attribute", "method", "item", "display", "format", "copy", "effect", "pop"])
_FLAT = frozenset(["attribute", "item", "display", "copy", "unary"])
_WIDTH, _DEPTH = 110, 6
_USERS_WIDTH, _USERS_DEPTH = 240, 24


@dataclass(frozen=True)
class Folded:
    """A program without its folded statements; `conditionals` are the Ifs that print as `a if c else b`.

    `users` are variables that could be folded, were they not the user's.
    """

    function: Function
    folds: Folds
    conditionals: frozenset[If]
    users: frozenset[Var] = frozenset()


def fold(placed: Placed, renamed: frozenset[Var] = frozenset()) -> Folded:
    """Fold a placed program; `renamed` are variables of the user's that could not keep their name anyway."""
    folding = _Folding(placed.ownership, renamed)
    folding.count(placed.function.body)
    folding.block(placed.function.body, 0)
    body = _sweep(placed.function.body, folding)
    users = frozenset(folding.users)
    return Folded(replace(placed.function, body=body), folding.folds, frozenset(folding.conditionals), users)


@dataclass(slots=True)
class _Expression:
    """What a temporary stands for: its statement, where that stands, and the size and contents of its text."""

    stmt: Apply | If
    position: int
    loop: int
    width: int
    depth: int
    leaves: list[Var]
    reads_memory: bool
    makes_array: bool
    has_effect: bool = False


@dataclass
class _Folding:
    ownership: Ownership
    renamed: frozenset[Var]
    folds: dict[Var, Apply | If] = field(default_factory=dict)
    conditionals: set[If] = field(default_factory=set)
    uses: dict[Var, int] = field(default_factory=dict)
    expressions: dict[Var, _Expression] = field(default_factory=dict)
    users: list[Var] = field(default_factory=list)
    position: int = 0
    loops: int = 0
    last_effect: int = -1
    last_loop: int = -1
    last_write: dict[int, int] = field(default_factory=dict)
    last_bind: dict[str, int] = field(default_factory=dict)
    last_sum: dict[str, int] = field(default_factory=dict)
    is_returned: bool = False
    width: int = _WIDTH

    def count(self, block: Block) -> None:
        for node in (*block.stmts, block.end):
            for var in vars_of(operands_of(node)):
                self.uses[var] = self.uses.get(var, 0) + 1
            match node:
                case If(_, then, orelse) | Branch(_, then, orelse):
                    self.count(then)
                    self.count(orelse)
                case Loop(body=body):
                    self.count(body)
                case _:
                    pass

    # ------------------------------------------------------------ the walk

    def block(self, block: Block, loop: int) -> None:
        self.width -= 4
        for stmt in block.stmts:
            self.position += 1
            match stmt:
                case Apply():
                    self.apply(stmt, loop)
                case If():
                    self.conditional(stmt, loop)
                case Loop():
                    self.loop(stmt, loop)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        self.position += 1
        self.end(block.end, loop)
        self.width += 4

    def end(self, end: End, loop: int) -> None:
        self.is_returned = isinstance(end, Return)
        self.fold_each(operands_of(end), loop)
        self.is_returned = False
        if isinstance(end, Branch):
            self.block(end.then, loop)
            self.block(end.orelse, loop)

    def apply(self, stmt: Apply, loop: int) -> None:
        target = stmt.targets[-1] if len(stmt.targets) == 1 or stmt.op.style == "pop" else None
        expression = self.expression(stmt, loop)
        if target is not None and self.is_temporary(target) and stmt.op.style in _EXPRESSIONS:
            self.expressions[target] = expression
        elif stmt.op.style in VERSIONS or stmt.op.style == "augment" or is_sum(stmt):
            self.last_sum.update((target.hint, self.position) for target in stmt.targets)
        else:
            self.bind([target for target in stmt.targets if target.is_users])
        if has_effect(stmt):
            self.last_effect = self.position
        for written in written_by(stmt):
            for site in self.ownership.of(written).own:
                self.last_write[site] = self.position

    def is_temporary(self, var: Var) -> bool:
        if self.uses.get(var) != 1:
            return False
        if var.is_users and var not in self.renamed:
            self.users.append(var)
            return False
        return True

    def bind(self, variables: Iterable[Var]) -> None:
        """Note names that are given again here: what reads an earlier value of that name had better not move past."""
        for var in variables:
            self.last_bind[var.hint] = self.position

    def conditional(self, stmt: If, loop: int) -> None:
        self.fold_each(operands_of(stmt), loop)
        if stmt.around is not None:  # nothing moves into the body of a try or with statement
            for arm in (stmt.then, stmt.orelse):
                self.loops += 1
                self.block(arm, self.loops)
            self.last_effect = self.position
            self.bind(stmt.results)
            return
        self.block(stmt.then, loop)
        self.block(stmt.orelse, loop)
        self.position += 1
        expression = self.conditional_expression(stmt, loop) if len(stmt.results) == 1 else None
        if expression is not None:
            self.conditionals.add(stmt)
            if self.is_temporary(stmt.results[0]):
                self.expressions[stmt.results[0]] = expression
                return
        self.bind(stmt.results)

    def loop(self, stmt: Loop, loop: int) -> None:
        self.fold_each(operands_of(stmt), loop)
        self.bind(stmt.params)
        for source in stmt.sources:
            self.bind(source_targets(source))
        self.loops += 1
        self.block(stmt.body, self.loops)
        self.position += 1
        self.last_loop = self.position
        self.bind(stmt.results)

    # ------------------------------------------------------------ expressions

    def expression(self, stmt: Apply, loop: int) -> _Expression:
        """The expression of a statement, with what of its operands can be folded into it."""
        is_users = stmt.origin is not None and stmt.origin.column >= 0
        operands = operands_of(stmt)
        width, depth = (_USERS_WIDTH, _USERS_DEPTH) if is_users else (self.width, _DEPTH)
        width -= sum(len(target.hint) + 2 for target in stmt.targets)
        is_version = stmt.op.style in VERSIONS or stmt.op.style == "augment"
        # The right operand of `and` may not run; `l[i] += v` reads l before v, which may be a pop from l.
        keeps_effects = stmt.op.style == "binary" and stmt.op.text in ("and", "or")
        keeps_effects = keeps_effects or (is_version and isinstance(stmt.targets[0].kind, ListOf))
        if stmt.op.style == "display":
            self.fold_each(operands, loop)
        else:
            room = width - _own_width(stmt) - sum(_width(operand) for operand in operands)
            found = vars_of(operands[1:] if is_version else operands)
            for var in sorted(found, key=self.width_of) if len(found) > 1 else found:
                if not (keeps_effects and self.is_effect(var)):
                    room -= self.fold(var, loop, room, depth)
        return self.measured(stmt, operands, loop)

    def measured(self, stmt: Apply | If, operands: tuple[Operand, ...], loop: int) -> _Expression:
        style = stmt.op.style if isinstance(stmt, Apply) else "if"
        width, depth = _own_width(stmt) + 2 if isinstance(stmt, Apply) else 10, 0
        between = 0 if style in ("binary", "attribute", "unary") else 2
        leaves: list[Var] = []
        memory = False
        array = _makes_array(stmt)
        effect = isinstance(stmt, Apply) and (has_effect(stmt) or style == "pop")
        for operand in operands:
            width += _width(operand) + between
            memory = memory or (type(operand) is Free)
            for var in vars_of((operand,)):
                inner = self.expressions.get(var) if var in self.folds else None
                if inner is None:
                    leaves.append(var)
                    memory = memory or bool(self.ownership.memory[var].reached)
                else:
                    leaves += inner.leaves
                    width += inner.width - len(var.hint)
                    depth = max(depth, inner.depth)
                    memory = memory or inner.reads_memory
                    array = array or inner.makes_array
                    effect = effect or inner.has_effect
        return _Expression(stmt, self.position, loop, width, depth + (style not in _FLAT), leaves, memory, array, effect)

    def conditional_expression(self, stmt: If, loop: int) -> _Expression | None:
        """An If as `a if c else b`: one result, only expressions in its arms, and not a statement of the user's."""
        result = stmt.results[0]
        values = [operands_of(stmt.then.end)[0], operands_of(stmt.orelse.end)[0]]
        if not all(self.is_folded(inner) for arm in (stmt.then, stmt.orelse) for inner in arm.stmts):
            return None
        if Const(UNBOUND) in values or any(self.is_same_name(value, result) for value in values):
            return None
        if result.is_users and stmt.origin is not None and stmt.origin.text.lstrip().startswith(("if ", "if(", "elif")):
            return None
        expression = self.measured(stmt, (values[0], stmt.cond, values[1]), loop)
        return None if expression.width > self.width or expression.has_effect else expression

    def is_same_name(self, value: Operand, result: Var) -> bool:
        return isinstance(value, Var) and value not in self.folds and value.hint == result.hint

    def is_folded(self, stmt: Stmt) -> bool:
        return any(var in self.folds for var in bound_by(stmt))

    def fold_each(self, operands: tuple[Operand, ...], loop: int) -> None:
        """Fold into operands that stand by themselves: each has a line's room."""
        for operand in operands:
            for var in vars_of((operand,)):
                self.fold(var, loop, _USERS_WIDTH if self.is_of_users(var) else self.width, _USERS_DEPTH)

    def is_of_users(self, var: Var) -> bool:
        expression = self.expressions.get(var)
        return expression is not None and expression.stmt.origin is not None and expression.stmt.origin.column >= 0

    def width_of(self, var: Var) -> int:
        """How long the expression of a variable is: short ones are folded first."""
        expression = self.expressions.get(var)
        return 0 if expression is None else expression.width

    def is_effect(self, var: Var) -> bool:
        expression = self.expressions.get(var)
        return expression is not None and expression.has_effect

    def fold(self, var: Var, loop: int, room: int, depth: int) -> int:
        """Fold a variable where it is read if that is possible; how much longer the text gets."""
        expression = self.expressions.get(var)
        if expression is None:
            return 0
        more = expression.width - len(var.hint)
        fits = more <= max(room, 0) and expression.depth < depth
        if fits and expression.loop == loop and self.may_move(expression):
            self.folds[var] = expression.stmt
            if isinstance(expression.stmt, Apply) and expression.stmt.op.style == "pop":
                # The shorter list is the list itself, under its name.
                shorter = expression.stmt.targets[0]
                self.folds[shorter] = Apply((shorter,), COPY, expression.stmt.args)
            return more
        if var.is_users:
            self.last_bind[var.hint] = max(self.last_bind.get(var.hint, -1), expression.position)
        return 0

    def may_move(self, expression: _Expression) -> bool:
        """Whether an expression means the same here as where it stands."""
        since = expression.position
        if expression.has_effect:
            return since == self.position - 1
        if expression.reads_memory and self.last_effect > since:
            return False
        if expression.makes_array and self.last_loop > since:
            return False
        return all(self.last_name_of(leaf) <= since and self.last_write_of(leaf) <= since for leaf in expression.leaves)

    def last_name_of(self, var: Var) -> int:
        """Where the name was given to another value. A sum that is returned is read under its own name anyway."""
        last = self.last_bind.get(var.hint, -1)
        return last if self.is_returned and not var.is_users else max(last, self.last_sum.get(var.hint, -1))

    def last_write_of(self, var: Var) -> int:
        return max((self.last_write.get(site, -1) for site in self.ownership.memory[var].reached), default=-1)


def is_sum(stmt: Apply) -> bool:
    """Whether a statement adds to a value of the same name: `x_bar_1 = x_bar + e`."""
    if stmt.op.style != "binary" or stmt.op.text not in ("+", "-"):
        return False
    return any(isinstance(arg, Var) and arg.hint == stmt.targets[0].hint for arg in stmt.args)


def _makes_array(stmt: Apply | If) -> bool:
    return isinstance(stmt, Apply) and stmt.op.style not in _FLAT and not all(is_scalar(t.kind) for t in stmt.targets)


def is_own(stmt: Apply) -> bool:
    """Whether a statement is ours, not a line of the user's: only ours is put in another form."""
    return stmt.origin is None or stmt.origin.column < 0


def width_of(operand: Operand, folds: Folds) -> int:
    """About how long the text of an operand is, with what is folded into it."""
    width = _width(operand)
    for var in vars_of((operand,)):
        stmt = folds.get(var)
        if isinstance(stmt, Apply):
            width += _own_width(stmt) + 2 + sum(width_of(part, folds) for part in operands_of(stmt)) - len(var.hint)
        elif stmt is not None:
            width += 40
    return width


def _own_width(stmt: Apply) -> int:
    """How long the text of a primitive is, without its operands."""
    width = len(stmt.op.text)
    return width if not stmt.kwargs else width + sum(len(name) + 1 for name, _ in stmt.kwargs)


def _width(operand: Operand) -> int:
    match operand:
        case Var(hint):
            return len(hint)
        case Const(value):
            return len(repr(value))
        case Free(text):
            return len(text)
        case Ref(_, text):
            return len(text) or 8
        case SliceOf(start, stop, step):
            return 2 + sum(_width(part) for part in (start, stop, step) if part != Const(None))
        case _:
            return sum(_width(part) + 2 for part in parts_of(operand))


# ------------------------------------------------------------ the rest of the program


def _sweep(block: Block, folding: _Folding) -> Block:
    folds = folding.folds
    stmts: list[Stmt] = []
    for stmt in block.stmts:
        match stmt:
            case Apply(targets):
                if not any(target in folds for target in targets):
                    stmts.append(stmt)
            case If(_, then, orelse, results):
                if not any(result in folds for result in results):
                    stmts.append(stmt if not (then.stmts or orelse.stmts) else _swept_if(stmt, folding))
            case Loop(body=body):
                stmts.append(replace(stmt, body=_sweep(body, folding)))
            case _:
                raise InternalError(f"not a statement: {stmt!r}")
    end = block.end
    if isinstance(end, Branch):
        end = Branch(end.cond, _sweep(end.then, folding), _sweep(end.orelse, folding))
    return Block(tuple(stmts), end)


def _swept_if(stmt: If, folding: _Folding) -> If:
    swept = replace(stmt, then=_sweep(stmt.then, folding), orelse=_sweep(stmt.orelse, folding))
    if stmt in folding.conditionals:
        folding.conditionals.add(swept)
    return swept
