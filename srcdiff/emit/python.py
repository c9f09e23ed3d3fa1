"""The IR as the source of one Python function.

    t1 = mul(x, x);  y = sin(t1);  return y          →      def f(x):
                                                                y = np.sin(x * x)
                                                                return y

Passes first bring the program into the form that prints; then variables get names, and the names and statements become
text.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from srcdiff.analysis.freshness import fresh_results, with_fresh
from srcdiff.analysis.liveness import liveness
from srcdiff.emit.bound import to_bind
from srcdiff.emit.expressions import Expressions, constant, name
from srcdiff.emit.layout import lay_out
from srcdiff.emit.naming import name_variables
from srcdiff.emit.scope import Globals, Scope
from srcdiff.emit.statements import Statements
from srcdiff.emit.twins import twins_of
from srcdiff.errors import InternalError
from srcdiff.ir.nodes import Apply, Atom, Free, Function, If, Loop, Managed, Origin, Parameter, Procedure, Range, Ref, Stmt, Var
from srcdiff.ir.walk import atoms_of, blocks_of, map_applies, operands_of, statements_of, variables_of
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.early_return import return_early
from srcdiff.passes.fold import Folded, fold
from srcdiff.passes.forward_copies import forward_copies
from srcdiff.passes.fuse_branches import fuse_branches
from srcdiff.passes.head_tests import free_head_tests
from srcdiff.passes.make_objects import make_objects
from srcdiff.passes.merge_sums import merge_sums
from srcdiff.passes.place import Placed, place
from srcdiff.passes.reread import reread

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_SYNTAX = frozenset(["range", "zip", "enumerate", "reversed", "slice", "float"])


@dataclass(frozen=True)
class Emitted:
    """The source of a function, behind those that it calls, and the outside objects that they name.

    `origins` are those of the statements, in order.
    """

    name: str
    source: str
    bindings: dict[str, object]
    origins: tuple[Origin | None, ...] = ()

    def origin_of(self, line: int) -> Origin | None:
        """The user's line that a line of the source comes from, or that the lines before it do."""
        found = None
        statements = (stmt for definition in ast.parse(self.source).body for stmt in _statements(definition))
        for stmt, origin in zip(statements, self.origins):
            if stmt.lineno > line:
                break
            found = origin or found
        return found


def emit(
    function: Function, scope: Scope, procedures: Mapping[Procedure, Function] | None = None, *, comments: bool = True
) -> Emitted:
    """The Python source of a function and of the procedures that it calls.

    `scope` says how the user's module calls things.
    """
    called = dict(procedures or {})
    names = procedure_names((function, *called.values()), called, scope)
    scope = replace(scope, reserved=scope.reserved | frozenset(names.values()))
    fresh = fresh_results(called)
    function = with_fresh(function, fresh)
    bindings: dict[str, object] = {}
    sources, origins = [], []
    for p, procedure in called.items():
        text, lines = _emitted(replace(with_fresh(procedure, fresh), name=names[p]), scope, names, bindings, comments)
        sources.append(text)
        origins += lines
    text, lines = _emitted(function, scope, names, bindings, comments)
    return Emitted(function.name, "\n\n".join([*sources, text]), bindings, (*origins, *lines))


def _emitted(
    function: Function, scope: Scope, names: Mapping[Procedure, str], bindings: dict[str, object], comments: bool
) -> tuple[str, list[Origin | None]]:
    """The text of one function, and the origins of its statements."""
    function = replace(function, body=map_applies(function.body, lambda stmt: _under_name(stmt, names)))
    placed = make_objects(place(tidied(function)))
    outside, reserved = _outside(placed.function, scope, bindings)
    folded, variables = _named(placed, reserved)
    bound = to_bind(folded.function, variables, folded.folds)
    statements = Statements(Expressions(variables, folded.folds, outside), folded.conditionals, bound, comments)
    body = statements.body(folded.function.body)
    arguments = _arguments(function.params, outside)
    tree = ast.FunctionDef(function.name, arguments, body or [ast.Pass()], [])
    origins = [statements.origins.get(stmt) for stmt in _statements(tree)]
    return lay_out(tree, statements.comments, function.docstring), origins


def procedure_names(functions: Iterable[Function], called: Iterable[Procedure], scope: Scope) -> dict[Procedure, str]:
    """A name for each procedure that nothing else has: no variable, and nothing in the user's module."""
    taken = {v.hint for f in functions for v in variables_of(f)} | {f.name for f in functions if not f.is_inner}
    taken |= scope.reserved | set(scope.globals) | set(dir(builtins))
    names: dict[Procedure, str] = {}
    for procedure in called:
        name, number = procedure.name, 0
        while name in taken:
            number += 1
            name = f"{procedure.name}_{number}"
        taken.add(name)
        names[procedure] = name
    return names


def _under_name(stmt: Apply, names: Mapping[Procedure, str]) -> Apply:
    procedure = stmt.op.procedure
    return stmt if procedure is None else replace(stmt, op=replace(stmt.op, text=names[procedure]))


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements inside of a statement, in the order of the text, without docstrings and the marks of comments."""
    handlers = [stmt for handler in getattr(node, "handlers", ()) for stmt in handler.body]
    for stmt in [*getattr(node, "body", ()), *handlers, *getattr(node, "orelse", ())]:
        if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, (ast.Constant, ast.Name))):
            yield stmt
            yield from _statements(stmt)


def tidied(function: Function) -> Function:
    """The function without dead code and detours, its branches in as few places as possible."""
    fused = fuse_branches(forward_copies(function))
    return reread(free_head_tests(return_early(drop_dead_code(fused))))


def _named(placed: Placed, reserved: set[str]) -> tuple[Folded, dict[Var, str]]:
    """The folded program and its names. What of the user's would have to print under another name is folded too."""
    twins = twins_of(placed.function.body)
    folded, names = _folded(placed, frozenset(), reserved, twins)
    renamed = frozenset(var for var in folded.users if names.get(var, var.hint) != var.hint)
    if renamed:
        folded, names = _folded(placed, renamed, reserved, twins)
    return folded, names


def _folded(placed: Placed, renamed: frozenset[Var], reserved: set[str], twins: dict[Var, Var]) -> tuple[Folded, dict[Var, str]]:
    folded = merge_sums(fold(placed, renamed))
    live = liveness(folded.function, folded.folds)
    return folded, name_variables(folded.function, folded.folds, live, reserved, twins)


# ------------------------------------------------------------ what is outside


def _outside(function: Function, scope: Scope, bindings: dict[str, object]) -> tuple[Globals, set[str]]:
    """Names for all that the function takes from outside, and all names that no variable may have."""
    free = {text for atom in _atoms(function) if isinstance(atom, Free) for text in _NAME.findall(atom.text)}
    users = {var.hint for var in variables_of(function) if var.is_users} | {parameter.name for parameter in function.params}
    outside = Globals(scope, users, free, bindings)
    for parameter in function.params:
        _default(parameter, outside)
    for stmt in statements_of(function.body):
        _name_parts(stmt, outside)
    for atom in _atoms(function):
        if isinstance(atom, Ref):
            outside.name(atom.value, atom.text)
    texts = {stmt.op.text.partition(".")[0] for stmt in _calls(function) if stmt.op.fn is None}
    return outside, free | texts | set(outside.bindings) | outside.used_builtins | _SYNTAX


def _name_parts(stmt: Stmt, outside: Globals) -> None:
    match stmt:
        case Apply(op=op) if op.style in ("call", "effect") and op.fn is not None:
            outside.name(op.fn, op.text)
        case Apply(op=op) if op.style == "scatter_add":
            outside.name(np.add, "np.add")
        case Loop(sources):
            if any(isinstance(source.iterable, Range) and source.iterable.stop is None for source in sources):
                # `enumerate` does for all but a count without another source, or with a step.
                if len(sources) == 1 or any(isinstance(s.iterable, Range) and s.iterable.stop is None for s in sources[1:]):
                    outside.name(itertools.count, "itertools.count")
        case If(around=Managed(op=op)) if op is not None and op.fn is not None:
            outside.name(op.fn, op.text)
        case Apply() | If():
            pass
        case _:
            raise InternalError(f"not a statement: {stmt!r}")


def _calls(function: Function) -> Iterator[Apply]:
    for stmt in statements_of(function.body):
        if isinstance(stmt, Apply) and stmt.op.style in ("call", "effect"):
            yield stmt


def _atoms(function: Function) -> Iterator[Atom]:
    for stmt in statements_of(function.body):
        yield from atoms_of(operands_of(stmt))
        for block in blocks_of(stmt):
            yield from atoms_of(operands_of(block.end))
    ends = [function.body.end]
    while ends:
        end = ends.pop()
        yield from atoms_of(operands_of(end))
        ends += [block.end for block in blocks_of(end)]


# ------------------------------------------------------------ parameters


def _default(parameter: Parameter, outside: Globals) -> ast.expr | None:
    """A default value: a literal as it is, anything else by name."""
    if parameter.default is None:
        return None
    value = parameter.default.value
    if is_literal(value):
        return constant(value)
    return name(outside.name(value, parameter.default.text or f"{parameter.name}_default"))


def is_literal(value: object) -> bool:
    if isinstance(value, tuple):
        return all(is_literal(item) for item in value)
    return value is None or type(value) in (int, bool, str) or (type(value) is float and np.isfinite(value))


def _arguments(params: Iterable[Parameter], outside: Globals) -> ast.arguments:
    """The parameters of a function in Python's form."""
    found = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[], vararg=None, kwarg=None)
    for parameter in params:
        arg, default = ast.arg(parameter.name), _default(parameter, outside)
        match parameter.style:
            case "positional" | "positional_only":
                (found.args if parameter.style == "positional" else found.posonlyargs).append(arg)
                if default is not None:
                    found.defaults.append(default)
            case "keyword_only":
                found.kwonlyargs.append(arg)
                found.kw_defaults.append(default)
            case "star":
                found.vararg = arg
            case "double_star":
                found.kwarg = arg
            case style:
                raise InternalError(f"{style} is no style of a parameter")
    return found


__all__ = ["Emitted", "Scope", "emit", "is_literal", "tidied"]
