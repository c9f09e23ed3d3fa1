"""The builder: makes statements, infers the kinds of their results, and names a common subexpression once.

b.apply(ADD, (x, y))      the Var of `x + y`, the same Var when asked again in this block or one inside it
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, is_scalar
from srcdiff.ir.nodes import Apply, Atom, Block, Const, End, Op, Operand, Origin, Stmt, Var
from srcdiff.ir.walk import map_operand, map_operands, vars_of
from srcdiff.rules.inference import infer, is_basic_index
from srcdiff.rules.registry import rule_for
from srcdiff.rules.without_axes import gives_array

_VERSIONS = frozenset(
    [
        "copy",
        "custom",
        "index_add",
        "index_set",
        "scatter_add",
        "append",
        "pop",
        "insert",
        "assert",
        "raise",
        "caught",
        "effect",
        "unpack",
        "format",
    ]
)

Key = tuple[Op, tuple[Operand, ...], tuple[tuple[str, Operand], ...]]


class Builder:
    """Statements of one block; `parent` is the builder of the block around it, whose values it may use."""

    def __init__(self, parent: Builder | None = None) -> None:
        self.parent = parent
        self.stmts: list[Stmt] = []
        self.known: dict[Key, tuple[Var, ...]] = {}
        self.made: dict[Var, Apply] = {} if parent is None else parent.made
        self.transposed: dict[Var, Atom] = {} if parent is None else parent.transposed
        self.origin: Origin | None = None if parent is None else parent.origin
        self.watch: Callable[[Apply], None] | None = None if parent is None else parent.watch  # told of each statement
        # While a function is lowered: what an array that was written to holds now (`Lowering.current`), and the arrays that
        # two expressions of the user's gave, which are two objects where one of them is written to.
        self.current: Callable[[Var], Operand] | None = None if parent is None else parent.current
        self.written: Container[Var] | None = None if parent is None else parent.written
        self.merged: set[Var] | None = None if parent is None else parent.merged
        self.keeps_apart: bool = False if parent is None else parent.keeps_apart

    def inside(self) -> Builder:
        return Builder(self)

    def block(self, end: End) -> Block:
        return Block(tuple(self.stmts), end)

    def add(self, stmt: Stmt) -> None:
        self.stmts.append(stmt)
        if self.watch is not None and isinstance(stmt, Apply):
            self.watch(stmt)

    def foresee(self, stmts: Iterable[Stmt], written: Container[Var] = ()) -> None:
        """What statements before this block have computed need not be computed again, but for arrays that are written to."""
        for stmt in stmts:
            if (
                isinstance(stmt, Apply)
                and _is_shared(stmt.op, stmt.args)
                and not any(isinstance(t.kind, ListOf) or t in written for t in stmt.targets)
            ):
                self.known.setdefault((stmt.op, stmt.args, stmt.kwargs), stmt.targets)

    def find(self, key: Key) -> tuple[Var, ...] | None:
        scope: Builder | None = self
        while scope is not None:
            found = scope.known.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def apply(
        self,
        op: Op,
        args: tuple[Operand, ...],
        kwargs: tuple[tuple[str, Operand], ...] = (),
        *,
        hint: str = "",
        kind: Kind | None = None,
    ) -> Var:
        """The result of a primitive with one result."""
        return self.apply_all(op, args, kwargs, hint=hint, kind=kind)[0]

    def apply_all(
        self,
        op: Op,
        args: tuple[Operand, ...],
        kwargs: tuple[tuple[str, Operand], ...] = (),
        *,
        hint: str = "",
        kind: Kind | tuple[Kind, ...] | None = None,
    ) -> tuple[Var, ...]:
        if self.current is not None:
            args = map_operands(args, self.current)
            kwargs = tuple((name, map_operand(value, self.current)) for name, value in kwargs)
        key = (op, args, kwargs)
        is_shared = _is_shared(op, args)
        if is_shared:
            found = self.find(key)
            if found is not None and not self._is_written(found) and not (self.merged is not None and self._is_apart(found)):
                return found
        kinds = infer(op, args, kwargs) if kind is None else kind
        if not isinstance(kinds, tuple):
            kinds = (kinds,)
        hints = _RESULTS.get(op.text, ()) if not hint and len(kinds) > 1 else ()
        targets = tuple(Var(hints[i] if hints else hint or _hint(op, args), k) for i, k in enumerate(kinds))
        stmt = Apply(targets, op, args, kwargs, self.origin)
        self.stmts.append(stmt)
        if self.watch is not None:
            self.watch(stmt)
        for target in targets:
            self.made[target] = stmt
        if op is ops.TRANSPOSE:
            self.transposed[targets[0]] = args[0]  # type: ignore[assignment]
        if is_shared and not any(isinstance(k, ListOf) for k in kinds):
            self.known[key] = targets
        return targets

    def _is_written(self, found: tuple[Var, ...]) -> bool:
        """Whether an array that an expression gave before has been written to since, so that it is no longer what that gives."""
        return self.written is not None and any(v in self.written for v in found)

    def _is_apart(self, found: tuple[Var, ...]) -> bool:
        """Whether two expressions of the user's give two arrays; notes that they count as one where it does not matter."""
        assert self.merged is not None
        arrays = [v for v in found if isinstance(v.kind, Array) and self._makes(v) and not is_view(self.made[v])]
        if arrays and not self.keeps_apart:
            self.merged.update(arrays)
        return bool(arrays) and self.keeps_apart

    def _makes(self, value: Var) -> bool:
        """Whether a value is an array, and no scalar."""
        if not is_scalar(value.kind):
            return True
        stmt = self.made[value]
        return bool(gives_array(stmt, stmt.targets.index(value), lambda operand: True))

    def item(self, value: Operand, index: Operand, *, hint: str = "") -> Var:
        return self.apply(ops.ITEM, (value, index), hint=hint)

    def length(self, value: Atom, axis: int) -> Operand:
        """`value.shape[axis]`, or the number where it is known."""
        kind = value.kind
        if isinstance(kind, Array) and kind.dims is not None and isinstance(kind.dims[axis], int):
            return Const(kind.dims[axis])
        shape = self.apply(ops.SHAPE, (value,))
        return self.item(shape, Const(axis))


def _is_shared(op: Op, args: tuple[Operand, ...]) -> bool:
    """Whether a second value of the same primitive and operands is the first one."""
    return op.style not in _VERSIONS and not op.has_effect and not (op is ops.DISPLAY and not isinstance(args[0], tuple))


def is_view(stmt: Apply) -> bool:
    """Whether the result may show the memory of an argument."""
    op = stmt.op
    if op is ops.ITEM:
        return is_basic_index(stmt.args[1])
    if op.style == "call":
        rule = rule_for(op.fn)
        # What is made of numbers shows nothing.
        return rule is None or (rule.is_view and not all(isinstance(v.kind, Number) for v in vars_of(stmt.args)))
    return op.style not in ("binary", "unary") and op not in (ops.ARRAY_COPY, ops.ASTYPE)


_RESULTS: dict[str, tuple[str, ...]] = {
    "np.linalg.svd": ("u", "s", "vh"),
    "np.linalg.eigh": ("w", "v"),
    "np.linalg.qr": ("q", "r"),
    "np.linalg.slogdet": ("sign", "logabsdet"),
}

_HINTS: dict[str, str] = {
    "add": "total",
    "sub": "difference",
    "mul": "product",
    "div": "ratio",
    "pow": "power",
    "matmul": "product",
    "neg": "negative",
    "lt": "is_less",
    "le": "is_less",
    "gt": "is_greater",
    "ge": "is_greater",
    "eq": "is_equal",
    "ne": "differs",
    "len": "n",
    "item": "item",
    "shape": "shape",
    "size": "size",
    "display": "items",
    "not": "is_not",
    "and": "both",
    "or": "either",
    "index_add": "buffer",
}


def _hint(op: Op, args: tuple[Any, ...]) -> str:
    """What a temporary is: `exp_z` for np.exp(z), `W2` for params["W2"], `h_0` for h[0]."""
    first = args[0] if args else None
    named = first.hint if isinstance(first, Var) else getattr(first, "text", "")
    if op is ops.ITEM:
        index = args[1]
        if isinstance(index, Const) and isinstance(index.value, str) and index.value.isidentifier():
            return index.value
        if named and len(named) < 16:
            return (
                f"{named}_{index.value}"
                if isinstance(index, Const) and isinstance(index.value, int) and index.value >= 0
                else f"{named}_item"
            )
    if op is ops.TRANSPOSE and named:
        return f"{named}_T"
    if op.style == "call":
        name = op.text.rsplit(".", 1)[-1]
        joined = f"{name}_{named.removesuffix('_bar')}" if named else name
        return joined if len(joined) <= 24 and joined.isidentifier() else name
    return _HINTS.get(op.key, "value")
