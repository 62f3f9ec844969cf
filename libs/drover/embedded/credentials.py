"""The passwords and keys of an embedded installation: created once, then kept in files."""

from __future__ import annotations

import base64
import secrets
import time
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

import msgspec

from drover.embedded.errors import DataDirectoryUnusable
from drover.service.api_keys import API_KEY_LIFETIME_S, Role, sign_api_key
from drover.service.private_file import write_private

ADMIN_EMAIL: Final = "admin@drover.local"
SEALING_KEY_ID: Final = "k1"
SECRET_BYTES: Final = 32
PASSWORD_BYTES: Final = 18


class Secrets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The secrets that only Drover itself uses, stored in `secrets.json`. People never need them."""

    nats_password: str
    nats_system_password: str
    postgres_password: str
    sealing_key: str = ""
    """The key that encrypts personal data: `id:base64`, as in DROVER_SEALING_KEYS. An older data directory without one
    gets one at the next start."""
    identity_secret: str = ""
    """The secret that signs API keys and people's tokens. An older data directory without one gets one at the next
    start."""
    jwt_secret: str = ""
    """The shared secret that signed the API keys of older versions. New data directories have none. If it is removed,
    an older key is valid only if it was adopted (`drover key adopt`)."""


class Credentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys and addresses that people copy into an agent, a dashboard or a shell, stored in `credentials.json`."""

    url: str
    anon_key: str
    service_key: str
    cron_secret: str
    admin_email: str
    admin_password: str
    nats_url: str
    postgres_url: str


Stored = TypeVar("Stored", Secrets, Credentials)


def load_or_create_secrets(data_dir: Path) -> Secrets:
    path = data_dir / "secrets.json"
    if (known := _load(path, Secrets)) is not None:
        complete = msgspec.structs.replace(
            known,
            sealing_key=known.sealing_key or _sealing_key(),
            identity_secret=known.identity_secret or secrets.token_hex(SECRET_BYTES),
        )
        if complete != known:
            _store(path, complete)
        return complete
    made = Secrets(
        nats_password=secrets.token_hex(SECRET_BYTES),
        nats_system_password=secrets.token_hex(SECRET_BYTES),
        postgres_password=secrets.token_hex(SECRET_BYTES),
        sealing_key=_sealing_key(),
        identity_secret=secrets.token_hex(SECRET_BYTES),
    )
    _store(path, made)
    return made


def _sealing_key() -> str:
    return f"{SEALING_KEY_ID}:{base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}"


def load_or_create(data_dir: Path, http_url: str, nats_url: str, postgres_url: str) -> Credentials:
    """Return the credentials of this data directory, with the current addresses. Create those that are missing."""
    path = data_dir / "credentials.json"
    known = _load(path, Credentials)
    own = load_or_create_secrets(data_dir)
    current = Credentials(
        url=http_url,
        anon_key=_valid_key(known.anon_key if known else None, own, Role.ANON),
        service_key=_valid_key(known.service_key if known else None, own, Role.SERVICE_ROLE),
        cron_secret=known.cron_secret if known else secrets.token_hex(SECRET_BYTES),
        admin_email=known.admin_email if known else ADMIN_EMAIL,
        admin_password=known.admin_password if known else secrets.token_urlsafe(PASSWORD_BYTES),
        nats_url=nats_url,
        postgres_url=postgres_url,
    )
    if current != known:
        _store(path, current)
    return current


def _valid_key(known: str | None, own: Secrets, role: Role) -> str:
    # Imported here, because these import cryptography, and most commands only read the files.
    from drover.service.identity_keys import IdentityKeys
    from drover.service.verified_keys import verified_claims

    keys = IdentityKeys([own.identity_secret])
    # Keep the known key, unless it has expired or secrets.json was replaced.
    if known is not None and verified_claims(known, keys, filter(None, [own.jwt_secret])) is not None:
        return known
    now_s = time.time()
    return sign_api_key(keys, role, key_id=str(uuid4()), now_s=now_s, expires_s=now_s + API_KEY_LIFETIME_S)


def _load(path: Path, kind: type[Stored]) -> Stored | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:  # ValidationError is a DecodeError
        raise DataDirectoryUnusable(
            path.parent, f"{path.name} cannot be read ({error})", f"Restore {path.name} from a backup."
        ) from error


def _store(path: Path, content: Secrets | Credentials) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
