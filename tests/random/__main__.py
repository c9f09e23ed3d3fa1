"""`python -m tests.random --count N --seed S`: checks many random programs, prints the tally and what failed, made small."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from typing import Any

import srcdiff.pipeline
from srcdiff.ir.check import check as check_form
from srcdiff.ir.nodes import Function
from tests.random.checking import Outcome, check
from tests.random.program import Program
from tests.random.shrinking import shrink
from tests.random.writing import write


def check_each_step(program: Function) -> None:
    check_form(program, returns_early=True)


def label(outcome: Outcome) -> str:
    """The kind of an outcome: its reason without names and numbers."""
    reason = outcome.reason.split(":")[0] if outcome.sort == "wrong" else outcome.reason
    reason = re.sub(r"`[^`]*`|'[^']*'|<srcdiff[^>]*>:[0-9]+|in f: \w+", "…", reason)
    return f"{outcome.sort}: {re.sub(r'-?[0-9.]+e?-?[0-9]*(?!py)', '#', reason)[:110]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first one; programs are numbered from it")
    parser.add_argument("--size", type=int, default=9, help="the most statements at the top of each program")
    parser.add_argument("--each", type=int, default=1, help="how many programs of each kind of failure are shown")
    parser.add_argument("--refusals", action="store_true", help="show refused programs too")
    options = parser.parse_args()
    srcdiff.pipeline.CHECKS.append(check_each_step)
    tally: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = write(seed, options.size)
        outcome = check(program)
        tally[outcome.sort] += 1
        if outcome.sort == "fine" and outcome.reason:
            tally["of these not smooth"] += 1
        if not (outcome.is_failure or outcome.sort == "refused"):
            continue
        kinds[label(outcome)] += 1
        if kinds[label(outcome)] == 1 or outcome.is_failure:
            print(f"seed {seed}: {label(outcome)}", flush=True)
        if kinds[label(outcome)] <= options.each and (outcome.is_failure or options.refusals):
            show(seed, program, outcome)
    print("\n".join(f"{count:6} {sort}" for sort, count in tally.most_common()))
    print("\n".join(f"{count:6} {kind}" for kind, count in kinds.most_common()))
    return int(any(tally[sort] for sort in ("wrong", "crash")))


def show(seed: int, program: Program, outcome: Outcome) -> None:
    wanted = label(outcome)

    deadline = time.monotonic() + 60

    def fails(smaller: Program) -> bool:
        return time.monotonic() < deadline and label(check(smaller)) == wanted

    small = shrink(program, fails)
    text: Any = small.text[small.text.index("def f(") :]
    print(
        f"---- seed {seed}: {wanted}\n{text}\n# args = {small.args}, argnums = {small.argnums}\n{outcome_text(check(small))}",
        flush=True,
    )


def outcome_text(outcome: Outcome) -> str:
    """The reason, the end of a traceback, and the emitted sources."""
    trace, _, source = outcome.detail.partition("\ndef ")
    return "\n".join([outcome.reason, *trace.splitlines()[-8:], source and f"def {source}"])


if __name__ == "__main__":
    sys.exit(main())
