"""`drover token`: signs in as a person, and prints the access token."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Final

import click

from drover.cli.errors import Refused, SignInRefused
from drover.cli.exits import Exit
from drover.cli.operations.access import find_address
from drover.cli.operations.client import client_at
from drover.cli.operations.formatting import now, when
from drover.cli.output import printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server
from drover.embedded.credentials import Credentials

PATH: Final = "/auth/v1/token?grant_type=password"
REFUSED: Final = "INVALID_CREDENTIALS"


@asynchronous
async def token(email: str | None, password_stdin: bool, server: Server) -> Exit:
    access, own = find_address(server)
    email, password = _account(email, password_stdin, own)
    async with client_at(access, {}) as client:
        try:
            made = await client.send("POST", PATH, {"email": email, "password": password})
        except Refused as error:
            if error.code != REFUSED:
                raise
            raise SignInRefused(access.url, printable(email)) from error
    click.echo(made["access_token"])
    until = datetime.fromtimestamp(made["expires_at"], UTC).isoformat()
    click.echo(f"Signed in as {printable(email)} until {when(until, now())}.", err=True)
    return Exit.OK


def _account(email: str | None, from_stdin: bool, own: Credentials | None) -> tuple[str, str]:
    """Return address and password. The command line has no password, because other users of the machine can see it."""
    if email is None:
        if own is None or from_stdin:
            raise click.UsageError("Name your account by its address, such as kim@example.com.")
        return own.admin_email, own.admin_password
    if from_stdin:
        return email, sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask for the password. Give it with --password-stdin.")
    return email, str(click.prompt("Password", hide_input=True, err=True))
