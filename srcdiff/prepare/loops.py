"""Loops: unrolled over containers of known structure, otherwise a Loop with carried values.

    for x in xs:                 Loop(x in xs; carrying h from zeros(n), hs from [])
        h = np.tanh(W @ h + x)       h₁ = tanh(…);  hs₁ = append(hs, h₁)
        hs.append(h)                 next h₁, hs₁

What a loop carries is found by lowering its body until the kinds of the carried values are stable.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from srcdiff.errors import KindError, SrcdiffError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import (
    INT,
    Array,
    Kind,
    Length,
    ListOf,
    Number,
    combine,
    is_of_values,
    is_scalar,
    join,
    one_of_several,
    opaque,
)
from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Block,
    Branch,
    Const,
    Exit,
    Free,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Range,
    Ref,
    Source,
    Var,
)
from srcdiff.prepare import arrays, cells, changes, containers, expressions, functional, generators, objects, statements
from srcdiff.prepare.lowering import Lowering, spoken_name, truth
from srcdiff.prepare.values import (
    REFERENCES,
    Closure,
    DictRef,
    Generator,
    Instance,
    Iterable,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Poison,
    Record,
    Skeleton,
    Value,
    flatten,
    is_atom,
    operand_of,
    rebuild,
    refs_in,
)
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of, length_of

UNROLL_ATOMS = 8
ATTEMPTS = 12
RETURNED, RESULT, BROKE = "<returned>", "<result>", "<broke>"


class NeedsUnrolling(KindError):
    """A container of known structure is indexed by a number that only the run knows."""

    def __init__(
        self,
        what: str = "a container of mixed kinds is indexed by a number that only the run knows",
        origin: Any = None,
        why: str | None = None,
        instead: str | None = "loop over the container itself.",
    ) -> None:
        super().__init__(what, origin, why, instead)


@dataclass(eq=False)
class Context:
    """What break, continue and return mean inside the loop that is being lowered, and the arrays that it walks."""

    on: dict[str, Callable[[Value], Any]] = field(default_factory=dict)
    walked: tuple[Var, ...] = ()


def jump(low: Lowering, sort: str, value: Value = None) -> Any:
    """A break, continue or return where the walk stands."""
    context: Context | None = low.loops[-1] if low.loops else None
    if context is not None and sort in context.on:
        return context.on[sort](value)
    return statements.leaf(low, sort, value)


def has_jump(nodes: Sequence[ast.stmt], sorts: tuple[type, ...] = (ast.Return, ast.Break, ast.Continue)) -> bool:
    """Whether a statement may leave this block: break and continue of inner loops stay inside."""
    return any(_jumps(n, sorts) for n in nodes)


def _jumps(node: ast.AST, sorts: tuple[type, ...]) -> bool:
    if isinstance(node, sorts):
        return True
    if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
        return False
    if isinstance(node, (ast.For, ast.While)):
        inner = tuple(s for s in sorts if s is ast.Return)
        return any(_jumps(n, inner) for n in node.body) or any(_jumps(n, sorts) for n in node.orelse)
    return any(_jumps(n, sorts) for n in ast.iter_child_nodes(node))


def assigned_names(nodes: Sequence[ast.AST], *, augmented: bool = True) -> dict[str, None]:
    """Names that a body binds, in order; without `augmented` not those that it only updates (`x += 1`)."""
    return {name: None for root in nodes for name in _assigned_in(root, augmented)}


@functools.lru_cache(maxsize=4096)
def _assigned_in(root: ast.AST, augmented: bool) -> tuple[str, ...]:
    names: dict[str, None] = {}
    updated = {id(n.target) for n in _walk_scope(root) if isinstance(n, ast.AugAssign)} if not augmented else set()
    for node in _walk_scope(root):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)) and id(node) not in updated:
            names[node.id] = None
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = None
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            names[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            names[node.rest] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names[(alias.asname or alias.name).split(".")[0]] = None
    return tuple(names)


def is_private(name: str, loop: ast.For | ast.While, frame: Any) -> bool:
    """Whether a name lives within one trip: no trip reads it before binding it, and nothing outside the loop reads it."""
    fn = frame.node
    fn = frame.woven.get(name, fn)
    if fn is None or name in _bound_in_expressions(fn):
        return False
    # What a loop runs over is read before its trips: inside an outer loop, after those of the last time.
    head = loop.test if isinstance(loop, ast.While) else loop.target
    inside = {id(n) for root in (head, *loop.body) for n in _loads(root).get(name, ())}
    if any(id(n) not in inside for n in _loads(fn).get(name, ())):
        return False
    test = [ast.Expr(loop.test)] if isinstance(loop, ast.While) else []
    is_bound = isinstance(loop, ast.For) and name in assigned_names([loop.target])
    return not _reads_unbound([*test, *loop.body], name, is_bound)[0]


@functools.lru_cache(maxsize=512)
def _bound_in_expressions(fn: ast.AST) -> frozenset[str]:
    """Names that a part of an expression or a pattern binds, perhaps in one of its branches only."""
    nodes = list(ast.walk(fn))
    named = {n.target.id for n in nodes if isinstance(n, ast.NamedExpr)}
    return frozenset(named | set(assigned_names([n for n in nodes if isinstance(n, ast.Match)])))


@functools.lru_cache(maxsize=4096)
def _loads(node: ast.AST) -> dict[str, list[ast.Name]]:
    """Where a node reads each name, also in functions within it; an augmented assignment reads its target."""
    found: dict[str, list[ast.Name]] = {}
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
            found.setdefault(n.id, []).append(n)
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            found.setdefault(n.target.id, []).append(n.target)
    return found


def _reads_unbound(nodes: Sequence[ast.AST], name: str, is_bound: bool) -> tuple[bool, bool]:
    """Whether statements may read a name before they bind it, and whether it is bound after them."""
    for node in nodes:
        match node:
            case ast.If(test, body, orelse):
                if not is_bound and _mentions(test, name):
                    return True, False
                then, otherwise = _reads_unbound(body, name, is_bound), _reads_unbound(orelse, name, is_bound)
                if then[0] or otherwise[0]:
                    return True, False
                is_bound = then[1] and otherwise[1]
            case ast.For(target, iterable, body, orelse):
                if not is_bound and _mentions(iterable, name):
                    return True, False
                inner = _reads_unbound(body, name, is_bound or name in assigned_names([target]))
                if inner[0] or _reads_unbound(orelse, name, is_bound)[0]:
                    return True, False
            case ast.While(test, body, orelse):
                if _reads_unbound([ast.Expr(test), *body, *orelse], name, is_bound)[0]:
                    return True, False
            case ast.Assign(targets, value):
                if not is_bound and _mentions(value, name):
                    return True, False
                is_bound = is_bound or name in assigned_names(targets)
            case _:
                if not is_bound and _mentions(node, name):
                    return True, False
                is_bound = is_bound or name in assigned_names([node])
    return False, is_bound


def _mentions(node: ast.AST, name: str) -> bool:
    """Whether a node reads a name."""
    return name in _loads(node)


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return
    if isinstance(node, (ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.SetComp)):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):  # it binds a name of the function's
                yield inner.target
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk_scope(child)


# ---------------------------------------------------------------- dispatch


def lower_loop(low: Lowering, node: ast.For | ast.While, rest: Callable[[], Any]) -> Any:
    """Lower a loop. None: what follows goes on in this block; otherwise the tree of everything that follows."""
    if isinstance(node, ast.While):
        return _dynamic(low, node, None, rest)
    iterable = objects.iterated(low, expressions.lower(low, node.iter), node.iter)
    if isinstance(iterable, Generator):
        return generators.lower_loop(low, node, iterable, rest)
    iterable = generators.collected(low, iterable, node.iter)
    items = expressions.known_items(low, iterable)
    if isinstance(iterable, ListRef) and low.classes.get(iterable) is functional.Iterator:
        low.store[iterable], iterable = (), tuple(items or ())  # a loop takes all that is left
    is_counted = _is_constant_range(iterable)
    if items is not None and not is_counted and not _stays_loop(low, node, items):
        return _unrolled(low, node, changes.Running(low, node, iterable, items), rest)
    back = way_back(low)
    running = changes.Running(low, node, iterable, items or [])
    try:
        return _dynamic(low, node, iterable, rest, running.refs if items is not None else ())
    except NeedsUnrolling:
        back()
        items = expressions.pinned_items(low, iterable) if items is None else items
        if items is None:
            raise
        return _unrolled(low, node, changes.Running(low, node, running.iterable, items), rest)


def way_back(low: Lowering) -> Callable[[], None]:
    """What takes the walk back to where it stands now."""
    before, builder, count = low.snapshot(), low.builder, len(low.builder.stmts)
    known, contexts, depth, frame = dict(builder.known), list(low.loops), low.depth, low.frame

    def back() -> None:
        low.builder, low.loops, low.depth, low.frame = builder, contexts, depth, frame
        low.restore(before)
        del builder.stmts[count:]
        builder.known = known

    return back


def _is_constant_range(iterable: Value) -> bool:
    return isinstance(iterable, Iterable) and iterable.sort == "range"


def _stays_loop(low: Lowering, node: ast.For, items: list[Value]) -> bool:
    """Whether known items run through a loop rather than being unrolled: many, all of one kind."""
    if not all(is_atom(i) and isinstance(kind_of(i), (Number, Array)) for i in items) or not items:
        return False
    kinds = {kind_of(i) for i in items}
    if len(kinds) > 1:
        return False
    return len(items) > UNROLL_ATOMS or (len(items) > 2 and has_jump(node.body, (ast.Break, ast.Return)))


# ---------------------------------------------------------------- unrolled


def _unrolled(low: Lowering, node: ast.For, running: changes.Running, rest: Callable[[], Any]) -> Any:
    leaves_loop = has_jump(node.body, (ast.Break, ast.Return))
    if not leaves_loop:
        low.loops.append(Context({"continue": lambda _: statements.leaf(low, "fall")}))
        i = -1
        while (i := i + 1) < len(items := running.now()):
            statements.assign(low, node.target, items[i])
            builder = low.builder
            tree = statements.lower_stmts(low, node.body, lambda: statements.leaf(low, "fall"))
            arm = statements.settle(low, tree, builder)
            low.builder = builder
            low.restore(arm.state)
            if arm.is_dead:
                low.loops.pop()
                return statements.leaf(low, "raise")
        low.loops.pop()
        if node.orelse:
            return statements.lower_stmts(low, node.orelse, rest)
        return None
    if len(running.items) > UNROLL_ATOMS:
        raise low.refuse(
            SyntaxNotAccepted,
            "a loop over a long container of mixed kinds may not be left by break or return",
            node,
            instead="give the items one kind, or replace the break by a condition.",
        )

    def outside(sort: str, after: Callable[[], Any]) -> Callable[[Value], Any]:
        def run(value: Value) -> Any:
            saved = low.loops.pop()
            try:
                return after() if sort != "return" else jump(low, "return", value)
            finally:
                low.loops.append(saved)

        return run

    def trip(i: int) -> Any:
        items = running.now()
        if i >= len(items):
            context = low.loops.pop()
            try:
                return statements.lower_stmts(low, node.orelse, rest)
            finally:
                low.loops.append(context)
        statements.assign(low, node.target, items[i])
        return statements.lower_stmts(low, node.body, lambda: following(i + 1))

    def following(i: int) -> Any:
        before = context.on.get("continue")
        context.on["continue"] = lambda _: following(i + 1)
        try:
            return trip(i)
        finally:
            if before is not None:
                context.on["continue"] = before

    context = Context({"break": outside("break", rest), "return": outside("return", rest)})
    low.loops.append(context)
    try:
        return following(0)
    finally:
        low.loops.pop()


# ---------------------------------------------------------------- sources


@dataclass(eq=False)
class Header:
    """The sources of a loop, and the value that its target is bound to in each trip."""

    sources: list[Source]
    value: Value
    trips: Length
    rows: list[tuple[Var, Var | ListRef, Var]] = field(default_factory=list)  # what a trip reads: row, array or list, index


def header_of(low: Lowering, iterable: Value, node: ast.AST, attempt: Attempt) -> Header:
    match iterable:
        case Iterable("range", args):
            start, stop, step = _range_parts(args)
            var = Var("i", Number("int"))
            return Header([Source(var, Range(start, stop, step))], var, _range_length(start, stop, step))
        case Iterable("enumerate", (inner, start)):
            counted = Var("i", Number("int"))
            header = header_of(low, inner, node, attempt)
            sources = [Source(counted, Range(start, None)), *header.sources]
            return Header(sources, (counted, header.value), header.trips, header.rows)
        case Iterable("table", (keys, _)):
            return header_of(low, keys, node, attempt)
        case Iterable("zip", parts):
            headers = [header_of(low, p, node, attempt) for p in parts]
            trips = headers[0].trips if headers and all(h.trips == headers[0].trips for h in headers) else opaque()
            rows = [row for h in headers for row in h.rows]
            return Header([s for h in headers for s in h.sources], tuple(h.value for h in headers), trips, rows)
        case Iterable("reversed", (inner,)):
            header = header_of(low, inner, node, attempt)
            if len(header.sources) != 1:
                raise low.refuse(KindError, "reversed() takes a sequence", node)
            source = header.sources[0]
            backwards = Source(source.target, source.iterable, not source.is_reversed)
            return Header([backwards], header.value, header.trips, header.rows)
        case ListRef() | Var() | Free() | tuple() | DictRef() | Iterable():
            items = expressions.known_items(low, iterable)
            if items is not None:
                iterable = low.builder.apply(ops.DISPLAY, (ListDisplay(tuple(low.operand(i) for i in items)),), hint="items")
            atom = low.store[iterable] if isinstance(iterable, ListRef) else iterable
            kind = kind_of(atom)
            if isinstance(kind, ListOf):
                var = Var("item", one_of_several(kind.item))
                outer, low.builder = low.builder, attempt.body  # it is opened in each trip
                value = containers.inner(low, var)
                low.builder = outer
                if attempt.indexed and isinstance(iterable, ListRef) and isinstance(atom, Var) and isinstance(kind.item, Array):
                    index = Var("i", Number("int"))
                    stop = low.builder.apply(ops.LEN, (atom,))
                    return Header([Source(index, Range(Const(0), stop))], var, kind.length, [(var, iterable, index)])
                if isinstance(iterable, ListRef):
                    low.rows[var] = [attempt]
                    arrays.item_of_list(low, iterable, value)
                elif items is not None:
                    if attempt.indexed:
                        raise low.refuse(NeedsUnrolling, "an array of a container is written to in a loop over it", node)
                    low.rows[var], held = [attempt], list(arrays.arrays_in(low, tuple(items)))
                    arrays.tie_like(low, var, held)
                    for array in held:
                        low.rows.setdefault(arrays.root_of(low, array), []).append(attempt)
                return Header([Source(var, low.atom(atom))], value, kind.length)
            if isinstance(kind, Array) and (kind.dims or kind.dims is None):
                dims = kind.dims and kind.dims[1:]
                var = Var("item", Array(kind.dtype, dims))
                length = kind.dims[0] if kind.dims else opaque()
                if attempt.indexed and isinstance(atom, Var):
                    index = Var("i", Number("int"))
                    stop = Const(length) if isinstance(length, int) else low.builder.apply(ops.LEN, (atom,))
                    return Header([Source(index, Range(Const(0), stop))], var, length, [(var, atom, index)])
                if isinstance(atom, Var):
                    low.rows[var] = [attempt]
                    low.rows.setdefault(arrays.root_of(low, atom), []).append(attempt)
                return Header([Source(var, low.atom(atom))], var, length)
            if low.builder.parent is not None and (isinstance(kind, Number) or isinstance(kind, Array) and kind.dims == ()):
                var = Var("item", Number("float"))  # Python raises, if the run gets here
                return Header([Source(var, atom)], var, opaque())
    raise low.refuse(KindError, "a loop runs over range, a sequence, an array, zip, enumerate, reversed or a dict's items", node)


def _range_parts(args: tuple[Value, ...]) -> tuple[Any, Any, Any]:
    if len(args) == 1:
        return Const(0), args[0], Const(1)
    return args[0], args[1], args[2] if len(args) > 2 else Const(1)


def _range_length(start: Value, stop: Value, step: Value) -> Length:
    a, b, s = length_of(start), length_of(stop), length_of(step)
    if a is None or b is None or s not in (1, -1):
        return opaque()
    return combine("-", b, a) if s == 1 else combine("-", a, b)


# ---------------------------------------------------------------- carried values


@dataclass(frozen=True, slots=True)
class Place:
    """An attribute of an object, which a loop carries as it carries a name."""

    owner: ObjectRef | Instance
    name: str


@dataclass(eq=False)
class Slot:
    """A name, an attribute, or a list or dict, that the loop carries: its value at the head of a trip, in parts."""

    key: Any
    hint: str
    skeleton: Skeleton | None = None
    entry: Value = None
    inits: list[Operand] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    firsts: list[tuple[Var, Var]] = field(default_factory=list)  # of arrays: the parameter, and what it is at first
    arrays: dict[int, Var] = field(default_factory=dict)  # what places of a list or dict hold that is not carried for them

    @property
    def kept(self) -> frozenset[int]:
        return frozenset(self.arrays)


class Attempt:
    """One lowering of the body under assumed kinds of what is carried."""

    def __init__(
        self,
        kinds: dict[Any, Kind],
        skeletons: dict[Any, Skeleton],
        mutated: dict[Any, None],
        demoted: dict[Any, Kind],
        poisoned: dict[Any, str],
    ):
        self.kinds, self.skeletons, self.mutated, self.demoted, self.poisoned = kinds, skeletons, mutated, demoted, poisoned
        self.replaced: set[tuple[Any, int]] = set()  # places of lists and dicts that come to hold another array
        self.natures: dict[tuple[Any, int], bool | None] = {}  # of scalars: whether they are arrays after a trip
        self.grown: dict[Any, ListOf] = {}  # names that are a longer list in each trip
        self.indexed = False  # arrays are walked by an index, since the body writes to one of them
        self.tied: set[tuple[Any, Any]] = set()  # carried arrays, by slot and part, that may be one with another or an outer one
        self.body: Builder  # of the statements of a trip
        self.items: frozenset[Any] = frozenset()  # the lists, dicts and objects that a trip takes from what the loop runs over
        self.held: set[Any] = set()  # names that hold one of them after a trip
        self.entangled: set[tuple[Any, Any]] = set()  # names that may hold one object after a trip, or one from before the loop
        self.places: dict[Place, None] = {}  # attributes that the body sets
        self.may_unroll = False  # what is None at first may be known to be so in the first trip

    def follows(self, ref: Any) -> bool:
        """Whether a list, dict or object may be carried by what it contains: another one in each trip."""
        return ref not in self.mutated and not any(place.owner == ref for place in self.places)


def _dynamic(low: Lowering, node: ast.For | ast.While, iterable: Value, rest: Callable[[], Any], over: Sequence[Any] = ()) -> Any:
    parts = [node.target if isinstance(node, ast.For) else node.test, *node.body]
    names, rebound = assigned_names(parts), assigned_names(parts, augmented=False)
    names = {n: None for n in names if n in rebound or not arrays.is_array(low, low.frame.vars.get(n))}
    names = {n: None for n in names if cells.cell_of(low.frame, n) is None}
    private = [name for name in names if is_private(name, node, low.frame)]
    names = {name: None for name in names if name not in private}
    can_return = has_jump(node.body, (ast.Return,))
    breaks = has_jump(node.body, (ast.Break,))
    if can_return:
        low.frame.vars[RETURNED], low.frame.vars[RESULT] = Const(False), Const(UNBOUND)
        names |= {RETURNED: None, RESULT: None}
    if node.orelse and breaks:
        broke = f"{BROKE}{next(low.serial)}"
        low.frame.vars[broke] = Const(False)
        names[broke] = None
    # A value that the builder knows stays known; what it makes in vain is cut off again.
    entry, count, known = low.snapshot(), len(low.builder.stmts), dict(low.builder.known)
    attempt, first = Attempt({}, {}, {}, {}, {}), Var("", INT).serial
    attempt.may_unroll = isinstance(node, ast.For)
    low.depth += 1
    for _ in range(ATTEMPTS):
        low.restore(entry)
        arrays.forget_since(low, first)
        del low.builder.stmts[count:]
        low.builder.known = dict(known)
        done = _attempted(low, node, iterable, names, attempt)
        if done is not None:
            break
    else:
        raise low.refuse(KindError, "the kinds of what this loop carries do not settle", node)
    low.depth -= 1
    if any(ref in attempt.mutated for ref in over):
        raise changes.while_it_runs(low, node)
    for name in private:  # what it was in the last trip, nobody asks
        low.frame.vars.pop(name, None)
    # A return leaves the loop before its else is asked.
    following = rest
    if node.orelse:
        following = lambda: _after_else(low, node, broke if breaks else None, rest)  # noqa: E731
    if can_return:
        return _after_return(low, node, following)
    return following() if node.orelse else None


def _attempted(
    low: Lowering, node: ast.For | ast.While, iterable: Value, names: dict[str, None], attempt: Attempt
) -> bool | None:
    """One lowering of the loop. What is refused since rows were taken for arrays of their own is lowered anew, by an index."""
    was_indexed, was_poisoned = attempt.indexed, dict(attempt.poisoned)
    here = low.builder, low.depth, low.frame, list(low.loops)
    try:
        return _lower_once(low, node, iterable, names, attempt)
    except SrcdiffError:
        if attempt.indexed == was_indexed:
            raise
        low.builder, low.depth, low.frame, contexts = here
        low.loops[:] = contexts
        attempt.poisoned = was_poisoned
        return None


def _after_return(low: Lowering, node: ast.stmt, rest: Callable[[], Any]) -> Any:
    """After a loop that may have returned: the return goes on outwards."""
    returned = low.frame.vars[RETURNED]
    known = truth(returned, low)
    if known is False:
        return rest()
    before, outer = low.snapshot(), low.builder
    low.builder = outer.inside()
    first = low.builder
    then = jump(low, "return", low.frame.vars[RESULT])
    low.restore(before)
    low.frame.vars[RETURNED], low.frame.vars[RESULT] = Const(False), Const(UNBOUND)
    low.builder = outer.inside()
    second = low.builder
    orelse = rest()
    low.builder = outer
    return statements.forked(low, returned, (first, then), (second, orelse), low.origin(node))


def _after_else(low: Lowering, node: ast.For | ast.While, name: str | None, rest: Callable[[], Any]) -> Any:
    if name is None:
        return statements.lower_stmts(low, node.orelse, rest)
    broke = low.frame.vars.pop(name)
    before, outer = low.snapshot(), low.builder
    jumps = has_jump(node.orelse)
    arms = []
    for body in ([], node.orelse):
        low.restore(before)
        low.builder = outer.inside()
        builder = low.builder
        arms.append((builder, statements.lower_stmts(low, body, rest if jumps else lambda: statements.leaf(low, "fall"))))
    low.builder = outer
    fork = statements.forked(low, broke, arms[0], arms[1], low.origin(node))
    if jumps:
        return fork
    arm = statements.settle(low, fork, outer)
    low.builder = outer
    low.restore(arm.state)
    return rest()


def _lower_once(
    low: Lowering, node: ast.For | ast.While, iterable: Value, names: dict[str, None], attempt: Attempt
) -> bool | None:
    outer, mark, was_indexed, was_poisoned = low.builder, Var("", INT).serial, attempt.indexed, dict(attempt.poisoned)
    for ref, kind in attempt.demoted.items():
        state = low.store[ref]
        if not is_atom(state):
            low.hand_over(state, low.store, ref)
            display = ListDisplay(tuple(low.operand(v) for v in state))
            low.store[ref] = outer.apply_all(ops.DISPLAY, (display,), hint=list_hint(low, ref), kind=kind)[0]
            outer.made[low.store[ref]].targets[0].is_users = True
            arrays.held_by_list(low, ref, state)
    for place in attempt.places:
        low.set_attribute(place.owner, place.name, low.attribute_in(low.store, place.owner, place.name))
    attempt.body = inner = outer.inside()
    header = header_of(low, iterable, node.iter, attempt) if isinstance(node, ast.For) else Header([], None, opaque())
    attempt.items = frozenset(refs_in(header.value, low.store))
    openings = len(low.openings)
    entry_store, entry_ties = dict(low.store), {key: set(others) for key, others in low.ties.items()}
    elsewhere = arrays.seen_elsewhere(low, names, {(p.owner, p.name) for p in attempt.places}) if low.frame.vars else set()
    # A loop shows what it walks, also where the body gives its name to something else.
    walked = tuple(source.iterable for source in header.sources if isinstance(source.iterable, Var))
    walked += tuple(array for _, array, _ in header.rows if isinstance(array, Var))
    elsewhere |= {arrays.root_of(low, array) for array in (*walked, *(a for context in low.loops for a in context.walked))}
    slots = [_head(low, name, name, low.frame.vars.get(name, Const(UNBOUND)), attempt, elsewhere) for name in names]
    slots += [_head(low, p, p.name, low.attribute_in(low.store, p.owner, p.name), attempt, elsewhere) for p in attempt.places]
    slots += [_head_state(low, ref, attempt, elsewhere) for ref in attempt.mutated]
    for source in header.sources:
        if isinstance(source.iterable, Var) and isinstance(source.target, Var) and arrays.is_array(low, source.target):
            arrays.tie_like(low, source.target, [source.iterable])
    _tie_alike(low, slots)
    _know_twins(low, slots, attempt)
    low.builder = inner
    broke = next((n for n in names if n.startswith(BROKE)), None)
    ways_out = {"return": lambda value: _returning(low, value), "break": lambda _: _breaking(low, broke)}
    low.loops.append(Context(ways_out, walked))
    head_store = dict(low.store)
    _tie_carried(low, slots, {(slot.key, i): p for slot in slots for i, p in enumerate(slot.params)}, attempt)
    if isinstance(node, ast.While):
        tree = _while_body(low, node)
    else:
        for row, array, index in header.rows:
            held = low.current(array) if isinstance(array, Var) else low.store[array]
            stmt = Apply((row,), ops.ITEM, (held, index), (), low.origin(node))
            inner.add(stmt)
            inner.made[row] = stmt
            if isinstance(array, ListRef):
                arrays.item_of_list(low, array, row, index)
        name_sources(node.target, header.value)
        statements.assign(low, node.target, header.value)
        tree = statements.lower_stmts(low, node.body, lambda: statements.leaf(low, "fall"))
    low.loops.pop()
    low.builder = outer
    ends = statements.leaves(tree)
    if len(low.openings) > openings:  # what the body is the first to read is from before the loop
        return None
    is_stable = _settled(low, slots, ends, attempt, entry_store, head_store, mark)
    is_stable &= _ties_settled(low, slots, ends, attempt, entry_ties, entry_store, mark)
    if attempt.indexed and not was_indexed:
        attempt.poisoned = was_poisoned
        return None
    if not is_stable:
        return None
    _finish(low, node, header, slots, tree, inner, ends, attempt, mark)
    return True


def name_sources(target: ast.expr, value: Value) -> None:
    """The items take the names of the user's targets."""
    if isinstance(target, ast.Name) and isinstance(value, Var):
        value.hint, value.is_users = target.id, True
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(value) == len(target.elts):
        for part, item in zip(target.elts, value):
            name_sources(part, item)


def _returning(low: Lowering, value: Value) -> Any:
    low.frame.vars[RETURNED], low.frame.vars[RESULT] = Const(True), value
    return statements.leaf(low, "break")


def _breaking(low: Lowering, broke: str | None) -> Any:
    if broke is not None:
        low.frame.vars[broke] = Const(True)
    return statements.leaf(low, "break")


def _while_body(low: Lowering, node: ast.While) -> Any:
    low.node = node.test
    low.builder.origin = low.origin(node)
    cond = objects.truth_of(low, expressions.lower(low, node.test), node.test)
    known = truth(cond, low)
    if known is True:
        return statements.lower_stmts(low, node.body, lambda: statements.leaf(low, "fall"))
    if known is False:
        return statements.leaf(low, "exhausted")
    if isinstance(cond, ListRef):
        cond = low.store[cond]
    before, outer = low.snapshot(), low.builder
    low.builder = outer.inside()
    first = low.builder
    then = statements.lower_stmts(low, node.body, lambda: statements.leaf(low, "fall"))
    low.restore(before)
    low.builder = outer.inside()
    exhausted = statements.leaf(low, "exhausted")
    low.builder = outer
    return statements.Fork(cond, (first, then), (exhausted.builder, exhausted), low.origin(node))


def list_hint(low: Lowering, ref: Any) -> str:
    if ref in low.cell_names:
        return low.cell_names[ref]
    for name, value in low.frame.vars.items():
        if value is ref or value == ref:
            return spoken_name(name)
    return "items"


def _head(low: Lowering, key: Any, name: str, value: Value, attempt: Attempt, elsewhere: set[Var]) -> Slot:
    """Bind a name at the head of a trip to parameters of the loop."""
    slot = Slot(key, spoken_name(name), entry=value)
    if key in attempt.poisoned:
        _bind(low, key, Poison(attempt.poisoned[key]))
        return slot
    if isinstance(value, Poison):
        return slot
    entry = low.store
    if isinstance(value, Const) and value.value is UNBOUND:
        skeleton = attempt.skeletons.get(key)
        if skeleton is None:
            return slot
        leaves: list[Any] = [Const(UNBOUND)] * _leaf_count(skeleton)
    else:
        skeleton, leaves = flatten(value, low.store, lambda r: attempt.skeletons.get(key) is not None and attempt.follows(r))
    if key in attempt.grown and isinstance(value, ListRef):
        skeleton, leaves = _LIST_OF_RUN, [_as_run_list(low, value, attempt.grown[key])]
    slot.skeleton = skeleton
    slot.params = [_param(low, slot, i, init, attempt, not name.startswith("<")) for i, init in enumerate(leaves)]
    _tie_first(low, slot, leaves, elsewhere, attempt)
    slot.inits = [low.current(init) if isinstance(init, Var) else init for init in leaves]
    low.store = entry
    _bind(low, key, rebuild(skeleton, list(slot.params), low.new_list, low.new_dict, low.new_object))
    return slot


def _tie_first(low: Lowering, slot: Slot, leaves: list[Any], elsewhere: set[Var], attempt: Attempt) -> None:
    """Tie carried arrays to what else shows what they are at first."""
    for i, (init, param) in enumerate(zip(leaves, slot.params)):
        if arrays.is_array(low, init) and isinstance(param, Var):
            for other in _also_shows(low, init, elsewhere):
                arrays.tie(low, param, other)
                attempt.tied.add(((slot.key, i), other))
            slot.firsts.append((param, init))


def _bind(low: Lowering, key: Any, value: Value) -> None:
    """Bind a name, or set an attribute, that is carried."""
    if isinstance(key, Place):
        low.set_attribute(key.owner, key.name, value)
    else:
        low.frame.vars[key] = value


def _bound(low: Lowering, key: Any) -> Value:
    return low.attribute_in(low.store, key.owner, key.name) if isinstance(key, Place) else low.frame.vars.get(key)


def _know_twins(low: Lowering, slots: list[Slot], attempt: Attempt) -> None:
    """What the loop carries by what it contains may be one object with those before it, or with each other."""
    made: list[tuple[Any, Any, list[Any]]] = []
    for slot in slots:
        if not isinstance(slot.key, (str, Place)) or slot.skeleton is None or isinstance(_bound(low, slot.key), Poison):
            continue
        now, before = (refs_in(v, low.store) for v in (_bound(low, slot.key), slot.entry))
        if slot.key in attempt.held:
            low.inside.update(now)
        for i, ref in enumerate(now):
            old = [before[i]] if len(before) == len(now) else [r for r in before if type(r) is type(ref)]
            if ref in old:
                continue
            if len(old) == 1:
                low.take_after(ref, (old[0],))
            for other in (*old, *(r for key, r in attempt.entangled if key == slot.key and isinstance(r, REFERENCES))):
                low.stand_for(ref, other)
            for key, other, sources in made:
                if any(source in old for source in sources) or (slot.key, key) in attempt.entangled:
                    low.be_twins(ref, other)
            made.append((slot.key, ref, old))


_LIST_OF_RUN = Skeleton("list", True, (Skeleton("leaf", None),))


def _as_run_list(low: Lowering, ref: ListRef, kind: ListOf) -> Any:
    """What a list contains before the loop, as one value."""
    state = low.store[ref]
    if is_atom(state):
        return state
    low.hand_over(state, low.store, ref)
    arrays.held_by_list(low, ref, state)
    display = ListDisplay(tuple(low.operand(v) for v in state))
    kind = ListOf(kind.item, len(state))
    return low.builder.apply_all(ops.DISPLAY, (display,), hint=list_hint(low, ref), kind=kind)[0]


def _tie_alike(low: Lowering, slots: list[Slot]) -> None:
    """Carried arrays that are one at first, or show parts of one, may be that in any trip."""
    held = [(param, arrays.root_of(low, init)) for slot in slots for param, init in slot.firsts]
    for i, (param, root) in enumerate(held):
        for other, other_root in held[:i]:
            if root is other_root and low.builder.merged is not None and root in low.builder.merged:
                low.builder.merged.update((param, other))  # two expressions gave it: one array unless it is written to
            elif root is other_root or other_root in low.ties.get(root, ()):
                arrays.tie(low, param, other)


def _also_shows(low: Lowering, init: Any, elsewhere: set[Var]) -> set[Any]:
    """What else shows the array that a loop's carried value is at first."""
    if not isinstance(init, Var):
        return set()
    root = arrays.root_of(low, init)
    return {other for other in (root, *low.ties.get(root, ())) if not isinstance(other, Var) or other in elsewhere}


def _param(low: Lowering, slot: Slot, i: int, init: Any, attempt: Attempt, is_users: bool) -> Any:
    kind = attempt.kinds.get((slot.key, i))
    if kind is not None and kind_of(init) != kind:
        kind = one_of_several(kind)
    if kind is None:
        if isinstance(init, Const) and (init.value is UNBOUND or init.value is None and attempt.may_unroll):
            return init
        kind = _carried_kind(kind_of(init))
    param = Var(slot.hint, kind, is_users)
    if is_scalar(kind):
        natures = [attempt.natures[slot.key, i]] if (slot.key, i) in attempt.natures else []
        natures += [arrays.without_axes(low, init)] if _is_bound(init) else []
        low.without_axes[param] = arrays.join_axes(natures[0], natures[-1]) if natures else False
    return param


def _carried_kind(kind: Kind) -> Kind:
    """What a carried value is known to be: not the number that it is at first, nor as long as values of one trip say."""
    if isinstance(kind, Array) and any(is_of_values(n) for n in kind.dims or ()):
        return Array(kind.dtype, tuple(opaque() if is_of_values(n) else n for n in kind.dims or ()))
    return Number(kind.type) if isinstance(kind, Number) else _with_any_length(kind)


def _with_any_length(kind: Kind) -> Kind:
    """A list that may have another length in another trip, and the lists in it."""
    return ListOf(_with_any_length(kind.item), opaque()) if isinstance(kind, ListOf) else kind


def _head_state(low: Lowering, ref: Any, attempt: Attempt, elsewhere: set[Var]) -> Slot:
    slot = Slot(ref, ref.hint if isinstance(ref, Var) else list_hint(low, ref))
    if ref in attempt.poisoned:
        reason = Poison(attempt.poisoned[ref])
        low.store[ref] = reason if isinstance(ref, Var) else (reason,)
        return slot
    state = low.store.get(ref, ref)
    if isinstance(state, Poison):
        return slot
    if isinstance(ref, Var):
        slot.skeleton, slot.inits = Skeleton("leaf", None), [state]
        slot.params = [Var(ref.hint, ref.kind, ref.is_users)]
        low.versions[slot.params[0]] = ref
        low.store[ref] = slot.params[0]
        return slot
    if is_atom(state):
        slot.skeleton, slot.inits = Skeleton("leaf", None), [state]
        kind = attempt.kinds.get((ref, 0)) or attempt.demoted.get(ref) or kind_of(state)
        if isinstance(kind, ListOf):
            kind = _with_any_length(kind)
        slot.params = [Var(slot.hint, kind, True)]
        low.store[ref] = slot.params[0]
        return slot
    pairs = state if isinstance(ref, ListRef) else tuple(v for _, v in state)
    _, atoms = flatten(tuple(pairs), low.store, lambda r: False)
    slot.arrays = {i: a for i, a in enumerate(atoms) if arrays.is_array(low, a) and (ref, i) not in attempt.replaced}  # type: ignore[misc]
    skeleton, leaves = flatten(tuple(pairs), low.store, lambda r: False, slot.kept)
    slot.skeleton, slot.inits = skeleton, [low.current(init) if isinstance(init, Var) else init for init in leaves]
    slot.params = [_param(low, slot, i, init, attempt, ref in low.cell_names) for i, init in enumerate(leaves)]
    _tie_first(low, slot, leaves, elsewhere, attempt)
    values = rebuild(skeleton, list(slot.params), low.new_list, low.new_dict, low.new_object)
    low.store[ref] = values if isinstance(ref, ListRef) else tuple((k, v) for (k, _), v in zip(state, values))
    return slot


def _leaf_count(skeleton: Skeleton) -> int:
    return 1 if skeleton.sort == "leaf" else sum(_leaf_count(p) for p in skeleton.parts)


def _value_at(low: Lowering, slot: Slot, end: Any) -> Value:
    if isinstance(slot.key, Var):
        return end.state[1].get(slot.key, slot.key)
    if isinstance(slot.key, (ListRef, DictRef)):
        state = end.state[1][slot.key]
        if is_atom(state):
            return state
        return tuple(state) if isinstance(slot.key, ListRef) else tuple(v for _, v in state)
    if isinstance(slot.key, Place):
        return low.attribute_in(end.state[1], slot.key.owner, slot.key.name)
    return end.state[0].get(slot.key, Const(UNBOUND))


def _settled(
    low: Lowering,
    slots: list[Slot],
    ends: list[Any],
    attempt: Attempt,
    entry: dict[Any, Any],
    head: dict[Any, Any],
    mark: int,
) -> bool:
    """Whether the ends of the trip agree with what was assumed at its head; otherwise the assumptions are widened."""
    stable = True
    for end in ends:
        for ref in attempt.mutated:
            _as_one_value(low, end, ref, head.get(ref))
        for slot in slots:
            if slot.key in attempt.grown and slot.params and isinstance(slot.params[0], Var):
                _as_one_value(low, end, end.state[0].get(slot.key), slot.params[0])
    # An empty list of unknown items, and every list that the body changes, is carried.
    for end in ends:
        for ref, state in end.state[1].items():
            if isinstance(ref, Generator):
                continue
            if isinstance(ref, (ObjectRef, Instance)):
                stable &= _note_attributes(low, ref, state, entry, head, attempt)
                continue
            if isinstance(ref, Var):
                stable &= _array_settled(low, slots, ref, state, head, attempt, mark)
                continue
            if not is_atom(state) and any(isinstance(part, Poison) for part in state):
                if ref in entry and ref not in attempt.poisoned:
                    attempt.poisoned[ref] = next(part.reason for part in state if isinstance(part, Poison))
                    attempt.mutated.setdefault(ref)
                    stable = False
                continue
            if ref not in entry or ref in attempt.mutated and is_atom(state):
                continue
            if state is not head[ref] and not _same_state(state, head[ref]):
                stable &= _note_mutation(low, ref, state, head[ref], entry[ref], end, attempt)
    nexts = [e for e in ends if e.sort in ("fall", "continue")]
    stable &= _untangled(low, slots, ends, attempt, entry)
    for slot in slots:
        if slot.key in attempt.poisoned:
            continue
        for end in nexts:
            stable &= _agrees(low, slot, _value_at(low, slot, end), end, attempt)
    return stable


def _as_one_value(low: Lowering, end: Any, ref: Any, head: Any) -> None:
    """A list that the loop carries as one value is one at the end of a trip, whatever the trip made of it."""
    state = end.state[1].get(ref) if isinstance(ref, ListRef) else None
    if not is_atom(head) or state is None or is_atom(state) or any(isinstance(part, Poison) for part in state):
        return
    low.hand_over(state, end.state[1], ref)
    arrays.held_by_list(low, ref, state)
    display = ListDisplay(tuple(operand_of(_at_end(low, v, end), end.state[1]) for v in state))
    kind = kind_of(display) if state else head.kind
    if not isinstance(kind, ListOf):
        what = "a list that grows in a loop holds values of one kind"
        raise low.refuse(NeedsUnrolling, what, None, instead="use a list for each kind.")
    one = end.builder.apply_all(ops.DISPLAY, (display,), hint=head.hint, kind=ListOf(kind.item, len(state)))[0]
    end.state[1][ref] = one


def _untangled(low: Lowering, slots: list[Slot], ends: list[Any], attempt: Attempt, entry: dict[Any, Any]) -> bool:
    """Whether no name comes to hold an object that another one holds, too, and that the loop carries by what it contains."""
    found: set[tuple[Any, Any]] = set()
    is_new = False
    for end in ends:
        holders: dict[Any, list[Any]] = {}
        for slot in slots:
            if not isinstance(slot.key, (str, Place)) or slot.key in attempt.poisoned:
                continue
            is_opened = slot.skeleton is not None and _takes_apart(slot.skeleton)
            for ref in refs_in(_value_at(low, slot, end), end.state[1]):
                for one in (ref, *low.twins.get(ref, ())):
                    holders.setdefault(one, []).append(slot.key)
                    if one in attempt.items and is_opened and attempt.follows(ref):
                        is_new |= slot.key not in attempt.held
                        attempt.held.add(slot.key)
                    elif is_opened and attempt.follows(ref) and low.state_in(entry, one) is not None:
                        found.add((slot.key, one))
        found |= {(a, b) for keys in holders.values() for a in keys for b in keys if len(keys) > 1}
    is_new |= not found <= attempt.entangled
    attempt.entangled |= found
    return not is_new


def _array_settled(
    low: Lowering, slots: list[Slot], ref: Var, state: Any, head: dict[Any, Any], attempt: Attempt, mark: int
) -> bool:
    """Whether an array from before the loop holds at the end of a trip what the head of the trips said."""
    if ref.serial >= mark or isinstance(head.get(ref), Poison):
        return True
    if isinstance(state, Poison):
        is_known = ref in attempt.poisoned
        attempt.poisoned[ref] = state.reason
        attempt.mutated.setdefault(ref)
        return is_known
    if state is head.get(ref, ref) or ref in attempt.poisoned:
        return True
    is_new = ref not in attempt.mutated
    attempt.mutated[ref] = None
    if attempt in low.rows.get(ref, ()):
        attempt.indexed = True
    return not is_new


def _ties_settled(
    low: Lowering,
    slots: list[Slot],
    ends: list[Any],
    attempt: Attempt,
    entry: dict[Any, set[Any]],
    store: dict[Any, Any],
    mark: int,
) -> bool:
    """Whether carried arrays are as much apart at the end of each trip as they were at its head."""
    before = len(attempt.tied)

    def is_outer(other: Any) -> bool:
        return other.serial < mark if isinstance(other, Var) else other in store

    for end in ends:
        roots: dict[Any, Var] = {}
        for slot in slots:
            if isinstance(slot.key, Var) or slot.key in attempt.poisoned:
                continue
            value = _value_at(low, slot, end)
            if not _is_bound(value) or isinstance(value, Poison):
                continue
            follow = attempt.follows if isinstance(slot.key, (str, Place)) else lambda _: False
            for i, leaf in enumerate(flatten(value, end.state[1], follow, slot.kept)[1]):
                if arrays.is_array(low, leaf) and isinstance(leaf, Var):
                    roots[slot.key, i] = arrays.root_of(low, leaf)
        for place, root in roots.items():
            ties = low.ties.get(root, set())
            attempt.tied.update((place, other) for other in (root, *ties) if is_outer(other))
            for other_place, other in roots.items():
                if other_place != place and (other is root or other in ties):
                    attempt.tied.add((place, other_place))
    grown = any(
        is_outer(key) and any(is_outer(other) and other not in entry.get(key, ()) for other in others)
        for key, others in low.ties.items()
    )
    return len(attempt.tied) == before and not grown


def _tie_carried(low: Lowering, slots: list[Slot], values: dict[Any, Any], attempt: Attempt) -> None:
    """Tie carried arrays (by slot and part) to what they may share memory with."""
    for place, other in attempt.tied:
        value = values.get(place)
        partner = values.get(other) if isinstance(other, tuple) else other
        if isinstance(value, Var) and partner is not None:
            arrays.tie(low, value, partner)


def _note_attributes(
    low: Lowering, ref: ObjectRef | Instance, state: Any, entry: dict[Any, Any], head: dict[Any, Any], attempt: Attempt
) -> bool:
    """Whether the attributes that the body sets are all known to be carried."""
    before = low.state_in(entry, ref)
    if before is None or state is low.state_in(head, ref):
        return True
    held = dict(low.state_in(head, ref))
    new = [Place(ref, name) for name, value in state if name not in held or held[name] is not value]
    new = [place for place in new if place not in attempt.places]
    attempt.places.update(dict.fromkeys(new))
    return not new


def _same_state(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, tuple) and len(a) == len(b) and all(x is y or x == y for x, y in zip(a, b))


def _note_mutation(low: Lowering, ref: Any, state: Any, head: Any, entry: Any, end: Any, attempt: Attempt) -> bool:
    is_new = ref not in attempt.mutated
    attempt.mutated[ref] = None
    if isinstance(ref, ListRef) and not is_atom(head) and (is_atom(state) or len(state) != len(head)):
        items = list(head) + ([] if is_atom(state) else list(state))
        grown = kind_of(state) if is_atom(state) else None
        kind: Kind | None = grown.item if isinstance(grown, ListOf) else None
        for item in items:
            if isinstance(item, (Closure, Partial, Method, Record, Ref, ObjectRef, Instance)):
                what = "a list of functions or records grows in a loop whose trips are not known"
                raise low.refuse(NeedsUnrolling, what, None, instead="loop over a container of known length.")
            this = _carried_kind(kind_of(operand_of(item, end.state[1])))
            kind = this if kind is None else join(kind, this)
            if kind is None:
                raise low.refuse(
                    KindError, "a list that grows in a loop holds values of one kind", None, instead="use a list for each kind."
                )
        assert kind is not None
        attempt.demoted[ref] = ListOf(kind, len(entry) if not is_atom(entry) else opaque())
        return False
    return not is_new


def _agrees(low: Lowering, slot: Slot, value: Value, end: Any, attempt: Attempt) -> bool:
    if isinstance(value, Poison):
        attempt.poisoned[slot.key] = value.reason
        return False
    if isinstance(value, Const) and value.value is UNBOUND:
        return True
    follow = lambda r: attempt.follows(r) and (slot.skeleton is None or _takes_apart(slot.skeleton))  # noqa: E731
    if slot.kept and (replaced := _replaced(slot, flatten(value, end.state[1], follow)[1])):
        attempt.replaced |= replaced
        for facts in (attempt.kinds, attempt.natures):  # they count the places anew
            for place in [place for place in facts if place[0] == slot.key]:
                del facts[place]
        attempt.tied = {
            pair for pair in attempt.tied if slot.key not in (pair[0][0], pair[1][0] if isinstance(pair[1], tuple) else 0)
        }
        return False
    skeleton, leaves = flatten(value, end.state[1], follow, slot.kept)
    if slot.skeleton is None:
        attempt.skeletons[slot.key] = skeleton
        for i, x in enumerate(leaves):
            attempt.kinds[(slot.key, i)] = _carried_kind(kind_of(x))
        return not leaves and skeleton.sort == "static"
    if skeleton != slot.skeleton:
        grown = _grown(low, slot, value, end, attempt)
        if grown is not None:
            attempt.grown[slot.key] = attempt.kinds[(slot.key, 0)] = grown
            attempt.skeletons[slot.key] = _LIST_OF_RUN
            return False
        if slot.key not in attempt.skeletons and (_has_reference(value) or _has_reference(_bound(low, slot.key))):
            attempt.skeletons[slot.key] = skeleton
            own = refs_in(slot.entry, low.store)  # what it is at first is then carried by what it contains, too
            attempt.places = {place: None for place in attempt.places if place.owner not in own}
            return False
        if isinstance(slot.key, (ListRef, DictRef)):
            what = "a list or dict has another structure in each trip of a loop"
            raise low.refuse(NeedsUnrolling, what, None, instead="give it all its items or keys before the loop.")
        attempt.poisoned[slot.key] = f"`{slot.hint}` has another structure in each trip of the loop"
        return False
    stable = True
    for i, (param, x) in enumerate(zip(slot.params, leaves)):
        if isinstance(x, Const) and x.value is UNBOUND:
            continue
        this = _carried_kind(kind_of(x))
        if isinstance(param, Const) and param.value is None:
            if x == param:
                continue
            what = f"`{slot.hint}` is None before the loop, and something else after a trip"
            raise low.refuse(NeedsUnrolling, what, None, instead="give it its first value before the loop.")
        if isinstance(param, Const):
            attempt.kinds[(slot.key, i)] = this
            stable = False
            continue
        joined = _widened(param.kind, this, slot.inits[i])
        if joined is None and isinstance(slot.key, (ListRef, DictRef)):
            what = "an item of a list or dict has a value of another kind in each trip of a loop"
            raise low.refuse(NeedsUnrolling, what, None, instead="give it one kind from the start.")
        if joined is None:
            attempt.poisoned[slot.key] = f"`{slot.hint}` has a value of another kind in each trip of the loop"
            return False
        if is_scalar(joined):
            nature = arrays.without_axes(low, x)
            if (slot.key, i) in attempt.natures:
                nature = arrays.join_axes(attempt.natures[slot.key, i], nature)
            stable &= arrays.join_axes(low.without_axes.get(param), nature) is low.without_axes.get(param)
            attempt.natures[slot.key, i] = nature
        if joined != param.kind or _lengths(joined) != _lengths(param.kind):
            attempt.kinds[(slot.key, i)] = joined
            stable = False
    return stable


def _replaced(slot: Slot, atoms: list[Any]) -> set[tuple[Any, int]]:
    """The places of a list or dict that hold another array at the end of a trip than before the loop."""
    if len(atoms) != len(slot.inits) + len(slot.kept):
        return set()  # of another structure
    return {(slot.key, i) for i, array in slot.arrays.items() if atoms[i] is not array}


def _grown(low: Lowering, slot: Slot, value: Value, end: Any, attempt: Attempt) -> ListOf | None:
    """The kind of a list that a name holds, another one in each trip: `xs = xs + [v]`."""
    if not isinstance(value, ListRef) or slot.key in attempt.grown or slot.skeleton is None:
        return None
    if slot.skeleton.sort not in ("list", "static") or not isinstance(low.frame.vars.get(slot.key), (ListRef, type(None))):
        return None
    state, before = end.state[1][value], low.store.get(slot.entry)
    if isinstance(before, tuple) and isinstance(state, tuple) and len(before) == len(state):
        return None
    kind = kind_of(state) if is_atom(state) else kind_of(operand_of(value, end.state[1])) if state else None
    return ListOf(_carried_kind(kind.item), opaque()) if isinstance(kind, ListOf) else None


def _takes_apart(skeleton: Skeleton) -> bool:
    return skeleton.sort in ("list", "dict", "object") or any(_takes_apart(p) for p in skeleton.parts)


def _has_reference(value: Value) -> bool:
    match value:
        case tuple():
            return any(_has_reference(v) for v in value)
        case Record():
            return any(_has_reference(v) for v in value.values)
        case _:
            return isinstance(value, (ListRef, DictRef, ObjectRef))


def _lengths(kind: Kind) -> Any:
    return kind.dims if isinstance(kind, Array) else None


def _widened(head: Kind, this: Kind, init: Operand) -> Kind | None:
    # A constant that becomes an array in the first trip (`s = 0`, then `s = s + x`) is of the later kind.
    if isinstance(head, Number) and isinstance(this, Array) and this.dims != () and isinstance(init, Const):
        return this
    return join(head, this)


# ---------------------------------------------------------------- the Loop


def _finish(
    low: Lowering,
    node: Any,
    header: Header,
    slots: list[Slot],
    tree: Any,
    inner: Builder,
    ends: list[Any],
    attempt: Attempt,
    mark: int,
) -> None:
    """Add the Loop, and bind what it carries to its results."""
    live = [s for s in slots if isinstance(s.key, str) or s.key not in attempt.poisoned]
    used = [s for s in live if s.skeleton is not None or any(_is_bound(_value_at(low, s, e)) for e in ends)]
    parts = [_carried(low, slot, ends, attempt, is_endless=isinstance(node, ast.While)) for slot in used]
    params = [c.param for part in parts for c in part.cells]
    results = [c.result for part in parts for c in part.cells]
    inits = tuple(c.init for part in parts for c in part.cells)
    ways = {id(end): [c.ways[id(end)] for part in parts for c in part.cells] for end in ends}
    ways |= {id(end): list(params) for end in statements.leaves(tree) if end.sort == "raise"}
    _name_list_lengths(slots, params, results, ends, header)
    low.builder.add(
        Loop(tuple(header.sources), tuple(params), inits, _block(tree, inner, ways), tuple(results), low.origin(node))
    )
    for slot in slots:
        if isinstance(slot.key, ListRef) and slot.params and slot.params[0] in params:
            changes.refuse_ahead(low, node, slot.params[0], slot.inits[0])
    for ref in [ref for ref in low.store if isinstance(ref, Var) and ref.serial >= mark]:
        del low.store[ref]  # an array of a trip's own
    for slot, part in zip(used, parts):
        _bind_after(low, slot, part.skeleton, [c.result for c in part.cells], attempt)
        for param, result in zip(slot.params, (c.result for c in part.cells)):
            if isinstance(param, Var) and not isinstance(slot.key, Var):
                for other in low.ties.get(param, ()):
                    if not isinstance(other, Var) or other.serial < mark:
                        arrays.tie(low, result, other)
    _tie_carried(low, slots, {(s.key, i): c.result for s, p in zip(used, parts) for i, c in enumerate(p.cells)}, attempt)
    _know_twins(low, used, attempt)


@dataclass(eq=False)
class Cell:
    """One carried atom: the loop's parameter, what it starts from, its result, and its value at each end of the body."""

    param: Var
    init: Operand
    result: Var
    ways: dict[int, Operand]


@dataclass(eq=False)
class Carried:
    """A slot's cells; `skeleton` puts the results together again, None where the paths out of the loop do not agree."""

    skeleton: Skeleton | None
    cells: list[Cell]


def _carried(low: Lowering, slot: Slot, ends: list[Any], attempt: Attempt, *, is_endless: bool) -> Carried:
    flat, skeleton, agrees = _flat_ends(low, slot, ends, attempt)
    if skeleton is None:
        return Carried(None, [])
    cells: list[Cell] = []
    for i in range(_leaf_count(skeleton)):
        param = slot.params[i] if slot.params else Const(UNBOUND)
        ways: dict[int, Operand] = {key: Const(UNBOUND) if leaves is None else leaves[i] for key, leaves in flat.items()}
        candidates = [] if is_endless else [param]
        candidates += [ways[id(e)] for e in ends if e.sort in ("break", "exhausted")]
        kinds = [kind_of(c) for c in candidates if _is_bound(c)] or ([param.kind] if isinstance(param, Var) else [])
        kind: Kind | None = kinds[0] if kinds else None
        for other in kinds[1:]:
            kind = None if kind is None else join(kind, other)
        agrees = agrees and kind is not None
        if kind is None and not isinstance(param, Var):
            return Carried(None, [])
        is_users = isinstance(slot.key, Place) or isinstance(slot.key, str) and not slot.key.startswith("<")
        kind = _carried_kind(kind) if kind is not None else param.kind
        if not isinstance(param, Var):
            param = Var(slot.hint, kind, is_users)
        result = Var(slot.hint, kind, param.is_users)
        natures = [arrays.without_axes(low, c) for c in candidates if _is_bound(c)] if is_scalar(kind) else []
        if natures:
            low.without_axes[result] = functools.reduce(arrays.join_axes, natures)
        init = slot.inits[i] if slot.inits else Const(UNBOUND)
        if not _is_bound(init):
            low.unsure.add(result)
        cells.append(Cell(param, init, result, ways))
    return Carried(skeleton if agrees else None, cells)


def _flat_ends(
    low: Lowering, slot: Slot, ends: list[Any], attempt: Attempt
) -> tuple[dict[int, list[Any] | None], Skeleton | None, bool]:
    """A slot's atoms at each end of the body (None: not bound there), their skeleton, and whether the ways out agree with it."""
    skeleton = slot.skeleton
    agrees = slot.key not in attempt.poisoned
    flat: dict[int, list[Any] | None] = {}
    for end in ends:
        value = _value_at(low, slot, end)
        flat[id(end)] = None
        if not _is_bound(value):
            continue
        if isinstance(value, Poison):
            agrees = False
            continue
        opens = skeleton is None or _takes_apart(skeleton)
        follow = lambda r, opens=opens: attempt.follows(r) and opens  # noqa: E731
        found, leaves = flatten(value, end.state[1], follow, slot.kept)
        if skeleton is None:
            skeleton = found
        if found == skeleton:
            flat[id(end)] = [_at_end(low, leaf, end) for leaf in leaves]
            if any(isinstance(leaf, Poison) for leaf in flat[id(end)] or ()):
                agrees, flat[id(end)] = False, leaves
        else:
            agrees = False
    return flat, skeleton, agrees


def _at_end(low: Lowering, leaf: Any, end: Any) -> Any:
    """What an atom is at the end of a path: of an array, what it then holds."""
    if not isinstance(leaf, Var) or not low.versions:
        return leaf
    builder, store = low.builder, low.store
    low.builder, low.store = end.builder, end.state[1]
    try:
        return low.current(leaf)
    except KindError as error:
        return Poison(error.what)
    finally:
        low.builder, low.store = builder, store


def _is_bound(value: Value) -> bool:
    return not (isinstance(value, Const) and value.value is UNBOUND)


def _why_lost(slot: Slot, attempt: Attempt) -> str:
    return attempt.poisoned.get(slot.key, f"`{slot.hint}` has another structure on each path out of the loop")


def _bind_after(low: Lowering, slot: Slot, skeleton: Skeleton | None, parts: list[Any], attempt: Attempt) -> None:
    if isinstance(slot.key, Var) and not parts:
        low.store[slot.key] = Poison(_why_lost(slot, attempt))
        return
    if isinstance(slot.key, Var):
        low.store[slot.key] = parts[0]
        low.versions[parts[0]] = slot.key
        return
    if isinstance(slot.key, (ListRef, DictRef)) and skeleton is None:
        low.store[slot.key] = (Poison(_why_lost(slot, attempt)),)
        return
    if isinstance(slot.key, (ListRef, DictRef)):
        assert skeleton is not None
        value = rebuild(skeleton, parts, low.new_list, low.new_dict, low.new_object)
        if skeleton.sort == "leaf" or isinstance(slot.key, ListRef):
            low.store[slot.key] = value
        else:
            low.store[slot.key] = tuple((k, v) for (k, _), v in zip(low.store[slot.key], value))
        return
    if skeleton is None:
        _bind(
            low,
            slot.key,
            Poison(_why_lost(slot, attempt)),
        )
    else:
        _bind(low, slot.key, rebuild(skeleton, parts, low.new_list, low.new_dict, low.new_object))


def _name_list_lengths(slots: list[Slot], params: list[Var], results: list[Var], ends: list[Any], header: Header) -> None:
    """A list that is appended to a fixed number of times a trip has a length that follows from the loop's."""
    if len(ends) != 1 or ends[0].sort not in ("fall", "continue"):
        return
    for slot in slots:
        if not isinstance(slot.key, ListRef) or len(slot.params) != 1 or slot.params[0] not in params:
            continue
        appended = _appends(ends[0], slot)
        result = results[params.index(slot.params[0])]
        start = kind_of(slot.inits[0])
        if appended is not None and isinstance(result.kind, ListOf) and isinstance(start, ListOf):
            result.kind = ListOf(result.kind.item, combine("+", start.length, combine("*", header.trips, appended)))


def _appends(end: Any, slot: Slot) -> int | None:
    state, made, count = end.state[1][slot.key], end.builder.made, 0
    while state is not slot.params[0]:
        stmt = made.get(state)
        if stmt is None or stmt.op is not ops.APPEND:
            return None
        state, count = stmt.args[0], count + 1
    return count


def _block(tree: Any, builder: Builder, ways: dict[int, list[Operand]]) -> Block:
    if isinstance(tree, statements.Leaf):
        values = tuple(ways[id(tree)])
        return Block(tuple(builder.stmts), Next(values) if tree.sort in ("fall", "continue", "raise") else Exit(values))
    then, orelse = _block(tree.then[1], tree.then[0], ways), _block(tree.orelse[1], tree.orelse[0], ways)
    return Block(tuple(builder.stmts), Branch(tree.cond, then, orelse))
