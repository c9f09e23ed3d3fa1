"""The passes over a program after its transform, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from srcdiff.ir.nodes import Function
from srcdiff.passes.bound import drop_needless_tests
from srcdiff.passes.contract import contract
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.expand import expand
from srcdiff.passes.hoist import hoist
from srcdiff.passes.inverses import multiply_by_inverses
from srcdiff.passes.list_sums import add_up_in_lists
from srcdiff.passes.reuse import reuse
from srcdiff.passes.shapes import read_shapes_elsewhere
from srcdiff.passes.signs import place_signs
from srcdiff.passes.stores import merge_stores
from srcdiff.passes.structured import multiply_by_structure
from srcdiff.passes.thin_records import thin_records

SIMPLIFYING: tuple[Callable[[Function], Function], ...] = (
    read_shapes_elsewhere,  # what was read for its shape alone is dead from here on
    drop_needless_tests,  # that a name is bound, where something else reads it
    drop_dead_code,  # and what is left is read, so that counts of reads are true
    thin_records,  # of what a trip keeps only what is read
    drop_dead_code,
    hoist,  # invariants before their loops
    multiply_by_inverses,  # an inverse that is there anyway, instead of solving again
    multiply_by_structure,  # diagonals and outer products, without making them
    reuse,  # what the forward sweep has computed already
    contract,  # sums of products as inner products, signs and scalars out of them
    drop_dead_code,  # the products that are not made any more, before signs look at who reads what
    merge_stores,  # a place that is cleared and then given, at once
    place_signs,  # minus signs into constants, differences and scalars, away from whole arrays
    drop_dead_code,  # the signs that went elsewhere
    add_up_in_lists,  # adjoints of arrays, element by element, now that it is settled what is done to them
)

PASSES = (
    expand,  # what has a derivative of its own, once no further one is taken
    *SIMPLIFYING,
)
