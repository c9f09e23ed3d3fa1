"""What the forward sweep of a procedure hands to its reverse sweep: one value, a tuple of what the reverse reads.

    if n == 0: return 1.0                        return 1.0, None
    half, s = power_forward(x, n // 2)     →     …
    return half * half                           return half * half, (half, s)

What only one arm of a branch has is packed in that arm, and unpacked in the same arm of the reverse sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Number, Opaque
from srcdiff.ir.nodes import UNBOUND, Apply, Block, Const, If, Loop, Op, Operand, Stmt, Var, Yield
from srcdiff.ir.walk import free_vars, map_block, operands_of, vars_of
from srcdiff.rules.inference import is_basic_index, kind_of

_NOTHING = (Const(UNBOUND), Const(None))
_DEEP = 3


def is_cheap(stmt: Apply) -> bool:
    """Whether a value is rather computed again than kept: a view, a length, a test, or one step of arithmetic on numbers."""
    if len(stmt.targets) != 1 or stmt.op.has_effect:
        return False
    if stmt.op in (*ops.ALIASES, ops.TRANSPOSE, ops.SHAPE, ops.SIZE, ops.NDIM, ops.LEN):
        return True
    if stmt.op is ops.ITEM:
        return is_basic_index(stmt.args[1]) and isinstance(kind_of(stmt.args[0]), Array)
    kind = stmt.targets[0].kind
    is_whole = stmt.op.style in ("binary", "unary") and kind in (Number("bool"), Number("int"))
    return is_whole or (stmt.op in (ops.ADD, ops.SUB, ops.MUL, ops.NEG) and kind == Number("float"))


def with_replayed(forward: Sequence[Stmt], reverse: Block, given: frozenset[Var] | set[Var]) -> tuple[Block, dict[Var, Var]]:
    """The reverse of these statements with what is rather computed again than kept at its head, and what that is there."""
    made = {t: s for s in forward if isinstance(s, Apply) for t in s.targets}
    read = free_vars(reverse)
    kept = {v for v in read if v not in made or not is_cheap(made[v])} | given

    def reach(var: Var, depth: int) -> set[Var] | None:
        """What is to be computed again for a value; None where something else would have to be kept for it."""
        if var in kept:
            return set()
        if depth == 0 or var not in made or not is_cheap(made[var]):
            return None
        found = {var}
        for part in vars_of(operands_of(made[var])):
            more = reach(part, depth - 1)
            if more is None:
                return None
            found |= more
        return found

    wanted: set[Var] = set()
    for var in read:
        more = reach(var, _DEEP)
        if more is None:
            kept.add(var)
        else:
            wanted |= more
    if not wanted:
        return reverse, {}
    again = {t: Var(t.hint, t.kind, t.is_users) for t in made if t in wanted}
    stmts = [replace(made[t], targets=(copy,)) for t, copy in again.items()]
    return map_block(Block((*stmts, *reverse.stmts), reverse.end), lambda v: again.get(v, v)), again


def packed(
    forward: Sequence[Stmt], reverse: Block, kept: Sequence[Var], record: Var, again: Mapping[Var, Var]
) -> tuple[list[Stmt], Operand, Block]:
    """The forward sweep that makes the record, the record, and the reverse sweep that reads it.

    `again` are the names in the reverse sweep of what it computes again.
    """
    in_arm = _packed_in_arm(forward, reverse, kept, record, again)
    if in_arm is not None:
        return in_arm
    made: Operand = Const(None)
    if len(kept) == 1:
        made = kept[0]
    elif kept:
        made = tuple(kept)
    return [bound_everywhere(s) for s in forward], made, _opened(reverse, kept, record)


def _opened(block: Block, kept: Sequence[Var], record: Var) -> Block:
    """A block that begins by taking the record apart."""
    if not kept:
        return block
    if len(kept) == 1:
        # The record is the value itself: it has its kind.
        copy = Var(kept[0].hint, kept[0].kind, kept[0].is_users)
        opening = Apply((copy,), ops.COPY, (record,))
        copies: dict[Var, Operand] = {kept[0]: copy}
    else:
        targets = tuple(Var(v.hint, v.kind, v.is_users) for v in kept)
        opening = Apply(targets, Op("unpack", "unpack", pattern=tuple(range(len(kept)))), (record,))
        copies = dict(zip(kept, targets))
    return map_block(Block((opening, *block.stmts), block.end), lambda v: copies.get(v, v))


def _packed_in_arm(
    forward: Sequence[Stmt], reverse: Block, kept: Sequence[Var], record: Var, again: Mapping[Var, Var]
) -> tuple[list[Stmt], Operand, Block] | None:
    """The same where all that is kept is of one arm of a branch, and read in that arm alone."""
    at = next(
        (i for i, s in enumerate(forward) if isinstance(s, If) and s.around is None and kept and set(kept) <= set(s.results)),
        None,
    )
    back = [s for s in reverse.stmts if any(v in kept for v in free_vars(Block((s,), Yield(()))))]
    if at is None or len(back) != 1 or not isinstance(back[0], If) or any(v in kept for v in vars_of(operands_of(reverse.end))):
        return None
    branch, mirror = forward[at], back[0]
    assert isinstance(branch, If)
    places = [branch.results.index(v) for v in kept]
    values = [[operands_of(arm.end)[i] for i in places] for arm in (branch.then, branch.orelse)]
    empty = [all(v in _NOTHING for v in row) for row in values]
    cond = again.get(branch.cond, branch.cond) if isinstance(branch.cond, Var) else branch.cond
    if cond != mirror.cond or sum(empty) != 1 or branch.cond in kept:
        return None
    chosen = empty.index(False)
    if any(v in kept for v in free_vars((mirror.then, mirror.orelse)[1 - chosen])):
        return None
    if any(v in kept for s in forward[at + 1 :] for v in free_vars(Block((s,), Yield(())))):
        return None
    out = Var(record.hint, Opaque("tuple"))
    rest = [i for i in range(len(branch.results)) if i not in places]
    arms = []
    for arm, row, is_empty in zip((branch.then, branch.orelse), values, empty):
        made: Operand = Const(None) if is_empty else row[0] if len(row) == 1 else tuple(row)
        inner = [bound_everywhere(s) for s in arm.stmts]
        if isinstance(made, tuple):
            whole = Var(record.hint, Opaque("tuple"))
            inner.append(Apply((whole,), ops.DISPLAY, (made,)))
            made = whole
        arms.append(Block(tuple(inner), Yield((*(operands_of(arm.end)[i] for i in rest), made))))
    new = replace(branch, then=arms[0], orelse=arms[1], results=(*(branch.results[i] for i in rest), out))
    back_arms = [mirror.then, mirror.orelse]
    back_arms[chosen] = _opened(back_arms[chosen], kept, record)
    stmts = tuple(replace(mirror, then=back_arms[0], orelse=back_arms[1]) if s is mirror else s for s in reverse.stmts)
    return [*forward[:at], new, *forward[at + 1 :]], out, Block(stmts, reverse.end)


def bound_everywhere(stmt: Stmt) -> Stmt:
    """What one arm leaves unbound is None there: the record is read whole."""

    def block(inner: Block) -> Block:
        stmts = tuple(bound_everywhere(s) for s in inner.stmts)
        end = inner.end
        if isinstance(end, Yield):
            end = Yield(tuple(Const(None) if isinstance(v, Const) and v.value is UNBOUND else v for v in end.values))
        return Block(stmts, end)

    match stmt:
        case If():
            return replace(stmt, then=block(stmt.then), orelse=block(stmt.orelse))
        case Loop():
            return replace(
                stmt, inits=tuple(Const(None) if isinstance(v, Const) and v.value is UNBOUND else v for v in stmt.inits)
            )
        case _:
            return stmt
