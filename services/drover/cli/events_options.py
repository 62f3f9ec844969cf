"""The options that the commands of `drover events` share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import click

from drover.cli.moments import Moment
from drover.cli.options import Number

LAST_DEFAULT: Final = 20
LAST_MAX: Final = 100_000
"""Maximum of `--last`: that many events are held in memory."""


class Name(click.ParamType[str]):
    """The type of an option that is the name of a context or a partition. It becomes a part of a NATS subject."""

    name = "name"
    _form = re.compile(r"[a-z][a-z0-9_]{0,62}")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if self._form.fullmatch(str(value)) is None:
            self.fail(
                f"{value!r} is not a name: use lowercase letters, digits and underscores, as in `fleet`.", param, ctx
            )
        return str(value)


class Pattern(click.ParamType[re.Pattern[str]]):
    """The type of an option that is a regular expression."""

    name = "pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(str(value))
        except re.error as error:
            self.fail(f"{value!r} is not a regular expression: {error}.", param, ctx)


class Reference(click.ParamType[int | tuple[int, int]]):
    """The type of an argument that names an event: its ordinal, or its position as `SEQ:LINE`."""

    name = "event"
    _form = re.compile(r"([1-9]\d{0,17})(?::(\d{1,9}))?")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[int, int]:
        if (match := self._form.fullmatch(str(value))) is None:
            self.fail(f"{value!r} is neither an ordinal (1042) nor a sequence and a line (512:0).", param, ctx)
        return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


context_option: Final = click.option(
    "--context", type=Name(), default="fleet", show_default=True, help="Read the log of this context."
)
partition_option: Final = click.option(
    "--partition", type=Name(), help="Read only this partition of the log.", show_default="all partitions"
)
archive_option: Final = click.option(
    "--archive",
    "archive_address",
    metavar="ARCHIVE",
    help="Read this archive (a directory, or s3://bucket/prefix) instead of the log. NATS is not needed.",
)
limit_option: Final = click.option("--limit", type=Number(1), metavar="N", help="Stop after N events.")

_FILTER_OPTIONS: Final = (
    click.option(
        "--type",
        "types",
        multiple=True,
        metavar="TYPE",
        help="Select events of this type. `Device*` selects all types that begin with Device. Repeat it for more.",
    ),
    click.option(
        "--entity", metavar="ID", help="Select events that contain this id, for example of a device or a job."
    ),
    click.option(
        "--by", "--actor", "by", metavar="ACTOR", help="Select what this actor did, such as anon, presence or user:ID."
    ),
    click.option(
        "--since",
        type=Moment(),
        metavar="TIME",
        help="Select events from this time on. Write how long ago (30s, 10m, 2h, 7d) or an ISO time.",
    ),
    click.option(
        "--until", type=Moment(), metavar="TIME", help="Select events up to this time, written in the same way."
    ),
)
FILTERS: Final = ("types", "entity", "by", "since", "until")


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the filter options to a command, which gets them as one argument `wanted`."""

    @wraps(command)
    def call(*args: Any, **options: Any) -> Any:
        from drover.cli.wanted import Wanted  # imported here: `--help` does not need it

        return command(*args, wanted=Wanted(**{name: options.pop(name) for name in FILTERS}), **options)

    for option in reversed(_FILTER_OPTIONS):
        call = option(call)
    return call
