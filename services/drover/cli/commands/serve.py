"""`drover serve`: its arguments, options and help. What it does is in `drover.cli.serve`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.service_names import ALL, PARTS, SERVICES


@click.command()
@click.argument(
    "services",
    nargs=-1,
    required=True,
    type=click.Choice([*SERVICES, *PARTS, ALL]),
    metavar="SERVICE...",
)
def serve(**options: Any) -> None:
    """Run SERVICEs (scheduler, gateway, render, projector, api, …, or all) in this process, on one HTTP port.

    `render-worker` is a part of `render`: workers without the queue, for machines of their own.

    Everything else comes from the environment: DROVER_NATS_URL, DROVER_NATS_SYSTEM_URL, DROVER_POSTGRES_URL,
    DROVER_JWT_SECRETS, DROVER_HTTP_PORT, … An unknown or malformed setting stops the start and says what to write.
    """
    from drover.cli.serve import serve as run

    run(**options)
