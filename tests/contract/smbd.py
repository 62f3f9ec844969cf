"""A real Samba server for a test: an ordinary process with a configuration of its own, on a free port of loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SBIN: Final = "/usr/sbin:/sbin:/usr/local/sbin"
SHARE: Final = "broadcast"
USER: Final = "render"
PASSWORD: Final = "only-for-tests"
END_S: Final = 15.0

CONFIGURATION: Final = """
[global]
  server role = standalone server
  workgroup = OFFICE
  netbios name = NAS
  smb ports = {port}
  interfaces = 127.0.0.1
  bind interfaces only = yes
  server min protocol = SMB3_00
  map to guest = never
  passdb backend = tdbsam:{home}/passdb.tdb
  username map = {home}/users.map
  private dir = {home}
  state directory = {home}
  lock directory = {home}
  cache directory = {home}
  pid directory = {home}
  ncalrpc dir = {home}/rpc
  log file = {home}/smbd.log
  load printers = no
  printcap name = /dev/null
  disable spoolss = yes
[{share}]
  path = {files}
  read only = no
"""


@dataclass(frozen=True)
class Smbd:
    """Files of the share are in `files`, for the test to look at behind the server's back."""

    port: int
    files: Path
    process: subprocess.Popen[bytes]


def missing() -> str | None:
    """Why there can be no server here."""
    if _program("smbd") is None or _program("pdbedit") is None:
        return "smbd is not installed (Debian: apt-get install samba)"
    return None


@contextmanager
def smbd(home: Path, port: int) -> Iterator[Smbd]:
    """Up when the process is; it listens a moment later. It ends with the block, or with the process that made it."""
    files = home / "files"
    files.mkdir(parents=True)
    configuration = home / "smb.conf"
    configuration.write_text(CONFIGURATION.format(port=port, home=home, files=files, share=SHARE))
    account = pwd.getpwuid(os.getuid()).pw_name  # Samba needs one of this machine behind its own
    (home / "users.map").write_text(f"{account} = {USER}\n")
    subprocess.run(
        [_program("pdbedit"), "-s", configuration, "-a", "-t", "-u", account],
        input=f"{PASSWORD}\n{PASSWORD}\n".encode(),
        check=True,
        capture_output=True,
    )
    process = subprocess.Popen(
        [_program("smbd"), "--foreground", "--no-process-group", f"--configfile={configuration}"],
        stdin=subprocess.PIPE,  # when it closes, because we are gone, the server ends
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield Smbd(port, files, process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(END_S)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=SBIN)
