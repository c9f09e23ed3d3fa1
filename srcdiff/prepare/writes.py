"""Writes into arrays: each makes a new version of the array's object.

A[i] = v      A_1 = index_set(A, i, v)
"""

from __future__ import annotations

import ast

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import Value


def write_item(low: Lowering, owner: Value, index: Value, value: Value, node: ast.AST) -> None:
    """`owner[index] = value`, of an array."""
    raise low.refuse(
        SyntaxNotAccepted,
        "assignment to an item of an array is not accepted",
        node,
        why="A gradient is made of values that stay what they are; what an assignment like this overwrites is not followed.",
        instead="make the whole value at once: np.where, np.concatenate, or a list built with append and np.stack.",
    )


def update_item(low: Lowering, owner: Value, index: Value, operator: str, value: Value, node: ast.AST) -> None:
    """`owner[index] += value`, of an array; the operator is the name of its node."""
    write_item(low, owner, index, value, node)
