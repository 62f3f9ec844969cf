"""`drover devices`: its commands, options and help. What they do is in `drover.cli.operations.devices`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.operation_options import device_argument, devices_argument, limit_option, status_option, watch_option
from drover.cli.operations.statuses import DEVICES
from drover.cli.options import json_option
from drover.cli.server_options import server_options


@click.group(
    epilog=examples(
        "drover devices list --pc PC-01 --watch",
        "drover devices show R58M00001",
        "drover devices reset R58M00001",
    )
)
def devices() -> None:
    """List, register, move and reset phones.

    A phone is named by its serial number or its id, or by the beginning of it.
    """


@devices.command(
    name="list",
    epilog=examples(
        "drover devices list --status error",
        "drover devices list --pc PC-01 --watch",
        "drover devices list --group P1-G1 --limit 500 --json",
    ),
)
@status_option(DEVICES)
@click.option("--pc", metavar="PC", help="Select phones on this PC.")
@click.option("--group", metavar="GROUP", help="Select phones of this group, such as P1-G1.")
@click.option("--serial", metavar="TEXT", help="Select phones whose serial number begins with this.")
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List phones with their status and current work."""
    from drover.cli.operations.devices import list_ as run

    run(**options)


@devices.command(epilog=examples("drover devices show R58M00001", "drover devices show R58M00001 --watch"))
@device_argument
@watch_option
@json_option
@server_options
def show(**options: Any) -> None:
    """Show a phone, its last report and its attempts of the last day."""
    from drover.cli.operations.devices import show as run

    run(**options)


@devices.command(epilog=examples("drover devices reset R58M00001 R58M00002"))
@devices_argument
@json_option
@server_options
def reset(**options: Any) -> None:
    """Reset phones that are in error.

    A phone is offline until its next sign of life, and its failures are forgotten.
    """
    from drover.cli.operations.devices import reset as run

    run(**options)


@devices.command(
    epilog=examples(
        "drover devices register R58M00001 --pc PC-01 --group P1-G1",
        "drover devices register R58M1 R58M2 --pc PC-02 --group P1-G2 --json",
    )
)
@click.argument("serials", nargs=-1, required=True, metavar="SERIAL...", help="The serial numbers of the phones.")
@click.option("--pc", required=True, metavar="PC", help="The PC that they are on. A new one gets 20 slots.")
@click.option("--group", required=True, metavar="GROUP", help="Their group, such as P1-G1.")
@click.option(
    "--capability",
    "capabilities",
    multiple=True,
    metavar="NAME",
    help="Something that they can do, such as age_verified. Repeat it for more.",
)
@json_option
@server_options
def register(**options: Any) -> None:
    """Register phones."""
    from drover.cli.operations.devices import register as run

    run(**options)


@devices.command(
    epilog=examples("drover devices move R58M00001 --pc PC-02", "drover devices move R58M00001 --group P1-G2")
)
@devices_argument
@click.option("--pc", metavar="PC", help="The new PC.")
@click.option("--group", metavar="GROUP", help="The new group.")
@json_option
@server_options
def move(**options: Any) -> None:
    """Move phones to another PC or group.

    A phone that has work cannot move to another PC.
    """
    from drover.cli.operations.devices import move as run

    run(**options)
