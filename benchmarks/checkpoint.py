"""The gradient of a long loop, with and without checkpoint: time and memory.

    python benchmarks/checkpoint.py                     a table for 10^4, 10^5 and 10^6 trips
    python benchmarks/checkpoint.py --trips 1000        for as many trips

Each figure is of a process of its own: the time of one gradient after a small one, and by how much the process then grew at most.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from srcdiff import checkpoint, grad


def advanced(angle, speed, damping):
    step = 1e-3
    force = -damping * speed - angle + angle**3 / 6
    speed = speed + step * force
    return angle + step * speed, speed


def pendulum(angle, speed, damping, trips):
    for _ in range(trips):
        angle, speed = advanced(angle, speed, damping)
    return angle * angle + speed * speed


def pendulum_in_few_states(angle, speed, damping, trips):
    with checkpoint():
        for _ in range(trips):
            angle, speed = advanced(angle, speed, damping)
    return angle * angle + speed * speed


def pendulum_in_400_states(angle, speed, damping, trips):
    with checkpoint(budget=400):
        for _ in range(trips):
            angle, speed = advanced(angle, speed, damping)
    return angle * angle + speed * speed


def pendulum_in_10000_states(angle, speed, damping, trips):
    with checkpoint(budget=10_000):
        for _ in range(trips):
            angle, speed = advanced(angle, speed, damping)
    return angle * angle + speed * speed


FORMS = {
    "primal": pendulum,
    "every trip kept": pendulum,
    "checkpoint()": pendulum_in_few_states,
    "checkpoint(budget=400)": pendulum_in_400_states,
    "checkpoint(budget=10_000)": pendulum_in_10000_states,
}


def measure(form: str, trips: int) -> dict[str, object]:
    """Run one form once, in this process."""
    arguments = (1.0, 0.0, 0.1)
    run = FORMS[form] if form == "primal" else grad(FORMS[form], argnums=(0, 1, 2)).compile(*arguments, 10)
    run(*arguments, 100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = run(*arguments, trips)
    seconds = time.perf_counter() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"seconds": seconds, "megabytes": grown / 1024, "result": result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trips", type=int, action="append")
    parser.add_argument("--one", choices=FORMS, help="measure one form in this process, and print what came out")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.trips[0])))
        return
    for trips in options.trips or [10**4, 10**5, 10**6]:
        expected = None
        for form in FORMS:
            command = [sys.executable, __file__, "--one", form, "--trips", str(trips)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            if form != "primal":
                expected = expected or found["result"]
                assert all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(found["result"], expected)), form
            print(f"{trips:>9,} trips   {form:<26} {found['seconds']:8.3f} s {found['megabytes']:8.1f} MB", flush=True)


if __name__ == "__main__":
    main()
