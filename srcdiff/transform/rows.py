"""The Jacobian by reverse mode: the values once, and the gradient of each number of the result.

def f_jacrev(x):
    h = np.tanh(x)                            the values, and what reverse sweeps read of them
    slope = 1 - h * h
    jacobian = np.zeros((len(h), len(x)))
    for i in range(len(h)):
        h_bar = np.zeros_like(h)
        h_bar[i] = 1.0
        jacobian[i] = h_bar * slope
    return jacobian
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from srcdiff.errors import KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Number
from srcdiff.ir.nodes import Block, Const, Loop, Next, Operand, Range, Return, Source, Stmt, Var
from srcdiff.ir.walk import read_in
from srcdiff.passes.dead_code import drop_dead_code_in
from srcdiff.prepare.program import Primal
from srcdiff.rules.builder import Builder
from srcdiff.rules.staging import Staged, dims_of
from srcdiff.transform.adjoints import Adjoints
from srcdiff.transform.basis import basis, dtype_of, lengths_of, shaped, size_of, total_of, zeros_of
from srcdiff.transform.gradient import leaf_gradient
from srcdiff.transform.procedures import Pairs
from srcdiff.transform.restoring import Plan
from srcdiff.transform.reverse import Reverser, carrying
from srcdiff.transform.split import split


@dataclass(eq=False)
class Rows:
    """The statements of the values, which grow by what the reverse sweeps read; the loops of these."""

    primal: Primal
    pairs: Pairs
    stmts: Sequence[Stmt]
    leaves: Sequence[Var]
    builder: Builder = field(default_factory=Builder)
    found: dict[tuple[Var, Var], Operand] = field(default_factory=dict)

    def of(self, out: Var) -> None:
        """Add the derivatives of one array or number of the result."""
        moving = [leaf for leaf in self.leaves if out in carrying(self.stmts, [leaf], [out])]
        if not moving:
            return
        if dims_of(out.kind) == ():
            self.stmts, b, rows = self.swept(out, Const(1.0), moving)
            for stmt in b.stmts:
                self.builder.add(stmt)
            self.found.update({(out, leaf): row for leaf, row in rows.items()})
            return
        bar = Var(f"{out.hint}_bar", out.kind)
        self.stmts, b, rows = self.swept(out, bar, moving)
        before, body = split(b.stmts, [bar], self.pairs.behind())
        for stmt in before:
            self.builder.add(stmt)
        self.loop(out, bar, body, rows)

    def swept(self, out: Var, seed: Var | Const, leaves: Sequence[Var]) -> tuple[Sequence[Stmt], Builder, dict[Var, Operand]]:
        """The forward sweep, the reverse sweep in its builder, and the adjoint of each leaf."""
        swept, reverser = self.sweep(out, seed, leaves, Plan())
        plan = reverser.keeping.plan(reverser.objects, swept[1].stmts)
        if not plan.restored:
            return swept
        swept, reverser = self.sweep(out, seed, leaves, plan)
        block = Block((*swept[0], *swept[1].stmts), Return(tuple(swept[2].values())))
        read = set(read_in(drop_dead_code_in(block)))
        flows = frozenset(key for key, var in reverser.restorer.flowed.items() if var in read)
        return self.sweep(out, seed, leaves, replace(plan, flows=flows))[0]

    def sweep(
        self, out: Var, seed: Var | Const, leaves: Sequence[Var], plan: Plan
    ) -> tuple[tuple[Sequence[Stmt], Builder, dict[Var, Operand]], Reverser]:
        b = Builder()
        reverser = Reverser(carrying(self.stmts, leaves, [out]), self.stmts, self.pairs, plan=plan)
        b.foresee(self.stmts, reverser.objects.versions)
        adjoints = Adjoints()
        adjoints.put(out, Staged(b, seed))
        forward = reverser.block(self.stmts, adjoints, b)
        b.origin = b.current = None
        return (forward, b, {leaf: leaf_gradient(leaf, adjoints, b, self.primal) for leaf in leaves}), reverser

    def loop(self, out: Var, bar: Var, body: Sequence[Stmt], rows: dict[Var, Operand]) -> None:
        b = self.builder
        count = size_of(out, b)
        inits, params, results = [], [], []
        for leaf in rows:
            if isinstance(leaf.kind, ListOf):
                raise KindError("jacrev by a list whose length the run decides is not accepted", instead="pass one array.")
            kind = Array(dtype_of(leaf.kind), (total_of(out.kind), *(dims_of(leaf.kind) or ())))
            inits.append(zeros_of(b, (count, *lengths_of(leaf, b)), kind))
            params.append(Var("jacobian", kind))
            results.append(Var("jacobian", kind))
        inner, i = b.inside(), Var("i", Number("int"))
        basis(out, bar, i, count, inner)
        for stmt in body:
            inner.add(stmt)
        ends = [inner.apply(ops.INDEX_SET, (p, i, row), kind=p.kind, hint="jacobian") for p, row in zip(params, rows.values())]
        trips = Source(i, Range(Const(0), count))
        b.add(Loop((trips,), tuple(params), tuple(inits), Block(tuple(inner.stmts), Next(tuple(ends))), tuple(results)))
        for leaf, result in zip(rows, results):
            self.found[out, leaf] = shaped(result, out, leaf, b, is_done=len(dims_of(out.kind) or ()) == 1)
