"""Under which user PostgreSQL runs: ours, or, since it refuses root, the owner of its data or `nobody`."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Final, NamedTuple

from drover.embedded import programs
from drover.embedded.errors import DataDirectoryUnusable

NOBODY: Final = "nobody"


class Account(NamedTuple):
    """The user to become. None (in the functions below) means: stay who we are."""

    uid: int
    gid: int


def account_for(data: Path) -> Account | None:
    """Whom to run as on this data folder, which may not exist yet."""
    owner = data.stat() if data.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise DataDirectoryUnusable(
                data,
                f"it belongs to user {owner.st_uid}, and this is user {os.geteuid()}",
                "It was made by root or by somebody else: run Drover as before, or choose another one with --data-dir.",
            )
        return None
    if owner is not None and owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)  # made by an ordinary user, who wants to go on with it later
    nobody = pwd.getpwnam(NOBODY)
    return Account(nobody.pw_uid, nobody.pw_gid)


def give(path: Path, account: Account | None) -> None:
    """Hand a file, or a folder with all that is in it, to the account."""
    if account is None:
        return
    os.chown(path, *account, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), *account, follow_symlinks=False)


def as_account(argv: list[str | Path], account: Account | None) -> list[str | Path]:
    """The command line that runs `argv` as the account.

    CAP_DAC_OVERRIDE lets it pass the folders above its data and its programs, which may be root's and closed (mode 700)
    to all others. access(2), with which PostgreSQL looks for its programs, heeds that capability only with
    no_setuid_fixup. The exec that follows leaves no other capability, with or without that bit.
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
