"""`drover up`: its arguments, options and help. What it does is in `drover.cli.up`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.options import DATA_DIR_DEFAULT, Number

PORT_DEFAULT: Final = 8080


@click.command(epilog=examples("drover up --demo", "drover up --port 8081 --data-dir /srv/drover"))
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, readable=False),
    default=DATA_DIR_DEFAULT,
    show_default=True,
    help="The directory for the log, the database and the keys.",
)
@click.option(
    "--port",
    type=Number(1, 65535),
    default=PORT_DEFAULT,
    show_default=True,
    metavar="PORT",
    help="The port of the dashboard and of all HTTP APIs.",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Serve HTTPS with this certificate (PEM, with its chain). It is read again when it changes.",
)
@click.option(
    "--tls-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The key of that certificate (PEM).",
)
@click.option("--demo", is_flag=True, help="Add a simulated farm, so that every screen shows something.")
def up(**options: Any) -> None:
    """Run the whole platform on this machine.

    It starts NATS and PostgreSQL as child processes, and every service on one HTTP port. Ctrl-C stops everything. The
    next start continues where this one stopped, even after a crash.
    """
    from drover.cli.up import up as run

    run(**options)
