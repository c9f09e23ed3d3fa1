"""Odd arguments, odd constants, and odd texts: each gives a right result or an error that says what it is."""

import functools
import importlib.util
import threading

import numpy as np
import pytest

from srcdiff import KindError, SourceNotFound, grad


def loaded(tmp_path, content, name="odd"):
    file = tmp_path / f"{name}.py"
    file.write_bytes(content)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


TEXT = "def f(x):\n    y = x * 2\n    return y * y\n"


@pytest.mark.parametrize(
    "content",
    [
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        ("# -*- coding: latin-1 -*-\n" + TEXT.replace("y", "\xfc")).encode("latin-1"),
        TEXT.replace("x", "\u03b8").replace("y", "\u53d8").encode(),
        TEXT.replace("    ", "\t").encode(),
        ("\x0c" + TEXT).encode(),
        b"def f(x): y = x * 2; return y * y\n",
        b"from __future__ import annotations\ndef f(x: Unknown) -> Other:\n    y: More = x * 2\n    return y * y\n",
    ],
    ids=["crlf", "cr", "bom", "latin1", "unicode", "tabs", "form feed", "one line", "annotations"],
)
def test_texts(tmp_path, content):
    assert grad(loaded(tmp_path, content))(3.0) == 24.0


def quadratic(x):
    return np.sum(x**2)


def written(x):
    x[0] = 2 * x[1]
    x *= 2
    return np.sum(x)


BASE = np.arange(1.0, 5.0)
READ_ONLY = BASE.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "x",
    [BASE[::-1], np.arange(10.0)[::3], READ_ONLY, np.broadcast_to(2.0, 4), BASE.astype(np.float16), BASE.astype(np.longdouble)],
    ids=["backwards", "strided", "read only", "broadcast", "float16", "longdouble"],
)
def test_arrays(x):
    before = x.copy()
    gradient = grad(quadratic)(x)
    assert gradient.dtype == x.dtype
    assert np.array_equal(gradient, 2 * before)
    assert np.array_equal(grad(written)(x), np.array([0, 6, 2, 2], x.dtype))
    assert np.array_equal(x, before)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays(shape):
    assert grad(quadratic)(np.zeros(shape)).shape == shape
    assert grad(lambda x: np.sum(np.sin(x) * x))(np.zeros(shape)).shape == shape


@pytest.mark.parametrize(
    "x, what",
    [
        (BASE.astype(object), "`np.mean` is given a value that is neither number nor array (an array of dtype object)"),
        (np.array(["a"]), "`np.mean` is given a value that is neither number nor array (an array of dtype <U1)"),
        (np.ma.array(BASE, mask=[0, 1, 0, 0]), "`x` is a `numpy.ma.MaskedArray`"),
        (BASE.view(np.matrix), "`x` is a `numpy.matrix`"),
        (BASE.astype(">f8"), "`x` has the byte order of another machine (dtype >f8)"),
    ],
    ids=["objects", "strings", "masked", "matrix", "byte order"],
)
def test_arrays_that_are_refused(x, what):
    with pytest.raises(KindError) as caught:
        grad(lambda x: np.mean(x))(x)
    assert caught.value.what == what


def test_what_no_function_takes_is_named_in_words():
    with pytest.raises(KindError, match=r"`\*\*` is given a value that is neither number nor array \('abc'\)"):
        grad(quadratic)("abc")
    with pytest.raises(KindError, match=r"`sin` is given a value that is neither number nor array \(a string\)"):
        grad(lambda x, s: np.sin(s) * x)(1.0, "a")


def test_division_by_zero_is_left_to_the_run():
    def caught(x):
        try:
            return x / 0
        except ZeroDivisionError:
            return x * x

    assert grad(caught)(3.0) == 6.0
    with pytest.raises(ZeroDivisionError) as raised:
        grad(lambda x: x / 0)(3.0)
    assert "in line" in raised.value.__notes__[0]


def test_a_cached_function_is_read():
    @functools.lru_cache
    def square(x):
        return x * x

    assert grad(square)(3.0) == 6.0
    assert square.cache_info().misses == 0


def test_code_without_a_text():
    names = {}
    exec("def f(x):\n    return x * x\n", names)
    with pytest.raises(SourceNotFound, match="the source of `f` is not available"):
        grad(names["f"])(3.0)


def test_threads_at_the_first_call():
    gradient = grad(lambda x: np.sum(np.tanh(x) * x))
    start, results = threading.Barrier(8), []

    def work():
        start.wait()
        results.append(gradient(BASE))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8
    assert all(np.array_equal(r, results[0]) for r in results)
    assert "1 variant compiled" in repr(gradient)
