"""`drover audit`: its commands, options and help. What they do is in `drover.cli.audit`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.moments import Moment
from drover.cli.options import Number, data_dir_option, json_option
from drover.domain.identity.audit import AccessKind

LIMIT_MAX: Final = 500
kind_type: Final = click.Choice([kind.value for kind in AccessKind])


@click.group(epilog=examples("drover audit list --since 1d"))
def audit() -> None:
    """See who read and changed what, and from where."""


@audit.command(
    name="list",
    epilog=examples("drover audit list --since 1d", "drover audit list --by service_role --limit 100 --json"),
)
@click.option("--by", metavar="ACTOR", help="Select what this actor did, such as user:ID or service_role.")
@click.option(
    "--kind",
    "kinds",
    type=kind_type,
    multiple=True,
    metavar="KIND",
    help=f"Select this kind. Repeat it for more. Kinds: {', '.join(kind_type.choices)}.",
)
@click.option(
    "--since",
    type=Moment(),
    metavar="TIME",
    help="Select from this time on. Write how long ago (30s, 10m, 2h, 7d) or an ISO time.",
)
@click.option("--until", type=Moment(), metavar="TIME", help="Select up to this time, written in the same way.")
@click.option(
    "--limit", type=Number(1, LIMIT_MAX), default=50, show_default=True, metavar="N", help="Show the newest N."
)
@json_option
@data_dir_option
def list_(**options: Any) -> None:
    """List the newest entries of the audit.

    The addresses in it need DROVER_SEALING_KEYS of the platform, or the data directory of `drover up`. Using this
    command is recorded, too.
    """
    from drover.cli.audit import list_ as run

    run(**options)
