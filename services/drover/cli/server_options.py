"""The options of commands that use a running platform over HTTP: where it is, and with which key. `--help` loads this
module, so it imports no code of commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from drover.cli.options import DATA_DIR_DEFAULT


class Server(NamedTuple):
    """The platform as the command line names it. `operations.access` finds what is missing here."""

    url: str | None = None
    key: str | None = None
    data_dir: Path | None = None


_URL: Final = click.option(
    "--url",
    metavar="URL",
    help="The address of the platform.",
    show_default="DROVER_URL, or that of the data directory",
)
_KEY: Final = click.option(
    "--key",
    metavar="KEY",
    help="An API key, or the access token of a person. Others on this machine can see it here: better name a file "
    "in DROVER_KEY_FILE.",
    show_default="DROVER_KEY, or the service key of the data directory",
)
_DATA_DIR: Final = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, readable=False),  # our own error names the owner
    help="The data directory of `drover up`, which has address and key.",
    show_default=f"{DATA_DIR_DEFAULT}, unless DROVER_URL is set",
)
SERVER: Final = Server._fields


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options to a command, which gets them as one argument `server`."""
    return _with(command, _URL, _KEY, _DATA_DIR)


def address_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that needs no key. It gets them as one argument `server`, too."""
    return _with(command, _URL, _DATA_DIR)


def _with(command: Callable[..., Any], *added: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def call(*args: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in SERVER if name in options}
        return command(*args, server=Server(**given), **options)

    for option in reversed(added):
        call = option(call)
    return call
