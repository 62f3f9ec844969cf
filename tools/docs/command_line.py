"""Generates the reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Final

import click

from drover.cli.exits import Exit
from drover.cli.group import drover
from tools.docs.markdown import anchor_of, block, code, head, heading, prose, table

_AS_WRITTEN: Final = "\b"
"""Click's mark of a paragraph whose lines are not wrapped, such as examples."""


def command_line_markdown() -> str:
    lines = [*head("Commands of `drover`", "the commands' own help"), *_help(drover.help or "")]
    lines += ["Each command explains itself with `--help`.", "", "## Exit codes", ""]
    lines += table(("code", "meaning"), [(code(str(int(one))), prose(one.meaning)) for one in Exit])
    for name, command in sorted(drover.commands.items()):
        lines += _command(command, f"drover {name}", click.Context(drover, info_name="drover"))
    return "\n".join(lines)


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    if command.hidden:
        return
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield from heading(2 if name.count(" ") == 1 else 3, code(name), anchor_of(name))
    yield from _help(command.help or "")
    yield from block(" ".join((name, *command.collect_usage_pieces(context))), "sh")
    rows = [
        (code(record[0]), prose(record[1]))
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) and "--help" not in record[0]
    ]
    yield from table(("argument or option", "meaning"), rows)
    yield from _help(command.epilog or "")
    if isinstance(command, click.Group):
        for sub_name, sub_command in sorted(command.commands.items()):
            yield from _command(sub_command, f"{name} {sub_name}", context)


def _help(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text.partition("\f")[0]).split("\n\n"):
        if paragraph.startswith(_AS_WRITTEN):
            yield from block(paragraph.removeprefix(_AS_WRITTEN).strip("\n"), "sh")
        elif paragraph:
            yield f"{prose(paragraph)}\n"
