"""The same program gives the same text, to the byte: in any process, after any other, whatever the hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = ["classifier", "comprehensions", "dataclass_params", "helpers", "newton", "nested_loops", "pullback", "recurrent"]

SCRIPT = """
import sys
from tests.golden.collection import load

for name in sys.argv[1:]:
    print("==", name)
    try:
        print(load(name).emitted())
    except Exception as error:
        print(type(error), error)
"""


@pytest.fixture(scope="module")
def texts():
    """What four processes emit: other hash seeds, and for the last two the programs in the opposite order."""
    processes = []
    for seed, names in [("0", PROGRAMS), ("1", PROGRAMS), ("2", PROGRAMS[::-1]), ("random", PROGRAMS[::-1])]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-c", SCRIPT, *names]
        processes.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8"))
    outputs = [process.communicate()[0] for process in processes]
    return [dict(part.split("\n", 1) for part in output.split("== ")[1:]) for output in outputs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_the_same_in_each_process(texts, name):
    first, *others = [text[name] for text in texts]
    assert first.startswith("def ")
    assert others == [first] * 3
