"""`drover up`: its arguments, options and help. What it does is in `drover.cli.up`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from drover.cli.options import DATA_DIR_DEFAULT

PORT_DEFAULT: Final = 8080


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=DATA_DIR_DEFAULT,
    show_default=True,
    help="Where everything is kept: the log, the database, keys.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=PORT_DEFAULT, show_default=True, help="Port of all HTTP."
)
@click.option("--demo", is_flag=True, help="Add a simulated farm, so that every screen moves.")
def up(**options: Any) -> None:
    """Run the whole platform here: NATS and PostgreSQL as child processes, every service, one HTTP port.

    Ctrl-C stops all of it cleanly; the next start goes on where it was, after `kill -9` too.
    """
    from drover.cli.up import up as run

    run(**options)
