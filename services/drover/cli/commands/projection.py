"""`drover verify` and `drover projection`: their options and help. What they do is in `drover.cli.projection`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS

NAMES: Final = f"Read models: {', '.join(CONTEXTS)}. Without a name, all of them are meant."
names_argument: Final = click.argument("names", nargs=-1, type=click.Choice(CONTEXTS), metavar="[NAME]...", help=NAMES)


@click.group()
def projection() -> None:
    """Rebuild read models from the log, or drop those of another log."""


@click.command("verify")
@names_argument
@json_option
@data_dir_option
def verify_command(**options: Any) -> None:
    """Compare the tables of read models with the log, row by row.

    It changes nothing. Exits with 1 if any row differs; then run `drover projection rebuild`.
    """
    from drover.cli.projection import verify_command as run

    run(**options)


@projection.command()
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


@projection.command()
@names_argument
@data_dir_option
def forget(**options: Any) -> None:
    """Drop read models that were computed from another log.

    Read models of this log stay as they are. Restart the projector afterwards: it computes the dropped ones again from
    the log. Use this after the log or the database was restored from another time, if the log is the right one.
    """
    from drover.cli.projection import forget as run

    run(**options)
