"""Let the reverse sweep read what is computed already.

    exp_z = exp(z);  …                             exp_z = exp(z);  …
    t = exp(z);  z_bar = mul(y_bar, t)      →      z_bar = mul(y_bar, exp_z)

Only statements of the reverse sweep go, and only for a value that is in scope: nothing is read out of a loop or an arm.
Fresh arrays, containers and what is stored to are never shared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from srcdiff.analysis.binding import unbound_in
from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, Number, is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, Free, Function, If, Loop, Op, Operand, Stmt, Var
from srcdiff.ir.walk import (
    atoms_of,
    blocks_of,
    map_around,
    map_atom,
    map_end,
    map_operands,
    map_source,
    map_stmt,
    operands_of,
    vars_of,
)
from srcdiff.passes.shapes import is_of_users

_SHARED = frozenset(["binary", "unary", "call", "attribute", "item"])
_FRESH = frozenset(
    [
        np.zeros,
        np.zeros_like,
        np.ones,
        np.ones_like,
        np.full,
        np.full_like,
        np.empty,
        np.empty_like,
        np.copy,
        list,
        dict,
        tuple,
        map,
    ]
)
_VERSIONS = frozenset(["index_add", "index_set", "scatter_add", "append", "pop", "insert"])
_COMMUTATIVE = frozenset([ops.ADD, ops.MUL])
_MANY = 2

Key = tuple[Op, tuple[Operand, ...], tuple[tuple[str, Operand], ...]]


def reuse(function: Function) -> Function:
    """The function without what its reverse sweep computes again."""
    reusing = _Reuse(unbound_in(function.body))
    reusing.survey(function.body)
    body = reusing.block(function.body)
    return replace(function, body=body) if reusing.same else function


@dataclass
class _Reuse:
    """`known` gives the values in scope by what computes them."""

    unbound: set[Var]
    known: dict[Key, tuple[Apply, tuple[Var, ...]]] = field(default_factory=dict)
    same: dict[Var, Operand] = field(default_factory=dict)
    uses: dict[Var, int] = field(default_factory=dict)
    stored: set[Var] = field(default_factory=set)

    def survey(self, block: Block) -> None:
        """Count reads, and find what is stored to or may be."""
        for node in (*block.stmts, block.end):
            for var in vars_of(operands_of(node)):
                self.uses[var] = self.uses.get(var, 0) + 1
            if isinstance(node, Apply) and node.op.style in _VERSIONS:
                self.stored.update(vars_of(node.args[:1]))
            if isinstance(node, Loop):
                self.stored.update(vars_of(node.inits))
            for inner in blocks_of(node):
                self.survey(inner)

    def rename(self, var: Var) -> Operand:
        return self.same.get(var, var)

    def block(self, block: Block) -> Block:
        entered: list[Key] = []
        stmts: list[Stmt] = []
        for stmt in block.stmts:
            match stmt:
                case Apply():
                    new = map_stmt(stmt, self.rename) if self.same else stmt
                    assert isinstance(new, Apply)
                    if not self.is_known(new, entered):
                        stmts.append(new)
                case If(cond, then, orelse, around=around):
                    stmts.append(
                        replace(
                            stmt,
                            cond=map_atom(cond, self.rename),
                            then=self.block(then),
                            orelse=self.block(orelse),
                            around=map_around(around, self.rename),
                        )
                    )
                case Loop(sources, _, inits, body):
                    sources = tuple(map_source(source, self.rename) for source in sources)
                    stmts.append(replace(stmt, sources=sources, inits=map_operands(inits, self.rename), body=self.block(body)))
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        end = block.end
        if isinstance(end, Branch):
            end = Branch(map_atom(end.cond, self.rename), self.block(end.then), self.block(end.orelse))
        else:
            end = map_end(end, self.rename)
        for key in entered:
            del self.known[key]
        return Block(tuple(stmts), end)

    def is_known(self, stmt: Apply, entered: list[Key]) -> bool:
        """Whether the value is there already; if not, it is from here on."""
        if not self.may_share(stmt):
            return False
        key = (stmt.op, stmt.args, stmt.kwargs)
        found = self.known.get(key)
        if found is None and stmt.op in _COMMUTATIVE:
            found = self.known.get((stmt.op, stmt.args[::-1], stmt.kwargs))
        if found is None:
            self.known[key] = stmt, stmt.targets
            entered.append(key)
            return False
        earlier, values = found
        if is_of_users(stmt) or not self.is_worth_it(earlier):
            return False
        self.same.update(zip(stmt.targets, values))
        return True

    def may_share(self, stmt: Apply) -> bool:
        op = stmt.op
        if op.style not in _SHARED or op.has_effect or op.fn in _FRESH or not stmt.targets:
            return False
        if not all(_is_plain(target.kind) and target not in self.stored for target in stmt.targets):
            return False
        return not any(
            isinstance(atom, Free) or (isinstance(atom, Var) and atom in self.unbound) for atom in atoms_of(operands_of(stmt))
        )

    def is_worth_it(self, earlier: Apply) -> bool:
        """A cheap part of a user's expression stays there, where it would need a name only for this."""
        target = earlier.targets[0]
        is_named = not is_of_users(earlier) or target.is_users or self.uses.get(target, 0) >= _MANY
        is_cheap = earlier.op.style in ("attribute", "unary", "item") or (earlier.op.style == "binary" and is_scalar(target.kind))
        return is_named or not is_cheap


def _is_plain(kind: Kind) -> bool:
    """A number or an array, or a fact of one: no list, which its owner may append to."""
    return isinstance(kind, (Number, Array))
