"""`drover config`: prints every setting with its value, source and purpose."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

import msgspec
from rich.table import Table
from rich.text import Text

from drover.cli.exits import Exit
from drover.cli.output import console, print_lines
from drover.platform.settings import SECTIONS, load
from drover.readmodel.docstrings import field_texts
from drover.service.config import REQUIRED, Configuration, Section, fields_of
from drover.service.other_names import fallbacks

NOT_SET = "not set"


class Shown(msgspec.Struct):
    name: str
    value: str
    source: str
    """The environment variables that the value comes from, or `default`."""
    help: str


def config(words: tuple[str, ...], as_json: bool) -> None:
    wanted = [word.upper() for word in words]
    found = [
        one
        for one in all_shown(load(os.environ, without=REQUIRED), os.environ)
        if not wanted or any(word in one.name for word in wanted)
    ]
    if as_json:
        print_lines(msgspec.json.encode(one) for one in found)
    else:
        _print(found)
    sys.exit(Exit.OK)


def all_shown(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Shown]:
    for section in SECTIONS:
        yield from _of(section, configuration, environ)


def _of(section: type[Section], configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Shown]:
    settings, texts = configuration[section], field_texts(section)
    shown = settings.shown()
    theirs = fallbacks(environ)
    for name, field in fields_of(section).items():
        source = theirs[name].source if name in theirs else name if environ.get(name) else "default"
        is_set = getattr(settings, field.name) not in (None, "", ())
        value = _text(shown[field.name]) if is_set else NOT_SET
        yield Shown(name, value, source, texts.get(field.name, ""))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _print(found: list[Shown]) -> None:
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    table.add_column("Setting", no_wrap=True)
    table.add_column("Value", overflow="fold")
    table.add_column("Source")
    table.add_column("What it is for")
    for one in found:
        is_set = one.source != "default"
        name, value = Text(one.name, "bold" if is_set else ""), Text(one.value, "green" if is_set else "dim")
        table.add_row(name, value, "" if one.source == one.name else one.source, one.help)
    console().print(table)
