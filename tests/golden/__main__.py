"""Rewrite expectations from what srcdiff emits now, so that the difference can be reviewed.

    python -m tests.golden                     which programs differ, and how
    python -m tests.golden --update            rewrite all expectations
    python -m tests.golden --update recurrent  rewrite this one

It exits with 1 if a program differs, or does not compile.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import traceback

from tests.golden.collection import NAMES, expectation, load


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Compare or rewrite the expected sources.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--update", action="store_true", help="rewrite the expectations")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")

    bad = 0
    for name in options.names or NAMES:
        file = expectation(name)
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        try:
            now = load(name).emitted()
        except Exception:
            print(f"{name}: does not compile\n{traceback.format_exc(limit=-3)}")
            bad += 1
            continue
        if now == before:
            continue
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), f"{name}, expected", f"{name}, emitted", lineterm="")
        print("\n".join(lines), end="\n\n")
        if options.update:
            file.write_text(now, encoding="utf-8")
        else:
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
