"""The whole text of each refusal: where, what, why, and what to do instead."""

import importlib.util
import itertools
import math
import textwrap

import numpy as np
import pytest

from srcdiff import KindError, NoRule, NotDifferentiable, SourceNotFound, SrcdiffError, SyntaxNotAccepted, check_grads, grad, vjp

X = np.array([1.0, 2.0, 3.0])
VECTORIZED = np.frompyfunc(abs, 1, 1)
COUNT = itertools.count()


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """The class and the text of the error for `loss` in a file with this source, or of another call of it."""

    def error_of(source, *args, call=None, **options):
        (tmp_path / "model.py").write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"model_{next(COUNT)}", tmp_path / "model.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with pytest.raises(SrcdiffError) as caught:
            (call or (lambda f: grad(f, **options)(*args)))(module.loss)
        return type(caught.value), str(caught.value)

    monkeypatch.chdir(tmp_path)
    return error_of


def text(lines):
    return textwrap.dedent(lines).strip("\n")


# ---------------------------------------------------------------- source not available


def test_source_made_by_exec():
    module: dict = {}
    exec("def loss(x):\n    return x * x\n", module)
    with pytest.raises(SourceNotFound) as caught:
        grad(module["loss"])(1.0)
    origin = "it was made by exec or eval, or typed at a prompt, or the file is gone"
    assert str(caught.value) == text(f"""
        the source of `loss` is not available
          It was compiled from <string>, line 1, and that text is not kept: {origin}.
          Instead: write the function in a file or in a notebook cell, and import or call it from there.
        """)


@pytest.mark.parametrize("f, name", [(dict, "dict"), (3, "3"), (int.bit_length, "bit_length"), (VECTORIZED, "abs (vectorized)")])
def test_no_python_function(f, name):
    with pytest.raises(SourceNotFound) as caught:
        grad(f)
    assert str(caught.value) == text(f"""
        no source for `{name}`
          It is not a function written in Python, and it has no rule.
          Instead: wrap it in a function that srcdiff can read.
        """)


# ---------------------------------------------------------------- syntax not accepted


def test_syntax_not_accepted(refused):
    source = """
        def loss(x):
            values = {v * v for v in x}
            return sum(values)
        """
    assert refused(source, X) == (SyntaxNotAccepted, text("""
        model.py:2: a set comprehension is not accepted
             2 |     values = {v * v for v in x}
                              ^^^^^^^^^^^^^^^^^^
          A set of numbers keeps one of two equal ones, so its elements have no adjoints of their own.
          Instead: use a list.
        """))  # fmt: skip


def test_recursion(refused):
    source = """
        def loss(x, n):
            return x * loss(x, n - 1)
        """
    assert refused(source, 2.0, 3) == (KindError, text("""
        model.py:2: `loss` calls itself on every path
             2 |     return x * loss(x, n - 1)
                                ^^^^^^^^^^^^^^
          Instead: return something on one of them.
        """))  # fmt: skip


def test_recursion_that_nests_its_arguments(refused):
    source = """
        def loss(x, n):
            return wrapped((x,), n)

        def wrapped(xs, n):
            if n == 0:
                return 1.0
            return wrapped((xs, xs), n - 1)
        """
    assert refused(source, 2.0, 3) == (SyntaxNotAccepted, text("""
        model.py:7: the calls of `wrapped` are nested too deep
             7 |     return wrapped((xs, xs), n - 1)
                            ^^^^^^^^^^^^^^^^^^^^^^^^
          Each is for arguments of another structure, and so is inlined.
          Instead: write it as a loop.
        """))  # fmt: skip


def test_a_method_that_writes(refused):
    source = """
        def loss(x):
            x.resize(2)
            return x[0]
        """
    assert refused(source, X) == (SyntaxNotAccepted, text("""
        model.py:2: the method `.resize` changes the array in place
             2 |     x.resize(2)
                     ^^^^^^^^^^^
          Instead: write into it with x[i] = v, x[:] = v, x.fill(v) or x.sort().
        """))  # fmt: skip


def test_syntax_in_a_helper_is_named_there(refused):
    source = """
        def helper(x):
            with open("log") as file:
                return x * x

        def loss(x):
            return helper(x)
        """
    assert refused(source, 2.0) == (SyntaxNotAccepted, text("""
        model.py:2: this context manager is not accepted
             2 |     with open("log") as file:
                          ^^^^^^^^^^^
          What it does on entry and on exit is not known.
          Instead: use an object with methods __enter__ and __exit__ written in Python, or put it around the call.
        """))  # fmt: skip


# ---------------------------------------------------------------- no rule


def test_no_rule(refused):
    source = """
        import numpy as np

        def loss(x):
            counts = np.packbits(x > 0.0) * x
            return np.sum(counts)
        """
    assert refused(source, X) == (NoRule, text("""
        model.py:4: no derivative rule for `np.packbits`
             4 |     counts = np.packbits(x > 0.0) * x
                              ^^^^^^^^^^^^^^^^^^^^
          It is a function that srcdiff cannot read, and it has no rule.
          Instead: write it in terms of functions that have rules, or compute it outside and pass its result as an argument.
        """))  # fmt: skip


def test_no_rule_for_a_keyword(refused):
    source = """
        import numpy as np

        def loss(x):
            return np.sum(x, where=x > 0)
        """
    assert refused(source, X) == (NoRule, text("""
        model.py:4: no derivative rule for `np.sum` called so: got an unexpected keyword argument 'where'
             4 |     return np.sum(x, where=x > 0)
                            ^^^^^^^^^^^^^^^^^^^^^^
          The rule takes: a, axis, keepdims.
        """))  # fmt: skip


def test_no_rule_for_a_method(refused):
    source = """
        def loss(x):
            return x.choose([x]).sum()
        """
    assert refused(source, X) == (NoRule, text("""
        model.py:2: no derivative rule for the method `.choose` of arrays
             2 |     return x.choose([x]).sum()
                            ^^^^^^^^^^^^^
        """))  # fmt: skip


# ---------------------------------------------------------------- not a scalar


@pytest.mark.parametrize(
    "result, x, is_, instead",
    [
        ("x * 2.0", X, "an array of shape (3,)", "reduce it with np.sum or np.mean, or use vjp or jacobian."),
        ("x * 2.0", np.ones((2, 3)), "an array of shape (2, 3)", "reduce it with np.sum or np.mean, or use vjp or jacobian."),
        ("(x, x)", 2.0, "a tuple", "return a number, or use has_aux=True for a pair (loss, data), or vjp."),
        ("[x, x]", 2.0, "a list", "return a number, or use has_aux=True for a pair (loss, data), or vjp."),
        ("{'loss': x}", 2.0, "a dict", "return a number, or use has_aux=True for a pair (loss, data), or vjp."),
    ],
)
def test_not_a_scalar(refused, result, x, is_, instead):
    source = f"""
        def loss(x):
            return {result}
        """
    assert refused(source, x) == (NotDifferentiable, text(f"""
        model.py:1: `loss` returns {is_}, not a scalar
             1 | def loss(x):
                 ^^^^^^^^^^^^
          A gradient is of one number.
          Instead: {instead}
        """))  # fmt: skip


def test_complex_result(refused):
    source = """
        def loss(x):
            return x * 1j
        """
    assert refused(source, 2.0) == (NotDifferentiable, text("""
        model.py:1: `loss` returns a complex number, not a real scalar
             1 | def loss(x):
                 ^^^^^^^^^^^^
          Instead: return its real part, its imaginary part or its absolute value.
        """))  # fmt: skip


def test_integer_result(refused):
    source = """
        def loss(x):
            return int(x)
        """
    kind, message = refused(source, 2.0)
    assert kind is NotDifferentiable
    assert message.startswith("model.py:1: `loss` returns an int, not a real scalar\n")


def test_no_return(refused):
    source = """
        def loss(x):
            y = x * x
        """
    assert refused(source, 2.0) == (NotDifferentiable, text("""
        model.py:1: `loss` returns None, not a scalar
             1 | def loss(x):
                 ^^^^^^^^^^^^
          Every path must return the number to differentiate.
          Instead: add a return statement.
        """))  # fmt: skip


@pytest.mark.parametrize("end", ["    return None", ""])
def test_a_branch_that_returns_none(refused, end):
    source = f"""
        def loss(x):
            if x > 0.0:
                return x * x
        {end}
        """
    assert refused(source, 2.0) == (NotDifferentiable, text("""
        model.py:1: `loss` does not return a scalar on every path
             1 | def loss(x):
                 ^^^^^^^^^^^^
          The result is a float on one path and None on another.
          Instead: return a number on every path.
        """))  # fmt: skip


def test_a_name_of_two_kinds(refused):
    source = """
        def loss(x):
            if x > 0.0:
                y = x * x
            else:
                y = "negative"
            return y
        """
    assert refused(source, 2.0) == (KindError, text("""
        model.py:6: `y` is a float on one path and 'negative' on another
             6 |     return y
                            ^
          Instead: give it one kind on every path.
        """))  # fmt: skip


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("x, is_", [(2, "of type int"), (True, "of type bool"), (np.int64(2), "an array of dtype int64")])
def test_integer_argument(refused, x, is_):
    source = """
        def loss(x):
            return x * 1.0
        """
    assert refused(source, x) == (NotDifferentiable, text(f"""
        model.py:1: the argument `x` of `loss` is {is_}, which has no derivative
             1 | def loss(x):
                 ^^^^^^^^^^^^
          Instead: pass a float (3.0 rather than 3), or an array of a float dtype (x.astype(float)).
        """))  # fmt: skip


@pytest.mark.parametrize("x, is_", [("a", "'a'"), (None, "None"), (math.sin, "an object of type `builtin_function_or_method`")])
def test_argument_without_numbers(refused, x, is_):
    source = """
        def loss(x, y):
            return y * y
        """
    assert refused(source, x, 2.0) == (NotDifferentiable, text(f"""
        model.py:1: the argument `x` of `loss` is {is_}, which has no derivative
             1 | def loss(x, y):
                 ^^^^^^^^^^^^^^^
          Instead: choose another argument with argnums.
        """))  # fmt: skip


SQUARE = """
    def loss(x, n=2):
        return x**n
    """


@pytest.mark.parametrize("x", [1j, np.array([1j]), np.complex64(1j)])
def test_complex_argument(refused, x):
    kind, message = refused(SQUARE, x)
    assert kind is NotDifferentiable
    assert message.startswith("model.py:1: the argument `x` of `loss` is ")
    assert "complex" in message.splitlines()[0]


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_argnums_out_of_range(refused, argnums):
    shown = argnums if isinstance(argnums, int) else argnums[1]
    assert refused(SQUARE, 2.0, argnums=argnums) == (KindError, text(f"""
        model.py:1: argnums={shown}, but `loss` takes 2 positional arguments
             1 | def loss(x, n=2):
                 ^^^^^^^^^^^^^^^^^
          Its parameters are `x`, `n`.
        """))  # fmt: skip


def test_argnums_of_another_name(refused):
    assert refused(SQUARE, 2.0, argnums=("x", "y")) == (KindError, text("""
        model.py:1: `loss` has no parameter `y`
             1 | def loss(x, n=2):
                 ^^^^^^^^^^^^^^^^^
          Its parameters are `x`, `n`.
        """))  # fmt: skip


@pytest.mark.parametrize("argnums, item", [(1.5, 1.5), ((0, 1.5), 1.5), (True, True), (None, None)])
def test_argnums_of_another_sort(argnums, item):
    with pytest.raises(KindError) as caught:
        grad(np.sin, argnums)
    assert str(caught.value) == f"argnums holds {item!r}: it takes positions (int) and names of parameters (str)"


def test_has_aux_without_a_pair(refused):
    expected = (NotDifferentiable, text("""
        model.py:1: `loss` returns no pair
             1 | def loss(x, n=2):
                 ^^^^^^^^^^^^^^^^^
          has_aux=True takes a function that returns a tuple (result, auxiliary data).
          Instead: return a pair, or leave has_aux out.
        """))  # fmt: skip
    assert refused(SQUARE, 2.0, has_aux=True) == expected
    assert refused(SQUARE, call=lambda f: vjp(f, 2.0, has_aux=True)) == expected


# ---------------------------------------------------------------- the interface


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: grad(np.sin, holomorphic=True), """
            holomorphic=True is not accepted: complex arguments have no gradient here
              Instead: differentiate by the real and the imaginary part.
            """),
        (lambda: check_grads(np.sin, [0.5], order=2), """
            check_grads takes order=1, and of the modes "fwd" and "rev", in this version
            """),
    ],
)  # fmt: skip
def test_what_this_version_does_not_do(call, expected):
    with pytest.raises(SrcdiffError) as caught:
        call()
    assert str(caught.value) == text(expected)


# ---------------------------------------------------------------- other mistakes


@pytest.mark.parametrize(
    "line, where, what",
    [
        ("return helper(x)", "helper(x)", "helper() is missing the argument `n`"),
        ("a, b, c = x, x", "a, b, c", "2 values for 3 names"),
        ("return x.nothing", "x.nothing", "an array has no attribute `.nothing`"),
        ("return np.nothing(x)", "np.nothing", "`np` has no attribute `nothing`"),
        ("return x[0, 0, 0]", "x[0, 0, 0]", "too many indices: the array has 1 axes, the index takes 3"),
        ("return {'a': x}['b']", "{'a': x}['b']", "the dict has no key 'b'"),
    ],
)
def test_mistakes_are_named_where_they_are(refused, line, where, what):
    source = f"""
        import numpy as np

        def helper(x, n):
            return x * n

        def loss(x):
            {line}
        """
    kind, message = refused(source, X)
    assert kind is KindError
    assert message.splitlines()[:3] == [
        f"model.py:7: {what}", f"     7 |     {line}", " " * 13 + " " * line.index(where) + "^" * len(where),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line, call, parameter",
    [
        ("return np.quantile(x, x[0])", "np.quantile", "q"),
        ("return np.sum(np.interp(0.5, x, x))", "np.interp", "xp"),
        ("return np.sum(np.pad(x, 1, constant_values=x[0]))", "np.pad", "constant_values"),
        ("return np.linalg.norm(x, x[0])", "np.linalg.norm", "ord"),
    ],
)
def test_an_argument_without_a_rule_is_named(refused, line, call, parameter):
    kind, message = refused(f"import numpy as np\n\ndef loss(x):\n    {line}\n", X)
    assert kind is NoRule
    assert message.splitlines()[0] == f"model.py:4: no derivative rule for `{call}` by its argument `{parameter}`"
    assert message.splitlines()[-1] == (
        "  Instead: differentiate by arguments that it does not depend on, or write it in terms of functions that have rules."
    )


def test_containers_of_a_class_of_their_own(refused):
    class Mine(dict):
        pass

    kind, message = refused("def loss(d):\n    return d['a'] * 2\n", Mine(a=1.0))
    assert kind is NotDifferentiable
    assert message == text("""
        model.py:1: the argument `d` of `loss` holds a `Mine`, a dict of its own kind
             1 | def loss(d):
                 ^^^^^^^^^^^^
          Instead: pass a plain list, tuple or dict, or a dataclass.
        """)
