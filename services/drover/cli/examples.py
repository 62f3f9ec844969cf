"""The examples at the end of help pages. A test parses each of them, so that none shows an unknown option."""

from __future__ import annotations

from typing import Final

HEADING: Final = "Examples:"
_KEEP_LINES: Final = "\b"
"""Click joins the lines of a paragraph, unless the paragraph begins with this."""


def examples(*command_lines: str) -> str:
    """Make the epilog of a help page. Each example is a command line, which a `#` and a remark may follow."""
    return "\n".join((_KEEP_LINES, HEADING, *(f"  {line}" for line in command_lines)))
