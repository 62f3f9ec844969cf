"""`drover key`: its arguments, options and help. What it does is in `drover.cli.key`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from drover.cli.options import DATA_DIR_DEFAULT, Number
from drover.service.api_keys import API_KEY_LIFETIME_S, KEY_ROLES


@click.command()
@click.argument(
    "role",
    type=click.Choice([role.value for role in KEY_ROLES]),
    metavar="ROLE",
    help="Use anon for the agents of a farm, device for one device only, and service_role for a back office.",
)
@click.argument(
    "device_id",
    type=click.UUID,
    required=False,
    help="With the role device, the id of the device. It is a UUID, not the serial number.",
)
@click.option(
    "--days",
    type=Number(1, 3650),
    default=timedelta(seconds=API_KEY_LIFETIME_S).days,
    show_default=True,
    metavar="DAYS",
    help="The number of days for which the key is valid.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True, readable=False),
    help="The data directory of `drover up`, whose secret signs the key.",
    show_default=f"{DATA_DIR_DEFAULT}, unless DROVER_JWT_SECRETS is set",
)
def key(**options: Any) -> None:
    """Issue an API key for an agent or a back office.

    The key is signed with the first secret of the platform. A key for a device can read and report that device only.
    No server is asked, so the device need not be registered yet.

    To change the secret without downtime: set DROVER_JWT_SECRETS to NEW,OLD and restart the services. Issue
    new keys, then remove the old secret.
    """
    from drover.cli.key import key as run

    run(**options)
