"""Lines that are too long, over several, as formatters break them: at operators, or in the last bracket.

return value, {"W": …, "b": …}          return value, {
                                  →         "W": …,
                                            "b": …,
                                        }
x = a * b + c                           x = (
                                  →         a * b
                                            + c
                                        )
"""

from __future__ import annotations

import re

WIDTH = 110
_INDENT = "    "
_OPEN, _CLOSE = "([{", ")]}"
_OPERATORS = (
    ("if", "else"),
    ("or",),
    ("and",),
    ("in", "is", "==", "!=", "<", "<=", ">", ">=", "not"),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "//", "%", "@"),
)
"""The operators that stand between blanks, those that bind least first."""
_STATEMENT = re.compile(r"(return |(?:el)?if |while |(?:[\w.]+(?:\[[^=]*\])?|[\w ,()]+) (?:[-+*/@%&|^]|//|\*\*|<<|>>)?= )")


def wrapped(line: str) -> list[str]:
    """The lines of a statement; the line itself if it is short or has no place to break."""
    if len(line) <= WIDTH:
        return [line]
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    if text.startswith("assert "):
        return [line]
    if text.startswith("for "):
        return _loop(indent, text)
    match = _STATEMENT.match(text)
    head = match[0] if match is not None else ""
    colon = ":" if text.endswith(":") else ""
    return _laid_out(indent, head, text[len(head) : len(text) - len(colon)], colon, is_bare=True)


def _loop(indent: str, text: str) -> list[str]:
    """A for statement: its targets move to a line of their own, then its iterable is broken."""
    place = next((i for i, word in _words(text) if word == "in"), None)
    if place is None:
        return [indent + text]
    targets, rest = text[4 : place - 1], text[place:]
    if len(indent + text[:place]) > WIDTH // 2 and "," in targets:
        return [f"{indent}for (", *_filled(indent + _INDENT, targets.split(", ")), f"{indent}) {rest}"]
    return _laid_out(indent, text[: place + 3], text[place + 3 : -1], ":", is_bare=False)


def _filled(indent: str, items: list[str]) -> list[str]:
    """Items with commas between, as many to a line as fit."""
    lines, line = [], indent
    for i, item in enumerate(items):
        piece = item + ("," if i + 1 < len(items) else "")
        if line != indent and len(line) + len(piece) + 1 > WIDTH:
            lines.append(line)
            line = indent
        line += piece if line == indent else f" {piece}"
    return [*lines, line]


def _laid_out(indent: str, head: str, text: str, tail: str, *, is_bare: bool) -> list[str]:
    """An expression between `head` and `tail`; a bare one gets brackets of its own where it is to be broken."""
    if len(indent + head + text + tail) <= WIDTH:
        return [indent + head + text + tail]
    items = _items(text)
    if len(items) > 1:
        return _tuple(indent, head, text, items, tail)
    terms = _terms(text)
    span = _last_bracket(text)
    if len(terms) > 1 and span is not None and span[0] == 0 and len(text) - span[1] < WIDTH // 2:
        return _bracket(indent, head, text, tail) or []
    if len(terms) > 1:
        inner = indent + _INDENT if is_bare else indent
        lines = [part for term in terms for part in _laid_out(inner, *_operator(term), "", is_bare=False)]
        if is_bare:
            return [f"{indent}{head}(", *lines, f"{indent}){tail}"]
        return [indent + head + lines[0][len(indent) :], *lines[1:-1], lines[-1] + tail]
    return _bracket(indent, head, text, tail) or [indent + head + text + tail]


def _tuple(indent: str, head: str, text: str, items: list[str], tail: str) -> list[str]:
    """Items without brackets: the last one's are broken if the others fit before them, else they get brackets."""
    start = text.rindex(items[-1])
    if len(indent + head + text[:start]) + 2 <= WIDTH and items[-1][0] in _OPEN and not text.endswith(","):
        lines = _bracket(indent, head + text[:start], items[-1], tail)
        if lines is not None and len(lines[0]) <= WIDTH:
            return lines
    inner = indent + _INDENT
    return [
        f"{indent}{head}(",
        *(part for item in items for part in _laid_out(inner, "", item, ",", is_bare=False)),
        f"{indent}){tail}",
    ]


def _bracket(indent: str, head: str, text: str, tail: str) -> list[str] | None:
    """What is in the last call, display or pair of parentheses moves to lines of its own."""
    span = _last_bracket(text)
    if span is None:
        return None
    start, stop = span
    inner = indent + _INDENT
    content, items = text[start + 1 : stop], _items(text[start + 1 : stop])
    holds_bracket = len(items) == 1 and not content.endswith(",") and items[0][0] in _OPEN
    if holds_bracket and _last_bracket(items[0]) == (0, len(items[0]) - 1):
        return _bracket(indent, head + text[: start + 1], items[0], text[stop:] + tail)
    first, last = indent + head + text[: start + 1], indent + text[stop:] + tail
    if text[start] == "(" and content.endswith(",") and len(items) == 1:
        return [first, *_item(inner, items[0]), last]  # a tuple of one item
    is_display = text[start] in "{[" or (len(items) > 1 and not _is_call(text, start))
    if len(items) == 1 and not is_display and not _is_call(text, start):
        terms = _terms(content)
        return [first, *(part for term in terms for part in _laid_out(inner, *_operator(term), "", is_bare=False)), last]
    holds_displays = is_display and any(item[0] in _OPEN for item in items)
    if text[start] != "{" and not holds_displays and len(inner + content) <= WIDTH:
        return [first, inner + content, last]
    if is_display and text[start] != "{" and max(map(len, items)) < 24 and len(items) > 6:
        return [first, *_filled(inner, items), last]
    return [first, *(part for item in items for part in _item(inner, item)), last]


def _item(indent: str, item: str) -> list[str]:
    """An item of a call or a display: a key or keyword stays before its value."""
    match = re.match(r"(\w+=(?!=)|\"(?:[^\"\\]|\\.)*\": |'(?:[^'\\]|\\.)*': )", item)
    head = match[0] if match is not None else ""
    return _laid_out(indent, head, item[len(head) :], ",", is_bare=bool(head))


# ------------------------------------------------------------ the parts of a line


def _terms(text: str) -> list[str]:
    """The operands of the operators that bind least, each but the first behind its operator."""
    words = _words(text)
    found = {word for _, word in words}
    level = next((level for level in _OPERATORS if not found.isdisjoint(level)), None)
    if level is None or text.startswith("lambda"):
        return [text]
    cuts = [i for i, word in words if word in level and i > 0 and not text[:i].endswith((" is ", " not "))]
    return [text[i:j].strip() for i, j in zip([0, *cuts], [*cuts, len(text)]) if text[i:j].strip()]


def _operator(term: str) -> tuple[str, str]:
    """The operator in front of a term, and the rest."""
    first, _, rest = term.partition(" ")
    return (f"{first} ", rest) if rest and any(first in level for level in _OPERATORS) else ("", term)


def _words(text: str) -> list[tuple[int, str]]:
    """The operators outside of brackets, with their places."""
    outside = [i for i, _, depth in _code(text) if depth == 0]
    plain = list(" " * len(text))
    for i in outside:
        plain[i] = text[i]
    known = {word for level in _OPERATORS for word in level}
    return [(m.start(), m[0]) for m in re.finditer(r"(?<!\S)\S+(?= )", "".join(plain)) if m[0] in known]


def _items(text: str) -> list[str]:
    """What stands between the commas outside of brackets."""
    cuts = [i for i, char, depth in _code(text) if char == "," and depth == 0]
    parts = [text[i:j].strip(" ,") for i, j in zip([0, *(i + 1 for i in cuts)], [*cuts, len(text)])]
    return [part for part in parts if part]


def _last_bracket(text: str) -> tuple[int, int] | None:
    """The last bracket outside of others that is no index and holds something."""
    start, found = 0, None
    for i, char, depth in _code(text):
        if char in _OPEN and depth == 0:
            start = i
        elif char in _CLOSE and depth == 0 and i > start + 1 and not (text[start] == "[" and _is_call(text, start)):
            found = (start, i)
    return found


def _is_call(text: str, start: int) -> bool:
    """Whether a bracket stands behind what it is applied to."""
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_])")


def _code(text: str) -> list[tuple[int, str, int]]:
    """The characters outside of string literals: place, character, and how many brackets are around it."""
    out, quote, skip, depth = [], "", False, 0
    for i, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
            out.append((i, char, depth + 1))
        else:
            depth -= char in _CLOSE
            out.append((i, char, depth))
            depth += char in _OPEN
    return out
