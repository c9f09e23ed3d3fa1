"""The errors of srcdiff: each says where, what, why, and what to do instead.

    model.py:9: no derivative rule for `np.interp`
         9 |     y = np.interp(x, grid, table)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^
      It is needed because y depends on the argument `x`.
      Instead: give it one with @srcdiff.custom_vjp.

Where a builtin exception fits, ours derives from it too, so that an existing `except` clause holds.
"""

from __future__ import annotations

import os
import unicodedata
from typing import Any, Protocol


class Place(Protocol):
    """What an error needs of `ir.Origin`: a line of the user's and the columns of an expression in it, in characters."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def column(self) -> int: ...
    @property
    def end_column(self) -> int: ...
    @property
    def end_line(self) -> int: ...


class SrcdiffError(Exception):
    """Anything that srcdiff refuses or gets wrong; `str()` of it is the whole text.

    `what` and `why` and `instead` are sentences or parts of one; `filename` is the full path, `lineno` the line.
    """

    what: str
    why: str | None
    instead: str | None
    origin: Place | None

    def __init__(self, what: str, origin: Place | None = None, why: str | None = None, instead: str | None = None) -> None:
        super().__init__("\n".join([_heading(what, origin), *_excerpt(origin), *_advice(why, instead)]))
        self.what, self.origin, self.why, self.instead = what, origin, why, instead
        self.filename = origin.file if origin is not None else None
        self.lineno = origin.line if origin is not None else None

    def __str__(self) -> str:
        return str(self.args[0])

    # The default rebuilds from `args`, which is the rendered text; the state carries the notes.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.origin, self.why, self.instead), self.__dict__


class SyntaxNotAccepted(SrcdiffError, SyntaxError):
    """Python that is outside the accepted subset."""

    def __init__(self, what: str, origin: Place | None = None, why: str | None = None, instead: str | None = None) -> None:
        super().__init__(what, origin, why, instead)
        # A traceback of a SyntaxError prints the file, the line and the carets from these, and then `msg`.
        self.msg = "\n".join([what, *_advice(why, instead)])
        if origin is not None:
            self.text = origin.text
            if columns := _caret_columns(origin):
                start, end = columns
                self.offset, self.end_lineno, self.end_offset = start + 1, origin.line, end + 1


class NoRule(SrcdiffError, NotImplementedError):
    """A function that has no derivative rule stands where a derivative is needed."""


class NotDifferentiable(SrcdiffError, TypeError):
    """A gradient was asked for that does not exist: of a result that is no scalar, by an argument that is an integer."""


class SourceNotFound(SrcdiffError, OSError):
    """The text of a function cannot be had, or is no longer the text that runs."""


class KindError(SrcdiffError, TypeError):
    """The kinds of the arguments, or of two values that meet, don't fit."""


class InternalError(SrcdiffError, RuntimeError):
    """A defect of srcdiff itself."""

    def __init__(self, what: str, origin: Place | None = None, why: str | None = None, instead: str | None = None) -> None:
        super().__init__(what, origin, why or "This is a defect of srcdiff, not of your program.", instead)


def add_line_note(exc: BaseException, origin: Place) -> None:
    """Add the note that names the user's line to an exception, unless it has it already.

    >>> from types import SimpleNamespace
    >>> error = ValueError("math domain error")
    >>> add_line_note(error, SimpleNamespace(file="model.py", line=12, text="    y = math.log(x)"))
    >>> error.__notes__
    ['in line 12 of model.py: y = math.log(x)']
    """
    note = f"in line {origin.line} of {shown_file(origin.file)}: {origin.text.strip()}"
    if note not in getattr(exc, "__notes__", ()):
        exc.add_note(note)


def shown_file(file: str) -> str:
    """The name of a file as a message shows it: relative to the working directory if it is in there, else its base name.

    >>> shown_file("<doctest model[0]>"), shown_file("/somewhere/else/model.py")
    ('<doctest model[0]>', 'model.py')
    """
    if file.startswith("<"):
        return file
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):  # another drive, or a working directory that is gone
        return os.path.basename(file)
    return os.path.basename(file) if relative.startswith(os.pardir) else relative


def _heading(what: str, origin: Place | None) -> str:
    return what if origin is None else f"{shown_file(origin.file)}:{origin.line}: {what}"


def _excerpt(origin: Place | None) -> list[str]:
    """The line with its number, and carets under its columns."""
    if origin is None or not origin.text.strip():
        return []
    text = origin.text.rstrip()
    number = f"{origin.line:6} | "
    lines = [number + text]
    if columns := _caret_columns(origin):
        start, end = columns
        lines.append(" " * len(number) + _blank(text[:start]) + "^" * max(_width(text[start:end]), 1))
    return lines


def _advice(why: str | None, instead: str | None) -> list[str]:
    return [f"  {why}"] * bool(why) + [f"  Instead: {instead}"] * bool(instead)


def _caret_columns(origin: Place) -> tuple[int, int] | None:
    """First column and the one after the last, in this line; None if no columns are known."""
    length = len(origin.text.rstrip())
    end = length if origin.end_line > origin.line else min(origin.end_column, length)
    return (origin.column, end) if end > origin.column else None


def _blank(text: str) -> str:
    """White space as wide as the text; a tab stays a tab."""
    return "".join("\t" if char == "\t" else " " * _width(char) for char in text)


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
