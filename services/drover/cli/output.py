"""Prints the output of commands: tables and coloured lines for people, one JSON document per line for programs
(`--json`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, Final

import click
import msgspec
from rich.console import Console

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Exit without an error if the reader of the output has closed the pipe (`| head`). Rich would exit with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Make a console on the current standard output. Texts from the log are printed as they are, not as markup."""
    return _Console(file=sys.stdout, markup=False, highlight=False, emoji=False)


def print_json(value: Any) -> None:
    print_lines([msgspec.json.encode(value)])


def print_lines(lines: Iterable[bytes]) -> None:
    """Write whole lines without buffering, so that the reader of a pipe gets each batch at once."""
    if text := b"".join(line + b"\n" for line in lines):
        click.echo(text, nl=False)


def printable(text: str) -> str:
    """Escape the control characters in a text: agents choose some texts, and a terminal must not obey them."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
