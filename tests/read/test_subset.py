"""The accepted subset: that its table is whole, what it accepts, and the text of every refusal."""

import ast

import pytest

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.read import subset
from srcdiff.read.source import FunctionSource
from srcdiff.read.subset import SUBSET, Refusal, check_subset


def source_of(text):
    """A source as `read_function` would give it, of text that need not run."""
    lines = tuple(text.split("\n"))
    node = ast.parse(text).body[0]
    if isinstance(node, ast.Expr):
        node = node.value
    code = compile("0", "model.py", "eval")
    return FunctionSource(node, "model.py", 1, lines, "f", "f", code, {}, {}, (), {}, None)


def refuse(text):
    with pytest.raises(SyntaxNotAccepted) as caught:
        check_subset(source_of(text))
    return caught.value


ACCEPTED = '''\
@decorated(lambda: (yield))
def f(a, /, b: (c := int) = {1}, *args, k=await_this, **kwargs) -> {1, 2}:
    """A docstring."""
    x = y = a
    (p, (q, *r)), s = b
    x += 1; x @= y
    n: int = 3
    m: {str}
    if x > 0 and not y or 1 < x <= 2 != n: pass
    elif x is None or x in args: x = 1
    else: x = -x if y else ~n
    for i, (u, v) in enumerate(zip(a, b)):
        if i: continue
        break
    else:
        x = 0
    while True:
        return x
    else:
        print(f"{x!r:>{n}} {y=}", end="")
    assert x, "message"
    def nested(z, w=2, *, v: {1} = 3): return z + x
    g = lambda z, *t, k=1: z * k
    l = []
    l.append(x)
    d = {"a": x, **kwargs}
    e = [i * j for i in a if i for j in b], {k: v for k, v in d.items()}
    t = sum(i for i in a) + max((i for i in a), default=0)
    return x[0], x[1:, ..., None, ::2], d["a"], x.T.dot(y), nested(*args, k=1, **d), 1j, b"", *l
'''


def test_accepts_the_language():
    check_subset(source_of(ACCEPTED))
    check_subset(source_of("lambda x: [y for y in x]"))


def test_every_node_of_the_grammar_is_in_the_table():
    grammar = {cls for cls in vars(ast).values() if isinstance(cls, type) and issubclass(cls, ast.AST)}
    concrete = {cls for cls in grammar if not any(cls in other.__bases__ for other in grammar)}
    # Whole files, patterns (inside match), type parameters (never visited), and what is kept for old programs.
    apart = (ast.mod, ast.pattern, ast.type_ignore, ast.slice, *([ast.type_param] if hasattr(ast, "type_param") else []))
    old = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "AugLoad", "AugStore", "Param", "Suite"}
    missing = {cls.__name__ for cls in concrete if cls not in SUBSET and not issubclass(cls, apart)}
    assert missing - old == set()


IN_BODY = {
    # Statement, the part that carets underline, the refusal.
    "try: pass\n    except* E: pass": ("try: pass", subset.TRY_STAR),
    "y = yield x": ("yield x", subset.YIELDED),
    "y = yield from x": ("yield from x", subset.YIELDED),
    "y = await x": ("await x", subset.ASYNC),
    "async def g(): pass": ("async def g(): pass", subset.ASYNC),
    "async for i in x: pass": ("async for i in x: pass", subset.ASYNC),
    "async with x: pass": ("async with x: pass", subset.ASYNC),
    "class C: pass": ("class C: pass", subset.CLASS),
    "y = {i for i in x}": ("{i for i in x}", subset.SET),
    "y = [i async for i in x]": ("i", subset.ASYNC_COMPREHENSION),
    "def h():\n        while 1:\n            return [{a for a in x}]": ("{a for a in x}", subset.SET),
    "y = lambda z={a for a in x}: z": ("{a for a in x}", subset.SET),
}


@pytest.mark.parametrize("statement", IN_BODY)
def test_refusals(statement):
    part, refusal = IN_BODY[statement]
    error = refuse(f"def f(x, d, self, v, i):\n    {statement}")
    line, carets = str(error).splitlines()[1:3]
    shown = line[carets.index("^") : carets.index("^") + carets.count("^")]
    assert (shown, error.what, error.why, error.instead) == (part, refusal.what, refusal.why, refusal.instead)


def test_every_refusal_is_tested():
    refusals = {value for value in vars(subset).values() if isinstance(value, Refusal)} | {
        r for r in SUBSET.values() if isinstance(r, Refusal)
    }
    tested = {refusal for _, refusal in IN_BODY.values()}
    assert {r.what for r in refusals - tested} <= {
        "this syntax is not accepted",
        "a type statement inside the function is not accepted",
        "a generator function is not accepted",  # of the function that is differentiated alone
    }


def test_async_function_is_refused():
    assert refuse("async def f(x):\n    return x").what == "async code is not accepted"


def test_whole_text():
    assert str(refuse("def f(x):\n    await x[0]")) == (
        "model.py:2: async code is not accepted\n"
        "     2 |     await x[0]\n"
        "             ^^^^^^^^^^\n"
        "  Such a function stops and is resumed by its caller, so it has no reverse sweep of its own.\n"
        "  Instead: await outside, and pass the values as arguments."
    )


@pytest.mark.parametrize("what", sorted({refusal.what for _, refusal in IN_BODY.values()}))
def test_sentences_are_whole(what):
    refusal = next(r for _, r in IN_BODY.values() if r.what == what)
    assert refusal.why[0].isupper() and refusal.why.endswith(".")
    assert refusal.instead[0].islower() and refusal.instead.endswith(".")
