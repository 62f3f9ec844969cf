"""Compares the snapshots that the code writes and reads with the published ones, and writes the new ones.

A file for each context and version: the schema of the state, and a sample of a snapshot. ADR 0036 says what may change.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from drover.domain.decider import Decider
from drover.domain.deciders import DECIDERS
from drover.writer.fold import FOLD_VERSION, FoldImage, decode_state
from drover.writer.snapshots import snapshot_version
from tools.messages.compatibility import breaks
from tools.messages.published import COMMENT, FOLDER
from tools.messages.schemas import Schema, schema_of
from tools.snapshots.sample import sample_image

SNAPSHOTS: Final = "snapshots"
_ADVICE: Final = "contracts/README.md shows how, with an example."


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a context's snapshots, as it is published."""

    comment: str = msgspec.field(name="$comment", default=COMMENT)
    version: str
    rules: int
    """`Decider.version`, which says how events become state."""
    fold: int
    """The version of the code that folds."""
    schema: Schema
    sample: str
    """A snapshot of this version in base64."""


def form_of(decider: Decider[Any]) -> Form:
    return Form(
        version=snapshot_version(decider),
        rules=decider.version,
        fold=FOLD_VERSION,
        schema=schema_of(decider.state),
        sample=base64.b64encode(sample_image(decider)).decode(),
    )


def read_forms(folder: Path, context: str) -> dict[str, Form]:
    """Read the published forms of a context by version."""
    files = sorted((folder / SNAPSHOTS / context).glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes(), type=Form) for file in files}


def problems_with(decider: Decider[Any], published: dict[str, Form]) -> Iterator[str]:
    """Say which released snapshots the code can no longer read, and what to do about each."""
    current, listed = snapshot_version(decider), decider.image_migrations
    for version in sorted(listed.keys() - published.keys()):
        yield (
            f"{decider.context}: image_migrations names {version}, but no file in contracts/{SNAPSHOTS} shows that "
            f"such a snapshot can be read. Put it back, or remove the entry."
        )
    for version, form in published.items():
        if (form.rules, form.fold) != (decider.version, FOLD_VERSION):
            if version in listed:
                yield (
                    f"{decider.context}: image_migrations names {version}, which other rules made (version "
                    f"{form.rules}): its state is not the one that these rules give. Remove the entry."
                )
        elif version == current:
            if form.sample != form_of(decider).sample:
                yield (
                    f"{decider.context}: the form of the state has changed, but its version {version} has not, because "
                    f"the JSON Schema of both is the same. Give the changed field or type another name."
                )
        elif why := _why_not_read(decider, form):
            yield (
                f"{decider.context}: snapshots of the version {version} can no longer be read: {why}. The next start "
                f"would fold the whole log. {_ADVICE}"
            )


def _why_not_read(decider: Decider[Any], form: Form) -> str | None:
    if form.version not in decider.image_migrations:
        return (
            f'the decider does not list it. Add `image_migrations={{"{form.version}": ...}}`: None if only fields with '
            f"defaults were added, else a function from the old state to the new one. If `evolve` gives another state "
            f"now, raise `version` instead. If this version was never released, remove its file"
        )
    migrate = decider.image_migrations[form.version]
    if migrate is None and (found := breaks(form.schema, schema_of(decider.state))):
        told = "; ".join(f"`{one.path}` {one.said}" for one in found)
        return f"the type of the state does not take it as it is ({told}). Write a function instead of None"
    image = msgspec.msgpack.decode(base64.b64decode(form.sample), type=FoldImage)
    try:
        decode_state(decider, image.state, migrate)
    except Exception as error:  # whatever a migration raises
        return f"its migration fails on the sample ({type(error).__name__}: {error})"
    return None


def publish(folder: Path = FOLDER, deciders: Collection[Decider[Any]] = DECIDERS.values()) -> list[str]:
    """Write the forms that are new. If a released one can no longer be read, write nothing and return the reasons."""
    published = {decider.context: read_forms(folder, decider.context) for decider in deciders}
    problems = [problem for one in deciders for problem in problems_with(one, published[one.context])]
    if problems:
        return problems
    for decider in deciders:
        if snapshot_version(decider) not in published[decider.context]:
            write(folder, decider.context, form_of(decider))
    return []


def write(folder: Path, context: str, form: Form) -> None:
    file = folder / SNAPSHOTS / context / f"{form.version}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(form), indent=2) + b"\n")
