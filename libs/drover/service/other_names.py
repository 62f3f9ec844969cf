"""Other names for our settings: those that the users' own programs have. They are used only if our name is not set.

Names such as MAX_RETRIES, from the file `.env.worker` in document 003 (the render queue), are very general: another
program's variable could stop Drover. So they are read only if the URL of nexrender is set, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

CRON: Final = {"CRON_SECRET": "DROVER_CRON_SECRETS"}
NEXRENDER: Final = {"NEXRENDER_API_URL": "DROVER_RENDER_NEXRENDER_URL"}
WORKER: Final = {
    "AEP_TEMPLATE_DIR": "DROVER_RENDER_TEMPLATE_DIR",
    "MAX_RETRIES": "DROVER_RENDER_RETRIES",
    "BASE_RETRY_DELAY": "DROVER_RENDER_RETRY_BASE_S",
    "POLL_INTERVAL_DEFAULT": "DROVER_RENDER_POLL_S",
    "POLL_INTERVAL_IDLE": "DROVER_RENDER_POLL_IDLE_S",
    "WORKER_ID": "DROVER_RENDER_WORKER_ID",
}
"""Names of `.env.worker`, each with our name of the same setting."""
NAS_MOUNT: Final = "NAS_MOUNT_PATH"
NAS_FOLDER: Final = "NAS_OUTPUT_DIR"
NAS: Final = {NAS_MOUNT: "DROVER_RENDER_NAS", NAS_FOLDER: "DROVER_RENDER_NAS"}
"""Both names together make one setting: the folder below the mount point."""
NAS_MOUNT_SETTING: Final = "DROVER_RENDER_NAS_MOUNT"

SETTINGS: Final = CRON | NEXRENDER | WORKER | NAS
"""All names from the users' own programs, each with our name of the same setting."""
MEANINGLESS: Final = {
    "SUPABASE_URL": "Drover's workers get their renders over NATS, from DROVER_NATS_URL",
    "SUPABASE_KEY": "Drover's workers sign in to NATS, with the account in DROVER_NATS_URL",
}
"""Names of `.env.worker` that have no effect here, with the reason."""


class Fallback(NamedTuple):
    value: str
    source: str
    """The environment variables that the value comes from."""


def renders(environ: Mapping[str, str]) -> bool:
    """Whether the URL of nexrender is set, by either name."""
    return any(environ.get(name) for names in NEXRENDER.items() for name in names)


def fallbacks(environ: Mapping[str, str]) -> dict[str, Fallback]:
    """Return the settings that are set only by another name, with our name as key."""
    names = CRON | NEXRENDER | (WORKER if renders(environ) else {})
    found = {ours: Fallback(environ[theirs], theirs) for theirs, ours in names.items() if environ.get(theirs)}
    if renders(environ) and not environ.get(NAS[NAS_MOUNT]):
        found |= _nas(environ)
    return {ours: fallback for ours, fallback in found.items() if not environ.get(ours)}


def _nas(environ: Mapping[str, str]) -> Iterator[tuple[str, Fallback]]:
    mount, folder = environ.get(NAS_MOUNT, ""), environ.get(NAS_FOLDER, "")
    if mount:
        yield NAS_MOUNT_SETTING, Fallback(mount, NAS_MOUNT)
    if path := _below(mount, folder):
        names = [name for name in (NAS_MOUNT, NAS_FOLDER) if environ.get(name)]
        yield NAS[NAS_FOLDER], Fallback(path, " and ".join(names))


def _below(mount: str, folder: str) -> str:
    """Join mount point and folder, unless the folder is below the mount point already. In document 003
    `/broadcast/output` means a folder below the mount point."""
    if not mount or not folder or folder == mount or folder.startswith(mount.rstrip("/") + "/"):
        return folder or mount
    return f"{mount.rstrip('/')}/{folder.lstrip('/')}"


def unread(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the other names that are set but have no effect in any service, each with the reason."""
    found = {name: why for name, why in MEANINGLESS.items() if environ.get(name)}
    for theirs, ours in SETTINGS.items():
        if not environ.get(theirs):
            continue
        if environ.get(ours):
            found[theirs] = f"{ours} is set, and comes first"
        elif theirs not in CRON | NEXRENDER and not renders(environ):
            found[theirs] = "it counts only beside NEXRENDER_API_URL or DROVER_RENDER_NEXRENDER_URL"
    return found
