"""raise, try and with: the path that is taken is the path that is differentiated.

    if n < 1: raise E("…")      if n < 1: raise E("…"), an effect; nothing goes on from there
    try:                        If(around=Caught(ZeroDivisionError)): both arms are lowered, the body as `then`
        y = 1 / x               y = joined
    except ZeroDivisionError:
        y = 0.0
    with np.errstate(…):        If(around=Managed(np.errstate, …)), whose reverse runs within another one
        y = np.log(x)

A handler begins with what was there before the body; what the body had changed when something in it could still raise is
not known there. A jump out of a body is told by a flag, and made behind the statement.
"""

from __future__ import annotations

import ast
import contextlib
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.effects import may_raise
from srcdiff.ir.kinds import BOOL, Opaque
from srcdiff.ir.nodes import UNBOUND, Apply, Caught, Const, Managed, Op, Ref, Var
from srcdiff.ir.ops import call_op
from srcdiff.prepare import cells, control, expressions, loops, procedures, statements
from srcdiff.prepare.lowering import Arm, Frame, Lowering, Snapshot, join_arms, truth
from srcdiff.prepare.values import DictRef, Instance, ListRef, ObjectRef, Poison, Record, Value
from srcdiff.rules.builder import Builder
from srcdiff.rules.registry import qualified_name

EXCEPTION = Opaque("exception")
_SORTS = ("return", "break", "continue")
_SPOKEN = {"return": "returned", "break": "broke", "continue": "continued", "result": "result"}
_MIRRORED = (np.errstate,)
_KEPT = (np.errstate, np.printoptions, warnings.catch_warnings, contextlib.redirect_stdout, contextlib.redirect_stderr)


class PathEnds(Exception):
    """What is lowered ends in an exception of the program: a function that always raises, a key that is not there."""


# ---------------------------------------------------------------- raise


def lower_raise(low: Lowering, node: ast.Raise) -> statements.Tree:
    args = [_error_of(low, part) for part in (node.exc, node.cause) if part is not None]
    low.builder.apply_all(ops.RAISE, tuple(args), kind=())
    return statements.leaf(low, "raise")


def _error_of(low: Lowering, node: ast.expr) -> Any:
    """An exception: a class, one that is made, or one that was caught."""
    if isinstance(node, ast.Call):
        fn = expressions.lower(low, node.func)
        if isinstance(fn, Ref) and isinstance(fn.value, type) and issubclass(fn.value, BaseException):
            args = tuple(low.operand(expressions.lower(low, a)) for a in node.args)
            named = tuple((str(k.arg), low.operand(expressions.lower(low, k.value))) for k in node.keywords)
            text = qualified_name(fn.value) if fn.value.__module__ != "builtins" else fn.value.__name__
            op = Op(text, "call", text, fn.value, True)
            return low.builder.apply(op, args, named, kind=EXCEPTION, hint="error")
    value = expressions.lower(low, node)
    if isinstance(value, Record):
        return low.atom(value)
    if isinstance(value, (Ref, Const)) or isinstance(value, Var) and value.kind == EXCEPTION:
        return value
    raise low.refuse(
        KindError, "what is raised here is not known to be an exception", node, instead="raise a class or a call of one."
    )


def known_to_raise(low: Lowering, error: type[BaseException], message: Any, otherwise: Exception) -> Exception:
    """What to raise where the program certainly does: the end of the path where a try around catches it, else a refusal."""
    if not any(issubclass(error, caught) for errors in low.handlers for caught in errors):
        return otherwise
    op = Op(error.__name__, "call", error.__name__, error, True)
    made = low.builder.apply(op, (Const(message),), kind=EXCEPTION, hint="error")
    low.builder.apply_all(ops.RAISE, (made,), kind=())
    low.raised = (error, low.builder.stmts[-1])
    return PathEnds()


# ---------------------------------------------------------------- jumps out of a body


@dataclass(eq=False)
class _Ways:
    """How a body is left: for each sort of jump a hidden name that says whether it was made, and one for what is returned."""

    low: Lowering
    serial: int
    sorts: list[str] = field(default_factory=list)

    def name(self, sort: str) -> str:
        return f"<{_SPOKEN[sort]}{self.serial}>"

    def begin(self) -> None:
        for sort in _SORTS:
            self.low.frame.vars[self.name(sort)] = Const(False)
        self.low.frame.vars[self.name("result")] = Const(UNBOUND)

    def context(self) -> loops.Context:
        def record(sort: str) -> Callable[[Value], Any]:
            def jump(value: Value) -> statements.Tree:
                if sort not in self.sorts:
                    self.sorts.append(sort)
                self.low.frame.vars[self.name(sort)] = Const(True)
                if sort == "return":
                    self.low.frame.vars[self.name("result")] = value
                return statements.leaf(self.low, "fall")

            return jump

        return loops.Context({sort: record(sort) for sort in _SORTS})

    def go_on(self, after: statements.Continuation, node: ast.AST) -> statements.Tree:
        """Make the jumps that were recorded, and go on where none was."""
        low, names = self.low, self.low.frame.vars
        flags = {sort: names.get(self.name(sort), Const(False)) for sort in _SORTS}
        result = names.get(self.name("result"), Const(None))

        def clean() -> None:
            for sort in (*_SORTS, "result"):
                low.frame.vars.pop(self.name(sort), None)

        def step(sorts: Sequence[str]) -> statements.Tree:
            if not sorts:
                clean()
                return after()
            flag = flags[sorts[0]]
            known = truth(flag, low)
            if known is False:
                return step(sorts[1:])

            def jump() -> statements.Tree:
                clean()
                return loops.jump(low, sorts[0], result)  # type: ignore[no-any-return]

            return jump() if known else statements.fork(low, flag, jump, lambda: step(sorts[1:]), node)

        return step(self.sorts)


def _body(low: Lowering, ways: _Ways, lower_it: Callable[[], statements.Tree]) -> Arm:
    """The arm of a body, in a builder of its own; jumps out of it are recorded."""
    outer = low.builder
    low.builder = outer.inside()
    builder = low.builder
    low.loops.append(ways.context())
    try:
        arm = statements.settle(low, lower_it(), builder)
    finally:
        low.loops.pop()
        low.builder = outer
    return arm


def _fall(low: Lowering) -> statements.Tree:
    return statements.leaf(low, "fall")


def _finish(low: Lowering, node: ast.AST, ways: _Ways, is_dead: bool, after: statements.Continuation) -> statements.Tree | None:
    if is_dead:
        return statements.leaf(low, "raise")
    if ways.sorts or loops.has_jump([node]):  # type: ignore[list-item]
        return ways.go_on(after, node)
    for sort in (*_SORTS, "result"):
        low.frame.vars.pop(ways.name(sort), None)
    return None


# ---------------------------------------------------------------- try


def lower_try(low: Lowering, node: ast.Try, after: statements.Continuation) -> statements.Tree | None:
    """None when what follows goes on in the same block; otherwise the tree of everything that follows."""
    if loops.has_jump(node.finalbody):
        raise low.refuse(
            SyntaxNotAccepted, "a jump out of finally is not accepted", node, instead="jump behind the try statement."
        )
    ways = _Ways(low, next(low.serial))
    ways.begin()
    done = f"<succeeded{ways.serial}>"
    low.frame.vars[done] = Const(not node.handlers)
    is_dead = False
    if node.handlers:
        is_dead = _guarded(low, node, ways, done)
    else:
        is_dead = _unguarded(low, node, ways)
    has_succeeded = low.frame.vars.pop(done, Const(True))
    if node.orelse and not is_dead:
        is_dead = _otherwise(low, node, ways, has_succeeded)
    if node.finalbody and not is_dead:
        outer = low.builder
        arm = statements.settle(low, statements.lower_stmts(low, node.finalbody, lambda: _fall(low)), outer)
        low.builder = outer
        low.restore(arm.state)
        is_dead = arm.is_dead
    return _finish(low, node, ways, is_dead, after)


def _otherwise(low: Lowering, node: ast.Try, ways: _Ways, has_succeeded: Value) -> bool:
    """The else of a try: it runs where the body came to its end; whether all paths end in it."""
    known = truth(has_succeeded, low)
    if known is False:
        return False
    outer = low.builder
    low.loops.append(ways.context())
    try:

        def body() -> statements.Tree:
            return statements.lower_stmts(low, node.orelse, lambda: _fall(low))

        tree = body() if known else statements.fork(low, has_succeeded, body, lambda: _fall(low), node)
        arm = statements.settle(low, tree, outer)
    finally:
        low.loops.pop()
    low.builder = outer
    low.restore(arm.state)
    return arm.is_dead


def _guarded(low: Lowering, node: ast.Try, ways: _Ways, done: str) -> bool:
    """A try statement with handlers; whether all paths end in it."""
    errors = [_errors_of(low, handler) for handler in node.handlers]
    before, frame = low.snapshot(), low.frame
    low.handlers.append(tuple(e.value for group in errors for e in group))
    watch = _Watch(low, frame, before, low.handlers[-1], low.builder.watch)
    low.builder.watch = watch.see
    low.tries.append(watch)

    def ended() -> statements.Tree:
        low.frame.vars[done] = Const(True)
        return _fall(low)

    try:
        body: Arm | None = procedures.attempt(
            low, lambda: _body(low, ways, lambda: statements.lower_stmts(low, node.body, ended))
        )
    finally:
        low.handlers.pop()
        low.tries.pop()
        low.builder.watch = watch.around
    if body is None:  # it comes to a call of which nothing is known yet
        low.restore(before)
        handler = _body(low, ways, lambda: _handlers(low, node.handlers, errors))
        _in_place(low, handler)
        return handler.is_dead
    if not watch.seen:  # nothing in the body can raise
        _in_place(low, body)
        return body.is_dead
    chosen = _chosen(low, node, body, watch, errors)
    if chosen is not None:
        body.builder.stmts[-2:] = []  # the exception, which nobody sees
        _in_place(low, body)
        outer = low.builder
        low.loops.append(ways.context())
        arm = statements.settle(low, statements.lower_stmts(low, chosen.body, lambda: _fall(low)), outer)
        low.loops.pop()
        low.builder = outer
        low.restore(arm.state)
        return arm.is_dead
    for stmt in body.builder.stmts[: watch.cut]:  # what cannot raise any of these goes before
        low.builder.add(stmt)
    del body.builder.stmts[: watch.cut]
    low.restore(watch.at_handler())
    handler = _body(low, ways, lambda: _handlers(low, node.handlers, errors))
    around = Caught(tuple(e for group in errors for e in group))
    both = body.is_dead and handler.is_dead
    join_arms(low, Const(True), body, handler, before, origin=low.origin(node), around=around)
    return both


def _chosen(
    low: Lowering, node: ast.Try, body: Arm, watch: _Watch, errors: Sequence[tuple[Ref, ...]]
) -> ast.ExceptHandler | None:
    """The handler that certainly runs: the body does nothing else that may raise than what is known to raise at its end."""
    if not body.is_dead or len(watch.seen) > 1 or low.raised is None or watch.seen[0] is not low.raised[1]:
        return None
    if body.builder.stmts[-1] is not low.raised[1]:
        return None
    error = low.raised[0]
    found = next((h for h, group in zip(node.handlers, errors) if any(issubclass(error, e.value) for e in group)), None)
    return None if found is None or found.name is not None else found


def _in_place(low: Lowering, arm: Arm) -> None:
    for stmt in arm.builder.stmts:
        low.builder.add(stmt)
    low.builder.known.update(arm.builder.known)
    low.restore(arm.state)


def _errors_of(low: Lowering, handler: ast.ExceptHandler) -> tuple[Ref, ...]:
    if handler.type is None:
        return (Ref(Exception, "Exception"),)
    value = expressions.lower(low, handler.type)
    classes = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(c, Ref) and isinstance(c.value, type) and issubclass(c.value, BaseException) for c in classes):
        raise low.refuse(KindError, "what is caught here is not known when the function is compiled", handler)
    return classes


def _handlers(low: Lowering, handlers: Sequence[ast.ExceptHandler], errors: Sequence[tuple[Ref, ...]]) -> statements.Tree:
    """The arm of the handlers: with several, the exception's class chooses."""
    is_read = len(handlers) > 1 or handlers[0].name is not None
    caught = low.builder.apply(ops.CAUGHT, (), kind=EXCEPTION, hint=handlers[0].name or "error") if is_read else None

    def one(i: int) -> statements.Tree:
        handler = handlers[i]

        def run() -> statements.Tree:
            if handler.name is not None and caught is not None:
                cells.bind(low, handler.name, caught)

            def end() -> statements.Tree:
                if handler.name is not None:
                    cells.bind(low, handler.name, Const(UNBOUND))
                return _fall(low)

            return statements.lower_stmts(low, handler.body, end)

        if i == len(handlers) - 1:
            return run()
        classes = errors[i] if len(errors[i]) > 1 else errors[i][0]
        test = low.builder.apply(call_op(isinstance, "isinstance"), (caught, classes), kind=BOOL)  # type: ignore[arg-type]
        return statements.fork(low, test, run, lambda: one(i + 1), handler)

    return one(0)


@dataclass(eq=False)
class _Watch:
    """What a body has changed by the time that something in it may raise."""

    low: Lowering
    frame: Frame
    before: Snapshot
    errors: tuple[type[BaseException], ...]
    around: Callable[[Apply], None] | None  # what watches the body that the try stands in
    builder: Builder | None = None
    cut: int = 0  # how many statements of the body stand before the first that may raise
    names: dict[str, None] = field(default_factory=dict)
    objects: dict[Any, None] = field(default_factory=dict)
    seen: list[Apply] = field(default_factory=list)

    def at_statement(self) -> None:
        """The body comes to a statement of the user's: up to here it is as if it stood before the try."""
        if self.builder is None:
            self.builder = self.low.builder
        if not self.seen and self.low.builder is self.builder:
            self.before, self.cut = (dict(self.frame.vars), dict(self.low.store)), len(self.builder.stmts)

    def see(self, stmt: Apply) -> None:
        if self.around is not None:
            self.around(stmt)
        if not may_raise(stmt, self.errors):
            return
        self.seen.append(stmt)
        names, store = self.before
        for name, value in self.frame.vars.items():
            if not name.startswith("<") and names.get(name) is not value:
                self.names[name] = None
        for ref, state in self.low.store.items():
            if ref in store and store[ref] is not state:
                self.objects[ref] = None

    def at_handler(self) -> Snapshot:
        """What a handler finds."""
        names, store = dict(self.before[0]), dict(self.before[1])
        for name in self.names:
            names[name] = Poison(f"`{name}` may or may not have been assigned before the exception")
        for ref in self.objects:
            if isinstance(ref, (DictRef, ObjectRef, Instance)):
                raise self.low.refuse(
                    SyntaxNotAccepted,
                    "a dict or an object is changed in the body of a try before something that may raise",
                    None,
                    instead="compute first, and store the result in the last statement of the body or behind it.",
                )
            what = ref.hint if isinstance(ref, Var) else loops.list_hint(self.low, ref)
            reason = Poison(f"`{what}` may or may not have been changed before the exception")
            store[ref] = (reason,) if isinstance(ref, ListRef) else reason
        return names, store


# ---------------------------------------------------------------- with


def lower_with(
    low: Lowering, node: ast.With, items: Sequence[ast.withitem], after: statements.Continuation
) -> statements.Tree | None:
    """None when what follows goes on in the same block; otherwise the tree of everything that follows."""
    ways = _Ways(low, next(low.serial))
    ways.begin()
    outer = low.builder
    arm = _entered(low, node, list(items), ways)
    low.builder = outer
    return _finish(low, node, ways, arm, after)


def _unguarded(low: Lowering, node: ast.Try | ast.With, ways: _Ways) -> bool:
    """Lower a body of which no exception is caught; whether all paths end in it."""
    outer = low.builder
    low.loops.append(ways.context())
    try:
        arm = statements.settle(low, statements.lower_stmts(low, node.body, lambda: _fall(low)), outer)
    finally:
        low.loops.pop()
    low.builder = outer
    low.restore(arm.state)
    return arm.is_dead


def _entered(low: Lowering, node: ast.With, items: list[ast.withitem], ways: _Ways) -> bool:
    """Enter the managers, run the body, and leave them; whether all paths end in it."""
    if not items:
        return _unguarded(low, node, ways)
    item, *others = items
    managed = _kept(low, item)
    if managed is not None:
        return _managed(low, node, others, ways, managed)
    if isinstance(item.context_expr, ast.Call):
        fn = expressions.lower(low, item.context_expr.func)
        if isinstance(fn, Ref) and fn.value is contextlib.nullcontext:
            args = [expressions.lower(low, a) for a in item.context_expr.args]
            if item.optional_vars is not None:
                statements.assign(low, item.optional_vars, args[0] if args else Const(None))
            return _entered(low, node, others, ways)
        if isinstance(fn, Ref) and getattr(fn.value, "controls", None) == "checkpoint":
            return _checkpointed(low, node, item.context_expr, others, ways)
        if isinstance(fn, Ref) and fn.value is contextlib.suppress:
            return _suppressing(low, node, item.context_expr, others, ways)
    return _of_users(low, node, item, others, ways)


def _checkpointed(low: Lowering, node: ast.With, call: ast.Call, others: list[ast.withitem], ways: _Ways) -> bool:
    """The loops in the body keep few states for the reverse sweep."""
    named = {k.arg: expressions.lower(low, k.value) for k in call.keywords}
    budget = control.budget_of(low, [expressions.lower(low, a) for a in call.args], named, call)
    builder, mark = low.builder, len(low.builder.stmts)
    is_dead = _entered(low, node, others, ways)
    builder.stmts[mark:] = control.checkpointed(low, builder.stmts[mark:], budget, node)
    return is_dead


def _kept(low: Lowering, item: ast.withitem) -> Managed | None:
    """A manager that is kept as it is, around the forward statements that it holds."""
    expr = item.context_expr
    if isinstance(expr, ast.Call):
        fn = expressions.lower(low, expr.func)
        if not (isinstance(fn, Ref) and fn.value in _KEPT):
            return None
        args = tuple(low.operand(expressions.lower(low, a)) for a in expr.args)
        named = tuple((str(k.arg), low.operand(expressions.lower(low, k.value))) for k in expr.keywords)
        managed = Managed(call_op(fn.value, qualified_name(fn.value)), args, named, fn.value in _MIRRORED)
    else:
        value = expressions.lower(low, expr)
        held = value.value if isinstance(value, (Ref, Instance)) else None
        leave = getattr(type(held), "__exit__", None)
        if leave is None or isinstance(leave, types.FunctionType) or isinstance(held, _MIRRORED):
            return None
        managed = Managed(None, (value.atom if isinstance(value, Instance) else value,))
    if item.optional_vars is not None:
        raise low.refuse(
            SyntaxNotAccepted, "the value of this context manager is read", item.optional_vars, instead="leave `as …` out."
        )
    return managed


def _managed(low: Lowering, node: ast.With, others: list[ast.withitem], ways: _Ways, managed: Managed) -> bool:
    before, outer = low.snapshot(), low.builder
    low.builder = outer.inside()
    inner = low.builder
    is_dead = _entered(low, node, others, ways)
    body = Arm(inner, low.snapshot(), None, is_dead)
    low.builder = outer
    nothing = Arm(outer.inside(), before, None, is_dead=not is_dead)
    join_arms(low, Const(True), body, nothing, before, origin=low.origin(node), around=managed)
    return is_dead


def _suppressing(low: Lowering, node: ast.With, call: ast.Call, others: list[ast.withitem], ways: _Ways) -> bool:
    """contextlib.suppress, as the try statement that it stands for."""
    kind: ast.expr = ast.Tuple(call.args, ast.Load())
    body: list[ast.stmt] = [ast.With(others, node.body)] if others else node.body
    handler = ast.ExceptHandler(ast.copy_location(kind, call), None, [ast.copy_location(ast.Pass(), node)])
    tree = ast.Try(body, [ast.copy_location(handler, node)], [], [])
    for part in (*([body[0]] if others else []), tree):
        ast.copy_location(part, node)
    done = f"<succeeded{next(low.serial)}>"
    low.frame.vars[done] = Const(False)
    is_dead = _guarded(low, tree, ways, done)
    low.frame.vars.pop(done, None)
    return is_dead


def _of_users(low: Lowering, node: ast.With, item: ast.withitem, others: list[ast.withitem], ways: _Ways) -> bool:
    """A manager written in Python: its methods are read like other methods."""
    refusal = low.refuse(
        SyntaxNotAccepted,
        "this context manager is not accepted",
        item.context_expr,
        why="What it does on entry and on exit is not known.",
        instead="use an object with methods __enter__ and __exit__ written in Python, or put it around the call.",
    )
    try:
        manager = expressions.lower(low, item.context_expr)
    except NoRule:
        raise refusal from None
    if not isinstance(manager, (Record, Instance, ObjectRef)):
        raise refusal
    _check_passes_on(low, manager, item)
    from srcdiff.prepare import calls

    enter = expressions.attribute(low, manager, "__enter__", item.context_expr)
    value = calls.call_value(low, enter, (), {}, item.context_expr)
    if item.optional_vars is not None:
        statements.assign(low, item.optional_vars, value)
    is_dead = _entered(low, node, others, ways)
    if not is_dead:
        leave = expressions.attribute(low, manager, "__exit__", item.context_expr)
        calls.call_value(low, leave, (Const(None), Const(None), Const(None)), {}, item.context_expr)
    return is_dead


def _check_passes_on(low: Lowering, manager: Record | Instance | ObjectRef, item: ast.withitem) -> None:
    """Refuse a manager that looks at exceptions, or may suppress them."""
    from srcdiff.read.source import read_function

    cls = type(manager.value) if isinstance(manager, Instance) else manager.cls
    found = getattr(cls, "__exit__", None)
    if not isinstance(found, types.FunctionType):
        raise low.refuse(KindError, f"`{cls.__name__}` has no method __exit__ written in Python", item.context_expr)
    fn = read_function(found).node
    a = fn.args
    of_errors = {p.arg for p in [*a.posonlyargs, *a.args][1:]} | ({a.vararg.arg} if a.vararg else set())
    body = fn.body if isinstance(fn.body, list) else [fn.body]
    reads = any(isinstance(n, ast.Name) and n.id in of_errors for part in body for n in ast.walk(part))
    returns = [n.value for part in body for n in ast.walk(part) if isinstance(n, ast.Return) and n.value is not None]
    if reads or any(not (isinstance(v, ast.Constant) and not v.value) for v in returns):
        raise low.refuse(
            SyntaxNotAccepted,
            f"the method __exit__ of `{cls.__name__}` looks at exceptions, or returns a value",
            item.context_expr,
            instead="catch exceptions with try, and let __exit__ return nothing.",
        )
