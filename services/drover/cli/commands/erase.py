"""`drover erase`: its commands, options and help. What they do is in `drover.cli.erase`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option

yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.group(epilog=examples("drover erase user u1", "drover erase render 42"))
def erase() -> None:
    """Erase personal data for ever.

    The key that it is sealed with is destroyed. The log, the archive, snapshots, tables and exports keep only what
    nobody can read. The erasure itself is recorded.
    """


@erase.command(epilog=examples("drover erase user u1", "drover erase user u1 --yes"))
@click.argument("user_id", help="The id of the user, or of an account.")
@yes_option
@data_dir_option
def user(**options: Any) -> None:
    """Erase a user.

    Nobody can read the texts of their reminders, their push subscriptions, their e-mail address and their network
    addresses in the audit any more. Their alarms are deleted. If the id is that of an account, the account is removed,
    and its sessions end; the last admin cannot be erased. What earlier versions wrote into the log without sealing it,
    or with its key inside, stays readable.
    """
    from drover.cli.erase import user as run

    run(**options)


@erase.command(epilog=examples("drover erase render 42 --yes"))
@click.argument("render_id", type=int, help="The id of the render.")
@yes_option
@data_dir_option
def render(**options: Any) -> None:
    """Erase the gfx_data of a render that has ended.

    The rendered file stays: remove it from the NAS.
    """
    from drover.cli.erase import render as run

    run(**options)
