"""`drover sealing`: its commands, options and help. What they do is in `drover.cli.sealing`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option, json_option


@click.group(epilog=examples("drover sealing status", "drover sealing backup keys"))
def sealing() -> None:
    """Back up, restore and rotate the keys of personal data.

    They are not in the log, so no archive has them. They are encrypted with DROVER_SEALING_KEYS.
    """


@sealing.command(epilog=examples("drover sealing backup keys"))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), help="The folder of the backups.")
@data_dir_option
def backup(**options: Any) -> None:
    """Write all keys into a new file.

    Backups in this folder that are older than 30 days are removed. An erased person could be read with an older backup,
    the log and DROVER_SEALING_KEYS, so keep no copies of these files for longer.
    """
    from drover.cli.sealing import backup as run

    run(**options)


@sealing.command(epilog=examples("drover sealing restore keys.json"))
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file that `backup` has written."
)
@data_dir_option
def restore(**options: Any) -> None:
    """Put back the keys that are missing.

    Keys of people and renders that were erased since are not put back: the log says who was erased. So restore the log
    first.
    """
    from drover.cli.sealing import restore as run

    run(**options)


@sealing.command(epilog=examples("drover sealing rotate"))
@data_dir_option
def rotate(**options: Any) -> None:
    """Wrap all keys with the first one of DROVER_SEALING_KEYS.

    Accounts that an earlier version sealed get the key of their person. Add the new key to the settings of all services
    first, and restart them. If the command is interrupted, run it again. Then `drover sealing status` says whether the
    old key is still needed.
    """
    from drover.cli.sealing import rotate as run

    run(**options)


@sealing.command(epilog=examples("drover sealing status", "drover sealing status --json"))
@json_option
@data_dir_option
def status(**options: Any) -> None:
    """Show what each sealing key still opens.

    Exits with 1 if a key is needed that is not in the settings.
    """
    from drover.cli.sealing import status as run

    run(**options)
