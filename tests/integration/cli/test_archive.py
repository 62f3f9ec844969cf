"""`drover archive`, `events export` and `import` with real servers: the log taken away and put back, and what may go
wrong on the way."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from uuid import uuid4

import msgspec
import pytest
from nats.js.errors import NotFoundError

from drover.archive.archive import Archive
from drover.archive.folder_store import FolderStore
from drover.archive.reading import ends_of, placed_commits
from drover.archive.text import Placed
from drover.archive.writing import record_bottom
from drover.bus.connection import connected
from drover.cli.exits import Exit
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition
from drover.eventlog.reactor_switch import contexts_with_reactors_off
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import ensure_stream, partitions_of
from drover.postgres.migrate import migrate
from drover.postgres.pool import connect
from drover.testing.faults import faulty_line
from drover.testing.waiting import eventually
from drover.writer.migration_marker import HalfMigrated, read_marks
from drover.writer.nats_writer import prepare
from tests.chunks import each

from .conftest import COMMAND_S, Written, device, online, pc, settings

pytestmark = pytest.mark.req("EV-06")

HALF_OF_IT_BYTES = 1_500_000
"""Of what is sent to whoever reads the large log."""


async def stored(client, context):
    """Every commit with its partition, as it is in the log."""
    logs = [JetStreamLog(client, partition) for partition in await partitions_of(client, context)]
    return [placed async for placed in placed_commits(logs, await ends_of(logs))]


@pytest.fixture
async def divided(client):
    """A context of two partitions, a few commits in each."""
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context, partitions=2)
    parts = [Written(client, context, name) for name in ("p0", "p1")]
    for number in range(4):
        for part in parts:
            await part.commit(pc(f"pc-{number}"), device(f"d{number}", f"SERIAL{number:04}"))
    return context


@pytest.fixture
async def empty(own_nats):
    """Another server, and a connection to it."""
    async with connected(own_nats.url, "test") as client:
        yield own_nats, client


@asynccontextmanager
async def large_log(client, commits=120, events=200):
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context)
    written = Written(client, context)
    for _ in range(commits):
        await written.commit(*(online(f"d{number}") for number in range(events)))
    yield context


@asynccontextmanager
async def line_that_stops(server, after_bytes):
    """The same server behind a line that passes so much of what the server says, and then waits: whoever reads
    through it is in the middle, however fast or slow the machine is."""
    async with faulty_line("127.0.0.1", server.port) as line:
        passed, line.stopped = 0, asyncio.Event()

        def count(data):
            nonlocal passed
            passed += len(data)
            if passed > after_bytes and not line.stopped.is_set():
                line.stopped.set()
                line.hold()

        line.cut_from_server = count
        through = server.url.replace(f":{server.port}", f":{line.port}")
        yield line, SimpleNamespace(url=through, system_url=server.system_url)


async def test_a_log_is_exported_and_imported_and_is_the_same_log(
    here, nats, client, audited, divided, empty, tmp_path
):
    server, target = empty
    file = tmp_path / "log.jsonl.zst"
    ended = await here("events", "export", "--context", divided, "-o", str(file), **settings(nats))
    assert (ended.code, ended.err) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    ended = await here("events", "import", str(file), "--json", **settings(server))
    assert ended.code == 0, ended.err
    assert msgspec.json.decode(ended.out) == {"context": divided, "last": 8, "events": 16, "found": 0}
    assert await stored(target, divided) == await stored(client, divided)
    assert await contexts_with_reactors_off(target, [divided]) == {divided}, "reactors are off"
    seen = await JetStreamLog(target, (await partitions_of(target, divided))[0]).get(3)
    assert seen == await JetStreamLog(client, (await partitions_of(client, divided))[0]).get(3), "read one by one, too"

    ended = await here("events", "import", str(file), **settings(server))
    assert ended.code == 0, "the same once more finds all of it there"
    assert "0 events restored" in ended.out
    part = Written(target, divided, "p0")
    part.n, part.seq = 8, 7
    await part.commit(online("a new one"))
    ended = await here("events", "import", str(file), **settings(server))
    assert ended.code == Exit.CONFIGURATION
    assert "is not empty" in ended.err
    assert len(await stored(target, divided)) == 9


@pytest.mark.req("SE-11")
async def test_copies_of_the_log_are_recorded_and_made_without_a_record_if_nobody_answers(
    here, nats, divided, tmp_path
):
    commands = (
        ("events", "export", "--context", divided, "-o", str(tmp_path / "log.jsonl")),
        ("archive", "create", str(tmp_path / "archive"), "--context", divided),
    )
    for command in commands:
        ended = await here(*command, **settings(nats))
        assert ended.code == 0, ended.err
        assert "This is not in the audit: nobody answers" in ended.err


@pytest.mark.req("SE-11")
async def test_who_copies_the_log_is_recorded(here, nats, audited, divided, tmp_path):
    ended = await here("events", "export", "--context", divided, "-o", str(tmp_path / "log.jsonl"), **settings(nats))
    assert (ended.code, ended.err) == (0, "")
    ended = await here("archive", "create", str(tmp_path / "archive"), "--context", divided, **settings(nats))
    assert ended.code == 0, ended.err
    assert [(one.kind, one.what) for one in audited] == [
        ("export", f"events export --context {divided}"),
        ("export", f"archive create {divided}"),
    ]
    assert {one.by.partition(":")[0] for one in audited} == {"operator"}


async def test_an_archive_is_restored_position_by_position_and_goes_on(here, nats, client, divided, empty, tmp_path):
    server, target = empty
    archive = str(tmp_path / "archive")
    ended = await here("archive", "create", archive, "--context", divided, "--json", **settings(nats))
    assert ended.code == 0, ended.err
    assert msgspec.json.decode(ended.out)["commits"] == 8
    # A snapshot of another history must not be found by whoever loads this one.
    snapshots = JetStreamSnapshots(target)
    await snapshots.ensure()
    partition = (await partitions_of(client, divided))[1]
    await snapshots.save(partition, "v", each(b"of another log"), seq=1, commit="c")
    ended = await here("archive", "restore", archive, **settings(server))
    assert ended.code == 0, ended.err
    assert "Reactors are off" in ended.out
    assert await stored(target, divided) == await stored(client, divided)
    assert await snapshots.infos(partition) == []
    ended = await here("archive", "create", archive, "--json", "--context", divided, **settings(server))
    assert ended.code == 0, ended.err
    assert msgspec.json.decode(ended.out)["commits"] == 0, "the restored log is the archive's own"


@pytest.mark.req("YR-11")
async def test_a_restore_writes_nothing_below_the_bottom_of_the_log(here, nats, client, divided, empty, tmp_path):
    server, target = empty
    archive = tmp_path / "archive"
    assert (await here("archive", "create", str(archive), "--context", divided, **settings(nats))).code == 0
    await record_bottom(FolderStore(archive), divided, {"p0": 5, "p1": 6})
    await ensure_stream(target, divided, partitions=2)
    ended = await here("archive", "restore", str(archive), **settings(server))
    assert ended.code == Exit.CONFIGURATION
    assert "begins at position 1" in ended.err
    await target.jetstream().delete_stream(divided.upper())
    ended = await here("archive", "restore", str(archive), "--json", **settings(server))
    assert ended.code == 0, ended.err
    assert msgspec.json.decode(ended.out) == {"context": divided, "last": 8, "events": 8, "found": 0}
    assert (await target.jetstream().stream_info(divided.upper())).state.first_seq == 5
    assert [await stored_at(target, divided, seq) for seq in range(5, 9)] == (await stored(client, divided))[4:]


async def stored_at(client, context, seq):
    names = [partition.name for partition in await partitions_of(client, context)]
    commit = await JetStreamLog(client, Partition(context, ALL)).get(seq)
    return Placed(names[(seq - 1) % 2], commit)


async def test_the_events_commands_read_an_archive_as_they_read_the_log(here, nats, audited, divided, tmp_path):
    archive = tmp_path / "archive"
    ended = await here("archive", "create", str(archive), "--context", divided, **settings(nats))
    assert ended.code == 0, ended.err
    asked = ("--context", divided)
    for command in (
        ("events", "grep", "--json", "--type", "Device*", "--entity", "d2"),
        ("events", "grep", "SERIAL000[13]", "--since", "1h", "--until", "0s", "--limit", "3"),
        ("events", "grep", "--cloudevents", "--actor", "service_role", "--partition", "p1"),
        ("events", "tail", "--no-follow", "--json", "--last", "5"),
        ("events", "show", "3:1", "--json"),
        ("events", "export"),
        ("events", "grep", "--json", "--actor", "nobody"),
    ):
        log = await here(*command, *asked, **settings(nats))
        ours = await here(*command, *asked, "--archive", str(archive))
        assert (log.code, log.out, log.err) == (ours.code, ours.out, ours.err)
        assert bool(log.out) == (log.code == Exit.OK)
    assert ours.code == Exit.NOT_FOUND, "nothing matches nobody"


async def test_killed_in_the_middle_an_archive_is_whole_and_goes_on(start, here, nats, client, tmp_path):
    async with large_log(client) as context:
        store = FolderStore(tmp_path / "archive")
        asked = ("archive", "create", store.place(), "--context", context)
        for number, code in ((signal.SIGKILL, -9), (signal.SIGINT, Exit.INTERRUPTED)):
            async with line_that_stops(nats, after_bytes=HALF_OF_IT_BYTES) as (line, through):
                process = await start(*asked, **settings(through))
                await asyncio.wait_for(line.stopped.wait(), COMMAND_S)
                process.send_signal(number)
                line.resume()  # after the signal, so that it cannot end before it
                _, err = await asyncio.wait_for(process.communicate(), COMMAND_S)
            assert process.returncode == code, err
            assert b"Traceback" not in err
            assert await (await Archive.open(store, context)).verify() == []
        assert (await here(*asked, **settings(nats))).code == 0
        archive = await Archive.open(store, context)
        assert [placed async for placed in archive.commits()] == await stored(client, context)


async def test_a_restore_that_is_killed_goes_on_where_it_was(start, here, nats, client, empty, tmp_path):
    server, target = empty
    async with large_log(client, commits=2_500, events=3) as context:  # three batches
        archive = str(tmp_path / "archive")
        assert (await here("archive", "create", archive, "--context", context, **settings(nats))).code == 0
        process = await start("archive", "restore", archive, **settings(server))
        whole = JetStreamLog(target, (await partitions_of(client, context))[0])

        async def begun():
            if process.returncode is not None:
                return True
            names = [info.config.name for info in await target.jsm().streams_info()]
            return context.upper() in names and await whole.last() is not None

        await eventually(begun, COMMAND_S)
        process.kill()
        await process.wait()
        ended = await here("archive", "restore", archive, **settings(server))
        assert ended.code == 0, ended.err
        assert await stored(target, context) == await stored(client, context)


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", place], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"needs to mount a tmpfs: {mount.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


async def test_a_full_disk_is_said_and_the_archive_before_it_is_whole(here, nats, client, written, small_disk):
    await written.commit(pc(), device())
    asked = ("archive", "create", str(small_disk), "--context", written.context)
    assert (await here(*asked, **settings(nats))).code == 0
    had = await stored(client, written.context)
    for _ in range(40):  # what cannot be compressed
        await written.commit(*(pc(f"{uuid4()}{uuid4()}") for _ in range(100)))
    ended = await here(*asked, **settings(nats))
    assert ended.code == Exit.FAILED
    assert "No space left on device" in ended.err
    assert "Traceback" not in ended.err
    archive = await Archive.open(FolderStore(small_disk), written.context)
    assert await archive.verify() == []
    assert [placed async for placed in archive.commits()] == had
    ended = await here("events", "export", "--context", written.context, "-o", str(small_disk / "x"), **settings(nats))
    assert ended.code == Exit.FAILED
    assert "No space left on device" in ended.err
    assert not list(small_disk.glob("*x*"))


async def test_tables_that_are_ahead_of_what_is_restored_must_be_given_up(
    here, nats, client, divided, empty, postgres_dsn, tmp_path
):
    server, target = empty
    archive = str(tmp_path / "archive")
    assert (await here("archive", "create", archive, "--context", divided, **settings(nats))).code == 0
    await migrate(postgres_dsn)
    async with connect(postgres_dsn, "test") as connection:
        await connection.execute("CREATE SCHEMA rm_x; CREATE TABLE rm_x.events (n int)")
        await connection.execute(
            "INSERT INTO drover.checkpoints (schema, partition, context, seq, n) VALUES ('rm_x', 'p0', $1, 9, 9)",
            divided,
        )
        ended = await here("archive", "restore", archive, **settings(server, postgres_dsn))
        assert ended.code == Exit.CONFIGURATION
        assert "--forget-read-models" in ended.err
        assert not await target.jsm().streams_info(), "nothing was written"
        ended = await here("archive", "restore", archive, "--forget-read-models", **settings(server, postgres_dsn))
        assert ended.code == 0, ended.err
        assert await connection.fetchval("SELECT count(*) FROM drover.checkpoints") == 0
        assert await connection.fetchval("SELECT to_regnamespace('rm_x')") is None
    assert await stored(target, divided) == await stored(client, divided)


async def test_reactors_are_switched_by_the_stream_they_act_on(here, empty):
    server, target = empty
    await ensure_stream(target, "reminder")
    for switch, held in (("off", {"reminder"}), ("on", set())):
        ended = await here("reactors", switch, "--json", "--context", "reminder", **settings(server))
        assert msgspec.json.decode(ended.out) == {"reminder": switch}
        assert await contexts_with_reactors_off(target, ["reminder", "fleet"]) == held
    assert (await here("reactors", "on", "--context", "fleet", **settings(server))).code == Exit.NOT_FOUND


async def test_what_no_writer_wrote_keeps_its_place_through_archive_and_restore(here, nats, client, empty, tmp_path):
    server, target = empty
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context)
    written = Written(client, context)
    await written.commit(pc(), device())
    for _ in range(2):
        await client.publish("$JS.API.INFO", b"", reply=written.log.partition.subject)

    async def both_landed():
        return await written.log.context_end() == 3

    await eventually(both_landed)
    written.seq = 3
    await written.commit(online("d1"))
    await client.publish("$JS.API.INFO", b"", reply=written.log.partition.subject)
    asked = ("--context", context)
    archive = str(tmp_path / "archive")
    for command in (("archive", "create", archive, *asked), ("archive", "verify", archive)):
        ended = await here(*command, "--json", **settings(nats))
        assert ended.code == 0, ended.err
    ended = await here("archive", "restore", archive, **settings(server))
    assert ended.code == 0, ended.err
    assert await stored(target, context) == await stored(client, context)
    for command in (
        ("grep", "--since", "1h", "--until", "0s"),
        ("tail", "--no-follow", "--since", "1h"),
        ("show", "3"),
    ):
        ended = await here("events", *command, *asked, "--json", **settings(nats))
        assert (ended.code, len(ended.out.splitlines())) == (0, 3 if command[0] != "show" else 1), ended.err


@pytest.mark.req("YR-14")
async def test_snapshots_of_another_log_are_removed_by_command(here, empty):
    server, target = empty
    snapshots = JetStreamSnapshots(target)
    await snapshots.ensure()
    for context in ("fleet", "render"):
        await snapshots.save(Partition(context), "v", each(b"of another log"), seq=1, commit="c")
    ended = await here("snapshots", "forget", "fleet", **settings(server))
    assert ended.code == 0, ended.err
    assert await snapshots.infos(Partition("fleet")) == []
    assert len(await snapshots.infos(Partition("render"))) == 1


@pytest.mark.req("YR-03")
async def test_an_archive_in_a_bucket_is_created_read_and_restored_by_the_same_commands(
    here, nats, client, divided, empty, bucket
):
    server, target = empty
    address = f"s3://{bucket.name}/drover"
    environ = {"DROVER_ARCHIVE": address, **bucket.settings}
    ended = await here("archive", "create", "--context", divided, "--json", **environ, **settings(nats))
    assert ended.code == 0, ended.err
    assert msgspec.json.decode(ended.out)["commits"] == 8
    ended = await here("archive", "verify", address, **environ)
    assert (ended.code, "whole: 8 commits" in ended.out) == (0, True), ended.err
    ours = await here("events", "grep", "--json", "--context", divided, "--archive", address, **environ)
    log = await here("events", "grep", "--json", "--context", divided, **settings(nats))
    assert (ours.code, ours.out) == (0, log.out)
    ended = await here("archive", "restore", "--json", **environ, **settings(server))
    assert ended.code == 0, ended.err
    assert await stored(target, divided) == await stored(client, divided)
    keys = [one["Key"] for one in bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"]]
    bucket.client.delete_object(Bucket=bucket.name, Key=next(key for key in keys if key.endswith(".zst")))
    ended = await here("archive", "verify", **environ)
    assert ended.code == Exit.FAILED
    assert "it is missing" in ended.out


@pytest.mark.req("YR-01")
async def test_a_migration_that_is_killed_goes_on_and_services_do_not_start_meanwhile(
    start, here, nats, client, tmp_path
):
    async with large_log(client, commits=2_500, events=3) as context:
        had = await stored(client, context)
        asked = ("log", "migrate", str(tmp_path / "archive"), "--context", context)
        process = None

        async def marked():
            return context in await read_marks(client) or process.returncode is not None

        async def deleted():
            info = await stream_info()
            return info is None or process.returncode is not None

        async def refilling():
            info = await stream_info()
            return (info is not None and info.state.messages > 0) or process.returncode is not None

        async def stream_info():
            try:
                return await client.jetstream().stream_info(context.upper())
            except NotFoundError:
                return None

        for reached in (marked, deleted, refilling):
            process = await start(*asked, **settings(nats))
            await eventually(reached, COMMAND_S)
            with suppress(ProcessLookupError):  # it was faster
                process.kill()
            await process.wait()
            if context in await read_marks(client):
                with pytest.raises(HalfMigrated):
                    await prepare(client, (context,))
        ended = await here(*asked, **settings(nats))
        assert ended.code == 0, ended.err
        assert await stored(client, context) == had
        assert await prepare(client, (context,))
        ended = await here("log", "migrate", str(tmp_path / "archive"), "--context", "nothing", **settings(nats))
        assert ended.code == Exit.NOT_FOUND
