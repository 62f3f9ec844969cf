"""The options that the commands of `drover events` share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from drover.cli.moments import Moment

LAST_DEFAULT: Final = 20
LAST_MAX: Final = 100_000
"""They are held in memory until the oldest of them is found."""


class Name(click.ParamType[str]):
    """The name of a context or a partition, which becomes a part of a NATS subject."""

    name = "name"
    _form = re.compile(r"[a-z][a-z0-9_]{0,62}")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if self._form.fullmatch(str(value)) is None:
            self.fail(f"{value!r} is no name: small letters, digits and underscores, as in `fleet`.", param, ctx)
        return str(value)


class Pattern(click.ParamType[re.Pattern[str]]):
    """A regular expression."""

    name = "pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(str(value))
        except re.error as error:
            self.fail(f"{value!r} is no regular expression: {error}.", param, ctx)


class Reference(click.ParamType[int | tuple[int, int]]):
    """An ordinal, or (sequence, line) written `SEQ:LINE`."""

    name = "event"
    _form = re.compile(r"([1-9]\d{0,17})(?::(\d{1,9}))?")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[int, int]:
        if (match := self._form.fullmatch(str(value))) is None:
            self.fail(f"{value!r} is neither an ordinal (1042) nor a sequence and a line (512:0).", param, ctx)
        return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


context_option: Final = click.option("--context", type=Name(), default="fleet", show_default=True, help="Whose log.")
partition_option: Final = click.option("--partition", type=Name(), help="Which part of it.  [default: all of it]")
archive_option: Final = click.option(
    "--archive",
    "archive_dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Look into this archive instead of the log. Needs no server.",
)
limit_option: Final = click.option("--limit", type=click.IntRange(1), metavar="N", help="End after N events.")

_FILTER_OPTIONS: Final = (
    click.option("--type", "types", multiple=True, metavar="T", help="Only this type; `Device*` works. Repeatable."),
    click.option("--entity", metavar="ID", help="Only events that name this device, PC, … id."),
    click.option("--by", "--actor", "by", metavar="ACTOR", help="Only what this actor did: anon, presence, user:…"),
    click.option("--since", type=Moment(), metavar="TIME", help="Not before 30s, 10m, 2h, 7d ago, or an ISO time."),
    click.option("--until", type=Moment(), metavar="TIME", help="Not after it."),
)
FILTERS: Final = ("types", "entity", "by", "since", "until")


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them, and gives the command one `wanted` instead."""

    @wraps(command)
    def call(*args: Any, **options: Any) -> Any:
        from drover.cli.wanted import Wanted  # here: `--help` needs no log

        return command(*args, wanted=Wanted(**{name: options.pop(name) for name in FILTERS}), **options)

    for option in reversed(_FILTER_OPTIONS):
        call = option(call)
    return call
