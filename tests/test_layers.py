"""Imports go one way through the layers, and what is heavy is imported only when it is needed."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import srcdiff

ROOT = Path(srcdiff.__file__).parent

# Each part may import from its own rank and from those before it; the parts of one rank must not import in a circle.
LAYERS = [
    {"errors"},
    {"ir", "runtime", "task", "depth", "notebook"},
    {"read"},
    {"rules"},
    {"prepare", "analysis"},
    {"passes"},
    {"transform"},
    {"emit"},
    {"pipeline"},
    {"proofs", "api"},
    {"forward"},
    {"checking", "compositions", "control"},
    {"report"},
    {"cli"},
]
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# Where each may be imported at all, also inside functions.
ONLY_IN = {"sympy": {"proofs"}, "mpmath": {"proofs"}, "astor": {"emit"}, "ast": {"read", "prepare", "emit", "proofs"}}
HEAVY = {"sympy", "mpmath", "astor", "scipy", "numba", "matplotlib"}


def module_name(file):
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): file for file in sorted(ROOT.rglob("*.py"))}


@cache
def imports(name):
    """(module, line, whether it is imported when `name` is) for each import statement of a module."""
    found = []
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]

    def visit(node, runs_on_import):
        if isinstance(node, ast.Import):
            found.extend((alias.name, node.lineno, runs_on_import) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.append((whole if whole in MODULES else base, node.lineno, runs_on_import))
        for child in ast.iter_child_nodes(node):
            is_body = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            is_typing = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING") and child in node.body
            visit(child, runs_on_import and not is_body and not is_typing)

    visit(ast.parse(MODULES[name].read_text(encoding="utf-8")), True)
    return found


def part_of(module):
    """`passes` for srcdiff.passes.fold; None outside of srcdiff and for srcdiff itself."""
    parts = module.split(".")
    return parts[1] if parts[0] == "srcdiff" and len(parts) > 1 else None


def test_every_part_has_a_layer():
    assert {part_of(name) for name in MODULES} - {None} <= RANK.keys()


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_one_way(name):
    part = part_of(name)
    if part is None:
        return
    for module, line, _ in imports(name):
        target = part_of(module)
        assert module != "srcdiff", f"{MODULES[name]}:{line}: import the part, not the package"
        if target is not None:
            assert RANK[target] <= RANK[part], f"{MODULES[name]}:{line}: {part} must not import {target}"


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if len(layer) > 1], ids=" ".join)
def test_no_circle_in_a_layer(layer):
    targets = {part: {part_of(m) for n in MODULES if part_of(n) == part for m, _, _ in imports(n)} - {part} for part in layer}
    for part in layer:
        for other in targets[part] & layer:
            assert part not in targets[other], f"{part} and {other} import one another"


@pytest.mark.parametrize("name", MODULES)
def test_where_packages_may_be_imported(name):
    for module, line, _ in imports(name):
        package = module.split(".")[0]
        if package in ONLY_IN:
            assert part_of(name) in ONLY_IN[package], f"{MODULES[name]}:{line}: {package} is for {ONLY_IN[package]}"


def test_nothing_heavy_is_imported_with_the_package():
    waiting, seen = ["srcdiff"], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for module, line, runs_on_import in imports(name):
            if runs_on_import:
                assert module.split(".")[0] not in HEAVY, f"{MODULES[name]}:{line}: import {module} where it is needed"
                if module in MODULES:
                    waiting.append(module)


def test_nothing_heavy_is_loaded_with_the_package():
    script = f"import sys, srcdiff; print(sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
