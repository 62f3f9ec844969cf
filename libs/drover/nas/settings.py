"""The settings of the NAS: the render service writes there, the api service reads films from it."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Flag, MountPoint, Nas, NasGuard, Word


class NasSettings(Section, frozen=True, kw_only=True):
    """Where finished films are."""

    render_nas: Nas | None = None
    """Where finished files go."""
    render_nas_guard: NasGuard = "mount"
    """How a mounted folder is known to be the NAS, so that a lost mount does not fill the local disk: it is a mount
    point, it has the marker file `.drover-nas` in it, or it is taken as it is."""
    render_nas_mount: MountPoint | None = None
    """The mount point that the folder of the NAS is behind. Not set: that folder itself."""
    render_nas_encrypt: Flag = True
    """Let nothing travel to the NAS in clear. Turn it off for a NAS that cannot encrypt. For smb:// only."""
    render_nas_user: Word | None = None
    """Account on the NAS, `DOMAIN\\user` for one of a domain. For smb:// only."""
    render_nas_password: Word | None = None
    """Its password."""
