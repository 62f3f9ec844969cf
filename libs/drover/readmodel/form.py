"""The form of a read model: its SQL without comments, and how often that SQL has changed.

`make contracts` generates `forms.json`. During a rolling deployment, only the program with the highest number writes
the read model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import msgspec

FILE: Final = "forms.json"
_COMMENTS: Final = ("--", "COMMENT ON ")


class Form(msgspec.Struct, frozen=True):
    number: int
    """How often the SQL has changed."""
    digest: str


def without_comments(ddl: str) -> str:
    """Remove the comments from SQL, because a changed comment is no reason to rebuild."""
    return "\n".join(line for line in ddl.splitlines() if not line.startswith(_COMMENTS))


def digest_of(ddl: str) -> str:
    return hashlib.sha256(without_comments(ddl).encode()).hexdigest()


def read_forms() -> dict[str, Form]:
    """Read the form of each context. A context that is not listed is new."""
    return msgspec.json.decode((files("drover.readmodel") / FILE).read_bytes(), type=dict[str, Form])


def next_forms(forms: Mapping[str, Form], ddl: Mapping[str, str]) -> dict[str, Form]:
    """Return the forms for this SQL, by context. The number of a context grows if its SQL differs from that in
    `forms`."""
    return {context: _next(forms.get(context), digest_of(text)) for context, text in ddl.items()}


def _next(form: Form | None, digest: str) -> Form:
    if form is None:
        return Form(0, digest)
    return form if form.digest == digest else Form(form.number + 1, digest)
