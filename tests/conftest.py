"""The checker of well-formedness runs after each step of the compiler, in every test."""

from srcdiff import pipeline
from srcdiff.ir.check import check


def check_each_step(program):
    check(program, returns_early=True)


pipeline.CHECKS.append(check_each_step)
