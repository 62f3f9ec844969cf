"""`drover key issue`: signs API keys without asking a server. The HTTP servers verify them; `keys` records keys."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import click

from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.platform_secrets import identity_secrets, shared_secrets
from drover.service.api_keys import Role, issue_api_key, sign_api_key
from drover.service.identity_keys import IdentityKeys


def issue(role: str, device_id: UUID | None, days: int, data_dir: Path | None) -> None:
    check_device(role, device_id)
    is_embedded = data_dir is not None or not _names_secrets()
    now_s, lifetime_s = time.time(), seconds(days)
    if signing := identity_secrets(data_dir, embedded=is_embedded):
        token = sign_api_key(
            IdentityKeys(signing),
            Role(role),
            key_id=str(uuid4()),
            now_s=now_s,
            expires_s=now_s + lifetime_s,
            device_id=device_id,
        )
    elif shared := shared_secrets(data_dir, embedded=is_embedded):
        token = issue_api_key(shared[0], Role(role), now_s=now_s, lifetime_s=lifetime_s, device_id=device_id)
    else:
        directory = data_dir or DATA_DIR_DEFAULT
        raise click.UsageError(
            f"No secret to sign the key with: there is no {directory / 'secrets.json'}. Name the data directory of "
            "`drover up` with --data-dir, or set DROVER_IDENTITY_SECRETS to the secret of the platform."
        )
    click.echo(token)


def _names_secrets() -> bool:
    return bool(os.environ.get("DROVER_IDENTITY_SECRETS") or os.environ.get("DROVER_JWT_SECRETS"))


def check_device(role: str, device_id: UUID | None) -> None:
    if role == Role.DEVICE and device_id is None:
        raise click.UsageError("The role device needs the id of the device: `drover key create device DEVICE_ID`.")
    if role != Role.DEVICE and device_id is not None:
        raise click.UsageError(f"A key with the role {role} is bound to no device: leave {device_id} out.")


def seconds(days: int) -> int:
    return int(timedelta(days=days).total_seconds())
