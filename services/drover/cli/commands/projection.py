"""`drover verify` and `drover projection`: their options and help. What they do is in `drover.cli.projection`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.moments import Moment
from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS

NAMES: Final = f"Read models: {', '.join(CONTEXTS)}. Without a name, all of them are meant."
names_argument: Final = click.argument("names", nargs=-1, type=click.Choice(CONTEXTS), metavar="[NAME]...", help=NAMES)
context_argument: Final = click.argument(
    "context", type=click.Choice(CONTEXTS), help=f"A read model: {', '.join(CONTEXTS)}."
)


class PositionOrMoment(click.ParamType[int | datetime]):
    """The type of an option that is the sequence of a commit, or a time."""

    name = "position or time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | datetime:
        return int(value) if str(value).isdigit() else Moment().convert(value, param, ctx)


@click.group(epilog=examples("drover projection rebuild fleet", "drover projection detached"))
def projection() -> None:
    """Rebuild, detach or drop read models of the log."""


@click.command("verify", epilog=examples("drover verify", "drover verify fleet render --json"))
@names_argument
@json_option
@data_dir_option
def verify_command(**options: Any) -> None:
    """Compare the tables of read models with the log, row by row.

    It changes nothing. Exits with 1 if any row differs; then run `drover projection rebuild`.
    """
    from drover.cli.projection import verify_command as run

    run(**options)


@projection.command(epilog=examples("drover projection rebuild fleet", "drover projection rebuild --dry-run"))
@names_argument
@click.option("--dry-run", is_flag=True, help="Build and compare only. The old tables stay.")
@json_option
@data_dir_option
def rebuild(**options: Any) -> None:
    """Build read models again and replace the old ones.

    The old ones serve until the new ones are complete, so readers notice nothing. Rows that differ are shown first. If
    it is interrupted, run the same command again to continue.
    """
    from drover.cli.projection import rebuild as run

    run(**options)


@projection.command(epilog=examples("drover projection detach fleet --before 90d"))
@context_argument
@click.option(
    "--before",
    type=PositionOrMoment(),
    required=True,
    metavar="POSITION|TIME",
    help="Detach rows that are older: the sequence of a commit, how long ago (90d), or an ISO time.",
)
@json_option
@data_dir_option
def detach(**options: Any) -> None:
    """Detach the oldest rows of events and attempts.

    Only whole partitions are detached, about 50 million events each. They become tables in the schema drover_detached,
    which you can dump and drop. The log keeps the events. Rebuilds and `drover verify` leave these rows out.
    """
    from drover.cli.partitions import detach as run

    run(**options)


@projection.command(epilog=examples("drover projection attach fleet"))
@context_argument
@click.option(
    "--fold-again",
    is_flag=True,
    help="Forget tables that were dropped: the next `drover projection rebuild` makes their rows again.",
)
@json_option
@data_dir_option
def attach(**options: Any) -> None:
    """Attach detached rows again, the newest first.

    If you dropped their tables, restore them first with pg_restore, or use --fold-again.
    """
    from drover.cli.partitions import attach as run

    run(**options)


@projection.command(epilog=examples("drover projection detached", "drover projection detached --json"))
@json_option
@data_dir_option
def detached(**options: Any) -> None:
    """List what is detached from the read models."""
    from drover.cli.partitions import list_detached as run

    run(**options)


@projection.command(epilog=examples("drover projection forget fleet"))
@names_argument
@data_dir_option
def forget(**options: Any) -> None:
    """Drop read models that were computed from another log.

    Read models of this log stay as they are. Restart the projector afterwards: it computes the dropped ones again from
    the log. Use this after the log or the database was restored from another time, if the log is the right one.
    """
    from drover.cli.projection import forget as run

    run(**options)
