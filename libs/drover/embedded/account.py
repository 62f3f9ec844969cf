"""Chooses the user that runs PostgreSQL. PostgreSQL refuses root, so root starts it as the owner of its data or as
`nobody`."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Final, NamedTuple

from drover.embedded import programs
from drover.embedded.errors import DataDirectoryUnusable

NOBODY: Final = "nobody"


class Account(NamedTuple):
    """The user as which PostgreSQL runs. Where the functions below take or return None, that is the current user."""

    uid: int
    gid: int


def account_for(data: Path) -> Account | None:
    """Return the user that runs PostgreSQL on this data folder, which may not exist yet. None: the current user. Raises
    DataDirectoryUnusable if the folder belongs to somebody else."""
    owner = data.stat() if data.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise DataDirectoryUnusable(
                data,
                f"it belongs to user {owner.st_uid}, but this is user {os.geteuid()}",
                "It was made by root or by somebody else: run Drover as before, or choose another one with --data-dir.",
            )
        return None
    if owner is not None and owner.st_uid != 0:
        # An ordinary user made the folder, and may want to use it again without root.
        return Account(owner.st_uid, owner.st_gid)
    nobody = pwd.getpwnam(NOBODY)
    return Account(nobody.pw_uid, nobody.pw_gid)


def give(path: Path, account: Account | None) -> None:
    """Make the account the owner of a file, or of a folder with all its content."""
    if account is None:
        return
    os.chown(path, *account, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), *account, follow_symlinks=False)


def as_account(argv: list[str | Path], account: Account | None) -> list[str | Path]:
    """Make the command line that runs `argv` as the account.

    The command keeps CAP_DAC_OVERRIDE, because the folders above its data and its programs may belong to root with mode
    700. PostgreSQL looks for its programs with access(2), which respects that capability only if the securebit
    no_setuid_fixup is set. All other capabilities are dropped when the command is executed, with or without that
    securebit.
    """
    if account is None:
        return argv
    return [
        programs.setpriv(),
        f"--reuid={account.uid}",
        f"--regid={account.gid}",
        "--clear-groups",
        "--no-new-privs",
        "--securebits=+no_setuid_fixup",
        "--inh-caps=-all,+dac_override",
        "--ambient-caps=-all,+dac_override",
        *argv,
    ]
