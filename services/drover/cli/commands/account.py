"""`drover account`: its commands, options and help. What they do is in `drover.cli.account`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.options import data_dir_option, json_option
from drover.domain.identity.policy import AccountRole

role_type: Final = click.Choice([role.value for role in AccountRole])
password_option: Final = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it."
)


@click.group()
def account() -> None:
    """People who sign in: add, list and change their accounts. WHO is an e-mail address or an account's id.

    Needs the platform's DROVER_IDENTITY_SECRETS and DROVER_SEALING_KEYS, or the directory of `drover up`.
    """


@account.command()
@click.argument("email")
@click.option("--role", type=role_type, default=AccountRole.VIEWER.value, show_default=True, help="What they may do.")
@password_option
@data_dir_option
def add(**options: Any) -> None:
    """Make an account for EMAIL. Its password is asked for; it has at least 12 characters."""
    from drover.cli.account import add as run

    run(**options)


@account.command()
@click.argument("who")
@click.argument("role", type=role_type)
@data_dir_option
def role(**options: Any) -> None:
    """Give WHO another ROLE: admin, operator or viewer. It signs them out everywhere."""
    from drover.cli.account import role as run

    run(**options)


@account.command()
@click.argument("who")
@data_dir_option
def disable(**options: Any) -> None:
    """Sign WHO out everywhere and let them in no more."""
    from drover.cli.account import disable as run

    run(**options)


@account.command()
@click.argument("who")
@data_dir_option
def enable(**options: Any) -> None:
    """Let WHO sign in again."""
    from drover.cli.account import enable as run

    run(**options)


@account.command()
@click.argument("who")
@password_option
@data_dir_option
def password(**options: Any) -> None:
    """Give WHO a new password. It signs them out everywhere."""
    from drover.cli.account import password as run

    run(**options)


@account.command(name="list")
@json_option
@data_dir_option
def list_(**options: Any) -> None:
    """Show all accounts, with their addresses."""
    from drover.cli.account import list_ as run

    run(**options)


@account.command()
@data_dir_option
def rekey(**options: Any) -> None:
    """Put every account under the first of the identity secrets and of the sealing keys.

    Afterwards the old ones can be dropped; until then keep them behind the new ones.
    """
    from drover.cli.account import rekey as run

    run(**options)
