"""`drover status`: its arguments, options and help. What it does is in `drover.cli.status`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option, json_option


@click.command(epilog=examples("drover status", "drover status --watch"))
@click.option("--watch", is_flag=True, help="Show it again every few seconds, until Ctrl-C.")
@json_option
@data_dir_option
def status(**options: Any) -> None:
    """Show whether the platform is healthy.

    Exits with 0 if it is, with 4 if it runs but not as it should, and with 5 if it does not answer.
    """
    from drover.cli.status import status as run

    run(**options)
