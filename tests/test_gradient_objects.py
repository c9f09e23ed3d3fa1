"""What `grad` returns besides a call: sources, the compiled function, and how it behaves as a Python object."""

import contextlib
import copy
import html
import inspect
import io
import linecache
import math
import pickle
import pydoc
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

import srcdiff
from srcdiff import grad, value_and_grad, vjp
from srcdiff.errors import shown_file
from tests.support.gradients import same

ROOT = Path(__file__).parents[1]
X = np.array([1.0, 2.0, 3.0])


@grad(argnums="x")
def decorated(x: np.ndarray, power: float = 2.0, *, scale: float = 1.0) -> float:
    """A sum of powers."""
    return scale * np.sum(x**power)


def plain(x):
    return np.sum(x**2)


# ---------------------------------------------------------------- sources


def test_primal():
    assert decorated.primal(X) == 14.0
    assert grad(plain).primal is plain


def test_source_for_is_a_module_of_its_own():
    source = grad(plain).source_for(X)
    assert source.startswith("def plain_grad(x):\n")
    assert "srcdiff" not in source
    module = {"np": np}
    exec(source, module)
    assert same(module["plain_grad"](X), 2 * X)


def test_source_is_that_of_the_last_call_and_before_it_the_general_form():
    f = grad(lambda x, y: np.sum(x * y))
    assert "def lambda_grad(x, y):" in f.source
    f(X, X)
    assert f.source == f.source_for(X, X)


def test_general_form_holds_for_numbers_and_arrays():
    f = grad(lambda x, y: np.sum(np.tanh(x * y)), argnums=(0, 1))
    module = {"np": np}
    exec(f.source, module)
    general = module["lambda_grad"]
    for x, y in [(2.0, 3.0), (X, 2.0), (X, X), (X[:, None], X), (np.ones((1, 3)), np.ones((2, 1)))]:
        assert same(general(x, y), f(x, y), rtol=1e-14)


def test_annotated_numbers_need_no_general_form():
    def f(x: float, n: int) -> float:
        return math.sin(x) * n

    source = grad(f).source
    assert "srcdiff" not in source
    assert source == grad(f).source_for(0.5, 3)


def test_comments_can_be_left_out():
    def f(x):
        y = x * x
        z = y * np.sin(x) + y * y
        return np.sum(z * np.exp(x))

    assert "# line " in grad(f).source_for(X)
    assert "#" not in grad(f, comments=False).source_for(X)


def test_docstring_and_parameters_are_kept():
    source = decorated.source_for(X)
    assert source.startswith('def decorated_grad(x, power=2.0, *, scale=1.0):\n    """A sum of powers."""\n')


# ---------------------------------------------------------------- the compiled function


def test_compile():
    f = decorated.compile(X)
    assert same(f(X), decorated(X))
    assert same(f(X, scale=2.0), 4 * X)
    assert f.__name__ == "decorated_grad"
    assert f.__doc__ == "A sum of powers."
    assert inspect.isfunction(f)
    assert inspect.getsource(f) == decorated.source_for(X)


def test_compiled_source_survives_a_check_of_the_line_cache():
    f = grad(plain).compile(X)
    linecache.checkcache()
    assert inspect.getsource(f).startswith("def plain_grad")


def test_value_and_grad_is_the_same_object_each_time():
    assert decorated.value_and_grad is decorated.value_and_grad
    assert same(decorated.value_and_grad(X), (np.float64(14.0), 2 * X))


# ---------------------------------------------------------------- a Python object


def test_wraps_the_primal():
    assert (decorated.__name__, decorated.__qualname__, decorated.__module__) == ("decorated", "decorated", __name__)
    assert decorated.__doc__ == "A sum of powers."
    assert decorated.__wrapped__ is decorated.primal
    assert list(inspect.signature(decorated).parameters) == ["x", "power", "scale"]
    assert callable(decorated)


def test_help_shows_the_function():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        pydoc.Helper(output=out).help(decorated)
    assert "A sum of powers." in out.getvalue()
    assert "decorated" in out.getvalue()


def test_repr():
    f = value_and_grad(lambda a, b=2.0: a * b, argnums=(0, "b"))
    assert repr(f) == "<value and gradient of test_repr.<locals>.<lambda>(a, b=2.0) by a, b; 0 variants compiled>"
    f(1.0)
    assert repr(f).endswith("by a, b; 1 variant compiled>")
    assert repr(grad(plain, argnums=-1)) == "<gradient of plain(x) by x; 0 variants compiled>"
    assert repr(grad(np.sin)).startswith("<gradient of sin(")
    _, pullback = vjp(plain, X)
    assert repr(pullback) == "<pullback plain_pullback>"


def test_copies_are_the_gradient_itself():
    assert copy.copy(decorated) is decorated
    assert copy.deepcopy({"f": decorated})["f"] is decorated


def test_pickle_of_a_decorated_function_is_a_reference():
    decorated(X)
    assert pickle.loads(pickle.dumps(decorated)) is decorated


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_of_a_gradient_of_a_function(protocol):
    f = value_and_grad(plain, argnums=("x",))
    f(X)
    again = pickle.loads(pickle.dumps(f, protocol))
    assert same(again(X), f(X))
    assert same(pickle.loads(pickle.dumps(grad(np.sin)))(0.5), grad(np.sin)(0.5))


def test_pickle_reaches_another_process(tmp_path):
    (tmp_path / "model.py").write_text(
        "import numpy as np\nfrom srcdiff import grad\n\n"
        "@grad\ndef loss(x):\n    return np.sum(x ** 2)\n\ndef other(x):\n    return np.sum(x ** 3)\n"
    )
    (tmp_path / "main.py").write_text(
        "import multiprocessing as mp, numpy as np, model\nfrom srcdiff import grad\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(model.loss, [np.ones(2)]), pool.map(grad(model.other), [np.ones(2)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[array([2., 2.])] [array([3., 3.])]\n", done.stderr


def test_sixteen_threads_at_once():
    def loss(params, n):
        x = params["x"]
        for _ in range(n):
            x = np.sin(x) * params["scale"]
        return np.sum(x**2)

    arguments = [({"x": np.full((1 + i % 4,) * (1 + i % 3), 0.1 * i + 0.1), "scale": 1.5}, i % 5) for i in range(16)]
    expected = [value_and_grad(lambda params, n: loss(params, n))(*args) for args in arguments]
    f, results, barrier = value_and_grad(loss), [None] * 16, threading.Barrier(16)

    def run(i):
        barrier.wait()
        results[i] = [f(*arguments[i]) for _ in range(20)]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(result, e, rtol=1e-12) for e, several in zip(expected, results) for result in several)


# ---------------------------------------------------------------- exceptions of the user's own code


def failing(x, y):
    z = x * 2.0
    return math.log(z) ** y


def raised(call, *args):
    with pytest.raises(ValueError, match="math domain error|positive input") as caught:
        call(*args)
    return caught.value


def test_an_exception_names_the_line_of_the_user():
    note = f"in line {failing.__code__.co_firstlineno + 2} of {shown_file(__file__)}: return math.log(z) ** y"
    f = grad(failing)
    assert raised(f, -1.0, 1.0).__notes__ == [note]
    assert raised(f, -1.0, 1.0).__notes__ == [note]
    assert raised(f.value_and_grad, -1.0, 1.0).__notes__ == [note]
    assert raised(vjp, failing, -1.0, 1.0).__notes__ == [note]


def test_an_exception_of_the_reverse_sweep_names_a_line_of_the_user():
    def f(x):
        return math.sqrt(x)

    with pytest.raises(ZeroDivisionError) as caught:
        grad(f)(0.0)
    assert caught.value.__notes__ == [f"in line {f.__code__.co_firstlineno + 1} of {shown_file(__file__)}: return math.sqrt(x)"]


def test_a_traceback_shows_the_emitted_source():
    error = raised(grad(failing).compile(1.0, 1.0), -1.0, 1.0)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    assert frame.filename.startswith("<srcdiff failing_grad ")
    assert frame.line in grad(failing).source_for(1.0, 1.0)
    assert "math.log(" in frame.line


def test_a_failed_assertion_is_the_primals():
    module: dict = {}
    exec_from_text("def f(x, n):\n    assert n > 0, f'n is {n}'\n    return x / n\n", "<checked>", module)
    with pytest.raises(AssertionError) as caught:
        grad(module["f"])(1.0, 0)
    assert str(caught.value) == "n is 0"
    assert caught.value.__notes__ == ["in line 2 of <checked>: assert n > 0, f'n is {n}'"]


def exec_from_text(text, filename, module):
    """Run source that pytest does not rewrite, and that can be found."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), module)


def test_a_wrong_call_is_a_type_error_like_pythons():
    with pytest.raises(TypeError, match=r"plain\(\).*missing.*'x'"):
        grad(plain)()
    with pytest.raises(TypeError, match=r"plain\(\).*too many positional arguments"):
        grad(plain)(X, X)
    with pytest.raises(TypeError, match=r"plain\(\).*unexpected keyword argument 'z'"):
        grad(plain)(X, z=1)
    grad(plain)(X)
    f = grad(plain)
    f(X)
    with pytest.raises(TypeError, match=r"plain\(\).*missing"):
        f()


# ---------------------------------------------------------------- effects


def test_effects_run_once_and_in_order(capsys):
    def f(x):
        print("in", x)
        y = x * x
        for i in range(2):
            print("trip", i)
            y = y * x
        print("out", y)
        return y

    for call in (grad(f), value_and_grad(f), lambda x: vjp(f, x)[1](1.0)):
        call(2.0)
        assert capsys.readouterr().out == "in 2.0\ntrip 0\ntrip 1\nout 16.0\n"


def test_compiling_runs_nothing_of_the_users(capsys):
    def f(x):
        print("ran")
        return x * x

    grad(f).source_for(2.0)
    grad(f).compile(2.0)
    assert capsys.readouterr().out == ""


def test_a_notebook_shows_the_source():
    gradient = grad(lambda x, y: x * y if x < y else x)
    assert gradient._repr_html_() == f"<code>{html.escape(repr(gradient), quote=False)}</code>"
    gradient(1.0, 2.0)
    shown = gradient._repr_html_()
    assert shown.startswith("<code>&lt;gradient of ")
    assert shown.endswith(f"<pre>{html.escape(gradient.source, quote=False)}</pre>")
    assert "x &lt; y" in shown


def test_a_notebook_shows_the_sources_of_a_pullback_and_of_a_linear_map():
    for made in (vjp(np.tanh, 1.0)[1], srcdiff.linearize(np.tanh, 1.0)[1]):
        assert made._repr_html_().endswith(f"<pre>{made.source}</pre>")


def test_a_prompt_completes_the_public_names():
    assert set(dir(srcdiff)) == {*srcdiff.__all__, "__version__"}
