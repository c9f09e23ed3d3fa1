"""Writes into objects of the user's classes.

self.w = v
"""

from __future__ import annotations

import ast

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import Value


def write_attribute(low: Lowering, owner: Value, name: str, value: Value, node: ast.AST) -> None:
    """`owner.name = value`."""
    raise low.refuse(
        SyntaxNotAccepted,
        "assignment to an attribute is not accepted",
        node,
        why="A gradient is made of values that stay what they are; what an assignment like this overwrites is not followed.",
        instead="assign to a local name, or make a new object with dataclasses.replace.",
    )
