"""Creates the store for the address of a NAS."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, urlsplit

from drover.domain.errors import DroverError
from drover.nas.blocking import STALL_S
from drover.nas.mount_guard import Guard, marker, mount_point, plain_folder
from drover.nas.mounted import MountedStore
from drover.nas.naming import parts_inside
from drover.nas.settings import NasSettings
from drover.nas.store import NasStore

if TYPE_CHECKING:
    from drover.nas.smb_share import ShareAddress

GuardName = Literal["mount", "marker", "folder"]
"""How the NAS is recognised at a mounted path: by its mount point, a marker file, or not at all (see `mount_guard`)."""

_FORMS: Final = "Write a path (/mnt/nas/output) or smb://host[:port]/share/folder."


class NasAddressInvalid(DroverError):
    """The address of the NAS cannot be understood."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"DROVER_RENDER_NAS={address} is not an address of a NAS: {reason}. {_FORMS}")
        self.address = address
        self.reason = reason


def open_nas(settings: NasSettings) -> NasStore:
    """Make the store that the settings describe. The caller has checked that they name one."""
    return open_store(
        str(settings.render_nas),
        user=settings.render_nas_user,
        password=settings.render_nas_password,
        encrypt=settings.render_nas_encrypt,
        guard=settings.render_nas_guard,
        mounted_at=Path(settings.render_nas_mount) if settings.render_nas_mount else None,
    )


def open_store(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    encrypt: bool = True,
    guard: GuardName = "mount",
    mounted_at: Path | None = None,
    stall_s: float = STALL_S,
) -> NasStore:
    """Make the store for an address. It does not connect to the NAS yet.

    `user`, `password` and `encrypt` are for SMB; `guard` and `mounted_at` are for mounted paths. `mounted_at` is the
    mount point above the path, by default the path itself. Raises NasAddressInvalid.
    """
    if url.startswith("smb:"):
        # Here, because it imports 40 modules of the SMB client, and most platforms have no NAS, or a mounted one.
        from drover.nas.smb import SmbStore
        from drover.nas.smb_share import Account

        return SmbStore(_share_address(url), Account(user, password), encrypt=encrypt, stall_s=stall_s)
    root = Path(url)
    if not root.is_absolute():
        raise NasAddressInvalid(url, "neither an absolute path nor smb://")
    if mounted_at is not None and not root.is_relative_to(mounted_at):
        raise NasAddressInvalid(url, f"it is not below the mount point {mounted_at}")
    return MountedStore(root, _guard(guard, mounted_at or root), stall_s=stall_s)


def _guard(name: GuardName, place: Path) -> Guard:
    match name:
        case "mount":
            return mount_point(place)
        case "marker":
            return marker()
        case "folder":
            return plain_folder


def _share_address(url: str) -> ShareAddress:
    from drover.nas.smb_share import PORT, ShareAddress

    try:
        address = urlsplit(url)
        host, port = address.hostname, address.port or PORT
        share, *folder = [unquote(part) for part in address.path.split("/") if part]
    except ValueError as error:
        raise NasAddressInvalid(_without_account(url), "it has no valid host, port or share") from error
    if "@" in address.netloc:
        raise NasAddressInvalid(_without_account(url), "addresses are logged, so it must not contain the account")
    if not host or address.query or address.fragment:
        raise NasAddressInvalid(url, "it has no host" if not host else "it has more than a folder")
    try:
        parts_inside(PurePosixPath(share, *folder))
    except ValueError as error:
        raise NasAddressInvalid(url, "not a folder of a share") from error
    return ShareAddress(host, share, PurePosixPath(*folder), port)


def _without_account(url: str) -> str:
    scheme, _, rest = url.partition("//")
    return f"{scheme}//{rest.rpartition('@')[2]}"
