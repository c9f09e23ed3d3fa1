"""Makes a failing program smaller: statements go, blocks take the place of what holds them, operands that of expressions.

shrink(program, fails)  →  the smallest program found for which `fails` still holds
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.random.program import Program

_BLOCKS = ("body", "orelse")


def shrink(program: Program, fails: Callable[[Program], bool], attempts: int = 600) -> Program:
    module = ast.parse(program.text)
    changed = True
    while changed:
        changed, position = False, 0
        while attempts > 0 and (candidate := next(itertools.islice(_smaller(module), position, None), None)) is not None:
            smaller = _written(program, candidate)
            attempts -= smaller is not None
            if smaller is not None and fails(smaller):
                program, module, changed = smaller, candidate, True
            else:
                position += 1
    return program


def _written(program: Program, module: ast.Module) -> Program | None:
    if not _ends(module):
        return None
    text = ast.unparse(ast.fix_missing_locations(module))
    return replace(program, text=text) if len(text) < len(program.text) else None


def _smaller(module: ast.Module) -> Iterator[ast.Module]:
    """Modules with one piece of `f` less; first those that lose most, then the helpers that nothing calls."""
    f = _function(module)
    for path, statement in sorted(_statements(f), key=lambda found: -len(ast.dump(found[1]))):
        yield _with(module, path, [])
        for name in _BLOCKS:
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and inner:
                yield _with(module, path, inner)
                if name == "orelse":
                    yield _without_else(module, path)
    for n, node in enumerate(_expressions(f)):
        for child in ast.iter_child_nodes(node):
            if (
                child is not getattr(node, "func", None)
                and isinstance(child, ast.expr)
                and isinstance(getattr(child, "ctx", ast.Load()), ast.Load)
            ):
                yield _with_expression(module, n, child)
    for n, statement in enumerate(module.body):
        if statement is not f and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield ast.Module([*module.body[:n], *module.body[n + 1 :]], [])


def _ends(module: ast.Module) -> bool:
    """Whether each while loop still begins by counting what it tests."""
    for loop in ast.walk(_function(module)):
        if isinstance(loop, ast.While):
            tested = {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)}
            match loop.body[0]:
                case ast.AugAssign(ast.Name(name)) if name in tested:
                    continue
                case _:
                    return False
    return True


Path = tuple[tuple[str, int], ...]


def _function(module: ast.Module) -> ast.FunctionDef:
    return next(s for s in module.body if isinstance(s, ast.FunctionDef) and s.name == "f")


def _statements(node: ast.AST, path: Path = ()) -> Iterator[tuple[Path, ast.stmt]]:
    for name in _BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list):
            for n, statement in enumerate(block):
                here = (*path, (name, n))
                yield here, statement
                yield from _statements(statement, here)


def _copied(module: ast.Module) -> tuple[ast.Module, ast.FunctionDef]:
    f = _function(module)
    new = copy.deepcopy(f)
    return ast.Module([new if s is f else s for s in module.body], []), new


def _with(module: ast.Module, path: Path, statements: list[ast.stmt]) -> ast.Module:
    changed, node = _copied(module)
    holder: ast.AST = node
    for name, n in path[:-1]:
        holder = getattr(holder, name)[n]
    name, n = path[-1]
    block = getattr(holder, name)
    block[n : n + 1] = copy.deepcopy(statements)
    if not block and name == "body":
        block.append(ast.Pass())
    return changed


def _without_else(module: ast.Module, path: Path) -> ast.Module:
    changed, node = _copied(module)
    holder: ast.AST = node
    for name, n in path:
        holder = getattr(holder, name)[n]
    holder.orelse = []  # type: ignore[attr-defined]
    return changed


def _expressions(f: ast.FunctionDef) -> list[ast.expr]:
    return [
        n for s in f.body for n in ast.walk(s) if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", ast.Load()), ast.Load)
    ]


def _with_expression(module: ast.Module, n: int, child: ast.expr) -> ast.Module:
    changed, f = _copied(module)
    old = _expressions(f)[n]

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return copy.deepcopy(child) if node is old else super().visit(node)

    Replace().visit(f)
    return changed
