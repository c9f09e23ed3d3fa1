"""Wrong texts made of right ones: the check that the checker of rules would notice.

    return 1 / x2, -y / x2    →    return -(1 / x2), -y / x2      sign
                                   return -y / x2, 1 / x2         swap
                                   return 1, -y / x2              drop
                                   return x2 / 1, -y / x2         swap

A mutant that numbers don't refute may be the same function in another form (`y * y_bar` with its operands swapped).
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from srcdiff.proofs.rules import prove_case
from srcdiff.proofs.settings import cases_of, settings_of
from srcdiff.rules.registry import Rule, Text


@dataclass(frozen=True)
class Mutant:
    """A text with one thing changed: "sign", "drop" or "swap", and what it says there now."""

    sort: str
    says: str
    text: Text

    def __str__(self) -> str:
        return f"{self.sort}: {self.says}"


@dataclass(frozen=True)
class Survey:
    """What became of the mutants of a rule: `same` are proved to be the rule in another form, `unseen` neither."""

    rule: Rule
    refuted: tuple[Mutant, ...]
    same: tuple[Mutant, ...]
    unseen: tuple[Mutant, ...]


def survey(rule: Rule) -> Survey:
    """Try every mutant of a rule on every case beside it."""
    refuted: list[Mutant] = []
    same: list[Mutant] = []
    unseen: list[Mutant] = []
    for mutant in mutants_of(rule):
        outcomes = set()
        for case in cases_of(rule):
            outcomes.add(prove_case(rule, case, mutant.text).outcome)
            if "refuted" in outcomes:
                break
        (refuted if "refuted" in outcomes else same if outcomes == {"proved"} else unseen).append(mutant)
    return Survey(rule, tuple(refuted), tuple(same), tuple(unseen))


def is_zero(rule: Rule) -> bool:
    """Whether the derivative vanishes in all cases: then the rule has no wrong sign."""
    if rule.sort == "decomposed":
        return False
    settings = [setting for case in cases_of(rule) for setting in settings_of(rule, case)]
    return not any(any(truth.values()) for setting in settings for truth in setting.true_numbers)


def mutants_of(rule: Rule) -> list[Mutant]:
    assert rule.text is not None
    return [*_wrapped(rule), *_rewritten(rule.text)]


# ---------------------------------------------------------------------------------------------------- around the text


def _wrapped(rule: Rule) -> Iterator[Mutant]:
    """Each contribution negated, and neighbours swapped."""
    text = rule.text
    assert text is not None
    count = len(rule.wrt)
    if rule.sort == "decomposed" or count == 1:
        yield Mutant("sign", "-(all)", _after(text, _negated))
        return
    for i in range(count):
        yield Mutant("sign", f"-({rule.wrt[i]}_bar)", _after(text, functools.partial(_with_negated, i)))
    for i in range(count - 1):
        names = f"{rule.wrt[i + 1]}_bar, {rule.wrt[i]}_bar"
        yield Mutant("swap", names, _after(text, functools.partial(_with_swapped, i)))


def _with_negated(i: int, parts: Any) -> list[Any]:
    return [_negated(p) if j == i else p for j, p in enumerate(parts)]


def _with_swapped(i: int, parts: Any) -> list[Any]:
    return [*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]]


def _after(text: Text, change: Callable[[Any], Any]) -> Text:
    @functools.wraps(text)
    def mutated(*args: Any, **kwargs: Any) -> Any:
        return change(text(*args, **kwargs))

    return mutated


def _negated(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_negated(v) for v in value]
    return -value


# ---------------------------------------------------------------------------------------------------- within the text


def _rewritten(text: Text) -> Iterator[Mutant]:
    """The text's own source with one expression changed."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(text)))
    except (OSError, TypeError, SyntaxError):
        return
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return
    definition.decorator_list = []
    spots = [node for statement in definition.body for node in ast.walk(statement)]
    for number, node in enumerate(spots):
        for sort, change in _changes(node):
            changed = copy.deepcopy(definition)
            target = [n for statement in changed.body for n in ast.walk(statement)][number]
            says = change(target)
            yield Mutant(sort, says, _compiled(text, changed))


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], str]]]:
    match node:
        case ast.Return(value=ast.Tuple(elts=parts)) if len(parts) > 1:
            for i in range(len(parts)):
                yield "sign", functools.partial(_negate_part, i)
        case ast.Return(value=ast.expr()):
            yield "sign", _negate_result
        case ast.BinOp(op=ast.Add()):
            yield "drop", functools.partial(_keep, "left")
            yield "drop", functools.partial(_keep, "right")
            yield "sign", functools.partial(_operator, ast.Sub())
        case ast.BinOp(op=ast.Sub()):
            yield "drop", functools.partial(_keep, "left")
            yield "sign", functools.partial(_operator, ast.Add())
            yield "swap", _swap_operands
        case ast.BinOp(op=ast.Mult()):
            yield "drop", functools.partial(_keep, "left")
            yield "drop", functools.partial(_keep, "right")
        case ast.BinOp(op=ast.Div()):
            yield "drop", functools.partial(_keep, "left")
            yield "swap", _swap_operands
        case ast.BinOp(op=ast.MatMult() | ast.Pow()):
            yield "swap", _swap_operands
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign", _drop_minus
        case ast.Call(args=[first, second, *_]) if not any(isinstance(a, ast.Starred) for a in (first, second)):
            yield "swap", _swap_arguments


def _negate_part(i: int, node: ast.Return) -> str:
    assert isinstance(node.value, ast.Tuple)
    node.value.elts[i] = ast.UnaryOp(ast.USub(), node.value.elts[i])
    return ast.unparse(node)


def _negate_result(node: ast.Return) -> str:
    assert node.value is not None
    node.value = ast.UnaryOp(ast.USub(), node.value)
    return ast.unparse(node)


def _keep(side: str, node: Any) -> str:
    """`a + b` becomes `a`, in place: a call of nothing around it would be another node, so `+a` stands for it."""
    kept = getattr(node, side)
    says = f"{ast.unparse(kept)} for {ast.unparse(node)}"
    _become(node, kept)
    return says


def _operator(operator: ast.operator, node: ast.BinOp) -> str:
    node.op = operator
    return ast.unparse(node)


def _swap_operands(node: ast.BinOp) -> str:
    node.left, node.right = node.right, node.left
    return ast.unparse(node)


def _drop_minus(node: ast.UnaryOp) -> str:
    says = f"{ast.unparse(node.operand)} for {ast.unparse(node)}"
    _become(node, node.operand)
    return says


def _swap_arguments(node: ast.Call) -> str:
    node.args[0], node.args[1] = node.args[1], node.args[0]
    return ast.unparse(node)


def _become(node: ast.AST, other: ast.AST) -> None:
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(other.__dict__)


def _compiled(text: Text, definition: ast.FunctionDef) -> Text:
    """The definition as a function, in the globals and with the closure of the text."""
    assert isinstance(text, types.FunctionType)
    free = text.__code__.co_freevars
    outer = ast.FunctionDef(
        name="_outer",
        args=ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in free], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=[definition, ast.Return(ast.Name(definition.name, ast.Load()))],
        decorator_list=[],
    )
    if hasattr(ast, "TypeAlias"):
        outer.type_params = []  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    namespace: dict[str, Any] = {}
    exec(compile(module, "<mutant>", "exec"), text.__globals__ | {"__name__": text.__module__}, namespace)
    cells = text.__closure__ or ()
    return namespace["_outer"](*[cell.cell_contents for cell in cells])  # type: ignore[no-any-return]
