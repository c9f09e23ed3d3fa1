"""Read a value under its first name, unless the user gave it the second.

t = copy(x)                   y = exp(x)
y = exp(t)           →
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from srcdiff.ir.nodes import Apply, Block, Branch, Const, End, Free, Function, If, Loop, Operand, Ref, Stmt, Var
from srcdiff.ir.walk import map_around, map_atom, map_end, map_operands, map_source, map_stmt


def forward_copies(function: Function, also: Set[Var] = frozenset()) -> Function:
    """The function without copies; of those that the user named, only without these."""
    return replace(function, body=_Forwarding(also).block(function.body))


class _Forwarding:
    def __init__(self, also: Set[Var]) -> None:
        self.first: dict[Var, Operand] = {}
        self.also = also

    def rename(self, var: Var) -> Operand:
        return self.first.get(var, var)

    def block(self, block: Block) -> Block:
        stmts: list[Stmt] = []
        for stmt in block.stmts:
            match stmt:
                case Apply((target,), op, (Var() | Const() | Free() | Ref() as atom,)) if op.style == "copy" and (
                    not target.is_users or target in self.also
                ):
                    self.first[target] = self.rename(atom) if isinstance(atom, Var) else atom
                case If(cond, then, orelse, around=around):
                    cond = map_atom(cond, self.rename)
                    stmts.append(
                        replace(
                            stmt,
                            cond=cond,
                            then=self.block(then),
                            orelse=self.block(orelse),
                            around=map_around(around, self.rename),
                        )
                    )
                case Loop(sources, _, inits, body):
                    header = tuple(map_source(source, self.rename) for source in sources)
                    inits = map_operands(inits, self.rename)
                    stmts.append(replace(stmt, sources=header, inits=inits, body=self.block(body)))
                case _:
                    stmts.append(map_stmt(stmt, self.rename))
        return Block(tuple(stmts), self.end(block.end))

    def end(self, end: End) -> End:
        if isinstance(end, Branch):
            return Branch(map_atom(end.cond, self.rename), self.block(end.then), self.block(end.orelse))
        return map_end(end, self.rename)
