"""The node that a function was compiled from: wrappers, lambdas, cells, files that changed, and text that is not there."""

import ast
import doctest
import functools
import importlib.util
import linecache
import os
import statistics
import subprocess
import sys
import textwrap
import time
import zipfile

import numpy as np
import pytest

from srcdiff.errors import SourceNotFound
from srcdiff.read import source as source_module
from srcdiff.read.source import read_function


@pytest.fixture
def load(tmp_path):
    def load_text(text, name="model"):
        file = tmp_path / f"{name}.py"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load_text


def text_of(f):
    source = read_function(f)
    origin = source.origin(source.node)
    assert origin.line == source.node.lineno
    return ast.unparse(source.node)


def test_what_a_source_holds(load):
    module = load('''\
        def outer(scale):
            def loss(x, y=2.0, *, z=3.0):
                """Say what it is.

                And more.
                """
                return scale * x + y + z
            return loss
        ''')
    loss = module.outer(5.0)
    source = read_function(loss)
    assert isinstance(source.node, ast.FunctionDef)
    assert (source.name, source.qualname, source.file, source.first_line) == (
        "loss",
        "outer.<locals>.loss",
        module.__file__,
        2,
    )
    assert source.lines[6] == "        return scale * x + y + z"
    assert source.cells["scale"].cell_contents == 5.0
    assert (source.defaults, source.kwdefaults) == ((2.0,), {"z": 3.0})
    assert source.docstring == "Say what it is.\n\nAnd more."
    assert source.globals is vars(module)
    assert source.class_cell is None


def test_origin_counts_characters_in_the_line_of_the_file(load):
    source = read_function(load('def f(x):\n    return g("é数", x) + h(\n        x)\n').f)
    (statement,) = source.node.body
    origin = source.origin(statement.value.left)
    assert (origin.line, origin.text[origin.column : origin.end_column]) == (2, 'g("é数", x)')
    assert origin.text == '    return g("é数", x) + h('
    origin = source.origin(statement)
    assert (origin.line, origin.end_line, origin.end_column) == (2, 3, 10)


def test_wrapper_is_read_not_what_it_wraps(load):
    module = load("""\
        import functools

        def twice(f):
            @functools.wraps(f)
            def wrapper(x):
                return 2 * f(x)
            return wrapper

        @twice
        def g(x):
            return x
        """)
    assert text_of(module.g) == "@functools.wraps(f)\ndef wrapper(x):\n    return 2 * f(x)"
    assert text_of(module.g.__wrapped__) == "@twice\ndef g(x):\n    return x"
    assert read_function(module.g.__wrapped__).first_line == 9
    assert read_function(module.g).name == "wrapper"


def test_methods_and_class_cell(load):
    module = load("""\
        class Model:
            @staticmethod
            def rate(x): return x
            def __hidden(self): return super().f()
        """)
    assert text_of(module.Model.rate) == "@staticmethod\ndef rate(x):\n    return x"
    hidden = read_function(module.Model._Model__hidden)
    assert hidden.name == "__hidden"
    assert hidden.class_cell.cell_contents is module.Model


LAMBDAS = """\
    a, b = lambda x: x * 2, lambda x: x*2
    c, d = (lambda x: lambda y: x + y), lambda x: x
    e = [lambda x: x + 1,
         lambda x: (x +
                    2), lambda: 0, lambda é: "é" + é]
    n = lambda: lambda: 0
    def apply(f, x=1): return f
    g = apply(lambda u: u + 1, (lambda v: v)(3)); h = apply(
        lambda u:
            u + 2)
    i = apply(lambda x, k=(lambda: 7): x + k())
    """


def check_lambdas(module):
    assert text_of(module.c) == "lambda x: lambda y: x + y"
    assert text_of(module.c(1)) == "lambda y: x + y"
    assert text_of(module.d) == "lambda x: x"
    assert [text_of(f) for f in module.e] == ["lambda x: x + 1", "lambda x: x + 2", "lambda: 0", "lambda é: 'é' + é"]
    assert text_of(module.n) == "lambda: lambda: 0"
    assert text_of(module.n()) == "lambda: 0"
    assert text_of(module.g) == "lambda u: u + 1"
    assert text_of(module.h) == "lambda u: u + 2"
    assert text_of(module.i) == "lambda x, k=lambda: 7: x + k()"
    assert text_of(module.i.__defaults__[0]) == "lambda: 7"
    assert text_of(module.a) == text_of(module.b) == "lambda x: x * 2"


def test_lambdas_that_share_a_line(load):
    module = load(LAMBDAS)
    check_lambdas(module)
    a, b = read_function(module.a), read_function(module.b)
    assert (a.node.col_offset, b.node.col_offset) == (7, 24)


def test_lambdas_without_column_numbers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(LAMBDAS) + "p, q = (lambda: lambda: 0), lambda: 0\n")
    run_python(
        tmp_path,
        "-X",
        "no_debug_ranges",
        "-c",
        "import importlib.util, script\n"
        f"spec = importlib.util.spec_from_file_location('test_source', {__file__!r})\n"
        "tests = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(tests)\n"
        "tests.check_lambdas(script)",
    )


def run_python(folder, *arguments):
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lambdas_that_cannot_be_told_apart(load, monkeypatch):
    module = load("f, g = (lambda x, y: x - y), (lambda x, y: y - x)\n")
    code = module.f.__code__.replace(co_linetable=b"")
    monkeypatch.setattr(module.f, "__code__", code)
    monkeypatch.setattr(source_module, "_compiles_to", lambda *_: True)
    with pytest.raises(SourceNotFound) as caught:
        read_function(module.f)
    assert str(caught.value) == (
        "model.py:1: which of the 2 functions in this line is `<lambda>` cannot be told\n"
        "     1 | f, g = (lambda x, y: x - y), (lambda x, y: y - x)\n"
        "         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  They use the same names, and the running code has no column numbers that would settle it.\n"
        "  Instead: give each of the functions in line 1 a line of its own."
    )


def test_functions_with_assert_in_a_test_module():
    # pytest has rewritten this one.
    def loss(x):
        assert x > 0
        return x * x

    assert text_of(loss) == "def loss(x):\n    assert x > 0\n    return x * x"


def test_future_annotations_and_imported_names(load):
    module = load("""\
        from __future__ import annotations
        import numpy as np
        try:
            import math as m
        except ImportError:
            m = None

        def f(x: Unknown) -> Unknown:
            return np.sin(x) + m.cos(x)
        """)
    assert text_of(module.f).startswith("def f(x: Unknown)")


def test_file_in_another_encoding(tmp_path):
    file = tmp_path / "latin.py"
    file.write_bytes("# -*- coding: latin-1 -*-\r\ndef f(x):\r\n    é = x\r\n    return é\r\n".encode("latin-1"))
    spec = importlib.util.spec_from_file_location("latin", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert text_of(module.f) == "def f(x):\n    é = x\n    return é"
    assert read_function(module.f).lines[2] == "    é = x"


def test_module_in_a_zip_file(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as archive:
        archive.writestr("zipped_model.py", "def f(x):\n    return x * x\n")
    monkeypatch.syspath_prepend(str(tmp_path / "models.zip"))
    module = importlib.import_module("zipped_model")
    assert text_of(module.f) == "def f(x):\n    return x * x"


def test_notebook_cell_compiled_statement_by_statement():
    text = "import numpy as np\ndef f(x):\n    return np.sin(x)\n"
    name = "/nowhere/ipykernel_1/1234.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {}
    try:
        for statement in ast.parse(text).body:
            exec(compile(ast.Module([statement], []), name, "exec"), namespace)
        assert text_of(namespace["f"]) == "def f(x):\n    return np.sin(x)"
    finally:
        del linecache.cache[name]


def test_doctest():
    example = doctest.DocTestParser().get_doctest(
        ">>> f = lambda x: x + 1\n>>> text_of(f)\n'lambda x: x + 1'\n", {"text_of": text_of}, "model", None, None
    )
    assert doctest.DocTestRunner().run(example).failed == 0


COMMAND = """
from srcdiff import grad, SourceNotFound
@grad
def f(x):
    assert x > 0, f"{x}"
    return x * x
print(f(3.0), grad(lambda x: x**3)(2.0))
names = {}
exec("def f(x):\\n    return x + x", names)
try:
    grad(names["f"])(1.0)
except SourceNotFound as error:
    print(error.what)
"""


@pytest.mark.parametrize("options", [["-c", COMMAND, "-c", "0"], ["-W", "error", "-Bc", COMMAND], ["-X", "utf8", "-c" + COMMAND]])
def test_a_command_on_the_command_line(options):
    run = subprocess.run([sys.executable, *options], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("6.0 12.0\nthe source of `f` is not available\n", "")


NOT_AVAILABLE = """\
the source of `f` is not available
  It was compiled from <string>, line 1, and that text is not kept: it was made by exec or eval, or typed at a prompt, \
or the file is gone.
  Instead: write the function in a file or in a notebook cell, and import or call it from there."""


def test_exec_has_no_source():
    namespace = {}
    exec("def f(x): return x", namespace)
    with pytest.raises(SourceNotFound) as caught:
        read_function(namespace["f"])
    assert str(caught.value) == NOT_AVAILABLE


def test_exec_has_no_source_in_a_command(tmp_path):
    # Python 3.13 keeps the text of -c under the name that exec uses too.
    out = run_python(
        tmp_path,
        "-c",
        "from srcdiff.read.source import read_function\n"
        "exec('def f(x): return x')\n"
        "try: read_function(f)\n"
        "except OSError as error: print(error)",
    )
    assert out == NOT_AVAILABLE + "\n"


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (np.sin, "`sin` has no source in Python\n  It is a ufunc, and srcdiff has no derivative rule for it."),
        (len, "`len` has no source in Python\n  It is a builtin_function_or_method, and srcdiff has no derivative rule for it."),
        (
            functools.partial(len),
            "`partial` has no source in Python\n  It is a partial, and srcdiff has no derivative rule for it.",
        ),
    ],
)
def test_not_a_python_function(f, text):
    with pytest.raises(SourceNotFound) as caught:
        read_function(f)
    assert str(caught.value) == f"{text}\n  Instead: write it as a Python function of operations that have rules."


def test_cached_function_names_the_way_in():
    @functools.lru_cache
    def f(x):
        return x

    with pytest.raises(SourceNotFound) as caught:
        read_function(f)
    assert str(caught.value) == (
        "`f` has no source of its own\n"
        "  It is a _lru_cache_wrapper around a function.\n"
        "  Instead: differentiate the function inside: f.__wrapped__."
    )


CHANGED = """\
model.py:{line}: the text of `f` is not the code that runs
{excerpt}  The file changed after it was imported, or an import hook rewrites it.
  Instead: import the module again: restart, or importlib.reload(module)."""


@pytest.mark.parametrize(
    ("after", "excerpt"),
    [
        ("def f(x):\n    return 3 * x\n", "     1 | def f(x):\n         ^^^^^^^^^\n"),
        ("# moved\ndef f(x):\n    return 2 * x\n", "     1 | # moved\n         ^^^^^^^\n"),
        ("def f(x:\n", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("is_read_before", [False, True])
def test_file_that_changed(load, after, excerpt, is_read_before):
    module = load("def f(x):\n    return 2 * x\n")
    if is_read_before:
        assert text_of(module.f) == "def f(x):\n    return 2 * x"
    with open(module.__file__, "w") as stream:
        stream.write(after)
    os.utime(module.__file__, ns=(1, 1))
    with pytest.raises(SourceNotFound) as caught:
        read_function(module.f)
    assert str(caught.value) == CHANGED.format(line=1, excerpt=excerpt)


def test_reading_another_function_of_a_file_is_quick(load):
    body = "\n\n".join(f"def f{i}(x, y=1.0):\n    z = x * y + {i}\n    return z - x" for i in range(75))
    module = load("import numpy as np\n" + body)
    read_function(module.f0)
    times = []
    for i in range(1, 75):
        start = time.perf_counter()
        read_function(getattr(module, f"f{i}"))
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 1.5e-3
