"""The settings of the NAS: the render service writes there, the api service reads finished files from it."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Flag, MountPoint, Nas, NasGuard, Word


class NasSettings(Section, frozen=True, kw_only=True):
    """The NAS where finished files are."""

    render_nas: Nas | None = None
    """Where finished files go."""
    render_nas_guard: NasGuard = "mount"
    """How to recognise the NAS at a mounted folder, so that a lost mount does not fill the local disk: by its mount
    point (mount), by the marker file `.drover-nas` in it (marker), or not at all (folder)."""
    render_nas_mount: MountPoint | None = None
    """The mount point above the folder of the NAS. Not set: that folder itself."""
    render_nas_encrypt: Flag = True
    """Encrypt the connection to the NAS. Turn it off for a NAS that cannot encrypt. For smb:// only."""
    render_nas_user: Word | None = None
    """Account on the NAS, `DOMAIN\\user` for one of a domain. For smb:// only."""
    render_nas_password: Word | None = None
    """The password of that account."""
