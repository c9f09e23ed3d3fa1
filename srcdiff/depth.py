"""Room for programs that nest deeper than Python's stack usually allows: a sum of a thousand terms is a tree a thousand deep."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from srcdiff.errors import SyntaxNotAccepted

_Result = TypeVar("_Result")

_LIMIT = 50_000
_STACK = 512 << 20  # bytes of address space; memory is taken only for what is used
_lock = threading.Lock()


def with_room(work: Callable[[], _Result], name: str) -> _Result:
    """The result of `work`, which compiles the function `name`; where the stack ends it begins again on a large one.

    Raises:
        SyntaxNotAccepted: that was not enough either.
    """
    try:
        return work()
    except RecursionError:
        pass
    try:
        return _on_large_stack(work)
    except RecursionError:
        raise SyntaxNotAccepted(
            f"`{name}` nests too deeply",
            why="The compiler goes down into its expressions, statements and calls, and the stack of Python ends before they do.",
            instead="give parts of long expressions names of their own, and see that its calls of itself come to an end.",
        ) from None


def _on_large_stack(work: Callable[[], _Result]) -> _Result:
    """Run it in a thread of its own: only a new one can have a larger stack."""
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    with _lock:
        limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
        sys.setrecursionlimit(max(limit, _LIMIT))
        try:
            thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
