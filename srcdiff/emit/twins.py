"""Which variables of the reverse sweep are values of the forward sweep again: what is taken from a list is what was put there.

kept = append(kept, (step, x))        …        for (s, v) in reversed(kept)         s is step, v is x
                                               rest, v = pop(kept)
"""

from __future__ import annotations

from collections.abc import Iterator

from srcdiff.ir.nodes import Apply, Block, If, Loop, Next, Operand, Stmt, Var
from srcdiff.ir.walk import blocks_of, ends_of, source_targets


def twins_of(block: Block) -> dict[Var, Var]:
    """For each variable that is taken from a list, the variable that was appended to it, if one can be told."""
    found = _Twins()
    found.block(block)
    return found.twins


class _Twins:
    def __init__(self) -> None:
        self.twins: dict[Var, Var] = {}
        self.same: dict[Var, Operand] = {}
        self.appended: dict[Var, tuple[Operand, Operand]] = {}
        self.items: dict[Var, Operand] = {}

    def block(self, block: Block) -> None:
        for stmt in block.stmts:
            self.stmt(stmt)
        for inner in blocks_of(block.end):
            self.block(inner)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Apply((target,), op, (base, item)) if op.style == "append":
                self.appended[target] = base, item
            case Apply((rest, item), op, (base,)) if op.style == "pop":  # the last one
                before, last = self.last(base)
                if before is not None:
                    self.same[rest] = before
                self.meet(item, last)
            case Apply((target,), op, (operand,)) if op.style == "copy":
                self.same[target] = operand
            case Apply(targets, op, (base,)) if op.style == "unpack" and isinstance(base, Var):
                for target, item in _pairs(op.pattern, targets, self.items.get(base)):
                    self.meet(target, item)
            case Loop():
                self.loop(stmt)
            case If():
                for inner in blocks_of(stmt):
                    self.block(inner)
            case _:
                pass

    def loop(self, loop: Loop) -> None:
        self.same.update(zip(loop.params, loop.inits))
        for source in loop.sources:
            _, last = self.last(source.iterable) if isinstance(source.iterable, Var) else (None, None)
            targets = source_targets(source)
            parts = last if isinstance(source.target, tuple) else (last,)
            if isinstance(parts, tuple) and len(parts) == len(targets):
                for target, part in zip(targets, parts):
                    self.meet(target, part)
        self.block(loop.body)
        following = next((end.values for end in ends_of(loop.body) if isinstance(end, Next)), None)
        if following is not None:
            self.same.update(zip(loop.results, following))

    def last(self, operand: Operand) -> tuple[Operand | None, Operand | None]:
        """A list before its last append, and what that appended."""
        while isinstance(operand, Var):
            if operand in self.appended:
                return self.appended[operand]
            operand = self.same.get(operand, ())
        return None, None

    def meet(self, var: Var, operand: Operand | None) -> None:
        if isinstance(operand, Var):
            self.twins[var] = self.twins.get(operand, operand)
            self.same[var] = operand
        elif operand is not None:
            self.items[var] = operand


def _pairs(pattern: object, targets: tuple[Var, ...], operand: Operand | None) -> Iterator[tuple[Var, Operand]]:
    """The targets of an unpacking, each with the part of the operand that it takes."""
    if isinstance(pattern, int) and operand is not None:
        yield targets[pattern], operand
    elif isinstance(pattern, (tuple, list)) and isinstance(operand, tuple) and len(pattern) == len(operand):
        for part, item in zip(pattern, operand):
            yield from _pairs(part, targets, item)
