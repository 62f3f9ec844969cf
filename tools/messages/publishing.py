"""Generates the files of the message contracts, compares them with published ones, and writes them if they are
compatible."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from drover.domain.decider import Decider
from drover.domain.deciders import DECIDERS
from tools.messages.asyncapi import FILE, asyncapi_yaml
from tools.messages.published import SCHEMAS, read_samples, read_schemas, schemas_of, to_text, with_retired
from tools.messages.verdict import verdict_on


class Publication(msgspec.Struct, frozen=True):
    """The files that should be in the folder of the contracts."""

    problems: tuple[str, ...]
    """Why the files must not be written. Empty: they may be."""
    files: dict[str, str]
    """The text of each file, by its path below the folder of the contracts."""


def publication(folder: Path, deciders: Collection[Decider[Any]] = DECIDERS.values()) -> Publication:
    """Generate the files, and compare them with those in `folder`. Changes nothing."""
    published, current = read_schemas(folder), schemas_of(deciders)
    verdict = verdict_on(deciders, current, published, read_samples(folder))
    schemas = with_retired(current, published, verdict.successors)
    files = {name.file: to_text(schema) for name, schema in schemas.items()}
    return Publication(verdict.problems, files | {FILE: asyncapi_yaml(schemas)})


def publish(folder: Path, deciders: Collection[Decider[Any]] = DECIDERS.values()) -> tuple[str, ...]:
    """Write the files that have changed. If they must not be written, write nothing and return the reasons."""
    made = publication(folder, deciders)
    if made.problems:
        return made.problems
    for path, text in made.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    return ()


def stale(folder: Path, made: Publication) -> list[str]:
    """List the files in the folder that are missing, differ, or should not be there."""
    there = {file.relative_to(folder).as_posix() for file in (folder / SCHEMAS).rglob("*.json")}
    differing = [path for path, text in made.files.items() if _text(folder / path) != text]
    return sorted({*differing, *(there - made.files.keys())})


def _text(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None
