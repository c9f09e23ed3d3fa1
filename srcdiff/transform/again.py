"""The reverse of a procedure that stands alone: it computes what the procedure did again, rather than have it kept.

    y = layer(x, W)        →      x_bar, W_bar = layer_reverse(x, W, y_bar)

    def layer_reverse(x, W, out_bar):
        y = tanh(x @ W)                         the forward sweep
        …                                       the reverse sweep

It is a procedure like the other, and so has a derivative itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcdiff.errors import KindError
from srcdiff.ir.kinds import TupleOf
from srcdiff.ir.nodes import Block, Function, Operand, Parameter, Procedure, Return, Stmt, Var
from srcdiff.ir.walk import free_vars, procedures_in, renewed
from srcdiff.passes.dead_code import drop_dead_code_in
from srcdiff.passes.hoist import hoist
from srcdiff.passes.split_records import split_records
from srcdiff.rules.builder import Builder
from srcdiff.rules.staging import Staged
from srcdiff.transform.adjoints import Adjoints, accumulate
from srcdiff.transform.procedures import Again, Key, Pairs, adjoint_of, bar_kind, results_of, single, unused
from srcdiff.transform.reverse import Reverser, carrying


def reverse_again(pairs: Pairs, key: Key) -> Again:
    """The procedure of the adjoints of some arguments, from the arguments and the adjoints of some results."""
    known = pairs.again.get(key)
    if known is not None:
        return known
    source = key.procedure.function
    assert source is not None
    name = f"{key.procedure.name.removesuffix('_reverse')}_reverse"
    procedure = Procedure(name, key.procedure.of)
    everything = tuple(range(len(source.params)))
    pairs.again[key] = Again(procedure, everything)  # it may call itself
    params, body = opened(source)
    inputs = [params[i].var for i in key.by]
    if any(isinstance(v.kind, TupleOf) for v in inputs):
        raise KindError("the derivative by a tuple that only the run takes apart is not accepted")
    returned = results_of(Function(name, params, body))
    taken = {p.name for p in params}
    bars: list[Parameter] = []
    for i in key.of:
        hint = unused("out_bar" if len(key.of) == 1 else f"out{i}_bar", taken)
        bars.append(Parameter(hint, Var(hint, bar_kind(returned[i]), True)))
    seeds = [(out, bar.var) for i, bar in zip(key.of, bars) if isinstance(out := returned[i], Var)]
    stmts, gradients = swept(pairs, body.stmts, inputs, seeds)
    block = drop_dead_code_in(Block(stmts, Return(single(gradients))))
    read = set(free_vars(block))
    if procedure not in procedures_in(block):
        pairs.again[key] = Again(procedure, tuple(i for i in everything if params[i].var in read))
    own = tuple(params[i] for i in pairs.again[key].reads)
    procedure.function = Function(name, (*own, *bars), block, is_inner=True)
    return pairs.again[key]


def opened(function: Function) -> tuple[tuple[Parameter, ...], Block]:
    """A function on variables of its own, to be differentiated: parameters and body."""
    function = split_records(hoist(function))
    params = tuple(Parameter(p.name, Var(p.var.hint, p.var.kind, p.var.is_users)) for p in function.params)
    return params, renewed(function.body, {p.var: new.var for p, new in zip(function.params, params)})


def swept(
    pairs: Pairs, stmts: Sequence[Stmt], inputs: Sequence[Var], seeds: Sequence[tuple[Var, Var]]
) -> tuple[tuple[Stmt, ...], tuple[Operand, ...]]:
    """Both sweeps one after the other, and the adjoints of the inputs; the seeds are adjoints by what they are of."""
    b, adjoints = Builder(), Adjoints()
    reverser = Reverser(carrying(stmts, inputs, [of for of, _ in seeds]), stmts, pairs)
    b.foresee(stmts, reverser.objects.versions)
    for of, bar in seeds:
        if of in reverser.active:
            accumulate(adjoints, of, Staged(b, bar), b)
    forward = reverser.block(stmts, adjoints, b)
    b.origin = None
    gradients = tuple(adjoint_of(v, adjoints, b) for v in inputs)
    return (*forward, *b.stmts), gradients
