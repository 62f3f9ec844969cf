"""Both servers lost with all that they had, and the platform back from its archive: every row as it was."""

from __future__ import annotations

import shutil
import signal
from functools import partial

import asyncpg
import pytest

from drover.archive.archive import Archive
from drover.archive.folder_store import FolderStore
from drover.bus.connection import connected
from drover.cli.exits import Exit
from drover.domain.contexts import CONTEXTS
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition
from drover.readmodel.form import placed
from drover.testing.waiting import eventually
from tests.e2e.process import run_to_the_end

LIVED_S = 150.0
ENOUGH = {"fleet": 60, "render": 5, "analysis": 3, "identity": 2, "reminder": 8}
"""Commits in each context, after which there is something to lose."""


async def ends(platform) -> dict[str, int]:
    async with connected(platform.credentials["nats_url"], "test") as client:
        return {name: await JetStreamLog(client, Partition(name, ALL)).context_end() for name in CONTEXTS}


async def told(platform, upto: dict[str, int]) -> dict[str, list[tuple]]:
    """What the read models keep of each event up to there: rows that are never changed."""
    connection = await asyncpg.connect(platform.credentials["postgres_url"])
    try:
        return {
            name: [
                tuple(row)
                for row in await connection.fetch(
                    placed(f"SELECT * FROM rm_{name}.events WHERE seq <= $1 ORDER BY seq, line"), upto[name]
                )
            ]
            for name in CONTEXTS
        }
    finally:
        await connection.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("EV-02", "EV-03", "EV-06")
async def test_with_both_servers_gone_all_is_restored_from_the_archive(start, tmp_path):
    archive, kept = tmp_path / "archive", tmp_path / "kept"
    kept.mkdir()

    async def drover(*arguments):
        asked = (*arguments, "--data-dir", tmp_path / "data")
        return await run_to_the_end(*asked, output=tmp_path / f"{arguments[0]}-{len(arguments)}.log")

    platform = await start("--demo")

    async def lived():
        found = await ends(platform)
        return all(found[name] >= count for name, count in ENOUGH.items())

    await eventually(lived, LIVED_S, every_s=0.5)
    code, said = await drover("archive", "create", archive)
    assert code == Exit.OK, said
    upto = {name: (await Archive.open(FolderStore(archive), name)).last for name in CONTEXTS}
    assert all(upto[name] >= count for name, count in ENOUGH.items())

    async def projected():
        rows = await told(platform, upto)
        return all(rows[name] and rows[name][-1][0] == upto[name] for name in CONTEXTS) and rows

    before = await eventually(projected, every_s=0.5)
    for name in ("secrets.json", "credentials.json"):
        shutil.copy2(platform.data_dir / name, kept)
    platform.send(signal.SIGKILL)
    assert await platform.ended() == -signal.SIGKILL

    shutil.rmtree(platform.data_dir)
    code, said = await drover("archive", "restore", archive)
    assert code == Exit.OK, said
    for file in kept.iterdir():
        shutil.copy2(file, platform.data_dir)
    platform = await start()
    assert await eventually(partial(_are, before, platform, upto), every_s=0.5)
    code, said = await drover("verify")
    assert code == Exit.OK, said
    assert "reactors_are_off" in platform.output
    async with platform.calling() as http:
        assert await http.rows("devices"), "the keys are still good, and the rows are served"


async def _are(before, platform, upto):
    try:
        return await told(platform, upto) == before
    except asyncpg.UndefinedTableError:  # the projector has yet to make it
        return False
