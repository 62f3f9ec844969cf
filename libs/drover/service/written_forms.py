"""Lists the ways in which another program's message may write a given text, such as JSON-escaped. It serves to find
personal data in error messages."""

from __future__ import annotations

import json
from typing import Final

ESCAPED_MAX: Final = 2
"""How many times a text may be escaped in a message: twice for JSON inside JSON, or for JSON that our own message
quotes."""
_ascii: Final = json.JSONEncoder(ensure_ascii=True).encode
_unicode: Final = json.JSONEncoder(ensure_ascii=False).encode


def written_forms(text: str) -> set[str]:
    """Return the text as it is, escaped once and twice, and each of these on one line with single spaces."""
    forms = {text}
    for _ in range(ESCAPED_MAX):
        forms |= {escaped[1:-1] for form in forms for escaped in (_ascii(form), _unicode(form), repr(form))}
    return forms | {" ".join(form.split()) for form in forms}
