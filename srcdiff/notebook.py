"""How a derivative shows itself in a notebook: what it is, and below it the source that was compiled last."""

from __future__ import annotations

import html


def as_html(heading: str, source: str | None) -> str:
    """The text of a cell's output.

    >>> as_html("<gradient of f>", "def f_grad(x):\\n    return x < 0\\n")
    '<code>&lt;gradient of f&gt;</code><pre>def f_grad(x):\\n    return x &lt; 0\\n</pre>'
    """
    shown = f"<pre>{html.escape(source, quote=False)}</pre>" if source else ""
    return f"<code>{html.escape(heading, quote=False)}</code>{shown}"
