"""`drover verify` and `drover projection`: their options and help. What they do is in `drover.cli.projection`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS

names_argument = click.argument("names", nargs=-1, type=click.Choice(CONTEXTS), metavar="[NAME]...")


@click.group()
def projection() -> None:
    """Read models: made of the log, and made anew from it at any time."""


@click.command("verify")
@names_argument
@json_option
@data_dir_option
def verify_command(**options: Any) -> None:
    """Fold the log anew and compare it with every table, row by row. Changes nothing; exits with 1 if any row differs.

    NAMEs are read models (fleet, render, …); without any, all of them.
    """
    from drover.cli.projection import verify_command as run

    run(**options)


@projection.command()
@names_argument
@click.option("--dry-run", is_flag=True, help="Fold and compare, but put nothing in place.")
@json_option
@data_dir_option
def rebuild(**options: Any) -> None:
    """Fold read models anew beside those that serve, show every row that differs, and put them in their place.

    Nobody who reads notices. Interrupted, it goes on where it was when it is started again.
    """
    from drover.cli.projection import rebuild as run

    run(**options)
