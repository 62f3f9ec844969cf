"""`drover token`: its arguments, options and help. What it does is in `drover.cli.operations.token`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.server_options import address_options


@click.command(
    epilog=examples(
        "export DROVER_KEY=$(drover token kim@example.com)",
        "drover token kim@example.com --password-stdin < password.txt",
        "drover token   # as the first admin, on the machine of `drover up`",
    )
)
@click.argument(
    "email",
    required=False,
    help="The address of your account. Without it, the first admin of the data directory signs in.",
)
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it.")
@address_options
def token(**options: Any) -> None:
    """Sign in as a person, and print an access token.

    The token is a key for the other commands, with the permissions of your account, and expires after some minutes
    (DROVER_ACCESS_TOKEN_S). What you change with it is recorded under your name.
    """
    from drover.cli.operations.token import token as run

    run(**options)
