"""Renames a file on a mounted NAS without ever replacing another file: with a Linux system call or, where that is not
supported, with a hard link."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

_NOREPLACE: Final = 1  # RENAME_NOREPLACE of <linux/fs.h>
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""The errors of kernels and file systems that cannot rename without replacing. NFS cannot, but supports hard links."""

_renameat2: Final = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def rename_without_replacing(source: str, target: str, *, folder: int) -> None:
    """Rename a file within the folder that is open as a descriptor. Raises FileExistsError if the target exists."""
    try:
        _rename(source, target, folder)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        link_and_unlink(source, target, folder=folder)


def link_and_unlink(source: str, target: str, *, folder: int) -> None:
    """Rename in two steps: make a hard link, then delete the old name. After a crash in between, the file has both
    names, and the search for abandoned files removes the temporary one."""
    try:
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        if not _same_file(source, target, folder):
            raise  # if it is the same file, NFS repeated the request after a lost reply and found its own link
    os.unlink(source, dir_fd=folder)


def _same_file(source: str, target: str, folder: int) -> bool:
    return os.path.samestat(
        os.stat(source, dir_fd=folder, follow_symlinks=False), os.stat(target, dir_fd=folder, follow_symlinks=False)
    )


def _rename(source: str, target: str, folder: int) -> None:
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if _renameat2(folder, os.fsencode(source), folder, os.fsencode(target), _NOREPLACE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), source, None, target)
