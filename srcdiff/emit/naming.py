"""Give each variable its printed name: versions share a name where their lives don't overlap.

    x_0, x_1 = mul(x_0, 0.9)      both print as x, if x_0 is not read later
    loop carrying p from i, next n, result r      all print as one name where that is possible: no copies

One walk from top to bottom, in which a name is held from the binding of its variable to its last read. A name of the user's
comes back whenever the user gave it again. A name of ours goes on only to its next version, to a carried value, or to the
same value kept and taken back; what has nothing to do with it gets another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from srcdiff.analysis.liveness import Folds, Liveness, leaves_of, resolved
from srcdiff.errors import InternalError
from srcdiff.ir.names import Namer
from srcdiff.ir.nodes import Apply, Block, Branch, Caught, End, Exit, Function, If, Loop, Next, Operand, Range, Stmt, Var, Yield
from srcdiff.ir.walk import blocks_of, source_atoms, source_targets, variables_of
from srcdiff.passes.fold import is_sum
from srcdiff.passes.place import VERSIONS

UNREAD = "_"
_FARTHEST = 8
_STRANGE = re.compile(r"^\d+|\W\d*")


def name_variables(
    function: Function, folds: Folds, live: Liveness, reserved: Iterable[str], twins: Mapping[Var, Var]
) -> dict[Var, str]:
    """The printed name of each variable; what is never read has none. `twins` are kept values, see `twins_of`."""
    bases = _Bases(function, set(reserved))
    wishes = _Wishes(bases, folds)
    wishes.block(function.body)
    return _Naming(function, folds, live, bases, wishes, twins).names


class _Bases:
    """What a variable's name is made from: its hint, unless that means something else in the text."""

    def __init__(self, function: Function, reserved: set[str]) -> None:
        self.reserved = reserved
        variables = list(variables_of(function))
        parameters = [parameter.name for parameter in function.params]
        self.users = {var.hint for var in (*variables, *(p.var for p in function.params)) if var.is_users}
        self.all = {var.hint for var in variables} | set(parameters)

    def of(self, var: Var) -> str:
        hint = var.hint
        if not hint.isidentifier():
            hint = _STRANGE.sub("", hint)
        return hint if hint.strip("_") else "value"

    def may_have(self, var: Var, name: str) -> bool:
        """An adjoint never has a name of the user's."""
        return var.is_users or name not in self.users or not var.hint.endswith(("_bar", "_dot"))


class _Wishes:
    """The name of what a temporary flows into: of a carried value, a result, a version."""

    def __init__(self, bases: _Bases, folds: Folds) -> None:
        self.bases = bases
        self.folds = folds
        self.into: dict[Var, Var] = {}
        self.wish: dict[Var, str] = {}

    def of(self, var: Var) -> str:
        return self.wish.get(var) or self.bases.of(var)

    def flow(self, operand: Operand, into: Var) -> None:
        operand = resolved(operand, self.folds)
        if isinstance(operand, Var) and (not operand.is_users or operand.hint == into.hint) and operand not in self.folds:
            self.into.setdefault(operand, into)
            self.wish.setdefault(operand, self.of(into))

    def block(self, block: Block, into: tuple[Var, ...] = ()) -> None:
        self.end(block.end, into)
        for stmt in reversed(block.stmts):
            self.stmt(stmt)

    def end(self, end: End, into: tuple[Var, ...]) -> None:
        match end:
            case Yield(values) | Next(values) | Exit(values):
                for value, var in zip(values, into, strict=True):
                    self.flow(value, var)
            case _:
                for inner in blocks_of(end):
                    self.block(inner, into)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Apply(targets, op, args):
                if op.style in VERSIONS or op.style == "augment":
                    self.flow(args[0], targets[0])
            case If(_, then, orelse, results):
                self.block(orelse, results)
                self.block(then, results)
            case Loop(_, params, inits, body, results):
                for param, result in zip(params, results, strict=True):
                    self.flow(param, result)
                self.block(body, params)
                for init, param in zip(inits, params, strict=True):
                    self.flow(init, param)
            case _:
                raise InternalError(f"not a statement: {stmt!r}")


class _Naming:
    def __init__(
        self, function: Function, folds: Folds, live: Liveness, bases: _Bases, wishes: _Wishes, twins: Mapping[Var, Var]
    ) -> None:
        self.folds = folds
        self.twins = twins
        self.live = live
        self.bases = bases
        self.wishes = wishes
        self.names: dict[Var, str] = {}
        self.held: list[Var] = []
        self.namer = Namer(bases.reserved, bases.all)
        for parameter in function.params:
            self.names[parameter.var] = parameter.name
            self.namer.hold(parameter.name, parameter.var)
        self.release(parameter.var for parameter in function.params if parameter.var in live.unread)
        self.block(function.body)

    # ------------------------------------------------------------ holding names

    def bind(self, var: Var, before: Iterable[Var] = (), is_index: bool = False) -> None:
        """Name a variable: as what it becomes, as what it was, as it wishes, or a version of that.

        `before` are values that end here, of which the variable may be the next version. Loops count with one name.
        """
        base = self.bases.of(var)
        into, twin = self.becomes(var), resolved(self.twins.get(var, var), self.folds)
        kin = [other for other in (into, twin) if other in self.names]
        kin += [other for other in before if other in self.names and self.is_next(var, other, base)]
        names = [self.names[other] for other in kin if isinstance(other, Var)]
        wish = self.wishes.of(var)
        if var.is_users or (is_index and base not in self.bases.users):
            names += [wish, base]
        elif into is not None and into.is_users:
            names.append(wish)
        name = next((name for name in names if self.namer.is_free(name) and self.bases.may_have(var, name)), None)
        if name is None:
            name = self.namer.version(base) if var.is_users or is_index else self.fresh(wish, base)
        self.give(var, name)

    def becomes(self, var: Var) -> Var | None:
        """What a variable flows into: the first that has a name, or else the next."""
        first = into = self.wishes.into.get(var)
        for _ in range(_FARTHEST):
            if into is None or into in self.names:
                break
            into = self.wishes.into.get(into)
        return into if into in self.names else first

    def is_next(self, var: Var, other: Var, base: str) -> bool:
        return self.bases.of(other) == base or self.wishes.into.get(other) is var

    def fresh(self, wish: str, base: str) -> str:
        """A name of ours that no other value has."""
        for name in (wish, base):
            if name not in self.bases.users and self.namer.is_fresh(name):
                return name
        return self.namer.fresh_version(base)

    def give(self, var: Var, name: str) -> None:
        self.names[var] = name
        self.namer.hold(name, var)
        self.held.append(var)

    def hold(self, variables: Iterable[Var]) -> None:
        for var in variables:
            self.namer.hold(self.names[var], var)

    def release(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if var in self.names:
                self.namer.release(self.names[var], var)

    def release_since(self, mark: int) -> None:
        self.release(self.held[mark:])
        del self.held[mark:]

    # ------------------------------------------------------------ the walk

    def block(self, block: Block) -> None:
        for stmt in block.stmts:
            match stmt:
                case Apply():
                    self.apply(stmt)
                case If():
                    self.conditional(stmt)
                case Loop():
                    self.loop(stmt)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        if isinstance(block.end, Branch):
            self.release(self.live.dies[block.end])
            self.arms(block.end.then, block.end.orelse)

    def apply(self, stmt: Apply) -> None:
        dying = self.live.dies[stmt]
        targets = stmt.targets
        if stmt.op.style in VERSIONS or stmt.op.style == "augment":
            # The statement may have to be two, `x = b; x[i] = v`: what the second reads keeps its name.
            buffer = resolved(stmt.args[0], self.folds)
            base = [var for var in dying if var is buffer]
            self.release(base)
            self.bind(targets[0], base)
            self.release(dying)
            targets = targets[1:]
        self.release(dying)
        if stmt.op.style == "unpack":
            self.number(stmt)
        before = dying if is_sum(stmt) else ()
        for target in targets:
            if target not in self.live.unread and target not in self.names:
                self.bind(target, before)
        self.release(target for target in stmt.targets if target in self.live.unread)

    def number(self, stmt: Apply) -> None:
        """Number what an unpacking gives several times: `(W0, b0), (W1, b1) = layers`."""
        groups: dict[str, list[tuple[Var, int]]] = {}
        for place, part in enumerate(stmt.op.pattern):
            for i in _leaves(part):
                target = stmt.targets[i]
                if target not in self.live.unread:
                    groups.setdefault(self.bases.of(target), []).append((target, place))
        for base, group in groups.items():
            places = [place for _, place in group]
            numbers = places if len(set(places)) == len(places) else list(range(len(places)))
            names = [f"{base}_{n}" if base[-1].isdigit() else f"{base}{n}" for n in numbers]
            if len(group) > 1 and all(self.namer.is_fresh(name) and name not in self.bases.all for name in names):
                for (target, _), name in zip(group, names):
                    self.give(target, name)

    def conditional(self, stmt: If) -> None:
        self.release(self.live.dies[stmt])
        entering = [*self.live.enters[stmt.then], *self.live.enters[stmt.orelse]]
        if isinstance(stmt.around, Caught):  # the body may fail while it binds the results
            entering = [var for var in entering if var not in self.live.enters[stmt.orelse]]
        # A result may have the name of what only the arms read: it is bound at their end.
        self.release(entering)
        mark = len(self.held)
        for result in stmt.results:
            self.bind(result)
        self.release_since(mark)
        self.arms(stmt.then, stmt.orelse)
        self.hold(stmt.results)
        self.held += stmt.results
        self.release(result for result in stmt.results if result in self.live.unread)

    def arms(self, then: Block, orelse: Block) -> None:
        entering = [*self.live.enters[then], *self.live.enters[orelse]]
        given: list[str] = []
        for arm in (then, orelse):
            self.release(entering)
            self.hold(self.live.enters[arm])
            mark, used = len(self.held), len(self.namer.given)
            self.block(arm)
            self.release_since(mark)
            given += self.namer.forget_since(used)
        self.namer.remember(given)
        self.release(entering)

    def loop(self, loop: Loop) -> None:
        dying = self.live.dies[loop]
        header = set(leaves_of((atom for source in loop.sources for atom in source_atoms(source)), self.folds))
        self.release(var for var in dying if var not in header)
        mark = len(self.held)
        for param, operand in zip(loop.params, loop.inits, strict=True):
            init = resolved(operand, self.folds)
            if not isinstance(init, Var):
                self.bind(param)
                continue
            # What the header still reads may only pass its name on to the carried value that it becomes.
            if init in dying:
                self.release([init])
            self.bind(param, [init])
            if init in header and self.names.get(init) != self.names[param]:
                self.hold([init])
        self.release(dying)
        for source in loop.sources:
            for target in source_targets(source):
                if target not in self.live.unread:
                    self.bind(target, is_index=isinstance(source.iterable, Range))
        self.release(param for param in loop.params if param in self.live.unread)
        self.block(loop.body)
        self.release_since(mark)
        self.release(self.live.enters[loop.body])
        for param, result in zip(loop.params, loop.results, strict=True):
            if result not in self.live.unread:
                self.names[result] = self.names[param]
                self.namer.hold(self.names[result], result)
                self.held.append(result)


def _leaves(pattern: object) -> Iterator[int]:
    """The numbers of the targets in a pattern."""
    if isinstance(pattern, int):
        yield pattern
    elif isinstance(pattern, (tuple, list)):
        for part in pattern:
            yield from _leaves(part)
