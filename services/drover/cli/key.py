"""`drover key`: API keys for agents and back offices. Verifying them is the edges' business."""

from __future__ import annotations

import os
import time
from pathlib import Path
from uuid import UUID

import click

from drover.cli.target import DATA_DIR_DEFAULT
from drover.embedded.credentials import load_or_create_secrets
from drover.service import config
from drover.service.api_keys import API_KEY_LIFETIME_S, KEY_ROLES, Role, issue_api_key

DAY_S = 24 * 3600


@click.command()
@click.argument("role", type=click.Choice([role.value for role in KEY_ROLES]))
@click.argument("device_id", type=click.UUID, required=False)
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=API_KEY_LIFETIME_S // DAY_S,
    show_default=True,
    help="How long the key lives.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help=f"Sign for the platform of `drover up` there.  [default: DROVER_JWT_SECRETS, else {DATA_DIR_DEFAULT}]",
)
def key(role: str, device_id: UUID | None, days: int, data_dir: Path | None) -> None:
    """Issue an API key with ROLE (anon, device or service_role), signed with the first of the platform's secrets.

    `drover key device DEVICE_ID` binds the key to one device: it sees and reports that one only. DEVICE_ID is the
    device's id (a UUID, not its serial number): no server is asked, so the device need not be registered yet.

    To change secrets without a pause: put the new one first and keep the old one second, issue new keys, then drop the
    old one.
    """
    if role == Role.DEVICE and device_id is None:
        raise click.UsageError("The role device needs the id of the device: `drover key device DEVICE_ID`.")
    if role != Role.DEVICE and device_id is not None:
        raise click.UsageError(f"A key with the role {role} is bound to no device: leave {device_id} out.")
    secret, lifetime_s = _secret(data_dir), days * DAY_S
    click.echo(issue_api_key(secret, Role(role), now_s=time.time(), lifetime_s=lifetime_s, device_id=device_id))


def _secret(data_dir: Path | None) -> str:
    if data_dir is None and os.environ.get("DROVER_JWT_SECRETS"):
        return config.load(os.environ, without=("DROVER_NATS_URL", "DROVER_POSTGRES_URL")).jwt_secrets[0]
    directory = data_dir or DATA_DIR_DEFAULT
    if not (directory / "secrets.json").exists():
        raise click.UsageError(
            f"{directory} is no data directory of `drover up`. Name one with --data-dir, or set DROVER_JWT_SECRETS to "
            "the secret of the platform."
        )
    return load_or_create_secrets(directory).jwt_secret
