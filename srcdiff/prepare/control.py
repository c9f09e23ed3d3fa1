"""What controls derivatives, where a function that is lowered calls it: `stop_gradient`, adjoints by name, custom rules.

    y = stop_gradient(x)                 y = stop_gradient(x): a copy that no derivative passes
    x = map_adjoint(x, clip)             a call of the identity whose derivative calls clip
    y = f(x), f a custom_vjp             a call of f that knows the statements of f, f_fwd and f_bwd (`ir.custom`)

The functions of a rule are lowered on fresh variables for the numbers and arrays among the arguments. A call of f within them
is one of the same rule.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from srcdiff.analysis.activity import may_carry
from srcdiff.analysis.freshness import fresh_in
from srcdiff.errors import KindError, NoRule, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.custom import Custom, custom_op
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Unknown
from srcdiff.ir.nodes import Apply, Block, Const, Function, Loop, Op, Operand, Parameter, Procedure, Ref, Return, Stmt, Var, Yield
from srcdiff.ir.walk import free_vars, map_applies, procedures_in, statements_of, substitute_block, variables_in, vars_of
from srcdiff.prepare import arrays, calls, derivatives, procedures
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import ListRef, Partial, Skeleton, Value, flatten, rebuild
from srcdiff.rules.inference import kind_of
from srcdiff.task import CustomRule

Args = tuple[Value, ...]
Kwargs = dict[str, Value]


def run_again(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What `checkpoint(f)` is a partial of, in a function that is lowered."""
    return f(*args, **kwargs)


def call(low: Lowering, control: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """The value of a call of one of the functions that control derivatives."""
    if control == "checkpoint":
        if len(args) != 1 or kwargs:
            raise low.refuse(
                SyntaxNotAccepted,
                "checkpoint() is called inside a function",
                node,
                instead="write checkpoint(f)(x), or `with checkpoint():`.",
            )
        return Partial(Ref(run_again, "run_again"), args, {})
    names = {"stop_gradient": ("x",), "map_adjoint": ("x", "fn"), "watch_adjoint": ("x", "fn")}[control]
    given = {**dict(zip(names, args)), **kwargs}
    if len(args) > len(names) or set(given) != set(names):
        raise low.refuse(KindError, f"{control}() takes {' and '.join(f'`{n}`' for n in names)}", node)
    if control == "stop_gradient":
        return stopped(low, given["x"])
    return through_adjoint(low, given["x"], given["fn"], node, is_watched=control == "watch_adjoint")


def stopped(low: Lowering, value: Value) -> Value:
    """The value, of copies that no derivative passes."""
    skeleton, leaves = flatten(value, low.store, lambda ref: True)
    new: list[Any] = []
    for leaf in leaves:
        if not isinstance(leaf, Var) or not may_carry(leaf.kind):
            new.append(leaf)
            continue
        copy = low.builder.apply(ops.STOP, (leaf,), kind=leaf.kind, hint=leaf.hint)
        if arrays.is_array(low, leaf):
            arrays.tie_like(low, copy, [leaf])
        new.append(copy)
    return rebuild(skeleton, new, low.new_list, low.new_dict, low.new_object)


def through_adjoint(low: Lowering, value: Value, fn: Value, node: ast.AST, *, is_watched: bool) -> Value:
    """The value, whose adjoint `fn` is called with where it flows back."""
    opened, atoms = derivatives.opened(low, value, "x")
    skeleton, leaves = flatten(opened, low.store, lambda ref: True)
    params = tuple(atoms)
    name = "watch_adjoint" if is_watched else "map_adjoint"
    custom = Custom(name, "vjp", params, len(params), is_watched=is_watched)
    custom.primal, custom.outs = Block((), Yield(params)), params
    custom.given = tuple(Var(f"{p.hint}_bar", _slope_kind(p.kind)) for p in params)
    bars: dict[Any, Any] = dict(zip(params, custom.given))
    bar = rebuild(skeleton, [bars.get(x, x) for x in leaves], low.new_list, low.new_dict, low.new_object)
    whole = _Pieces(low, node)
    result = whole.lowered(lambda: calls.call_value(low, fn, (bar,), {}, node))
    if is_watched:
        custom.slopes = custom.given
    else:
        custom.slopes = _like(low, result, skeleton, leaves, params, f"what the function of {name} returns", node)
    custom.second = whole.stmts()
    captured = _closed(low, custom, node)
    return _applied(low, custom, (*atoms.values(), *captured), skeleton, leaves)


def call_custom(low: Lowering, rule: CustomRule, held: Any, text: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """The value of a call of a function with a rule of its own."""
    name = getattr(rule.fn, "__name__", text)
    if len(rule.rule) == 0:
        method = "defvjp" if rule.sort == "vjp" else "defjvp"
        raise low.refuse(NoRule, f"`{name}` has no derivative rule yet", node, instead=f"give it one: {name}.{method}(…).")
    args = _positional(low, rule, name, args, kwargs, node)
    opened: list[Value] = []
    atoms: dict[Var, Operand] = {}
    names = derivatives.parameter_names(Ref(rule.like or rule.fn, name), len(args))
    for i, (arg, given) in enumerate(zip(args, names)):
        if i in rule.nondiff_argnums:
            opened.append(arg)
            continue
        value, found = derivatives.opened(low, arg, given)
        opened.append(value)
        atoms.update(found)
    key = (rule.fn, *_key(low, opened, set(atoms)))
    for other in low.customs:
        if other.key == key:
            return other.called(low, atoms, node)
        if other.rule is rule and len(low.customs) > 8:
            raise low.refuse(NoRule, f"the rule of `{name}` calls it with arguments of other kinds, without end", node)
    made = _Rule(low, rule, held, name, tuple(opened), tuple(atoms), key, node)
    return made.called(low, atoms, node)


def call_checkpointed(low: Lowering, fn: Value, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """The value of a function whose reverse runs it again: the call of a procedure that stands alone."""
    names = [*(f"x{i}" for i in range(len(args))), *kwargs]
    for i, name in enumerate(derivatives.parameter_names(fn, len(args))[: len(args)]):
        names[i] = name.strip("<>")
    opened, atoms = [], {}
    for name, arg in zip(names, (*args, *kwargs.values())):
        value, found = derivatives.opened(low, arg, name)
        opened.append(value)
        atoms.update(found)
    pieces = _Pieces(low, node)
    given = dict(zip(kwargs, opened[len(args) :]))
    value = pieces.lowered(lambda: calls.call_value(low, fn, tuple(opened[: len(args)]), given, node))
    skeleton, leaves = flatten(value, low.store, lambda ref: True)
    results = tuple(leaf for leaf in leaves if isinstance(leaf, Var))
    spoken = "".join(c for c in derivatives.spoken(fn) if c.isalnum() or c == "_")
    spoken = spoken if spoken.isidentifier() and not keyword.iskeyword(spoken) else "block"
    refuse_in_what_runs_again(low, pieces.stmts(), spoken, node)
    block = Block(pieces.stmts(), Yield(results))
    captured = tuple(v for v in free_vars(block) if v not in atoms)
    params = procedures.named_parameters((*atoms, *captured))
    copies: dict[Var, Operand] = {p.var: Var(p.var.hint, p.var.kind, p.var.is_users) for p in params}
    block = substitute_block(block, copies)
    assert isinstance(block.end, Yield)
    values = block.end.values
    returned = Return(values[0] if len(values) == 1 else values)
    own = tuple(Parameter(p.name, v) for p, v in zip(params, copies.values()) if isinstance(v, Var))
    function = Function(spoken, own, Block(block.stmts, returned), is_inner=True)
    op = ops.procedure_op(Procedure(spoken, spoken, function))
    return _called(low, op, function, (*atoms.values(), *captured), skeleton, leaves, values)


def budget_of(low: Lowering, args: Sequence[Value], kwargs: dict[str | None, Value], node: ast.AST) -> Const:
    """What `with checkpoint(budget=…)` says: a number of states, or None."""
    budget = kwargs.get("budget", Const(None))
    is_known = budget == Const(None) or isinstance(budget, Const) and type(budget.value) is int and budget.value > 0
    if args or set(kwargs) - {"budget"} or not is_known:
        raise low.refuse(
            KindError,
            "`with checkpoint()` takes `budget`, a number of states that is known when the function is compiled, and positive",
            node,
        )
    return Const(budget.value)


def checkpointed(low: Lowering, stmts: Sequence[Stmt], budget: Const, node: ast.AST) -> list[Stmt]:
    """The statements, whose loops keep few states."""
    new = [replace(s, checkpoint=budget) if isinstance(s, Loop) else s for s in stmts]
    loops = [s for s in new if isinstance(s, Loop)]
    if not loops:
        raise low.refuse(
            SyntaxNotAccepted,
            "there is no loop in the body of `with checkpoint()`",
            node,
            why="It is for a loop that runs; one over few known items is unrolled.",
            instead="wrap a function instead: checkpoint(f)(x).",
        )
    for loop in loops:
        refuse_in_what_runs_again(low, loop.body.stmts, "the loop", node)
    return new


def refuse_in_what_runs_again(low: Lowering, stmts: Sequence[Stmt], name: str, node: ast.AST) -> None:
    """What runs again in the reverse sweep has no effects."""
    block = Block(tuple(stmts), Yield(()))
    for stmt in statements_of(block):
        if isinstance(stmt, Apply) and stmt.op.has_effect and stmt.op not in (ops.BOUND, ops.ASSERT, ops.RAISE):
            raise low.refuse(
                SyntaxNotAccepted,
                f"`{stmt.op.text or stmt.op.key}` has an effect, in `{name}`, which checkpoint runs again",
                node,
                why="The reverse sweep would do it once more.",
                instead="put it outside of what is checkpointed.",
            )
    if any(p.function is None for p in procedures_in(block)):
        raise low.refuse(NoRule, f"`{name}`, which checkpoint runs again, calls a function that calls itself", node)


class _Rule:
    """The pieces of a custom rule for arguments of certain kinds, while they are lowered."""

    def __init__(
        self,
        low: Lowering,
        rule: CustomRule,
        held: Any,
        name: str,
        args: Args,
        params: Sequence[Var],
        key: Any,
        node: ast.AST,
    ) -> None:
        self.rule, self.key, self.name = rule, key, name
        self.custom = Custom(name, rule.sort, tuple(params), len(params))
        self.args, self.node = args, node
        self.captured: tuple[Var, ...] | None = None
        self.differentiable = tuple(a for i, a in enumerate(args) if i not in rule.nondiff_argnums)
        self.fixed = tuple(args[i] for i in rule.nondiff_argnums)
        primal = _Pieces(low, node)
        value = primal.lowered(lambda: self.value(low, held))
        self.skeleton, self.leaves = flatten(value, low.store, lambda ref: True)
        results = tuple(leaf for leaf in self.leaves if isinstance(leaf, Var))
        self.custom.primal = Block(primal.stmts(), Yield(results))
        low.customs.append(self)
        try:
            whole = _Pieces(low, node)
            (self.of_vjp if rule.sort == "vjp" else self.of_jvp)(low, whole)
        finally:
            low.customs.pop()
        self.captured = _closed(low, self.custom, node)

    def value(self, low: Lowering, held: Any) -> Value:
        """What the function itself returns."""
        if self.rule.like is None:
            return calls.call_value(low, Ref(self.rule.fn, self.name), self.args, {}, self.node)
        model = flatten(calls.call_value(low, Ref(self.rule.like, "like"), self.args, {}, self.node), low.store, lambda r: True)
        if model[0].sort != "leaf":
            raise low.refuse(KindError, f"`like` of `{self.name}` returns no number and no array", self.node)
        kind = kind_of(model[1][0])
        kind = Number(kind.type) if isinstance(kind, Number) else kind
        args = tuple(low.operand(a) for a in self.args)
        fn = held if isinstance(self.rule.fn, types.FunctionType) else self.rule.fn
        return low.builder.apply(ops.call_op(fn, self.name), args, kind=kind, hint=self.name)

    def of_vjp(self, low: Lowering, whole: _Pieces) -> None:
        """The forward function, and the reverse function on what it returns."""
        forward, reverse = (Ref(fn, fn.__name__) for fn in self.rule.rule)
        pair = whole.lowered(lambda: calls.call_value(low, forward, self.args, {}, self.node))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise low.refuse(
                KindError,
                f"`{forward.text}` returns no pair",
                self.node,
                instead="return (result, what the other reads).",
            )
        out, residuals = pair
        custom = self.custom
        custom.outs = self.as_result(low, out, f"what `{forward.text}` returns")
        mark = len(whole.builder.stmts)
        results = [leaf for leaf in self.leaves if isinstance(leaf, Var)]
        custom.given = tuple(Var("out_bar", _slope_kind(r.kind)) for r in results)
        bars: dict[Any, Any] = {r: g if may_carry(r.kind) else Const(None) for r, g in zip(results, custom.given)}
        bar = self.rebuilt(low, bars, Const(None))
        found = whole.lowered(lambda: calls.call_value(low, reverse, (*self.fixed, residuals, bar), {}, self.node))
        found = low.items(found) if isinstance(found, ListRef) else found
        count = len(self.differentiable)
        if not isinstance(found, tuple) or len(found) != count:
            given = f"{len(found)} adjoints" if isinstance(found, tuple) else "no tuple"
            raise low.refuse(
                KindError,
                f"`{reverse.text}` returns {given}, and `{self.name}` has {count} argument{'s' * (count != 1)}",
                self.node,
                instead="return a tuple of one adjoint for each, None where there is none.",
            )
        slopes: list[Operand] = []
        for value, arg in zip(found, self.differentiable):
            skeleton, leaves = flatten(arg, low.store, lambda ref: True)
            params = [leaf for leaf in leaves if isinstance(leaf, Var) and leaf in custom.params]
            slopes += _like(low, value, skeleton, leaves, params, f"what `{reverse.text}` returns", self.node)
        custom.slopes = tuple(slopes)
        custom.first, custom.second = whole.stmts()[:mark], whole.stmts()[mark:]

    def of_jvp(self, low: Lowering, whole: _Pieces) -> None:
        """The one function, on the arguments and their tangents."""
        rule = Ref(self.rule.rule[0], self.rule.rule[0].__name__)
        custom = self.custom
        custom.given = tuple(Var(f"{p.hint}_dot", _slope_kind(p.kind)) for p in custom.params)
        dots: dict[Any, Any] = {p: g if may_carry(p.kind) else Const(0.0) for p, g in zip(custom.params, custom.given)}
        tangents = []
        for arg in self.differentiable:
            skeleton, leaves = flatten(arg, low.store, lambda ref: True)
            new = [dots.get(x, Const(0.0) if isinstance(x, Const) else x) for x in leaves]
            tangents.append(rebuild(skeleton, new, low.new_list, low.new_dict, low.new_object))
        given = (*self.fixed, self.differentiable, tuple(tangents))
        pair = whole.lowered(lambda: calls.call_value(low, rule, given, {}, self.node))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise low.refuse(KindError, f"`{rule.text}` returns no pair", self.node, instead="return (result, its tangent).")
        custom.outs = self.as_result(low, pair[0], f"the result that `{rule.text}` returns")
        results = tuple(leaf for leaf in self.leaves if isinstance(leaf, Var))
        spoken = f"the tangent that `{rule.text}` returns"
        custom.slopes = _like(low, pair[1], self.skeleton, self.leaves, results, spoken, self.node)
        custom.first = whole.stmts()

    def as_result(self, low: Lowering, value: Value, spoken: str) -> tuple[Operand, ...]:
        """The results of a rule: of the structure and kinds of the function's."""
        skeleton, leaves = flatten(value, low.store, lambda ref: True)
        if skeleton != self.skeleton:
            raise low.refuse(KindError, f"{spoken} has another structure than the result of `{self.name}`", self.node)
        for mine, theirs in zip(self.leaves, leaves):
            _check_axes(low, theirs, mine, f"{spoken} and the result of `{self.name}`", self.node)
        return tuple(theirs for mine, theirs in zip(self.leaves, leaves) if isinstance(mine, Var))

    def rebuilt(self, low: Lowering, leaves: dict[Any, Any], otherwise: Any) -> Value:
        new = [leaves.get(leaf, otherwise) for leaf in self.leaves]
        return rebuild(self.skeleton, new, low.new_list, low.new_dict, low.new_object)

    def called(self, low: Lowering, atoms: dict[Var, Operand], node: ast.AST) -> Value:
        """The value of a call of the rule for such arguments: within its own pieces, or where they are complete."""
        if self.captured is None and low.customs[-1] is not self:
            raise low.refuse(NoRule, f"the rule of `{self.name}` calls it through another function with a rule", node)
        return _applied(low, self.custom, (*atoms.values(), *(self.captured or ())), self.skeleton, self.leaves)


class _Pieces:
    """Statements that are lowered apart: they change nothing of the function around."""

    def __init__(self, low: Lowering, node: ast.AST) -> None:
        self.low, self.node, self.before = low, node, dict(low.store)
        self.builder = low.builder.inside()

    def lowered(self, lower: Callable[[], Value]) -> Value:
        low, outer = self.low, self.low.builder
        low.builder = self.builder
        try:
            value = arrays.settled(low, lower())
        finally:
            low.builder = outer
        derivatives.check_unchanged(low, self.before, self.node)
        own = set(variables_in(Block(self.stmts(), Yield(()))))
        for key in low.store:
            if isinstance(key, Var) and key not in self.before and key not in own:
                raise low.refuse(
                    SyntaxNotAccepted,
                    f"`{key.hint}` is written to in a function with a derivative of its own",
                    self.node,
                    instead="let it work on a copy, and return what it makes.",
                )
        return value

    def stmts(self) -> tuple[Stmt, ...]:
        return tuple(self.builder.stmts)


def _closed(low: Lowering, custom: Custom, node: ast.AST) -> tuple[Var, ...]:
    """Makes what the pieces of a rule read of the function around arguments of it, which its calls within them pass on."""
    assert isinstance(custom.primal.end, Yield)
    pieces = [(custom.primal.stmts, custom.primal.end.values), (custom.first, custom.outs), (custom.second, custom.slopes)]
    made = {v for stmts, _ in pieces for v in variables_in(Block(stmts, Yield(())))}
    own = {*custom.params, *custom.given, *made}
    read = [[v for v in free_vars(Block(stmts, Yield(values))) if v not in own] for stmts, values in pieces]
    captured = tuple(dict.fromkeys(v for variables in read for v in variables))
    copies = {v: Var(v.hint, v.kind, v.is_users) for v in captured}
    for stmts, values in pieces:
        if procedures_in(Block(stmts, Yield(values))):
            raise low.refuse(NoRule, f"the rule of `{custom.name}` calls a function that calls itself", node)

    def passing(stmt: Apply) -> Apply:
        return replace(stmt, args=(*stmt.args, *copies.values())) if stmt.op.pattern is custom else stmt

    def piece(stmts: tuple[Stmt, ...], values: tuple[Operand, ...]) -> tuple[tuple[Stmt, ...], tuple[Operand, ...]]:
        block = substitute_block(map_applies(Block(stmts, Yield(values)), passing), copies)
        assert isinstance(block.end, Yield)
        return block.stmts, block.end.values

    closed = [piece(*part) for part in pieces]
    custom.primal = Block(closed[0][0], Yield(closed[0][1]))
    (custom.first, custom.outs), (custom.second, custom.slopes) = closed[1:]
    custom.fixed = frozenset(len(custom.params) + i for i, v in enumerate(captured) if v in read[0] or v in read[1])
    custom.params = (*custom.params, *copies.values())
    return captured


def _applied(low: Lowering, custom: Custom, args: tuple[Operand, ...], skeleton: Skeleton, leaves: Sequence[Any]) -> Value:
    """The value of a call of a function with a rule, whose results are leaves of this structure."""
    assert isinstance(custom.primal.end, Yield)
    values = custom.primal.end.values
    params = tuple(Parameter(p.hint, p) for p in custom.params)
    function = Function(custom.name, params, Block(custom.primal.stmts, Return(values)))
    has_effect = any(isinstance(s, Apply) and s.op.has_effect for s in statements_of(custom.primal))
    return _called(low, custom_op(custom, has_effect=has_effect), function, args, skeleton, leaves, values)


def _called(
    low: Lowering,
    op: Op,
    function: Function,
    args: tuple[Operand, ...],
    skeleton: Skeleton,
    leaves: Sequence[Any],
    values: tuple[Operand, ...],
) -> Value:
    """The value of a call that gives the variables among the leaves of a structure: their arrays may be those of arguments."""
    results = [leaf for leaf in leaves if isinstance(leaf, Var)]
    stmt = Apply(tuple(Var(leaf.hint, leaf.kind) for leaf in results), op, args, (), low.builder.origin)
    targets = dict(zip(results, stmt.targets))
    low.builder.add(stmt)
    shared = [v for v in vars_of(args) if arrays.is_array(low, v)]
    fresh = fresh_in(replace(function, body=Block(function.body.stmts, Return(values))))
    for leaf, target, is_fresh in zip(results, stmt.targets, fresh):
        low.builder.made[target] = stmt
        if (nature := arrays.without_axes(low, leaf)) is not False:
            low.without_axes[target] = nature
        if arrays.is_array(low, target) and not is_fresh:
            arrays.tie_like(low, target, shared)
    new = [targets.get(leaf, leaf) for leaf in leaves]
    return rebuild(skeleton, new, low.new_list, low.new_dict, low.new_object)


def _like(
    low: Lowering, value: Value, skeleton: Skeleton, leaves: Sequence[Any], wanted: Sequence[Var], spoken: str, node: ast.AST
) -> tuple[Operand, ...]:
    """Of an adjoint or a tangent, in the structure of a value with these leaves, the parts for some of them; None where none."""
    if value == Const(None):
        return (value,) * len(wanted)
    found, parts = flatten(value, low.store, lambda ref: True)
    if found != skeleton:
        raise low.refuse(KindError, f"{spoken} has another structure than what it is for", node)
    by_leaf = dict(zip(leaves, parts))
    for leaf in wanted:
        _check_axes(low, by_leaf[leaf], leaf, f"{spoken} for `{leaf.hint}`", node)
    return tuple(_as_slope(by_leaf[leaf]) for leaf in wanted)


def _as_slope(part: Any) -> Operand:
    is_number = isinstance(part, Const) and isinstance(part.value, (bool, int, float))
    return Const(float(part.value)) if is_number else part


def _check_axes(low: Lowering, given: Any, wanted: Any, spoken: str, node: ast.AST) -> None:
    kinds = (kind_of(given), kind_of(wanted))
    if given == Const(None) or any(isinstance(k, Unknown) or getattr(k, "dims", ()) is None for k in kinds):
        return
    counts = [_axes(kind) for kind in kinds]
    if counts[0] != counts[1]:
        raise low.refuse(KindError, f"{spoken} is {counts[0]}, where {counts[1]} is due", node)


def _axes(kind: Kind) -> str:
    if isinstance(kind, (Number, Array)):
        count = len(kind.dims or ()) if isinstance(kind, Array) else 0
        return "a number" if count == 0 else f"an array with {count} ax{'is' if count == 1 else 'es'}"
    return "a list" if isinstance(kind, ListOf) else "no number and no array"


def _positional(low: Lowering, rule: CustomRule, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Args:
    """The arguments by position, with those that go by name, and defaults."""
    try:
        signature = inspect.signature(rule.like or rule.fn, follow_wrapped=False)
        bound = signature.bind(*args, **kwargs)
    except ValueError:
        raise low.refuse(NoRule, f"`{name}` cannot be read", node, instead="say what it returns: like=…") from None
    except TypeError as error:
        raise low.refuse(KindError, f"{name}(): {error}", node) from None
    given = set(bound.arguments)
    bound.apply_defaults()
    if bound.kwargs:
        raise low.refuse(KindError, f"`{name}` has arguments that go by name alone", node)
    for key, value in bound.arguments.items():
        if key not in given and signature.parameters[key].kind is not inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[key] = calls.constant(low, value, node, key)
    return tuple(bound.args)


def _key(low: Lowering, args: Sequence[Value], fresh: set[Var]) -> tuple[Any, ...]:
    """What makes two calls of a rule alike: structure and kinds of the arguments."""
    skeleton, leaves = flatten(tuple(args), low.store, lambda ref: True)
    return skeleton, tuple(kind_of(leaf) if leaf in fresh else leaf for leaf in leaves)


def _slope_kind(kind: Kind) -> Kind:
    match kind:
        case Number(type):
            return Number("complex" if type == "complex" else "float")
        case ListOf(item, length):
            return ListOf(_slope_kind(item), length)
        case _:
            return kind
