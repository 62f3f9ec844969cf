"""A PostgreSQL that is initialised once in a run, for all servers that tests have of their own. They get copies of it:
initdb takes ten times as long."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from drover.embedded.credentials import load_or_create_secrets
from drover.embedded.directory import folder_of
from drover.embedded.postgres import postgres_server
from drover.service.private_file import write_private

MADE_S: Final = 120.0


class PostgresTemplate:
    folder: Path | None = None
    """Where the template is, or will be. All workers of a run share it. Without a folder, every server is initialised
    by itself, as a user's is."""

    def copy_to(self, data_dir: Path) -> None:
        """Prepare a new data directory. Its secrets are its own, but for the password of PostgreSQL."""
        if self.folder is None or data_dir.exists():
            return
        _ensure_made(self.folder)
        data_dir.mkdir(mode=0o700)
        password = load_or_create_secrets(self.folder).postgres_password
        own = msgspec.structs.replace(load_or_create_secrets(data_dir), postgres_password=password)
        write_private(data_dir / "secrets.json", msgspec.json.encode(own))
        made, copied = (folder_of(place, "postgres") / "data" for place in (self.folder, data_dir))
        subprocess.run(["cp", "-a", made, copied], check=True)


TEMPLATE: Final = PostgresTemplate()


def _ensure_made(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made := folder / "made").exists():
            with ThreadPoolExecutor(1) as thread:  # this one may have an event loop
                thread.submit(asyncio.run, _initialise(folder)).result(MADE_S)
            made.touch()


async def _initialise(folder: Path) -> None:
    async with postgres_server(folder):
        pass  # it is stopped well, so that a copy has nothing to replay
