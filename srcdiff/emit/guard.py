"""The guard of a variant: a predicate of those facts about the arguments that the variant was compiled with.

def guard(w, b, X, y):
    return w.__class__ is ndarray and w.dtype == float64_dtype and w.ndim == 1 and … and X.shape[0] != 1
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from srcdiff.emit.python import Emitted
from srcdiff.prepare.entry import Structure, tests
from srcdiff.prepare.program import parameters
from srcdiff.read.source import FunctionSource

_AXIS = re.compile(r"^(.*)\.shape\[(\d+)\]$")


def emit_guard(
    source: FunctionSource,
    structures: Mapping[str, Structure],
    requirements: Mapping[str, Any],
    facts: Mapping[str, bool],
    holders: Mapping[str, Any],
) -> Emitted:
    """The guard's source; requirements are further tests, and the structures of globals and cells, reached through holders."""
    known: dict[str, Any] = dict(holders)
    claims: list[str] = []
    for structure in (*structures.values(), *(r for r in requirements.values() if r is not True)):
        claims.extend(tests(structure, known))
    claims.extend(text for text, needed in requirements.items() if needed is True)
    claims.extend(_length_claims(facts, claims))
    names = [p for p, _, _ in parameters(source)]
    prefix = _unused("known", names)
    renamed = {name: f"{prefix}_{i}" for i, name in enumerate(known)}
    body = " and ".join(dict.fromkeys(claims)) or "True"
    for name, new in renamed.items():
        body = re.sub(rf"(?<![\w.\"'])({re.escape(name)})(?![\w\"'])", new, body)
    return Emitted(
        "guard", f"def guard({_signature(source)}):\n    return {body}\n", {renamed[name]: value for name, value in known.items()}
    )


def _length_claims(facts: Mapping[str, bool], claims: list[str]) -> list[str]:
    """Facts about lengths as tests: where no axis of an array may be 1, one test of its shape."""
    out: list[str] = []
    by_array: dict[str, list[str]] = {}
    for expr, is_one in facts.items():
        axis = _AXIS.match(expr)
        if axis is not None and not is_one:
            by_array.setdefault(axis[1], []).append(axis[2])
        else:
            out.append(f"{expr} {'==' if is_one else '!='} 1")
    for path, axes in by_array.items():
        ndim = next((c.rsplit("== ", 1)[1] for c in claims if c.startswith(f"{path}.__class__") and f"{path}.ndim == " in c), "")
        if ndim == str(len(axes)):
            out.append(f"1 not in {path}.shape" if len(axes) > 1 else f"{path}.shape != (1,)")
        else:
            out.extend(f"{path}.shape[{axis}] != 1" for axis in axes)
    return out


def _signature(source: FunctionSource) -> str:
    parts: list[str] = []
    styles = [(name, style, default is not None) for name, style, default in parameters(source)]
    for i, (name, style, has_default) in enumerate(styles):
        default = "=None" if has_default else ""
        if style == "keyword_only" and not any(s in ("star", "keyword_only") for _, s, _ in styles[:i]):
            parts.append("*")
        parts.append({"star": f"*{name}", "double_star": f"**{name}"}.get(style, name + default))
        if style == "positional_only" and (i + 1 == len(styles) or styles[i + 1][1] != "positional_only"):
            parts.append("/")
    return ", ".join(parts)


def _unused(name: str, taken: list[str]) -> str:
    while any(t.startswith(name) for t in taken):
        name += "_"
    return name
