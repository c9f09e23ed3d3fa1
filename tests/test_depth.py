"""Programs that nest deeper than the stack of Python usually allows."""

import importlib.util
import sys
import threading

import numpy as np
import pytest

from srcdiff import SyntaxNotAccepted, depth, grad


def written(tmp_path, body, name="deep"):
    file = tmp_path / f"{name}.py"
    file.write_text(f"import math\n\nimport numpy as np\n\n\ndef f(x):\n{body}")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def test_a_sum_of_many_terms(tmp_path):
    f = written(tmp_path, "    return " + " + ".join(f"x * {i}" for i in range(400)) + "\n")
    assert grad(f)(1.5) == sum(range(400))


def test_a_chain_of_many_cases(tmp_path):
    cases = "".join(f"    elif x < {i}:\n        y = x * {i}\n" for i in range(1, 150))
    f = written(tmp_path, f"    if x < 0:\n        y = x\n{cases}    else:\n        y = x * x\n    return y\n")
    assert grad(f)(41.5) == 42
    assert grad(f)(200.0) == 400


def test_many_parentheses(tmp_path):
    f = written(tmp_path, "    return " + "(" * 150 + "x" + " * 1.001)" * 150 + "\n")
    assert grad(f)(1.0) == pytest.approx(1.001**150)


def test_a_caller_that_is_deep_itself():
    def call(depth):
        return grad(lambda x: np.sin(x) * x)(2.0) if depth == 0 else call(depth - 1)

    used, frame = 0, sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back
    assert call(sys.getrecursionlimit() - used - 60) == pytest.approx(np.sin(2.0) + 2 * np.cos(2.0))


def test_what_never_ends_is_refused_and_leaves_the_limits_as_they_were():
    def endless():
        return endless()

    before = sys.getrecursionlimit(), threading.stack_size()
    with pytest.raises(SyntaxNotAccepted) as caught:
        depth.with_room(endless, "endless")
    assert str(caught.value) == (
        "`endless` nests too deeply\n"
        "  The compiler goes down into its expressions, statements and calls, and the stack of Python ends before they do.\n"
        "  Instead: give parts of long expressions names of their own, and see that its calls of itself come to an end."
    )
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_other_errors_come_through_from_the_large_stack():
    calls = []

    def work():
        calls.append(threading.current_thread())
        raise RecursionError if len(calls) == 1 else KeyError("x")

    with pytest.raises(KeyError):
        depth.with_room(work, "work")
    assert calls[0] is not calls[1]
