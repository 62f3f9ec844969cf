"""How commands print: tables and coloured lines for people, one JSON document a line for machines (`--json`)."""

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
        """Rich would end the process with 1; a reader that has seen enough (`| head`) is no fault."""
        raise BrokenPipeError


def console() -> Console:
    """For people, on standard output as it is now. No markup: what the log holds is text, whatever is in it."""
    return _Console(file=sys.stdout, markup=False, highlight=False, emoji=False)


def print_json(value: Any) -> None:
    print_lines([msgspec.json.encode(value)])


def print_lines(lines: Iterable[bytes]) -> None:
    """Whole lines, at once and unbuffered: whoever reads the other end of the pipe sees each batch as it happens."""
    if text := b"".join(line + b"\n" for line in lines):
        click.echo(text, nl=False)


def printable(text: str) -> str:
    """Without anything that could steer a terminal: agents choose some of the texts that people look at."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
