"""`drover account`: its commands, options and help. What they do is in `drover.cli.account`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option, json_option
from drover.domain.identity.policy import AccountRole

role_type: Final = click.Choice([role.value for role in AccountRole])
who_argument: Final = click.argument("who", help="The e-mail address or the id of the account.")
password_option: Final = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it."
)


@click.group(epilog=examples("drover account add kim@example.com --role operator", "drover account list"))
def account() -> None:
    """Manage the accounts of people who sign in.

    These commands need DROVER_IDENTITY_SECRETS and DROVER_SEALING_KEYS of the platform, or the data directory of
    `drover up`.
    """


@account.command(
    epilog=examples(
        "drover account add kim@example.com --role operator",
        "drover account add kim@example.com --password-stdin < password.txt",
    )
)
@click.argument("email", help="The e-mail address that the person signs in with.")
@click.option(
    "--role", type=role_type, default=AccountRole.VIEWER.value, show_default=True, help="The role of the person."
)
@password_option
@data_dir_option
def add(**options: Any) -> None:
    """Add an account.

    The command asks for a password, which must have at least 12 characters, and prints the id of the account.
    """
    from drover.cli.account import add as run

    run(**options)


@account.command(epilog=examples("drover account role kim@example.com admin"))
@who_argument
@click.argument("role", type=role_type, metavar="ROLE", help=f"The new role, one of {', '.join(AccountRole)}.")
@data_dir_option
def role(**options: Any) -> None:
    """Change the role of an account and end its sessions."""
    from drover.cli.account import role as run

    run(**options)


@account.command(epilog=examples("drover account disable kim@example.com"))
@who_argument
@data_dir_option
def disable(**options: Any) -> None:
    """Disable an account and end its sessions."""
    from drover.cli.account import disable as run

    run(**options)


@account.command(epilog=examples("drover account enable kim@example.com"))
@who_argument
@data_dir_option
def enable(**options: Any) -> None:
    """Enable an account that was disabled."""
    from drover.cli.account import enable as run

    run(**options)


@account.command(epilog=examples("drover account password kim@example.com"))
@who_argument
@password_option
@data_dir_option
def password(**options: Any) -> None:
    """Change the password of an account and end its sessions."""
    from drover.cli.account import password as run

    run(**options)


@account.command(name="list", epilog=examples("drover account list", "drover account list --json"))
@json_option
@data_dir_option
def list_(**options: Any) -> None:
    """List all accounts with their e-mail addresses."""
    from drover.cli.account import list_ as run

    run(**options)


@account.command(epilog=examples("drover account rekey"))
@data_dir_option
def rekey(**options: Any) -> None:
    """Move every account to the current keys.

    The current keys are the first ones in DROVER_IDENTITY_SECRETS and DROVER_SEALING_KEYS. Keep the old keys behind
    them until this command has finished; then remove the old ones.
    """
    from drover.cli.account import rekey as run

    run(**options)
