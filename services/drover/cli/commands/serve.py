"""`drover serve`: its arguments, options and help. What it does is in `drover.cli.serve`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.service_names import ALL, PARTS, SERVICES


@click.command(epilog=examples("drover serve all", "drover serve gateway api"))
@click.argument(
    "services",
    nargs=-1,
    required=True,
    type=click.Choice([*SERVICES, *PARTS, ALL]),
    metavar="SERVICE...",
    help=f"One or more of {', '.join((*SERVICES, *PARTS))}; or {ALL}.",
)
def serve(**options: Any) -> None:
    """Run services in this process, with servers of your own.

    All services of the process share one HTTP port. `render-worker` is `render` without its queue, for machines that
    only render.

    Settings come from the environment. DROVER_NATS_URL and DROVER_POSTGRES_URL are required; docs/deployment.md
    explains the others. An unknown or malformed setting stops the start and says what to write.
    """
    from drover.cli.serve import serve as run

    run(**options)
