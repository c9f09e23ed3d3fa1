"""Statements: from syntax to IR, with control flow as a tree.

    if p: return a          Fork(p, Leaf("return", a), …the rest…)

A statement that may jump takes the rest of its block into the arms that fall through, so that the end of a block is a tree
whose leaves say how it ends. `settle` joins a tree whose leaves all go on in one place; loops turn theirs into Next and Exit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import UNBOUND, Block, Const, If, Origin, Var, Yield
from srcdiff.prepare import arrays, cells, containers, exceptions, expressions, loops, objects, patterns, procedures, writes
from srcdiff.prepare.lowering import Arm, Lowering, Snapshot, join_arms, truth
from srcdiff.prepare.values import DictRef, ListRef, Value, is_atom
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of


@dataclass(eq=False)
class Leaf:
    """How a path ends: "fall", "return", "break", "continue", "exhausted" or "raise"."""

    sort: str
    value: Value
    builder: Builder
    state: Snapshot


@dataclass(eq=False)
class Fork:
    cond: Value
    then: tuple[Builder, Tree]
    orelse: tuple[Builder, Tree]
    origin: Origin | None


Tree = Leaf | Fork
Continuation = Callable[[], Tree]


def leaf(low: Lowering, sort: str, value: Value = None) -> Leaf:
    return Leaf(sort, value, low.builder, low.snapshot())


def leaves(tree: Tree) -> list[Leaf]:
    if isinstance(tree, Leaf):
        return [tree]
    return leaves(tree.then[1]) + leaves(tree.orelse[1])


def settle(low: Lowering, tree: Tree, builder: Builder) -> Arm:
    """Join all leaves of a tree into one path; the value is that of the path taken."""
    if isinstance(tree, Leaf):
        return Arm(tree.builder, tree.state, tree.value, tree.sort == "raise")
    then = settle(low, tree.then[1], tree.then[0])
    orelse = settle(low, tree.orelse[1], tree.orelse[0])
    low.builder = builder
    low.restore(then.state)
    is_dead = then.is_dead and orelse.is_dead
    value = join_arms(low, tree.cond, then, orelse, then.state, with_value=not is_dead, origin=tree.origin)
    return Arm(builder, low.snapshot(), value, is_dead)


def is_dead(tree: Tree) -> bool:
    """Whether all paths end in an exception."""
    return all(leaf.sort == "raise" for leaf in leaves(tree))


# ---------------------------------------------------------------- lists of statements


def lower_stmts(low: Lowering, nodes: Sequence[ast.stmt], k: Continuation) -> Tree:
    """Lower statements; `k` lowers what follows them."""
    for i, node in enumerate(nodes):
        low.node = node
        low.builder.origin = low.origin(node)
        builder = low.builder
        for watch in low.tries:
            watch.at_statement()
        try:
            tree = _lower_stmt(low, node, nodes[i + 1 :], k)
        except exceptions.PathEnds:
            if low.builder is not builder:
                raise low.refuse(
                    SyntaxNotAccepted, "a part of this statement always raises", node, instead="raise in a statement of its own."
                ) from None
            return leaf(low, "raise")
        if tree is not None:
            return tree
    return k()


def _lower_stmt(low: Lowering, node: ast.stmt, rest: Sequence[ast.stmt], k: Continuation) -> Tree | None:
    """Lower a statement; the tree of all that follows it, or None where that goes on in this block."""

    def after() -> Tree:
        return lower_stmts(low, rest, k)

    match node:
        case ast.If():
            return _lower_if(low, node, rest, k)
        case ast.For() | ast.While():
            before = low.snapshot()
            done = procedures.attempt(low, lambda: (loops.lower_loop(low, node, after),))
            if done is None:
                low.restore(before)  # as if it had no trip
                return None
            return done[0]  # type: ignore[no-any-return]
        case ast.Match():
            return patterns.lower_match(low, node, after)
        case ast.Raise():
            return exceptions.lower_raise(low, node)
        case ast.Try():
            return exceptions.lower_try(low, node, after)
        case ast.With():
            return exceptions.lower_with(low, node, node.items, after)
        case ast.Return():
            value = Const(None) if node.value is None else expressions.lower(low, node.value)
            return loops.jump(low, "return", value)  # type: ignore[no-any-return]
        case ast.Break():
            return loops.jump(low, "break")  # type: ignore[no-any-return]
        case ast.Continue():
            return loops.jump(low, "continue")  # type: ignore[no-any-return]
        case _:
            lower_simple(low, node)
            return None


def lower_whole(low: Lowering, nodes: Sequence[ast.stmt]) -> None:
    """Lower statements that end in one place, whatever jumps are among them."""
    builder = low.builder
    arm = settle(low, lower_stmts(low, nodes, lambda: leaf(low, "fall")), builder)
    low.builder = builder
    low.restore(arm.state)


def _lower_if(low: Lowering, node: ast.If, rest: Sequence[ast.stmt], k: Continuation) -> Tree | None:
    """An if statement; None when it falls through and the rest goes on in the same block."""
    cond = objects.truth_of(low, expressions.lower(low, node.test), node.test)
    known = truth(cond, low)
    if known is not None:
        chosen = node.body if known else node.orelse
        if loops.has_jump(chosen):
            return lower_stmts(low, [*chosen, *rest], k)
        outer = low.builder
        arm = settle(low, lower_stmts(low, chosen, lambda: leaf(low, "fall")), outer)
        low.builder = outer
        low.restore(arm.state)
        return None
    cond = _condition(low, cond, node.test)
    if loops.has_jump([node]):
        return fork(
            low, cond, lambda: lower_stmts(low, [*node.body, *rest], k), lambda: lower_stmts(low, [*node.orelse, *rest], k), node
        )
    outer, fall = low.builder, lambda: leaf(low, "fall")
    tree = fork(low, cond, lambda: lower_stmts(low, node.body, fall), lambda: lower_stmts(low, node.orelse, fall), node)
    arm = settle(low, tree, outer)
    low.builder = outer
    low.restore(arm.state)
    return leaf(low, "raise") if arm.is_dead else None


def fork(low: Lowering, cond: Value, then: Continuation, orelse: Continuation, node: ast.AST) -> Tree:
    """Two ways to go on, chosen by what only the run knows."""
    before, outer = low.snapshot(), low.builder
    arms: list[tuple[Builder, Tree]] = []
    for lower_arm in (then, orelse):
        low.restore(before)
        low.builder = outer.inside()
        builder = low.builder
        tree = procedures.attempt(low, lower_arm)
        if tree is not None:
            arms.append((builder, tree))
    low.builder = outer
    if not arms:
        assert low.unknown is not None
        raise low.unknown
    # Of an arm that comes to a call of which nothing is known yet, nothing is known either.
    return arms[0][1] if len(arms) == 1 else forked(low, cond, arms[0], arms[1], low.origin(node))


def forked(low: Lowering, cond: Value, then: tuple[Builder, Tree], orelse: tuple[Builder, Tree], origin: Origin | None) -> Tree:
    """The fork of two arms; where one only raises, the other goes on in this block behind it."""
    dead = [is_dead(tree) for _, tree in (then, orelse)]
    if dead[0] == dead[1]:
        return Fork(cond, then, orelse, origin)
    outer = low.builder
    live, lost = (orelse, then) if dead[0] else (then, orelse)
    arm = settle(low, lost[1], lost[0])
    low.builder = outer
    raising, nothing = Block(tuple(arm.builder.stmts), Yield(())), Block((), Yield(()))
    outer.add(If(cond, raising, nothing, (), origin) if dead[0] else If(cond, nothing, raising, (), origin))
    for stmt in live[0].stmts:
        outer.add(stmt)
    outer.known.update(live[0].known)
    for leaf in leaves(live[1]):
        if leaf.builder is live[0]:
            leaf.builder = outer
    for leaf in leaves(live[1])[:1]:
        low.restore(leaf.state)
    return live[1]


def _condition(low: Lowering, cond: Value, node: ast.expr) -> Value:
    if isinstance(cond, ListRef):
        return low.store[cond]
    if not is_atom(cond):
        raise low.refuse(KindError, "the truth of this value is not known when the function is compiled", node)
    kind = kind_of(cond)
    if (
        isinstance(kind, Array)
        and kind.dims is not None
        and len(kind.dims) > 0
        and any(isinstance(n, int) and n != 1 for n in kind.dims)
    ):
        raise low.refuse(
            KindError, "an array with several elements has no truth value", node, instead="use np.where, np.any or np.all."
        )
    return cond


# ---------------------------------------------------------------- simple statements


def lower_simple(low: Lowering, node: ast.stmt) -> None:
    match node:
        case ast.Assign(targets, value):
            result = expressions.lower(low, value)
            for target in targets:
                assign(low, target, result)
        case ast.AnnAssign(target, _, value):
            if value is not None:
                assign(low, target, expressions.lower(low, value))
        case ast.AugAssign():
            _augmented(low, node)
        case ast.Expr(value):
            if not isinstance(value, ast.Constant):
                expressions.lower(low, value)
        case ast.FunctionDef():
            cells.bind(low, node.name, expressions.decorated(low, node))
        case ast.Assert(test, message):
            _lower_assert(low, test, message)
        case ast.Pass() | ast.Global() | ast.Nonlocal():
            pass
        case ast.Delete(targets):
            for target in targets:
                delete(low, target)
        case ast.Import(names):
            for alias in names:
                expressions.import_module(low, alias)
        case ast.ImportFrom():
            expressions.import_from(low, node)
        case _ if type(node).__name__ == "TypeAlias":  # Python 3.12
            pass
        case _:
            raise low.refuse(SyntaxNotAccepted, f"`{type(node).__name__.lower()}` is not accepted here", node)


def _lower_assert(low: Lowering, test: ast.expr, message: ast.expr | None) -> None:
    cond = expressions.lower(low, test)
    if truth(cond, low) is True:
        return
    args = [low.atom(cond)]
    if message is not None:
        args.append(low.atom(expressions.lower(low, message)))
    low.builder.apply_all(ops.ASSERT, tuple(args), kind=())


def assign(low: Lowering, target: ast.expr, value: Value) -> None:
    """Bind a target; a temporary takes the user's name."""
    match target:
        case ast.Name(name):
            bind_name(low, name, value)
        case ast.Tuple(parts) | ast.List(parts):
            _unpack(low, target, parts, value)
        case ast.Starred(inner):
            assign(low, inner, value)
        case ast.Subscript(owner, index):
            write_item(low, expressions.lower(low, owner), expressions.lower(low, index), value, target)
        case ast.Attribute(owner, name):
            objects.write_attribute(low, expressions.lower(low, owner), name, value, target)
        case _:
            raise low.refuse(SyntaxNotAccepted, "this target of an assignment is not accepted", target)


def delete(low: Lowering, target: ast.expr) -> None:
    match target:
        case ast.Name(name):
            expressions.read_name(low, name, target)
            cells.bind(low, name, Const(UNBOUND))
        case ast.Subscript(owner, index):
            containers.delete_item(low, expressions.lower(low, owner), expressions.lower(low, index), target)
        case ast.Tuple(parts) | ast.List(parts):
            for part in parts:
                delete(low, part)
        case _:
            raise low.refuse(SyntaxNotAccepted, "an attribute is deleted", target, instead="leave it, or set it to None.")


def write_item(low: Lowering, owner: Value, index: Value, value: Value, node: ast.AST) -> None:
    if isinstance(owner, (ListRef, DictRef)):
        containers.write_item(low, owner, index, value, node)
    elif objects.method_of(owner, "__setitem__") is not None:
        objects.call_special(low, owner, "__setitem__", (index, value), node)
    else:
        writes.write_item(low, owner, index, value, node)


def bind_name(low: Lowering, name: str, value: Value) -> None:
    if isinstance(value, Var) and not value.is_users and not name.startswith("<") and value in low.builder.made:
        value.hint, value.is_users = name, True
    cells.bind(low, name, value)


def _unpack(low: Lowering, node: ast.expr, parts: list[ast.expr], value: Value) -> None:
    starred = [i for i, p in enumerate(parts) if isinstance(p, ast.Starred)]
    items = expressions.items_of(low, value, None if starred else len(parts), node)
    if not starred:
        if len(items) != len(parts):
            raise low.refuse(KindError, f"{len(items)} values for {len(parts)} names", node)
        for part, item in zip(parts, items):
            assign(low, part, item)
        return
    at, after = starred[0], len(parts) - starred[0] - 1
    if len(items) < len(parts) - 1:
        raise low.refuse(KindError, f"{len(items)} values for at least {len(parts) - 1} names", node)
    middle = items[at : len(items) - after]
    for part, item in zip(parts[:at], items):
        assign(low, part, item)
    assign(low, parts[at], low.new_list(tuple(middle)))
    for part, item in zip(parts[at + 1 :], items[len(items) - after :]):
        assign(low, part, item)


def _augmented(low: Lowering, node: ast.AugAssign) -> None:
    operator = type(node.op).__name__
    match node.target:
        case ast.Subscript(value, key):
            owner, index = expressions.lower(low, value), expressions.lower(low, key)
            if is_atom(owner):
                writes.update_item(low, owner, index, operator, expressions.lower(low, node.value), node.target)
                return
            if isinstance(owner, (ListRef, DictRef)):
                containers.update_item(low, owner, index, node, lambda item: _updated(low, item, operator, node))
                return
            item = expressions.subscript(low, owner, index, node.target)
            updated = _updated(low, item, operator, node)
            if updated is not item:
                write_item(low, owner, index, updated, node.target)
            return
        case ast.Attribute(value, name):
            owner = expressions.lower(low, value)
            held = expressions.attribute(low, owner, name, node.target)
            updated = _updated(low, held, operator, node)
            if updated is not held:
                objects.write_attribute(low, owner, name, updated, node.target)
            return
    current = expressions.lower(low, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    operand = expressions.lower(low, node.value)
    if _changes_in_place(low, current, operand, node):
        return
    kind = kind_of(current) if is_atom(current) else None
    has_rank = isinstance(kind, Array) and kind.dims is not None
    if has_rank and arrays.is_array(low, current):
        writes.augmented(low, current, operator, operand, node)
        return
    result = objects.in_place(low, operator, current, operand, node)
    if result is None:
        result = expressions.binary(low, operator, current, operand, node)
    if isinstance(kind, Array) and not has_rank:
        raise low.refuse(
            SyntaxNotAccepted,
            f"`{node.target.id}` is an array on one path and a number on another, and is updated in place",
            node,
            why="An update in place changes every name and view of an array, and none of a number.",
            instead=f"write `{node.target.id} = {node.target.id} {writes.SYMBOL.get(operator, '+')} …`.",
        )
    bind_name(low, node.target.id, result)


def _changes_in_place(low: Lowering, current: Value, operand: Value, node: ast.AugAssign) -> bool:
    """Lists grow, and dicts take entries, where they are: `xs += ys`, `xs *= 2`, `d |= e`."""
    match current, node.op:
        case ListRef(), ast.Add():
            containers.extend(low, current, operand, node)
        case ListRef(), ast.Mult():
            repeated = expressions.binary(low, "Mult", current, operand, node)
            containers.put(low, current, low.store[repeated], node)
        case DictRef(), ast.BitOr():
            containers.update(low, current, operand, node)
        case _:
            return False
    return True


def _updated(low: Lowering, current: Value, operator: str, node: ast.AugAssign) -> Value:
    """The value of `current += …` where current is an item or an attribute."""
    operand = expressions.lower(low, node.value)
    if _changes_in_place(low, current, operand, node):
        return current
    if arrays.is_array(low, current):
        writes.augmented(low, current, operator, operand, node)
        return current
    found = objects.in_place(low, operator, current, operand, node)
    return expressions.binary(low, operator, current, operand, node) if found is None else found
