"""Options and arguments that the commands for a running farm share. `--help` loads this module, so it imports no code
of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from drover.cli.operations.statuses import OPEN
from drover.cli.options import Number

LIMIT_DEFAULT: Final = 20
LIMIT_MAX: Final = 10_000

watch_option: Final = click.option("--watch", is_flag=True, help="Show it again every few seconds, until Ctrl-C.")
yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
limit_option: Final = click.option(
    "--limit",
    type=Number(1, LIMIT_MAX),
    default=LIMIT_DEFAULT,
    show_default=True,
    metavar="N",
    help="Show at most N.",
)
user_option: Final = click.option("--user", metavar="USER", help="Select what belongs to this user.")
job_argument: Final = click.argument("job", metavar="JOB", help="The id of the job, or the beginning of it.")
jobs_argument: Final = click.argument(
    "jobs", nargs=-1, required=True, metavar="JOB...", help="The ids of jobs, or the beginnings of them."
)
device_argument: Final = click.argument(
    "device", metavar="PHONE", help="The serial number or the id of the phone, or the beginning of it."
)
devices_argument: Final = click.argument(
    "devices", nargs=-1, required=True, metavar="PHONE...", help="Serial numbers or ids of phones, or their beginnings."
)


def status_option(states: Sequence[str], *, has_open: bool = False) -> Callable[[Any], Any]:
    """Make the option `--status` of a list. `has_open`: whether `open` stands for some of the states."""
    known = [OPEN, *states] if has_open else list(states)
    return click.option(
        "--status",
        "statuses",
        type=click.Choice(known),
        multiple=True,
        metavar="STATUS",
        help=f"Select this status: {', '.join(known)}. Repeat it for more.",
    )
