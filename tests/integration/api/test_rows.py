"""Changed rows from a command to a reader, over real NATS and PostgreSQL, with faults on the way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest

from drover.api.rows import hub as hub_module
from drover.api.rows.track import Track
from drover.domain.fleet.commands import CancelJob, MarkOffline, MarkOnline, PauseJob, ResumeJob
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.projection.rebuild import Rebuild
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.form import placed
from drover.service.api_keys import Role
from drover.testing.waiting import eventually
from tests.integration.api.rows_platform import Platform, Watcher, platform_on, watching

FARM = ("devices", "jobs", "tasks", "job_assignments", "task_devices", "workers", "tasks_event", "alerts")
PATIENCE_S = 40.0
GFX = {"composition_name": "_MAIN Chip Count", "slots": [], "single_fields": {"table_id": "SECRET TABLE"}}
STEPS = 60
STEPS_MAX = 10 * STEPS


@pytest.fixture
async def platform(own_nats, postgres_dsn) -> AsyncIterator[Platform]:
    async with platform_on(own_nats.url, postgres_dsn) as made:
        yield made


async def rows_of(listener, relation):
    """The next rows of a relation; what else comes is passed over."""
    while True:
        (event,) = await listener.next(within_s=PATIENCE_S)
        if event.type == "rows" and event.data["relation"] == relation and event.data["rows"]:
            return event.data


async def reset_of(listener):
    return (await listener.until("reset", within_s=PATIENCE_S))[-1].data


@pytest.mark.req("DF-23")
async def test_a_change_made_by_a_command_arrives_as_a_read_shows_it(platform):
    async with platform.listening(",".join(FARM)) as listener:
        await platform.register()
        told = (await rows_of(listener, "workers"))["rows"]
        assert told == await platform.read_all("workers")
        assert [*told[0]] == [*(await platform.read_all("workers"))[0]], "columns are in the same order"
    watcher = Watcher(platform, FARM)
    async with watching(watcher):
        await platform.register()
        await platform.create_job("어서 오세요")
        await eventually(watcher.agrees, PATIENCE_S, 0.2)
        assert not watcher.reader.resets, "all of it came as rows"


@pytest.mark.req("DF-23")
async def test_a_heartbeat_changes_when_a_device_was_last_seen_without_an_event(platform):
    device = await platform.register()
    (before,) = await platform.read_all("devices")
    log = JetStreamLog(platform.client, Partition("fleet"))
    end = (await log.last()).seq
    async with platform.writing_presence(), platform.listening("devices") as listener:
        await platform.heartbeat(device)
        (told,) = (await rows_of(listener, "devices"))["rows"]
        (read,) = await platform.read("devices")
        assert told == read
        assert told == before | {"last_seen_at": told["last_seen_at"]}
        assert told["last_seen_at"] > before["last_seen_at"]
        assert (await log.last()).seq == end
        other = await platform.register()
        assert (await rows_of(listener, "devices"))["rows"][0]["id"] == other, "the chain goes on without a reset"


async def test_a_publisher_that_fails_once_leaves_a_hole_that_readers_are_told_of(platform):
    async def fail() -> None:
        platform.rows.fault = None
        raise ConnectionError("away")

    async with platform.listening("workers") as listener:
        platform.rows.fault = fail
        await platform.register()
        reset = await reset_of(listener)
        assert (reset["relations"], reset["why"]) == (["workers"], "hole")
        assert len(await platform.read("workers", reset["min_position"])) == 1


async def test_a_projector_that_dies_between_commit_and_publication_is_followed_by_another_epoch(platform):
    async def die() -> None:
        platform.rows.fault = None
        died.set()
        asyncio.current_task().cancel()
        await asyncio.sleep(3600)

    died = asyncio.Event()
    async with platform.listening("workers") as listener:
        platform.rows.fault = die
        await platform.register()
        await died.wait()
        await platform.stop_projector()
        await platform.start_projector()
        reset = await reset_of(listener)
        assert (reset["relations"], reset["why"]) == (["workers"], "epoch")
        assert len(await platform.read("workers", reset["min_position"])) == 1


async def test_a_standby_that_takes_over_begins_another_epoch_and_goes_on(platform):
    async with platform.listening("devices") as listener:
        epoch = listener.hello.data["epochs"]["fleet"]
        await platform.stop_projector()
        await platform.start_projector()
        assert (await reset_of(listener))["why"] == "epoch"
        device = await platform.register()
        assert (await rows_of(listener, "devices"))["rows"][0]["id"] == device
    async with platform.listening("devices") as listener:
        assert listener.hello.data["epochs"]["fleet"] != epoch


async def test_when_the_session_of_the_projector_is_cut_a_standby_goes_on_in_another_epoch(platform):
    device = await platform.register()
    watcher = Watcher(platform, ("devices",))
    async with platform.standby() as standby, watching(watcher):
        (fleet,) = (runner for runner in standby.runners if runner.projection.context == "fleet")
        # The first projector waits before its next try, so that the standby is the first to ask for the lock.
        await eventually(partial(_cut_projector_until, platform, lambda: fleet.active), PATIENCE_S, 0.5)
        await platform.send(MarkOffline(device))
        await eventually(lambda: watcher.reader.rows["devices"][(device,)]["status"] == "offline", PATIENCE_S)
        assert {*watcher.reader.resets} == {"epoch"}
        await eventually(watcher.agrees, PATIENCE_S, 0.2)


async def _cut_projector_until(platform, is_over):
    """Ends the session of the projector that is not a standby, as a restart of PostgreSQL would."""
    if is_over():
        return True
    connection = await asyncpg.connect(platform.dsn)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(activity.pid) FROM pg_stat_activity AS activity JOIN pg_locks AS locks"
            " USING (pid) WHERE locktype = 'advisory' AND granted AND application_name = $1"
            " AND activity.datname = current_database()",
            f"drover-projector {FLEET_PROJECTION.name}",
        )
    finally:
        await connection.close()
    return is_over()


@pytest.mark.req("DF-23")
async def test_who_comes_back_to_a_process_that_has_just_started_reads_again_what_it_missed(platform):
    async with platform.listening("devices,workers") as listener:
        await platform.register()
        while (await rows_of(listener, "devices"))["rows"][0]["status"] != "online":
            pass
        last_id = listener.ear.last_id
    missed = await platform.register()
    async with (
        platform.another_api() as url,
        platform.listening("devices,workers", last_id=last_id, url=url) as listener,
    ):
        reset = await reset_of(listener)
        assert reset["why"] == "hole"
        assert {*reset["relations"]} >= {"devices", "workers"}
        read = await platform.read("devices", reset["min_position"])
        assert missed in {row["id"] for row in read}
        new = await platform.register()
        assert (await rows_of(listener, "devices"))["rows"][0]["id"] == new


async def test_a_reader_whose_line_has_no_room_for_a_while_reads_again(own_nats, postgres_dsn, monkeypatch):
    async with platform_on(own_nats.url, postgres_dsn, track=partial(Track, messages_max=2)) as platform:
        device = await platform.register()
        watcher = Watcher(platform, ("devices",))
        async with watching(watcher):
            monkeypatch.setattr(hub_module, "RING_EVERY_S", 3600.0)  # until the test rings, the reader takes nothing
            for _ in range(4):
                await platform.send(MarkOffline(device))
                await platform.read_all("devices")
                await platform.send(MarkOnline(device))
                await platform.read_all("devices")
            (line,) = platform.hub.lines(["fleet"])
            end = (await JetStreamLog(platform.client, Partition("fleet")).last()).seq
            await eventually(lambda: line.tracks["devices"].last == end, PATIENCE_S)
            platform.hub._ring_now()
            await eventually(lambda: watcher.reader.resets, PATIENCE_S)
            await eventually(watcher.agrees, PATIENCE_S, 0.2)
            assert {*watcher.reader.resets} == {"slow"}


async def test_after_a_rebuild_is_swapped_in_readers_read_again_and_hear_of_the_new_tables(platform):
    device = await platform.register()
    await platform.read_all("devices")
    connection = await asyncpg.connect(platform.dsn)
    try:  # what a rebuild is for: the tables do not say what the log says
        await connection.execute(placed("UPDATE rm_fleet.device_rows SET group_id = 'wrong'"))
    finally:
        await connection.close()
    watcher = Watcher(platform, ("devices",))
    async with watching(watcher):
        await eventually(lambda: watcher.reader.rows["devices"][(device,)]["group_id"] == "wrong", PATIENCE_S)
        log = JetStreamLog(platform.client, Partition("fleet"))
        async with Rebuild(FLEET_PROJECTION, [log], platform.dsn) as rebuild:
            await rebuild.fold()
            await rebuild.swap()
        await eventually(lambda: watcher.reader.rows["devices"][(device,)]["group_id"] == "P1-G1", PATIENCE_S)
        assert watcher.reader.resets == ["epoch"]
        await platform.send(MarkOffline(device))
        await eventually(lambda: watcher.reader.rows["devices"][(device,)]["status"] == "offline", PATIENCE_S)
        assert await platform.read_all("devices") == [watcher.reader.rows["devices"][(device,)]]


async def test_after_the_connection_to_nats_was_cut_readers_are_told_what_to_read_again(platform, monkeypatch):
    monkeypatch.setattr(hub_module, "STALE_S", 2.0)
    watcher = Watcher(platform, FARM)
    async with watching(watcher):
        platform.line.refuse()
        await platform.register()
        await eventually(lambda: watcher.reader.stale.get("fleet"), PATIENCE_S)
        assert not watcher.reader.resets
        platform.line.refuse(False)
        await eventually(lambda: watcher.reader.stale["fleet"] is False, PATIENCE_S)
        await eventually(watcher.agrees, PATIENCE_S, 0.2)
        assert {*watcher.reader.resets} == {"hole"}


@pytest.mark.req("DF-23")
async def test_who_comes_back_by_its_id_is_told_what_it_missed_and_nothing_again(platform):
    async with platform.listening("devices,workers") as listener:
        first = await platform.register()
        while (await rows_of(listener, "devices"))["rows"][0]["status"] != "online":
            pass
        last_id = listener.ear.last_id
    second = await platform.register()
    await platform.read_all("devices")
    async with platform.listening("devices,workers", last_id=last_id) as listener:
        assert listener.hello.id == last_id
        statuses = []
        while not statuses or statuses[-1] != "online":
            (event,) = await listener.next(within_s=PATIENCE_S)
            assert event.type == "rows", event
            devices = event.data["rows"] if event.data["relation"] == "devices" else []
            assert first not in [row["id"] for row in devices]
            statuses += [row["status"] for row in devices if row["id"] == second]


async def test_each_key_is_told_what_a_read_with_it_would_show(platform):
    mine, other = await platform.register(), await platform.register()
    device_key = platform.key(Role.DEVICE, mine)
    async with (
        platform.listening("devices", key=device_key) as own,
        platform.listening("devices", key=platform.key(Role.ANON)) as anon,
    ):
        await platform.send(MarkOffline(other))
        await platform.send(MarkOffline(mine))
        everything = await platform.read_all("devices")
        (read,) = await platform.read("devices", key=device_key)
        assert (read["id"], len(everything)) == (mine, 2)
        assert {row["id"] for row in await _told_until(own, read)} == {mine}
        assert {row["id"] for row in await _told_until(anon, read)} == {mine, other}


async def _told_until(listener, row):
    """All that is told until this row is, as it is here."""
    told = []
    while row not in told:
        told += (await rows_of(listener, "devices"))["rows"]
    return told


async def test_what_is_sealed_is_in_no_message(platform):
    heard = []
    await platform.client.subscribe("changed.render.>", cb=partial(_note, heard))
    await platform.client.flush()
    async with platform.listening("render_queue") as listener:
        await platform.write("render_queue", {"composition_id": "c-1", "gfx_data": GFX, "cue_item_id": 7})
        (row,) = (await rows_of(listener, "render_queue"))["rows"]
        (read,) = await platform.read_all("render_queue")
        assert read["gfx_data"] == GFX
        assert row == read | {"gfx_data": None, "gfx_data_error": None}
        sent = b"".join(heard)
        assert b"comp" in sent
        assert b"SECRET TABLE" not in sent
        assert b"k1:" not in sent


async def _note(heard, message):
    heard.append(message.data)


@pytest.mark.slow
@pytest.mark.req("DF-23")
@pytest.mark.parametrize("seed", [1, 2])
async def test_readers_end_with_what_a_fresh_read_gives_whatever_fails(platform, seed):
    watchers = await _through_faults(platform, seed, met={"hole", "epoch"})
    assert _met(watchers) >= {"hole", "epoch"}, "the faults happened"
    assert not any(watcher.reader.repeated for watcher in watchers)


@pytest.mark.slow
@pytest.mark.control
async def test_control_without_looking_for_holes_readers_end_wrong(platform, monkeypatch):
    def add(self, after, to, data, *, real=Track.add):
        real(self, self.last, to, data)

    monkeypatch.setattr(Track, "add", add)
    monkeypatch.setattr(Track, "check", lambda self, last: None)
    with pytest.raises(TimeoutError):
        await _through_faults(platform, 1, take_over=False, within_s=8.0)


def _met(watchers):
    return {why for watcher in watchers for why in watcher.reader.resets}


async def _through_faults(platform, seed, *, take_over=True, within_s=PATIENCE_S, met=frozenset()):
    """Commands at random, faults in between, until readers have `met` these; then it waits until all readers agree
    with a read. How many messages there are to lose depends on the machine: more steps follow if it were too few."""
    chance = random.Random(seed)

    async def sometimes_fail() -> None:
        if chance.random() < 0.2:
            raise ConnectionError("away")

    watchers = [Watcher(platform, FARM) for _ in range(2)]
    async with watching(*watchers):
        platform.rows.fault = sometimes_fail
        devices = [await platform.register() for _ in range(4)]
        jobs = [await platform.create_job()]
        for step in range(STEPS_MAX):
            if step >= STEPS and _met(watchers) >= met:
                break
            await _something(platform, chance, devices, jobs)
            if chance.random() < 0.1:
                chance.choice(watchers).cut()
            if take_over and step == STEPS // 2:
                await platform.stop_projector()
                await _something(platform, chance, devices, jobs)
                await platform.start_projector()
        platform.rows.fault = None
        for watcher in watchers:
            await eventually(watcher.agrees, within_s, 0.3)
    return watchers


async def _something(platform, chance, devices, jobs):
    """A command; whether it is refused does not matter."""
    job, device = chance.choice(jobs), chance.choice(devices)
    what = chance.choice(("on", "off", "pause", "resume", "cancel", "job", "register"))
    if what == "register":
        devices.append(await platform.register())
    elif what == "job":
        jobs.append(await platform.create_job())
    else:
        command = {
            "on": MarkOnline(device),
            "off": MarkOffline(device),
            "pause": PauseJob(job),
            "resume": ResumeJob(job),
            "cancel": CancelJob(job),
        }[what]
        await platform.bus.send("fleet", command, by="test")


class Heard:
    """Notes the keys of new rows, and how many rows there were."""

    def __init__(self) -> None:
        self.new: list[str] = []
        self.rows = 0

    def changed(self, relation, message):
        if relation == "devices":
            self.new.extend(key for (key,) in message.new)
            self.rows += len(message.rows)

    def reset(self, relations):
        pass


@pytest.mark.req("DI-08")
async def test_a_row_is_new_once_also_to_a_projector_that_has_never_seen_it(platform):
    heard = Heard()
    platform.hub.watch(heard)
    device = await platform.register()
    await eventually(lambda: heard.rows >= 1, PATIENCE_S)
    await platform.stop_projector()
    await platform.start_projector()
    before = heard.rows
    await platform.send(MarkOffline(device))
    await eventually(lambda: heard.rows > before, PATIENCE_S)
    other = await platform.register()
    await eventually(lambda: other in heard.new, PATIENCE_S)
    assert heard.new == [device, other]
