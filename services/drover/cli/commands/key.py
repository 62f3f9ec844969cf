"""`drover key`: its arguments, options and help. What it does is in `drover.cli.key`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from drover.cli.options import DATA_DIR_DEFAULT
from drover.service.api_keys import API_KEY_LIFETIME_S, KEY_ROLES


@click.command()
@click.argument("role", type=click.Choice([role.value for role in KEY_ROLES]))
@click.argument("device_id", type=click.UUID, required=False)
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=timedelta(seconds=API_KEY_LIFETIME_S).days,
    show_default=True,
    help="How long the key lives.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help=f"Sign for the platform of `drover up` there.  [default: DROVER_JWT_SECRETS, else {DATA_DIR_DEFAULT}]",
)
def key(**options: Any) -> None:
    """Issue an API key with ROLE (anon, device or service_role), signed with the first of the platform's secrets.

    `drover key device DEVICE_ID` binds the key to one device: it sees and reports that one only. DEVICE_ID is the
    device's id (a UUID, not its serial number): no server is asked, so the device need not be registered yet.

    To change secrets without a pause: put the new one first and keep the old one second, issue new keys, then drop the
    old one.
    """
    from drover.cli.key import key as run

    run(**options)
