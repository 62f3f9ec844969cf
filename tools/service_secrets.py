"""Which container gets which secret, and why. `deploy/compose.yaml` and the chart must agree with it.

`tests/deploy/test_secrets_by_need.py` compares them with this table, in both directions. A new secret begins here.
"""

from __future__ import annotations

from typing import Final

import msgspec

from drover.cli.service_names import PARTS, SERVICES

MIGRATE: Final = "migrate"
TOOLS: Final = "tools"
"""The container of the command line. In the chart, commands run in the pods of the api."""
RESTORE: Final = "restore"
FARM_KEYS: Final = "farm-keys"
"""Signs the keys of the simulated farm. It has no network, and only compose has it."""
RUNNING: Final = (*SERVICES, *PARTS)
CONTAINERS: Final = (*RUNNING, MIGRATE, TOOLS, RESTORE, FARM_KEYS)
NATS_USERS: Final = {**{name: name for name in RUNNING}, TOOLS: "operator", RESTORE: "restore"}
"""The NATS user of each container. The migration needs none: it uses the database only."""


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    setting: str
    """The setting that the file is for."""
    to: tuple[str, ...]
    """The containers that get the file."""
    why: str
    is_optional: bool = False
    """Whether an installation may do without. Then compose mounts a file that holds only a comment, and the chart
    mounts nothing unless a value asks for it."""


FOLDS: Final = ("scheduler", "gateway", "render", "cleanup", "reminder")
"""Services that fold a log. Usually they begin at a snapshot in NATS. After an upgrade that changes the rules of a
context there is none that they can read, and what has left NATS is only in the archive (ADR 34 and 36): without it they
would not start. So they may read the archive."""
READS_ARCHIVE: Final = (*FOLDS, "projector", "api", TOOLS)
WRITES_ARCHIVE: Final = ("archiver", RESTORE)
KEEPS_PICTURES: Final = ("gateway", "api")
VERIFIES: Final = ("gateway", "cleanup", "reminder", "api")


def _named(name: str, *to: str, why: str, is_optional: bool = False) -> dict[str, Secret]:
    """Make the row of a secret whose file has the name of its setting."""
    return {name: Secret(setting=f"DROVER_{name.upper()}", to=to, why=why, is_optional=is_optional)}


def _of_the_archive(prefix: str, to: tuple[str, ...], why: str) -> dict[str, Secret]:
    return {
        f"{prefix}_{part}": Secret(setting=f"DROVER_ARCHIVE_S3_{part.upper()}", to=to, why=why, is_optional=True)
        for part in ("key_id", "secret")
    }


SECRETS: Final[dict[str, Secret]] = {
    **{
        f"nats_url_{user}": Secret(setting="DROVER_NATS_URL", to=(container,), why="the NATS user of this container")
        for container, user in NATS_USERS.items()
    },
    "nats_url_system": Secret(
        setting="DROVER_NATS_SYSTEM_URL", to=tuple(NATS_USERS), why="asks whether NATS syncs each write to disk"
    ),
    **_named(
        "postgres_url",
        *("gateway", "cleanup", "reminder", "projector", "archiver", "api", MIGRATE, TOOLS, RESTORE),
        why="reads or writes tables",
    ),
    **_named("identity_secrets", "api", TOOLS, FARM_KEYS, why="signs API keys and people's tokens"),
    **_named(
        "identity_sealing_keys",
        "api",
        TOOLS,
        why="seals and opens e-mail addresses, password hashes and addresses of the audit",
    ),
    **_named("render_sealing_keys", "gateway", "render-worker", why="the gateway seals gfx_data, workers open it"),
    **_named(
        "reminder_sealing_keys",
        *("gateway", "reminder", "api"),
        why="seals and opens texts of alarms and subscriptions of browsers; the api shows the texts",
    ),
    **_named("cron_secrets", "cleanup", TOOLS, why="checks who calls the clean-up; the doctor checks that it is set"),
    **_named(
        "jwt_secrets",
        *(*VERIFIES, TOOLS),
        why="verifies API keys of before, until they are adopted; new installations have none",
        is_optional=True,
    ),
    **_of_the_archive("archive_s3", WRITES_ARCHIVE, why="writes the archive in a bucket"),
    **_of_the_archive("archive_reader_s3", READS_ARCHIVE, why="reads commits that have left NATS from a bucket"),
    **_named("evidence_s3_key_id", *KEEPS_PICTURES, why="keeps pictures of failures in a bucket", is_optional=True),
    **_named("evidence_s3_secret", *KEEPS_PICTURES, why="keeps pictures of failures in a bucket", is_optional=True),
    **_named("sentry_dsn", *RUNNING, why="reports errors", is_optional=True),
    **_named("alert_slack_url", "notifier", why="tells of alerts", is_optional=True),
    **_named("alert_webhook_url", "notifier", why="tells of alerts", is_optional=True),
    **_named("alert_webhook_secrets", "notifier", why="signs what it tells", is_optional=True),
    **_named("reminder_webhook_secrets", "reminder", why="signs reminders", is_optional=True),
    **_named("reminder_vapid_private_key", "reminder", why="sends to browsers", is_optional=True),
    **_named("reminder_apprise_urls", "reminder", why="sends by apprise", is_optional=True),
    **_named("render_nas_password", "api", "render-worker", why="shows and delivers finished films", is_optional=True),
    **_named("render_nexrender_secret", "render-worker", why="nexrender may ask for it", is_optional=True),
}
"""The secrets by the name of their file, in `deploy/secrets` and in the Secret of the chart."""


def files_of(container: str, *, with_optional: bool = True) -> dict[str, str]:
    """Return the files that a container gets, with the setting that each one is for."""
    return {
        file: secret.setting
        for file, secret in SECRETS.items()
        if container in secret.to and (with_optional or not secret.is_optional)
    }
