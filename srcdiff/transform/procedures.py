"""The derivative of a procedure is a pair: the forward sweep, which returns what its reverse will read, and the reverse sweep.

    y = power(x, n)        →      y, saved = power_forward(x, n)
                                  x_bar = power_reverse(x, n, saved, y_bar)

A pair is made for each set of active arguments and each set of results that have adjoints. The reverse takes of the
arguments those that it reads, and of the forward sweep what it reads besides. Both are found as for loops: by building the
reverse first. As it may call itself, a pair is first assumed to read nothing, and built again until that is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from srcdiff.analysis.activity import may_carry
from srcdiff.analysis.freshness import fresh_results
from srcdiff.errors import KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Opaque, TupleOf, Unknown
from srcdiff.ir.nodes import Apply, Block, Const, Function, Op, Operand, Parameter, Procedure, Return, Stmt, Var
from srcdiff.ir.ops import procedure_op
from srcdiff.ir.walk import bound_by, free_vars, map_block, map_operands, procedures_in, renewed, vars_of, with_blocks
from srcdiff.passes import PASSES
from srcdiff.passes.dead_code import drop_dead_code, drop_dead_code_in
from srcdiff.passes.expand import expand
from srcdiff.passes.hoist import hoist
from srcdiff.passes.split_records import split_records
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.staging import Staged
from srcdiff.transform.adjoints import Adjoints, accumulate, as_float, full, zero
from srcdiff.transform.records import packed, with_replayed

if TYPE_CHECKING:
    from srcdiff.transform.reverse import Reverser

BETWEEN = Op("between the sweeps", "display", has_effect=True)
"""The statement that stands between the sweeps of a program that will be two functions."""


@dataclass(frozen=True)
class Key:
    """Which derivative of a procedure: by the arguments `by`, of the results `of` (their places)."""

    procedure: Procedure
    by: tuple[int, ...]
    of: tuple[int, ...]


@dataclass(eq=False)
class Pair:
    """The two functions of a derivative; `reads` are the arguments that the reverse takes, besides a record if there is one.

    `instead` is a derivative by more arguments that it calls itself, and that does for it too.
    """

    forward: Procedure
    reverse: Procedure
    reads: tuple[int, ...] = ()
    has_record: bool = False
    is_built: bool = False
    functions: dict[Procedure, Function] = field(default_factory=dict)
    instead: Key | None = None


@dataclass(frozen=True)
class Again:
    """The reverse of a procedure that stands alone: it stands alone, too. `reads` are the arguments that it takes."""

    procedure: Procedure
    reads: tuple[int, ...]


class Pairs:
    """The procedures of a program, and the pairs of those that derivatives pass through.

    Where the program will be differentiated again a derivative `recomputes`: the reverse runs the forward sweep itself, and no
    record is passed, of which a derivative would have no structure.
    """

    def __init__(self, procedures: Mapping[Procedure, Function], *, recomputes: bool = False) -> None:
        self.recomputes = recomputes
        self.primals = {p: drop_dead_code(hoist(f)) for p, f in procedures.items()}
        self.pairs: dict[Key, Pair] = {}
        self.forwards: dict[Key, Pair] = {}  # in forward mode a derivative is one function
        self.again: dict[Key, Again] = {}  # the reverse of those that stand alone
        self.trips: dict[Any, Any] = {}  # the procedures of loops of which few states are kept
        self.finished: dict[Procedure, Function] = {}
        self.open: list[Key] = []

    def primal(self, procedure: Procedure) -> Function:
        return procedure.function or self.primals[procedure]

    def behind(self) -> dict[Procedure, tuple[Procedure, int, int]]:
        """The procedures behind those that take tangents, with how many arguments and results they have themselves."""
        found = {}
        for key, pair in self.forwards.items():
            primal = self.primal(key.procedure)
            found[pair.forward] = (key.procedure, len(primal.params), len(results_of(primal)))
        return found

    # ------------------------------------------------------------ what is asked

    def call(self, reverser: Reverser, stmt: Apply, adjoints: Adjoints, b: Builder) -> Apply:
        """Add the reverse of a call to `b`; returns the call of the forward sweep."""
        procedure = stmt.op.procedure
        assert procedure is not None
        bars = {i: bar for i, t in enumerate(stmt.targets) if t in reverser.active and (bar := adjoints.take(t)) is not None}
        by = tuple(i for i, a in enumerate(stmt.args) if isinstance(a, Var) and a in reverser.active and may_carry(a.kind))
        if not bars or not by:
            return stmt
        if procedure.function is not None:
            self.call_again(reverser, stmt, Key(procedure, by, tuple(bars)), bars, adjoints, b)
            return stmt
        pair = self.pair(Key(procedure, by, tuple(bars)))
        if pair.instead is not None:
            by, pair = pair.instead.by, self.pair(pair.instead)
        forward = stmt
        args: list[Operand] = [stmt.args[i] for i in pair.reads]
        if pair.has_record:
            record = Var("saved", Opaque("tuple"), True)
            forward = replace(stmt, targets=(*stmt.targets, record), op=_op(pair.forward, stmt.op))
            args.append(record)
        args += [_whole(bar, stmt.targets[i], b) for i, bar in bars.items()]
        params = self.primals[procedure].params
        targets = tuple(Var(f"{_hint(stmt.args[i], params[i])}_bar", bar_kind(stmt.args[i])) for i in by)
        self.add_reverse(
            reverser, stmt, by, targets, Apply(targets, procedure_op(pair.reverse), tuple(args), (), b.origin), adjoints, b
        )
        return forward

    def add_reverse(
        self,
        reverser: Reverser,
        stmt: Apply,
        by: Sequence[int],
        targets: Sequence[Var],
        call: Apply,
        adjoints: Adjoints,
        b: Builder,
    ) -> None:
        b.add(call)
        for i, target in zip(by, targets):
            b.made[target] = call
            reverser.give(adjoints, stmt.args[i], Staged(b, target), b)

    def call_again(
        self, reverser: Reverser, stmt: Apply, key: Key, bars: Mapping[int, Staged], adjoints: Adjoints, b: Builder
    ) -> None:
        """Add the reverse of a call of a procedure that stands alone: it is given the arguments, and runs it again."""
        from srcdiff.transform.again import reverse_again

        again = reverse_again(self, key)
        params = self.primal(key.procedure).params
        args = (*(stmt.args[i] for i in again.reads), *(_whole(bar, stmt.targets[i], b) for i, bar in bars.items()))
        targets = tuple(Var(f"{_hint(stmt.args[i], params[i])}_bar", bar_kind(params[i].var)) for i in key.by)
        call = Apply(targets, procedure_op(again.procedure), args, (), b.origin)
        self.add_reverse(reverser, stmt, key.by, targets, call, adjoints, b)

    def functions(self, block: Block, *, is_final: bool = True) -> dict[Procedure, Function]:
        """The procedures that a block calls, and those that these call, each after those that it calls.

        Unless it is final a derivative is taken of them yet: those that stand alone are left out, as they have their function.
        """
        every = {p: expand(f) if is_final else f for p, f in self.primals.items()}
        for pair in (*self.pairs.values(), *self.forwards.values()):
            every |= pair.functions
        found: dict[Procedure, Function] = {}
        seen: set[Procedure] = set()

        def visit(inner: Block) -> None:
            for p in procedures_in(inner):
                if p not in seen and (is_final or p.function is None):
                    seen.add(p)
                    function = every[p] if p.function is None else self.finish(p)
                    visit(function.body)
                    found[p] = function

        visit(block)
        return found

    def finish(self, procedure: Procedure) -> Function:
        """A procedure that stands alone, once no derivative is taken of it any more."""
        if procedure not in self.finished:
            assert procedure.function is not None
            function = procedure.function
            for step in PASSES:
                function = step(function)
            self.finished[procedure] = function
        return self.finished[procedure]

    def with_own_arrays(self, stmts: Sequence[Stmt], shared: Set[Var]) -> list[Stmt]:
        """The forward sweep of a pullback: what the records of its calls may hold is not `shared` with who calls it."""
        fresh = fresh_results(self.functions(Block(tuple(stmts), Return(Const(None)))))
        forwards = {pair.forward for pair in self.pairs.values() if pair.has_record}
        outside = {v for s in stmts for v in bound_by(s)} - shared

        def block(inner: Sequence[Stmt]) -> list[Stmt]:
            found: list[Stmt] = []
            for stmt in inner:
                if not isinstance(stmt, Apply):
                    found.append(with_blocks(stmt, lambda b: replace(b, stmts=tuple(block(b.stmts)))))
                    continue
                p = stmt.op.procedure
                args = stmt.args
                if p is not None and p in forwards and not fresh[p][-1]:
                    copied = {v: Var(v.hint, v.kind) for v in vars_of(args) if _has_axes(v) and v not in outside}
                    found += [Apply((new,), ops.ARRAY_COPY, (v,)) for v, new in copied.items()]
                    args = map_operands(args, lambda v, copied=copied: copied.get(v, v))  # type: ignore[misc]
                found.append(replace(stmt, args=args))
            return found

        return block(stmts)

    # ------------------------------------------------------------ building pairs

    def pair(self, key: Key) -> Pair:
        """The pair of a derivative, built until what it and those that it calls read agrees with what is built."""
        known = self.pairs.get(key)
        if known is None:
            name = key.procedure.of
            known = self.pairs[key] = Pair(Procedure(f"{name}_forward", name), Procedure(f"{name}_reverse", name))
        if known.is_built or key in self.open:
            return known
        outermost = not self.open
        self.open.append(key)
        while True:
            before = {k: (p.reads, p.has_record) for k, p in self.pairs.items()}
            self.build(key, known)
            known.is_built = True
            if not outermost or before == {k: (p.reads, p.has_record) for k, p in self.pairs.items()}:
                break
            for other in self.pairs.values():
                other.is_built = False
        self.open.pop()
        if outermost:
            for at, pair in self.pairs.items():
                pair.instead = self.wider(at, pair)
        return known

    def wider(self, key: Key, pair: Pair) -> Key | None:
        """A derivative by more arguments that this one needs anyway."""
        called = {p for f in pair.functions.values() for p in procedures_in(f.body)}
        for other, wide in self.pairs.items():
            if (other.procedure, other.of) == (key.procedure, key.of) and set(key.by) < set(other.by) and wide.reverse in called:
                return other
        return None

    def build(self, key: Key, pair: Pair) -> None:
        from srcdiff.transform.reverse import Reverser, carrying

        primal = self.primals[key.procedure]
        returned = results_of(primal)
        b = Builder()
        inputs = [primal.params[i].var for i in key.by]
        for var in inputs:
            if isinstance(var.kind, TupleOf):
                raise KindError("the derivative by a tuple that only the run takes apart is not accepted")
        outputs = [v for i in key.of if isinstance(v := returned[i], Var)]
        own = frozenset(p.var for p in primal.params)
        reverser = Reverser(carrying(primal.body.stmts, inputs, outputs), primal.body.stmts, self, own)
        b.foresee(primal.body.stmts, reverser.objects.versions)
        adjoints, bars = Adjoints(), []
        taken = {p.name for p in primal.params}
        for i in key.of:
            result = returned[i]
            bar = Var(unused("out_bar" if len(key.of) == 1 else f"out{i}_bar", taken), bar_kind(result), True)
            bars.append(bar)
            if isinstance(result, Var) and result in reverser.active:
                accumulate(adjoints, result, Staged(b, bar), b)
        forward = reverser.block(primal.body.stmts, adjoints, b)
        b.origin = None
        gradients = tuple(adjoint_of(v, adjoints, b) for v in inputs)
        whole = Block((*forward, Apply((), BETWEEN, (Const(None),)), *b.stmts), Return((returned, gradients)))
        params = (*primal.params, *(Parameter(bar.hint, bar) for bar in bars))
        self.split(Function(primal.name, params, whole, is_inner=True), primal, bars, pair)

    def split(self, whole: Function, primal: Function, bars: list[Var], pair: Pair) -> None:
        if self.recomputes:
            pair.reads = tuple(range(len(primal.params)))
            pair.functions = {pair.reverse: _recomputing(pair.reverse.name, whole)}
            return
        forward, returned, reverse = sweeps(whole)
        own = [p.var for p in primal.params]
        reverse, again = with_replayed(forward, reverse, {*own, *bars})
        read = free_vars(reverse)
        pair.reads = tuple(i for i, v in enumerate(own) if v in read or i in pair.reads)
        kept = [v for v in read if v not in own and v not in bars]
        pair.has_record = pair.has_record or bool(kept)
        assert isinstance(returned, tuple)
        results: tuple[Operand, ...] = returned
        record = Var("saved", Opaque("tuple"), True)
        if pair.has_record:
            forward, out, reverse = packed(forward, reverse, kept, record, again)
            results = (*returned, out)
        params = [primal.params[i] for i in pair.reads]
        copies = {p.var: Var(p.var.hint, p.var.kind, p.var.is_users) for p in params}
        taken = {p.name for p in params} | {bar.hint for bar in bars}
        record.hint = unused("saved", taken)
        inside = [Parameter(p.name, copies[p.var]) for p in params]
        inside += [Parameter(record.hint, record)] if pair.has_record else []
        inside += [Parameter(bar.hint, bar) for bar in bars]
        reverse = map_block(reverse, lambda v: copies.get(v, v))
        assert isinstance(reverse.end, Return) and isinstance(reverse.end.value, tuple)
        reverse = replace(reverse, end=Return(single(reverse.end.value)))
        block = drop_dead_code_in(Block(tuple(forward), Return(single(results))))
        pair.functions = {
            pair.forward: Function(pair.forward.name, primal.params, block, is_inner=True),
            pair.reverse: Function(pair.reverse.name, tuple(inside), reverse, is_inner=True),
        }


def _recomputing(name: str, whole: Function) -> Function:
    """A function of both sweeps, from the arguments and the adjoints of the results to the gradients."""
    stmts = tuple(s for s in whole.body.stmts if not (isinstance(s, Apply) and s.op is BETWEEN))
    assert isinstance(whole.body.end, Return) and isinstance(whole.body.end.value, tuple)
    gradients = whole.body.end.value[1]
    assert isinstance(gradients, tuple)
    body = drop_dead_code_in(Block(stmts, Return(single(gradients))))
    params = {p.var: Var(p.var.hint, p.var.kind, p.var.is_users) for p in whole.params}
    own = tuple(Parameter(p.name, params[p.var]) for p in whole.params)
    return split_records(Function(name, own, renewed(body, params), is_inner=True))


def sweeps(whole: Function) -> tuple[list[Stmt], Operand, Block]:
    """A program with both sweeps after the passes: the forward statements, its result, and the reverse sweep as a block.

    The passes see it whole, so that facts and scopes hold in both. It returns (result, gradients).
    """
    for step in PASSES:
        whole = step(whole)
    body = whole.body
    at = next(i for i, s in enumerate(body.stmts) if isinstance(s, Apply) and s.op is BETWEEN)
    assert isinstance(body.end, Return) and isinstance(body.end.value, tuple)
    head, gradients = body.end.value
    return list(body.stmts[:at]), head, drop_dead_code_in(Block(body.stmts[at + 1 :], Return(gradients)))


def _op(procedure: Procedure, like: Op) -> Op:
    return procedure_op(procedure, has_effect=like.has_effect)


def results_of(primal: Function) -> tuple[Operand, ...]:
    """What a procedure gives back."""
    assert isinstance(primal.body.end, Return)
    value = primal.body.end.value
    return value if isinstance(value, tuple) else (value,)


def adjoint_of(var: Var, adjoints: Adjoints, b: Builder) -> Operand:
    """An adjoint in full, zeros where there is none."""
    bar = adjoints.get(var)
    if bar is None:
        return zero(var, b).atom
    return as_float(full(Staged(b, bar.atom, bar.dims, bar.like), var), b).atom


def bar_kind(of: Operand) -> Kind:
    kind = kind_of(of)
    if isinstance(kind, Number):
        return Number("float")
    if isinstance(kind, ListOf) and isinstance(kind.item, Number):
        return ListOf(Number("float"), kind.length)
    return kind


def _whole(bar: Staged, target: Var, b: Builder) -> Operand:
    """An adjoint as it is passed on."""
    return as_float(full(Staged(b, bar.atom, bar.dims, bar.like), target), b).atom


def _hint(arg: Operand, param: Parameter) -> str:
    return arg.hint if isinstance(arg, Var) else param.name


def _has_axes(var: Var) -> bool:
    return isinstance(var.kind, Unknown) or (isinstance(var.kind, Array) and var.kind.dims != ())


def unused(name: str, taken: set[str]) -> str:
    """A name that is not taken."""
    while name in taken:
        name += "_"
    return name


def single(values: tuple[Operand, ...]) -> Operand:
    """What is returned of several values, or of one."""
    return values[0] if len(values) == 1 else values
