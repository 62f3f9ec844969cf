"""`drover config`: its arguments, options and help. What it does is in `drover.cli.config`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import json_option


@click.command(epilog=examples("drover config", "drover config postgres alert"))
@click.argument("words", nargs=-1, metavar="[WORD]...", help="Show only settings whose name has one of these words.")
@json_option
def config(**options: Any) -> None:
    """List every setting with its value and where it comes from.

    Passwords and secrets are not shown. Settings come from the environment, or from a file that DROVER_NAME_FILE names.
    """
    from drover.cli.config import config as run

    run(**options)
