"""The forward derivative of a procedure is a procedure that takes and gives tangents beside values.

    y = power(x, n)        →      y, y_dot = power_jvp(x, n, x_dot)

One is made for each set of active arguments and of active results; it may call itself.
"""

from __future__ import annotations

from srcdiff.analysis.activity import may_carry
from srcdiff.errors import KindError
from srcdiff.ir.kinds import TupleOf
from srcdiff.ir.nodes import Apply, Block, Function, Operand, Parameter, Procedure, Return, Var
from srcdiff.ir.ops import procedure_op
from srcdiff.passes import PASSES, SIMPLIFYING
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.rules.builder import Builder
from srcdiff.rules.staging import Staged
from srcdiff.transform.forward import Forwarder, dot_kind
from srcdiff.transform.procedures import Key, Pair, Pairs


def call(forwarder: Forwarder, stmt: Apply, b: Builder) -> Apply:
    """The call that gives the values of a procedure's results and their tangents."""
    procedure = stmt.op.procedure
    assert procedure is not None
    by = tuple(i for i, a in enumerate(stmt.args) if isinstance(a, Var) and forwarder.has_tangent(a))
    of = tuple(i for i, t in enumerate(stmt.targets) if t in forwarder.active and may_carry(t.kind))
    if not by or not of:
        return stmt
    given = tuple(forwarder.whole(stmt.args[i], b) for i in by)
    dots = tuple(Var(f"{stmt.targets[i].hint}_dot", dot_kind(stmt.targets[i].kind)) for i in of)
    op = procedure_op(derivative(forwarder.pairs, Key(procedure, by, of)), has_effect=stmt.op.has_effect)
    new = Apply((*stmt.targets, *dots), op, (*stmt.args, *given), stmt.kwargs, stmt.origin)
    for i, dot in zip(of, dots):
        forwarder.tangents[stmt.targets[i]] = Staged(b, dot)
    for target in new.targets:
        b.made[target] = new
    return new


def derivative(pairs: Pairs, key: Key) -> Procedure:
    """The procedure that computes a procedure's results and the tangents of some of them."""
    known = pairs.forwards.get(key)
    if known is not None:
        return known.forward
    procedure = Procedure(f"{key.procedure.name}_jvp", key.procedure.of)
    pairs.forwards[key] = pair = Pair(procedure, procedure, is_built=True)
    primal = pairs.primal(key.procedure)
    assert isinstance(primal.body.end, Return)
    value = primal.body.end.value
    returned: tuple[Operand, ...] = value if isinstance(value, tuple) else (value,)
    inputs = [primal.params[i].var for i in key.by]
    if any(isinstance(v.kind, TupleOf) for v in inputs):
        raise KindError("the derivative by a tuple that only the run takes apart is not accepted")
    outputs = [v for i in key.of if isinstance(v := returned[i], Var)]
    stmts = primal.body.stmts
    forwarder = Forwarder.of(stmts, inputs, outputs, pairs)
    b, taken, params = Builder(), {p.name for p in primal.params}, []
    for i in key.by:
        param = primal.params[i]
        name = _unused(f"{param.name}_dot", taken)
        taken.add(name)
        dot = Var(name, dot_kind(param.var.kind))
        params.append(Parameter(name, dot))
        forwarder.tangents[param.var] = Staged(b, dot)
    forwarder.block(stmts, b)
    b.origin = None
    whole = Return((*returned, *(forwarder.whole(returned[i], b) for i in key.of)))
    function = Function(procedure.name, (*primal.params, *params), Block(tuple(b.stmts), whole), is_inner=True)
    if key.procedure.function is not None:
        procedure.function = drop_dead_code(function)  # it stands alone, too
        return procedure
    for step in SIMPLIFYING if pairs.recomputes else PASSES:
        function = step(function)
    pair.functions = {procedure: function}
    return procedure


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
