"""What `drover doctor` says about commits that have left NATS."""

import pytest

from drover.archive.creating import create
from drover.archive.folder_store import FolderStore
from drover.bus.connection import connected
from drover.cli.checks import platform, retention
from drover.cli.checks.finding import Scene, Verdict
from drover.cli.errors import NoPlatform
from drover.domain.contexts import CONTEXTS
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.writer.nats_writer import prepare

pytestmark = pytest.mark.req("YR-01")


@pytest.fixture
async def client(own_nats):
    async with connected(own_nats.url, "test") as client:
        await prepare(client, CONTEXTS)
        for context in CONTEXTS:
            log, seq = JetStreamLog(client, Partition(context)), 0
            for n in range(1, 4):
                line = b'{"type":"Said","n":%d,"at":"2026-01-31T08:00:00Z"}\n' % n
                seq = await log.append(Commit(str(n), 1, line), seq)
        yield client


def scene(client, tmp_path, **environ):
    away = NoPlatform(tmp_path, is_named=True)
    return Scene(data_dir=tmp_path, environ=environ, target=away, nats=client, postgres=away)


async def test_a_log_that_is_whole_needs_no_archive(client, tmp_path):
    found = await retention.old_commits_are_archived(scene(client, tmp_path))
    assert (found.verdict, found.found) == (Verdict.SKIPPED, "no archive: DROVER_ARCHIVE is not set")


async def test_commits_that_have_left_nats_need_one(client, tmp_path):
    await client.jsm().purge_stream("RENDER", subject="evt.render.main", seq=3)
    found = await retention.old_commits_are_archived(scene(client, tmp_path))
    assert (found.verdict, found.found) == (
        Verdict.FAIL,
        "commits of render have left NATS, and DROVER_ARCHIVE is not set",
    )


async def test_an_archive_that_is_missing_or_complete_is_said_to_be(client, tmp_path):
    seen = scene(client, tmp_path, DROVER_ARCHIVE=str(tmp_path / "archive"))
    assert (await retention.old_commits_are_archived(seen)).verdict is Verdict.WARN
    for context in CONTEXTS:
        await create(FolderStore(tmp_path / "archive"), [JetStreamLog(client, Partition(context))])
    found = await retention.old_commits_are_archived(seen)
    assert (found.verdict, found.found.endswith("at most 0 commits behind")) == (Verdict.OK, True)


async def test_a_stream_that_refuses_purges_is_named_with_the_command_to_run(client, tmp_path):
    config = (await client.jsm().stream_info("FLEET")).config
    await client.jsm().update_stream(config.evolve(deny_purge=True))
    assert (await platform.streams(scene(client, tmp_path))).verdict is Verdict.OK
    found = await platform.streams(scene(client, tmp_path, DROVER_LOG_KEEP="30d"))
    assert (found.verdict, "drover log migrate" in found.remedy) == (Verdict.FAIL, True)
