"""The form of a read model: its SQL without comments and the version of its fold. Each form has a schema of its own, so
that programs of two releases can run side by side.

`make contracts` generates `forms.json`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from drover.readmodel.form_comparison import only_adds

FILE: Final = "forms.json"
SCHEMA_PREFIX: Final = "rm_"
DIGITS: Final = 8
"""How many digits of the digest are part of the schema's name."""
_COMMENTS: Final = ("--", "COMMENT ON ")
_NAMED: Final = re.compile(r"\brm_([a-z]+)\.")


class Form(msgspec.Struct, frozen=True):
    number: int
    """How often the form has changed."""
    digest: str
    base: str
    """The digest of the form that the schema is named after. It stays the same while only nullable columns and indices
    are added, because those are added to the tables in place."""


class Definition(msgspec.Struct, frozen=True):
    """What the rows of a read model depend on."""

    rules: int
    """The version of the fold."""
    ddl: str


def without_comments(ddl: str) -> str:
    """Remove the comments from SQL, because a changed comment is no reason to rebuild."""
    return "\n".join(line for line in ddl.splitlines() if not line.startswith(_COMMENTS))


def digest_of(definition: Definition) -> str:
    return hashlib.sha256(f"{definition.rules}\n{without_comments(definition.ddl)}".encode()).hexdigest()


@cache
def read_forms() -> Mapping[str, Form]:
    """Read the form of each context. A context that is not listed is new."""
    return msgspec.json.decode((files("drover.readmodel") / FILE).read_bytes(), type=dict[str, Form])


def schema_of(context: str) -> str:
    """Return the schema that this program reads and writes."""
    form = read_forms().get(context)
    return f"{SCHEMA_PREFIX}{context}" if form is None else f"{SCHEMA_PREFIX}{context}_{form.base[:DIGITS]}"


def placed(sql: str) -> str:
    """Replace `rm_<context>.` in SQL by the schema that this program reads. So SQL can be written without knowing the
    form."""
    return _NAMED.sub(lambda match: f"{schema_of(match[1])}.", sql)


def contexts_in(sql: str) -> frozenset[str]:
    """Return the contexts whose read models the SQL names as `rm_<context>.`, before `placed` replaces these names."""
    return frozenset(_NAMED.findall(sql))


def next_forms(
    forms: Mapping[str, Form], before: Mapping[str, Definition], now: Mapping[str, Definition]
) -> dict[str, Form]:
    """Return the forms of these definitions, by context. `before`: the definitions that were published last."""
    return {context: _next(forms.get(context), before.get(context), new) for context, new in now.items()}


def _next(form: Form | None, before: Definition | None, now: Definition) -> Form:
    digest = digest_of(now)
    if form is None:
        return Form(0, digest, digest)
    if form.digest == digest:
        return form
    # If `before` is not the definition of this form, somebody has edited a file by hand. What has changed is then
    # unknown, so the schema gets a new name.
    is_known = before is not None and digest_of(before) == form.digest and before.rules == now.rules
    in_place = is_known and before is not None and only_adds(without_comments(before.ddl), without_comments(now.ddl))
    return Form(form.number + 1, digest, form.base if in_place else digest)
