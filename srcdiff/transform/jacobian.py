"""The Jacobian by forward mode: the values once, and the tangent of the result for each number of the arguments.

def f_jacfwd(x):
    h = np.tanh(x)                            the values, and what tangents read of them
    jacobian = np.zeros((len(h), len(x)))
    for i in range(len(x)):
        x_dot = np.zeros_like(x)
        x_dot[i] = 1.0
        jacobian[..., i] = (1 - h * h) * x_dot
    return jacobian
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from srcdiff.errors import KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Number, is_differentiable
from srcdiff.ir.nodes import (
    Atom,
    Block,
    Const,
    DictDisplay,
    Function,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Range,
    RecordDisplay,
    Return,
    Source,
    Stmt,
    Var,
)
from srcdiff.ir.walk import vars_of
from srcdiff.prepare.program import Primal
from srcdiff.prepare.values import operand_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.staging import Staged, dims_of
from srcdiff.transform.adjoints import full, zero
from srcdiff.transform.basis import basis, dtype_of, entry_of, lengths_of, shaped, size_of, total_of, zeros_of
from srcdiff.transform.forward import Forwarder, dot_kind
from srcdiff.transform.gradient import Selector, inputs_of, selected_of, split_aux, structured
from srcdiff.transform.procedures import Pairs
from srcdiff.transform.rows import Rows
from srcdiff.transform.split import split


def jacobian(
    primal: Primal,
    argnums: Sequence[Selector],
    pairs: Pairs,
    *,
    is_single: bool,
    has_aux: bool,
    name: str,
    mode: str = "jacfwd",
) -> Function:
    """The function of the Jacobian: in the structure of the result, and within that in the structure of the arguments.

    `mode` is "jacfwd", "jacrev", or "jacobian": the one with fewer sweeps for the sizes of the actual arguments.
    """
    result, aux = split_aux(primal, has_aux)
    head = operand_of(result, primal.store)
    selected = [selected_of(primal, a) for a in argnums]
    leaves = list(dict.fromkeys(inputs_of(primal, selected, needs_each=True)))
    outputs = list(dict.fromkeys(v for v in vars_of((head,)) if is_differentiable(v.kind)))
    for out in outputs:
        if isinstance(out.kind, ListOf) or dims_of(out.kind) is None:
            raise KindError(
                f"`{primal.name}` returns a value of unknown shape: a list that grows, or arrays of different axes",
                primal.source.origin(primal.source.node),
                instead="return one array on every path, np.array(...) of the list.",
            )
    columns: _Columns | Rows
    if mode == "jacrev" or (mode == "jacobian" and _is_wide(leaves, outputs)):
        columns = Rows(primal, pairs, primal.stmts, leaves)
        for out in outputs:
            columns.of(out)
    else:
        columns = _Columns(pairs, primal.stmts, outputs)
        for leaf in leaves:
            columns.by(leaf)
    b = columns.builder

    def of_output(out: Operand) -> Operand:
        match out:
            case tuple():
                return tuple(of_output(item) for item in out)
            case ListDisplay(items):
                return ListDisplay(tuple(of_output(item) for item in items))
            case DictDisplay(keys, items):
                return DictDisplay(keys, tuple(of_output(item) for item in items))
            case RecordDisplay(cls, fields, items, hint):
                return RecordDisplay(cls, fields, tuple(of_output(item) for item in items), f"{hint or 'out'}_jacobian")
            case _:
                if not is_differentiable(kind_of(out)):
                    return Const(None)
                parts = tuple(
                    structured(s, v, primal, b, lambda leaf: entry_of(columns.found, out, leaf, b)) for s, v, _ in selected
                )
                return parts[0] if is_single else parts

    value = of_output(head)
    stmts = (*columns.stmts, *b.stmts)
    whole = Return(value if aux is None else (value, aux))
    return Function(name, primal.params, Block(stmts, whole), primal.docstring)


def _is_wide(leaves: Sequence[Var], outputs: Sequence[Var]) -> bool:
    """Whether the results have fewer numbers than the arguments, as far as that is known."""
    sizes = [[total_of(v.kind) for v in variables] for variables in (leaves, outputs)]
    known = [[n if isinstance(n, int) else n.hint for n in row] for row in sizes]
    if any(n is None for row in known for n in row):
        return None not in known[1] and sum(n for n in known[1] if n is not None) <= 1
    arguments, results = (sum(n for n in row if n is not None) for row in known)
    return results < arguments


@dataclass(eq=False)
class _Columns:
    """The statements of the values, which grow by what the tangents along each argument read; the loops of the tangents."""

    pairs: Pairs
    stmts: Sequence[Stmt]
    outputs: Sequence[Var]
    builder: Builder = field(default_factory=Builder)
    found: dict[tuple[Var, Var], Operand] = field(default_factory=dict)

    def by(self, leaf: Var) -> None:
        """Add the derivatives by one array or number of the arguments."""
        forwarder = Forwarder.of(self.stmts, [leaf], self.outputs, self.pairs, column=-1)
        b = Builder()
        if dims_of(leaf.kind) == () and not isinstance(leaf.kind, ListOf):
            forwarder.tangents[leaf] = Staged(b, Const(1.0))
            forwarder.block(self.stmts, b)
            b.origin = None
            for out in self.outputs:
                if forwarder.tangents.get(out) is not None:
                    self.found[out, leaf] = _tangent(forwarder, out, b)
            self.stmts = tuple(b.stmts)
            return
        dot = Var(f"{leaf.hint}_dot", dot_kind(leaf.kind))
        forwarder.tangents[leaf] = Staged(b, dot)
        forwarder.block(self.stmts, b)
        b.origin = None
        moving = [out for out in self.outputs if forwarder.tangents.get(out) is not None]
        dots = {out: _tangent(forwarder, out, b) for out in moving}
        self.stmts, body = split(b.stmts, [dot], self.pairs.behind())
        if moving:
            self.loop(leaf, dot, body, dots)

    def loop(self, leaf: Var, dot: Var, body: Sequence[Stmt], dots: dict[Var, Operand]) -> None:
        """The loop over the numbers of an array, or over the items of a list: a column of each Jacobian a trip."""
        b = self.builder
        is_list = isinstance(leaf.kind, ListOf)
        count = b.apply(ops.LEN, (leaf,)) if is_list else size_of(leaf, b)
        inits = [_start(out, leaf, count, b) for out in dots]
        params = [Var("jacobian", v.kind) for v in inits]
        results = [Var("jacobian", v.kind) for v in inits]
        inner, i = b.inside(), Var("i", Number("int"))
        basis(leaf, dot, i, count, inner)
        for stmt in body:
            inner.add(stmt)
        ends = []
        for (out, tangent), param in zip(dots.items(), params):
            if is_list:
                ends.append(inner.apply(ops.APPEND, (param, tangent), kind=param.kind, hint="jacobian"))
                continue
            place: Operand = i if dims_of(out.kind) == () else (Const(Ellipsis), i)
            ends.append(inner.apply(ops.INDEX_SET, (param, place, tangent), kind=param.kind, hint="jacobian"))
        trips = Source(i, Range(Const(0), count))
        b.add(Loop((trips,), tuple(params), tuple(inits), Block(tuple(inner.stmts), Next(tuple(ends))), tuple(results)))
        for out, result in zip(dots, results):
            self.found[out, leaf] = (
                result if is_list else shaped(result, out, leaf, b, is_done=len(dims_of(leaf.kind) or ()) == 1)
            )


def _tangent(forwarder: Forwarder, out: Var, b: Builder) -> Operand:
    tangent = forwarder.tangent(out, b)
    return full(tangent, out).atom if isinstance(tangent, Staged) else zero(out, b).atom


def _start(out: Var, leaf: Var, count: Atom, b: Builder) -> Var:
    if isinstance(leaf.kind, ListOf):
        kind = ListOf(dot_kind(out.kind), leaf.kind.length)
        return b.apply(ops.DISPLAY, (ListDisplay(()),), kind=kind, hint="jacobian")
    kind_ = Array(dtype_of(out.kind), (*(dims_of(out.kind) or ()), total_of(leaf.kind)))
    return zeros_of(b, (*lengths_of(out, b), count), kind_)
