"""Functions that are called while they run: each is lowered once for a structure of its arguments, and called.

    def power(x, n):                             power(x, n):  half = power(x, n // 2); …
        half = power(x, n // 2); …       →
    loss = power(x, 11) + 3 * x                  t = power(x, 11);  loss = add(t, mul(3, x))

What a call within it gives is not known at first: the paths that come to one are left out, and the others say of which
kind the result is. Then it is lowered anew under that assumption, until what comes out is what was assumed.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srcdiff.errors import KindError, SrcdiffError, SyntaxNotAccepted
from srcdiff.ir.kinds import Kind, ListOf, Number, join, map_lengths, opaque
from srcdiff.ir.nodes import Apply, Atom, Block, Const, Function, ListDisplay, Parameter, Procedure, Ref, Return, Stmt, Var
from srcdiff.ir.ops import DISPLAY, procedure_op
from srcdiff.ir.walk import free_vars, map_applies, procedures_in, statements_of, substitute_block, variables_in
from srcdiff.prepare import arrays, cells
from srcdiff.prepare.entry import is_library
from srcdiff.prepare.specialisations import (
    Arguments,
    Given,
    Recursion,
    Result,
    ResultUnknown,
    Slot,
    Specialisation,
    TooLong,
    Widened,
    arguments_of,
    exact_slots,
    grown,
    joined_kind,
    lengths_of,
    matched,
    outward,
    refs_of,
    slots_for,
    widened,
)
from srcdiff.prepare.values import (
    Closure,
    DictRef,
    Instance,
    ListRef,
    ObjectRef,
    Poison,
    Record,
    Skeleton,
    flatten,
    is_atom,
    rebuild,
    refs_in,
)
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of

if TYPE_CHECKING:
    from srcdiff.prepare.lowering import Frame, Lowering
    from srcdiff.prepare.values import Value
    from srcdiff.read.source import FunctionSource

ATTEMPTS = 12
MOST_UNROLLED = 400
MOST_GROWN = 8
LONG = 60
MOST_INLINED = 3000
_SHORT = 10


class ProcedureFailed(Exception):
    """A function that is called while it runs cannot be a procedure; it may yet be inlined, where constants end it."""

    def __init__(self, fn: ast.AST, error: SrcdiffError) -> None:
        super().__init__(fn, error)
        self.fn, self.error = fn, error


@dataclass(frozen=True)
class Callee:
    """A function of the user's about to be called: `outer` is the frame that it is defined in."""

    source: FunctionSource
    node: Any
    outer: Frame | None
    name: str


def active_arguments(low: Lowering, callee: Callee, bound: dict[str, Value], node: ast.AST) -> Arguments | None:
    """The arguments of a call that is to be inlined, if the function runs already; refuses to inline it for the same again."""
    frame: Frame | None = low.frame
    active = []
    while frame is not None:
        if frame.node is callee.node:
            active.append(frame)
        frame = frame.caller
    if not active:
        return None
    known = low.procedures
    if callee.node in known.unrolled:
        known.inlined += 1
        if known.inlined > MOST_UNROLLED:
            raise known.unrolled[callee.node]
        return None
    arguments = _arguments(low, (*bound.values(), *Around(low, callee).refs))
    earlier = [frame.arguments for frame in active if frame.arguments is not None]
    if any(other.key == arguments.key for other in earlier):
        raise Recursion(callee.node, {}, too_deep(low, callee.name, node))
    longer = [lists for other in earlier if (lists := grown(other, arguments, low.store)) is not None]
    if len(longer) > 1:
        raise Recursion(callee.node, longer[-1], too_deep(low, callee.name, node))
    if len(active) > MOST_GROWN and len(arguments.leaves) > len(next(a for f in active if (a := f.arguments)).leaves):
        raise too_deep(low, callee.name, node)
    return arguments


def note_site(low: Lowering, callee: Callee, node: ast.AST) -> None:
    """Note where a function is inlined; a long one only once."""
    known = low.procedures
    if callee.node in known.short or is_library(callee.source.file):
        return
    path = [id(node)]
    frame: Frame | None = low.frame
    while frame is not None:
        path.append(id(frame.site))
        frame = frame.caller
    sites = known.sites.setdefault(callee.node, set())
    sites.add(tuple(path))
    size = length_of_text(callee.node)
    if len(sites) < 2 or size < _SHORT:
        return
    if size > LONG or sum(length_of_text(fn) * len(places) for fn, places in known.sites.items()) > MOST_INLINED:
        raise TooLong(callee.node)


@functools.lru_cache(maxsize=1024)
def length_of_text(fn: ast.AST) -> int:
    """The number of a function's statements."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(fn)) - 1


def too_deep(low: Lowering, name: str, node: ast.AST) -> SrcdiffError:
    return low.refuse(
        SyntaxNotAccepted,
        f"the calls of `{name}` are nested too deep",
        node,
        why="Each is for arguments of another structure, and so is inlined.",
        instead="write it as a loop.",
    )


# ---------------------------------------------------------------- calls


def call(low: Lowering, callee: Callee, bound: dict[str, Value], node: ast.AST) -> Value:
    """The value of a call of a procedure."""
    around = Around(low, callee)
    values = (*bound.values(), *around.refs)
    known = low.procedures
    is_long = callee.node not in known.recursive
    if is_long and any(other.is_open and other.fn is callee.node for _, other in known.made):
        raise Recursion(callee.node, {}, too_deep(low, callee.name, node))
    _open_lists(low, known.recursive.get(callee.node, {}), _arguments(low, values))
    handles = _arguments(low, values)
    given = replace(handles, leaves=tuple(low.atom(a) for a in handles.leaves))
    key = (callee.node, around.key, tuple(_attributes_set(low, (*bound.values(), *around.values))), given.key)
    made = None
    for candidate in known.found.get(key, ()):
        if matched(candidate.slots, given.leaves) is not None:
            made = candidate
            break
        if candidate.is_open:
            slots = widened(candidate.slots, given.leaves)
            if slots is None:
                raise low.refuse(KindError, f"`{callee.name}` calls itself with arguments of other kinds", node)
            candidate.slots = slots
            raise Widened(candidate)
    if made is None:
        active = [other for _, other in known.made if other.is_open and other.fn is callee.node]
        longer = [lists for other in active if (lists := grown(other.given, handles, low.store)) is not None]
        if len(longer) > 1:
            raise Recursion(callee.node, longer[-1], too_deep(low, callee.name, node))
        if len(active) > MOST_GROWN:
            raise too_deep(low, callee.name, node)
        slots = exact_slots(given.leaves) if is_long else slots_for(given.leaves)
        made = Specialisation(callee.node, _procedure(callee.name), callee.name, handles, slots)
        before = known.last.get(key)
        if before is not None and matched(before[0], given.leaves) is not None:
            made.slots, made.result = before  # lowered again since another one has changed: most likely as before
        mark = len(known.made)
        known.add(key, made)
        try:
            _settle(low, callee, made, bound, given, node)
        except BaseException:
            known.forget_since(mark)
            raise
    return _called(low, made, given, handles.leaves, tuple(around.arrays), node)


def _arguments(low: Lowering, values: tuple[Value, ...]) -> Arguments:
    return arguments_of(values, low.store, lambda part: arrays.without_axes(low, part))


def _open_lists(low: Lowering, lists: dict[int, Kind], given: Arguments) -> None:
    """Of lists that grow from call to call, the run decides the length."""
    for place, kind in lists.items():
        ref, size = given.refs[place], given.sizes[place]
        items = low.store[ref]
        if size is None or not isinstance(items, tuple):
            continue
        low.hand_over(items, low.store)
        display = ListDisplay(tuple(low.operand(item) for item in items))
        empty = ListOf(map_lengths(kind, lambda _: opaque()), 0)
        of = empty if not items else ListOf(joined_kind([kind_of(item) for item in items]) or kind, size)
        low.store[ref] = low.builder.apply_all(DISPLAY, (display,), hint="items", kind=of)[0]
        if isinstance(ref, ListRef):
            arrays.held_by_list(low, ref, items)


def _procedure(name: str) -> Procedure:
    spoken = "".join(c for c in name if c.isidentifier() or c.isdigit()) or "f"
    return Procedure(f"{spoken}_primal", spoken)


def _called(
    low: Lowering, made: Specialisation, given: Arguments, handles: tuple[Atom, ...], around: tuple[Var, ...], node: ast.AST
) -> Value:
    """Add the call, and give its value in the caller's terms; `around` are the arrays that it may see beside the arguments."""
    known = matched(made.slots, given.leaves)
    assert known is not None
    result = made.result
    if result is None:
        made.was_asked = True
        raise ResultUnknown(made, low.origin(node))
    args = tuple(leaf for leaf, slot in zip(given.leaves, made.slots) if slot.const is None)
    targets: list[Var] = []
    atoms: list[Atom] = []
    for slot in result.slots:
        if slot.const is not None:
            atoms.append(slot.const)
        else:
            targets.append(Var(made.procedure.of, outward(slot.kind, known)))
            atoms.append(targets[-1])
            if slot.nature is not False:
                low.without_axes[targets[-1]] = slot.nature
    stmt = Apply(tuple(targets), made.op, args, (), low.builder.origin)
    low.builder.add(stmt)
    if low.builder.watch is not None:
        low.builder.watch(stmt)
    low.builder.made.update(dict.fromkeys(targets, stmt))
    value, states, written = rebuild(result.skeleton, atoms, low.new_list, low.new_dict, low.new_object)
    seen = [*arrays.arrays_in(low, handles), *around]
    shared = [a for a, slot in zip(atoms, result.slots) if slot.is_shared and isinstance(a, Var)]
    for array in arrays.arrays_in(low, tuple(shared)):
        arrays.tie_like(low, array, [*seen, *(a for a in shared if a is not array)])
    for ref in refs_of(value, low.store):
        if is_atom(low.store[ref]):
            for array in seen:
                arrays.tie(low, ref, arrays.root_of(low, array))
            if low.store[ref] in low.without_axes:
                low.without_axes[ref] = None
    if result.may_be_given:
        for new, old in itertools.product(refs_of(value, low.store), given.refs):
            if type(new) is type(old):
                low.be_twins(new, old)
    for place, state in zip(result.changed, states):
        ref = given.refs[place]
        if given.refs.count(ref) > 1 or low.twins.get(ref):
            raise low.refuse(KindError, f"`{made.name}` changes a list that it may see under two names", node)
        low.store[ref] = low.store[state]
        low.written.add(ref)
    for place, version in zip(result.written, written):
        _write(low, made, handles[place], version, [*handles[:place], *handles[place + 1 :], *around], node)
    return _with_given(value, given)


def _write(low: Lowering, made: Specialisation, handle: Atom, version: Atom, others: list[Atom], node: ast.AST) -> None:
    """An array that a call has written to holds another value from here on."""
    if isinstance(handle, Var):
        root = arrays.root_of(low, handle)
        roots = {arrays.root_of(low, a) for a in arrays.arrays_in(low, tuple(others))}
        if root in roots or not roots.isdisjoint(low.ties.get(root, ())):
            raise low.refuse(
                KindError,
                f"`{made.name}` writes into an array that it may see under two names",
                node,
                instead="pass a copy: x.copy().",
            )
    arrays.store_whole(low, handle, version, node)


def _with_given(value: Value, given: Arguments) -> Value:
    match value:
        case Ref(Given(place)):
            return given.refs[place]
        case tuple():
            return tuple(_with_given(part, given) for part in value)
        case _ if hasattr(value, "fields") and hasattr(value, "values"):
            return replace(value, values=tuple(_with_given(part, given) for part in value.values))
        case _:
            return value


# ---------------------------------------------------------------- where a call's result is not known yet


def attempt(low: Lowering, lower: Callable[[], Any]) -> Any:
    """What a path gives; None where it comes to a call of which nothing is known yet."""
    frame, loops, contexts, depth, builder = low.frame, low.loops, list(low.loops), low.depth, low.builder
    try:
        return lower()
    except ResultUnknown as unknown:
        low.frame, low.loops, low.depth, low.builder = frame, loops, depth, builder
        loops[:] = contexts
        low.unknown = unknown
        return None


# ---------------------------------------------------------------- lowering


def _settle(
    low: Lowering, callee: Callee, made: Specialisation, bound: dict[str, Value], given: Arguments, node: ast.AST
) -> None:
    """Lower a procedure until the kinds of its arguments and of its result agree with every call in it."""
    known = low.procedures
    mark = len(known.made)
    here = low.frame, low.loops, low.depth, low.builder, low.node
    origin, store, names = low.builder.origin, dict(low.store), _names_around(low.frame)
    ties = {key: set(others) for key, others in low.ties.items()}
    for _ in range(ATTEMPTS):
        known.forget_since(mark)
        try:
            is_done = _accepts(low, made, _lowered(low, callee, made, bound, given, node), node)
        except Widened as widening:
            if widening.of is not made:
                raise
            made.result, is_done = None, False
        except ResultUnknown as unknown:
            if unknown.of is not made:
                raise
            what = f"`{callee.name}` calls itself on every path"
            raise KindError(what, unknown.origin, instead="return something on one of them.") from None
        except SrcdiffError as error:
            if callee.node in known.long or any(isinstance(a, Const) and isinstance(a.value, int) for a in given.leaves):
                raise ProcedureFailed(callee.node, error) from None
            raise
        finally:
            low.frame, low.loops, low.depth, low.builder, low.node = here
            low.builder.origin = origin
            low.store = {**low.initial, **store}
            low.ties = {key: set(others) for key, others in ties.items()}
            for frame, held in names:
                frame.vars = dict(held)
        if is_done:
            made.is_open = False
            return
    raise low.refuse(KindError, f"the kinds of what `{callee.name}` takes and returns do not settle", node)


def _names_around(frame: Frame | None) -> list[tuple[Frame, dict[str, Value]]]:
    found = []
    while frame is not None:
        found.append((frame, dict(frame.vars)))
        frame = frame.caller
    return found


@dataclass(frozen=True)
class Outcome:
    """What one lowering of a procedure gives."""

    skeleton: Skeleton
    changed: tuple[int, ...]
    written: tuple[int, ...]
    may_be_given: bool
    leaves: tuple[Atom, ...]
    shared: tuple[bool, ...]
    natures: tuple[bool | None, ...]


def _lowered(
    low: Lowering, callee: Callee, made: Specialisation, bound: dict[str, Value], given: Arguments, node: ast.AST
) -> Outcome:
    from srcdiff.prepare import calls, expressions, statements
    from srcdiff.prepare.lowering import Frame

    builder = Builder()
    builder.made, builder.current = low.builder.made, low.builder.current
    builder.merged, builder.keeps_apart, builder.written = low.builder.merged, low.builder.keeps_apart, low.builder.written
    frame = Frame(callee.source, {}, callee.outer, calls.function_locals(callee.node), low.frame.depth + 1)
    frame.node, frame.caller = callee.node, low.frame
    atoms, refs = _parameters(low, made, bound, given), list[ListRef | DictRef | ObjectRef]()
    makers = [_noting(make, refs) for make in (low.new_list, low.new_dict, low.new_object)]
    values = rebuild(made.given.skeleton, atoms, *makers)
    for ref, passed in zip(refs, given.refs):
        low.take_after(ref, (passed,))
        if passed in low.without_axes:
            low.without_axes[ref] = None
    frame.vars = dict(zip(bound, values))
    refs = _as_around(low, refs, values[len(bound) :], Around(low, callee).refs)
    cells.open_cells(low, frame, callee.node)
    before, outside = dict(low.store), _outer_names(callee.outer)
    low.frame, low.loops, low.depth, low.builder = frame, [], 0, builder
    if isinstance(callee.node, ast.Lambda):
        value = expressions.lower(low, callee.node.body)
    else:
        body = callee.node.body
        tree = statements.lower_stmts(low, body, lambda: statements.leaf(low, "return", Const(None)))
        arm = statements.settle(low, tree, builder)
        if arm.is_dead:
            raise low.refuse(KindError, f"every path of `{callee.name}` ends in an exception or a call of itself", node)
        low.store, value = arm.state[1], arm.value
    made.params = tuple(a for a, slot in zip(atoms, made.slots) if slot.const is None)  # type: ignore[misc]
    own = {*made.params, *variables_in(Block(tuple(builder.stmts), Return(Const(None))))}
    _check_outside(low, callee, before, {*refs, *own}, outside, node)
    changed = tuple(i for i, ref in enumerate(refs) if not _is_same(low.store[ref], before[ref]))
    written = tuple(i for i, atom in enumerate(atoms) if isinstance(atom, Var) and low.store.get(atom, atom) is not atom)
    states = [_copied(low, refs[i]) for i in changed]
    places = {ref: i for i, ref in reversed(list(enumerate(refs)))}
    follow = lambda ref: ref not in places and ref not in before  # noqa: E731
    _, leaves = flatten((value, tuple(states)), low.store, follow)
    if any(ref in facts for ref in refs_of(value, low.store) for facts in (low.classes, low.factories, low.limits)):
        raise low.refuse(KindError, f"`{callee.name}` calls itself and returns a deque or a defaultdict", node)
    may_be_given = any(low.twins.get(ref) for ref in refs_of(value, low.store) if ref not in places)
    # While paths are left out, what is made on them is not among the statements.
    is_partial = made.was_asked and made.result is None
    is_own = lambda v: v not in made.params and (is_partial or v in own)  # noqa: E731
    shared = tuple(isinstance(a, Var) and _is_shared(low, a, is_own) for a in leaves)
    if any(arrays.is_outside(low, a) for a in leaves):
        low.procedures.outside.add(made.procedure)
    versions = tuple(atoms[i] for i in written)
    lists = {
        low.store[ref]
        for ref in refs_of((value, tuple(states)), low.store)
        if ref in low.without_axes and is_atom(low.store[ref])
    }
    natures = tuple(None if a in lists else arrays.without_axes(low, a) for a in (*leaves, *versions))
    whole = arrays.settled(low, (value, tuple(states), versions))
    skeleton, leaves = flatten(whole, low.store, follow)
    made.stmts = tuple(builder.stmts)
    shared += (False,) * len(versions)
    return Outcome(_placed(low, callee, skeleton, places, node), changed, written, may_be_given, tuple(leaves), shared, natures)


def _copied(low: Lowering, ref: Any) -> Any:
    state = low.store[ref]
    if isinstance(ref, ObjectRef):
        return low.new_object(ref.cls, state)
    return low.new_list(state) if isinstance(ref, ListRef) else low.new_dict(state)


def _is_shared(low: Lowering, array: Var, is_own: Callable[[Any], bool]) -> bool:
    """Whether an array that is returned may share memory with what the procedure is given."""
    if not arrays.is_array(low, array):
        return False
    root = arrays.root_of(low, array)
    return not is_own(root) or not all(is_own(other) for other in low.ties.get(root, ()))


def _as_around(low: Lowering, refs: list[Any], made: tuple[Value, ...], around: Sequence[Any]) -> list[Any]:
    """The lists and dicts of the functions around stay what they are; within the procedure they hold its parameters."""
    old = refs_of(tuple(around), low.store)
    same = dict(zip(refs_of(made, low.store), old))

    def renamed(value: Value) -> Value:
        if isinstance(value, (ListRef, DictRef, ObjectRef)):
            return same.get(value, value)
        if isinstance(value, tuple):
            return tuple(renamed(part) for part in value)
        return replace(value, values=renamed(value.values)) if isinstance(value, Record) else value

    for new, ref in same.items():
        low.store[ref] = renamed(low.store[new])
    return [same.get(ref, ref) for ref in refs]


def _parameters(low: Lowering, made: Specialisation, bound: dict[str, Value], given: Arguments) -> list[Atom]:
    names: list[str | None] = []
    for name, part in itertools.zip_longest(bound, made.given.skeleton.parts):
        names += [name] if part.sort == "leaf" else [None] * part.count  # of what is around, none
    atoms: list[Atom] = []
    for leaf, slot, users in zip(given.leaves, made.slots, names):
        if slot.const is not None:
            atoms.append(slot.const)
            continue
        var = Var(users or getattr(leaf, "hint", "") or "item", slot.kind, users is not None)
        if (nature := arrays.without_axes(low, leaf)) is not False:
            low.without_axes[var] = nature
        atoms.append(var)
    return atoms


def _noting(make: Callable[..., Any], refs: list[ListRef | DictRef | ObjectRef]) -> Callable[..., Any]:
    def run(*state: Any) -> Any:
        refs.append(make(*state))
        return refs[-1]

    return run


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b))


def _outer_names(frame: Frame | None) -> list[tuple[Frame, dict[str, Value]]]:
    found = []
    while frame is not None:
        found.append((frame, dict(frame.vars)))
        frame = frame.outer
    return found


def _check_outside(low: Lowering, callee: Callee, before: Any, own: set[Any], names: Any, node: ast.AST) -> None:
    """A procedure changes what it is given, and nothing else."""
    is_changed = any(
        key not in own and not _is_same(state, before.get(key, key if isinstance(key, Var) else state))
        for key, state in low.store.items()
    )
    if is_changed or any(not _is_same(frame.vars, held) for frame, held in names):
        raise low.refuse(
            SyntaxNotAccepted,
            f"`{callee.name}` calls itself and changes what belongs to the function around it",
            node,
            instead="pass it as an argument, or return it.",
        )


def _placed(low: Lowering, callee: Callee, skeleton: Skeleton, places: dict[Any, int], node: ast.AST) -> Skeleton:
    """The structure of a result, with arguments in it by their place."""
    if skeleton.sort != "static":
        return replace(skeleton, parts=tuple(_placed(low, callee, part, places, node) for part in skeleton.parts))
    held = skeleton.detail.value
    if isinstance(held, (ListRef, DictRef, ObjectRef)):
        if held not in places:
            return skeleton  # of the function around
        return replace(skeleton, detail=type(skeleton.detail)(Given(places[held])))
    if isinstance(held, Poison):
        raise low.refuse(KindError, held.reason.replace("`value`", f"what `{callee.name}` returns"), node)
    if type(held).__module__.startswith("srcdiff.") and not (isinstance(held, Closure) and _outlives(held, callee.outer)):
        raise low.refuse(
            SyntaxNotAccepted,
            f"`{callee.name}` calls itself and returns a function or an iterator",
            node,
            instead="return values.",
        )
    return skeleton


def _outlives(closure: Closure, frame: Frame | None) -> bool:
    while frame is not None:
        if closure.frame is frame:
            return True
        frame = frame.outer
    return False


def _accepts(low: Lowering, made: Specialisation, outcome: Outcome, node: ast.AST) -> bool:
    """Whether a lowering gave what its calls were assumed to give; otherwise the assumption is wider now."""
    own = {n: n for slot in made.slots for n in lengths_of(slot.kind)}
    slots = [
        Slot(
            outward(kind_of(leaf), own),
            leaf if isinstance(leaf, Const) and not _is_number(leaf) else None,
            is_shared,
            nature=nature,
        )
        for leaf, is_shared, nature in zip(outcome.leaves, outcome.shared, outcome.natures)
    ]
    before, now = made.result, (outcome.skeleton, outcome.changed, outcome.written, outcome.may_be_given)
    if before is not None and (before.skeleton, before.changed, before.written, before.may_be_given) == now:
        slots = [_joined(low, made, a, b, node) for a, b in zip(before.slots, slots)]
    made.result = Result(*now, tuple(slots))
    made.returned = tuple(leaf for leaf, slot in zip(outcome.leaves, slots) if slot.const is None)
    if before is None:
        return not made.was_asked
    return made.result == before


def _is_number(leaf: Const) -> bool:
    return isinstance(leaf.kind, Number)


def _joined(low: Lowering, made: Specialisation, a: Slot, b: Slot, node: ast.AST) -> Slot:
    if a == b:
        return a
    kind = join(a.kind, b.kind)
    if kind is None or a.const is not None or b.const is not None:
        raise low.refuse(KindError, f"what `{made.name}` returns has no single kind on all paths", node)
    return Slot(kind, None, a.is_shared or b.is_shared, nature=arrays.join_axes(a.nature, b.nature))


# ---------------------------------------------------------------- what a function reads of those around it


class Around:
    """What a nested function reads of the functions around it.

    `refs` are the lists, dicts and cells in it, which are passed like arguments; `key` tells the rest apart.
    """

    def __init__(self, low: Lowering, callee: Callee) -> None:
        self.low = low
        self.values: list[Value] = []
        self.refs: list[Any] = []
        self.arrays: list[Var] = []
        self.seen: set[ast.AST] = set()
        self.key = self.read(callee.node, callee.outer)

    def read(self, fn: Any, outer: Frame | None) -> Any:
        from srcdiff.prepare import calls

        if outer is None or fn in self.seen:
            return ()
        self.seen.add(fn)
        found: list[Any] = []
        for name in names_read(fn):
            if name in calls.function_locals(fn):
                continue
            frame: Frame | None = outer
            while frame is not None and name not in frame.vars and name not in frame.cells:
                frame = frame.outer
            if frame is None:
                continue
            value = frame.vars[name] if name in frame.vars else frame.cells[name]
            self.values.append(value)
            self.note(value)
            skeleton, leaves = flatten(value, self.low.store, lambda ref: False)
            found.append((name, skeleton, tuple(leaves), tuple(_states(self.low, leaves))))
            if isinstance(value, Closure):
                found.append(self.read(value.node, value.frame))
        return tuple(found)

    def note(self, value: Value) -> None:
        match value:
            case Var() if arrays.is_array(self.low, value):
                self.arrays.append(value)
            case tuple():
                for part in value:
                    self.note(part)
            case Record():
                self.note(value.values)
            case ListRef() | DictRef() | ObjectRef() if value not in self.refs:
                self.refs.append(value)


@functools.lru_cache(maxsize=1024)
def names_read(fn: ast.AST) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.id for n in ast.walk(fn) if isinstance(n, ast.Name)))


def _states(low: Lowering, leaves: Iterable[Atom]) -> Iterator[Any]:
    """What arrays hold now, in a form that compares."""
    for leaf in leaves:
        if isinstance(leaf, Var) and low.versions:
            yield low.store.get(leaf), low.store.get(arrays.root_of(low, leaf))


def _attributes_set(low: Lowering, values: tuple[Value, ...]) -> Iterator[Any]:
    """What has been set of objects that outlive the call, in a form that compares."""
    for held in refs_in(values, low.store):
        if isinstance(held, Instance) and low.store.get(held):
            skeleton, leaves = flatten(tuple(low.store[held]), low.store, lambda ref: True)
            yield held, skeleton, tuple(leaves)


# ---------------------------------------------------------------- the whole program


def linked(low: Lowering, stmts: tuple[Stmt, ...]) -> tuple[tuple[Stmt, ...], dict[Procedure, Function]]:
    """The statements, and the procedures that they call, as functions: what one reads from around it is an argument."""
    if not low.procedures.made:
        return stmts, dict(low.derived)
    made = {s.procedure: s for _, s in low.procedures.made}
    bodies = {p: Block(s.stmts, Return(_returned(s.returned))) for p, s in made.items()}
    read: dict[Procedure, dict[Var, None]] = {}
    effects: set[Procedure] = set()
    for p, body in bodies.items():
        read[p] = dict.fromkeys(v for v in free_vars(body) if v not in made[p].params)
        if any(isinstance(s, Apply) and s.op.has_effect for s in statements_of(body)):
            effects.add(p)
    size = -1
    while size != sum(map(len, read.values())) + len(effects):
        size = sum(map(len, read.values())) + len(effects)
        for p, body in bodies.items():
            bound = {*made[p].params, *variables_in(body)}
            for called in procedures_in(body):
                if called not in read:
                    continue
                read[p].update(dict.fromkeys(v for v in read[called] if v not in bound))
                if called in effects:
                    effects.add(p)

    def passing(stmt: Apply) -> Apply:
        procedure = stmt.op.procedure
        if procedure is None or procedure not in read:
            return stmt
        op = procedure_op(procedure, has_effect=True) if procedure in effects else stmt.op
        return replace(stmt, op=op, args=(*stmt.args, *read[procedure]))

    functions: dict[Procedure, Function] = {}
    for p, body in bodies.items():
        own = {v: Var(v.hint, v.kind, v.is_users) for v in read[p]}
        params = named_parameters((*made[p].params, *own.values()))
        functions[p] = Function(p.name, params, substitute_block(map_applies(body, passing), own), is_inner=True)
    whole = map_applies(Block(stmts, Return(Const(None))), passing)
    return whole.stmts, {**functions, **low.derived}


def apart(stmts: tuple[Stmt, ...], functions: dict[Procedure, Function]) -> tuple[tuple[Stmt, ...], dict[Procedure, Function]]:
    """Linked statements and procedures under other identities, for a derivative that is taken inside."""
    new = {p: Procedure(p.name, p.of) for p in functions}

    def renamed(stmt: Apply) -> Apply:
        procedure = stmt.op.procedure
        if procedure is None or procedure not in new:
            return stmt
        return replace(stmt, op=procedure_op(new[procedure], has_effect=stmt.op.has_effect))

    changed = {new[p]: replace(f, body=map_applies(f.body, renamed)) for p, f in functions.items()}
    return map_applies(Block(stmts, Return(Const(None))), renamed).stmts, changed


def _returned(atoms: tuple[Atom, ...]) -> Any:
    return atoms[0] if len(atoms) == 1 else atoms or Const(None)


def named_parameters(params: tuple[Var, ...]) -> tuple[Parameter, ...]:
    """Parameters under names of their own; the user's keep theirs."""
    taken = {v.hint for v in params if v.is_users}
    used: set[str] = set()
    found = []
    for var in params:
        name, number = var.hint if var.hint.isidentifier() else "item", 0
        while name in used or (not var.is_users and name in taken):
            number += 1
            name = f"{var.hint}_{number}"
        used.add(name)
        found.append(Parameter(name, var))
    return tuple(found)
