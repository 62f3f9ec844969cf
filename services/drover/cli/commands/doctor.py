"""`drover doctor`: its arguments, options and help. What it does is in `drover.cli.doctor`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option, json_option


@click.command(epilog=examples("drover doctor", "drover doctor --json"))
@json_option
@data_dir_option
def doctor(**options: Any) -> None:
    """Check this machine and the platform, and say what to fix.

    It changes nothing. Exits with 1 if a check fails.
    """
    from drover.cli.doctor import doctor as run

    run(**options)
