"""Passes over a program."""

from srcdiff.passes.dead_code import drop_dead_code

PASSES = [drop_dead_code]
