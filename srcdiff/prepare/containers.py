"""Writes into lists and dicts: each changes what the store says of the object.

hs[0] = v     store[hs] = (v, …)
"""

from __future__ import annotations

import ast

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import DictRef, ListRef, Value


def write_item(low: Lowering, owner: ListRef | DictRef, index: Value, value: Value, node: ast.AST) -> None:
    """`owner[index] = value`, of a list or dict."""
    raise low.refuse(
        SyntaxNotAccepted,
        "assignment to an item of a list or dict is not accepted",
        node,
        why="A gradient is made of values that stay what they are; what an assignment like this overwrites is not followed.",
        instead="make the whole value at once: a list built with append, a dict by a display.",
    )
