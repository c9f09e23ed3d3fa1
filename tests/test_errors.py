"""The text of each error, and that ours can be caught, printed, pickled and copied like Python's own."""

import copy
import pickle
import traceback
from dataclasses import replace

import pytest

from srcdiff import errors
from srcdiff.ir.nodes import Origin

INTERP = Origin("/somewhere/model.py", 9, "    y = np.interp(x, grid, table)", 8, 33, 9)
WHY = "It is needed because y depends on the argument `x`."
INSTEAD = "give it one with @srcdiff.custom_vjp, or mark it constant: srcdiff.stop_gradient(np.interp(...))."
NO_RULE = f"""\
model.py:9: no derivative rule for `np.interp`
     9 |     y = np.interp(x, grid, table)
                 ^^^^^^^^^^^^^^^^^^^^^^^^^
  {WHY}
  Instead: {INSTEAD}"""

TREE = {
    errors.SyntaxNotAccepted: SyntaxError,
    errors.NoRule: NotImplementedError,
    errors.NotDifferentiable: TypeError,
    errors.SourceNotFound: OSError,
    errors.KindError: TypeError,
    errors.InternalError: RuntimeError,
}


def make(cls, origin=INTERP):
    return cls("no derivative rule for `np.interp`", origin, WHY, INSTEAD)


@pytest.mark.parametrize(("cls", "builtin"), TREE.items())
def test_tree_and_text(cls, builtin):
    error = make(cls)
    assert isinstance(error, errors.SrcdiffError) and isinstance(error, builtin)
    assert str(error) == NO_RULE
    assert (error.filename, error.lineno) == ("/somewhere/model.py", 9)
    assert (error.what, error.origin, error.why, error.instead) == ("no derivative rule for `np.interp`", INTERP, WHY, INSTEAD)


@pytest.mark.parametrize("cls", TREE)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies_are_whole(cls, again):
    error = make(cls)
    error.add_note("a note")
    other = again(error)
    assert type(other) is cls
    assert (str(other), other.args, other.__notes__) == (NO_RULE, error.args, ["a note"])
    assert (other.filename, other.lineno, other.origin) == (error.filename, error.lineno, INTERP)


def test_without_place_and_advice():
    assert str(errors.KindError("`argnums` is out of range")) == "`argnums` is out of range"
    assert errors.KindError("x").filename is None
    assert str(errors.NoRule("no rule", instead="write one.")) == "no rule\n  Instead: write one."


def test_internal_error_takes_the_blame():
    assert str(errors.InternalError("a value is bound twice")) == (
        "a value is bound twice\n  This is a defect of srcdiff, not of your program."
    )


def test_an_expression_over_several_lines_is_underlined_to_the_end_of_its_first():
    origin = Origin("model.py", 3, "    return sum([1,", 11, 5, 5)
    assert str(errors.NoRule("no rule", origin)).splitlines()[2] == "                    ^^^^^^^"


def test_no_carets_without_columns():
    assert str(errors.NoRule("no rule", Origin("model.py", 3, "    return 1"))) == "model.py:3: no rule\n     3 |     return 1"


def test_carets_stand_under_wide_characters_and_tabs():
    text = '\ty = f("数", é) + g(x)'
    start = text.index("g(x)")
    lines = str(errors.NoRule("no rule", Origin("model.py", 3, text, start, start + 4, 3))).splitlines()
    assert lines[2] == " " * 9 + "\t" + " " * len('y = f("..", e) + ') + "^^^^"


def test_file_names_are_shown_from_the_working_directory(tmp_path, monkeypatch):
    inside = replace(INTERP, file=str(tmp_path / "models" / "net.py"))
    monkeypatch.chdir(tmp_path)
    assert str(errors.NoRule("no rule", inside)).startswith("models/net.py:9: ")
    monkeypatch.chdir("/")
    assert errors.shown_file("/model.py") == "model.py"
    monkeypatch.chdir(tmp_path)
    assert errors.shown_file("/model.py") == "model.py"
    assert errors.shown_file("<ipython-input-1>") == "<ipython-input-1>"


def test_traceback_shows_the_line_of_a_syntax_error_once():
    shown = "".join(traceback.format_exception_only(make(errors.SyntaxNotAccepted)))
    assert shown == (
        '  File "/somewhere/model.py", line 9\n'
        "    y = np.interp(x, grid, table)\n"
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "srcdiff.errors.SyntaxNotAccepted: no derivative rule for `np.interp`\n"
        f"  {WHY}\n"
        f"  Instead: {INSTEAD}\n"
    )


def test_traceback_of_the_others_is_their_text():
    assert "".join(traceback.format_exception_only(make(errors.NoRule))) == f"srcdiff.errors.NoRule: {NO_RULE}\n"


def test_line_note_is_added_once():
    error = ValueError("math domain error")
    origin = Origin("/somewhere/model.py", 12, "    y = math.log(x)", 8, 19, 12)
    errors.add_line_note(error, origin)
    errors.add_line_note(error, origin)
    assert error.__notes__ == ["in line 12 of model.py: y = math.log(x)"]
