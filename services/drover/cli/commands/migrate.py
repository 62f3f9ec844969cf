"""`drover migrate`: its arguments, options and help. What it does is in `drover.cli.migrate`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option, json_option


@click.command(epilog=examples("drover migrate", "drover migrate --json"))
@json_option
@data_dir_option
def migrate(**options: Any) -> None:
    """Apply the migrations that the database does not have yet.

    You can run it at any time, and on several machines at once.
    """
    from drover.cli.migrate import migrate as run

    run(**options)
