"""`drover key`: issues API keys for agents and back offices. The HTTP servers verify them."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import click

from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.stored import read_stored
from drover.embedded.credentials import Secrets
from drover.platform.settings import load
from drover.service.api_keys import Role, issue_api_key
from drover.service.config import Settings


def key(role: str, device_id: UUID | None, days: int, data_dir: Path | None) -> None:
    if role == Role.DEVICE and device_id is None:
        raise click.UsageError("The role device needs the id of the device: `drover key device DEVICE_ID`.")
    if role != Role.DEVICE and device_id is not None:
        raise click.UsageError(f"A key with the role {role} is bound to no device: leave {device_id} out.")
    secret, lifetime_s = _secret(data_dir), timedelta(days=days).total_seconds()
    click.echo(issue_api_key(secret, Role(role), now_s=time.time(), lifetime_s=lifetime_s, device_id=device_id))


def _secret(data_dir: Path | None) -> str:
    if data_dir is None and os.environ.get("DROVER_JWT_SECRETS"):
        return load(os.environ, without=("DROVER_NATS_URL", "DROVER_POSTGRES_URL"))[Settings].jwt_secrets[0]
    directory = data_dir or DATA_DIR_DEFAULT
    secrets = read_stored(directory / "secrets.json", Secrets)
    if secrets is None:
        raise click.UsageError(
            f"No secret to sign the key with: there is no {directory / 'secrets.json'}. Name the data directory of "
            "`drover up` with --data-dir, or set DROVER_JWT_SECRETS to the secret of the platform."
        )
    return secrets.jwt_secret
