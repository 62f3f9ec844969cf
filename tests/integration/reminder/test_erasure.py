"""A user of reminders is erased on a real NATS and a real Postgres: nobody can read the texts, also after a restore."""

import base64
from contextlib import AsyncExitStack, suppress
from functools import partial

import asyncpg
import msgspec
import pytest

from drover.bus.client import CommandBus
from drover.bus.subject_keys import asking
from drover.domain.erasure import parse_sealed, token_of
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition
from drover.eventlog.subject_keys import JetStreamSubjectKeys, stream_of
from drover.readmodel.form import placed
from drover.service.subject_sealing import Erased
from drover.testing.waiting import eventually
from drover.web.alarm_texts import AlarmTexts
from drover.web.commands import Origin
from drover.web.erasing import Eraser
from tests.e2e.process import run_command
from tests.subject_keys import sealed_bytes_in, served_keys

pytestmark = pytest.mark.req("SE-09")
SECRET_TEXT = "Collect the test results of Kim Minji"
USER = "kim"


def eraser_of(platform):
    names = [partition.name for partition in platform.partitions]
    return Eraser(
        CommandBus(platform.nats),
        platform.pool,
        partial(asking, platform.nats),
        {"identity": ["main"], "reminder": names, "render": ["main"]},
    )


async def erase(platform):
    done, _ = await eraser_of(platform).erase_user(USER, Origin(by="admin"))
    assert (done.alarms, done.is_complete) == (2, True)
    assert done.contexts == ["identity", "reminder"]


async def texts_in_the_log(platform):
    log = JetStreamLog(platform.nats, Partition("reminder", ALL))
    last = await log.last()
    payloads: list[bytes] = []
    seq = 0
    async with log.read(0) as reader:
        while seq < last.seq:
            for commit in await reader.next():
                payloads.append(commit.payload)
                seq = commit.seq
    assert not any(SECRET_TEXT.encode() in payload for payload in payloads)
    events = [msgspec.json.decode(line) for payload in payloads for line in payload.splitlines()]
    return [event["title"] for event in events if event["type"] == "AlarmRegistered" and event["user_id"] == USER]


async def stored_key(platform):
    store, token = JetStreamSubjectKeys(platform.nats, "reminder"), token_of("reminder", USER)
    for partition in platform.partitions:
        if found := await store.read(partition.name, [token]):
            return partition.name, found[token].key
    return None


async def register_two(platform):
    for page in ("page-1", "page-2"):
        await platform.register(page, USER, title=SECRET_TEXT, body="Room 12")
    await platform.register("page-3", "lee", title="Another's")
    await platform.settled()

    async def shown():
        answer, rows = await platform.call("GET", "/rest/v1/alarm?select=page_id")
        return answer.status == 200 and len(rows) == 3  # the tables are built

    await eventually(shown)


async def test_an_erased_user_is_readable_nowhere_and_another_one_still_is(platform, tmp_path):
    await register_two(platform)
    rows = await platform.rows("alarm?select=user_id,title&order=page_id")
    assert [row["title"] for row in rows] == [SECRET_TEXT, SECRET_TEXT, "Another's"]
    _, key = await stored_key(platform)
    await erase(platform)
    assert await stored_key(platform) is None
    assert [row["title"] for row in await platform.rows("alarm?select=title")] == ["Another's"]
    texts = await texts_in_the_log(platform)
    assert len(texts) == 2
    open_ = await AlarmTexts(_fresh_keys(platform)).opener(texts)
    for text in texts:
        with pytest.raises(Erased):
            open_("title", text)

    async def same():
        return await platform.read_model() == await platform.as_the_log_says()

    await eventually(same)
    marks = [base64.b64encode(key.wrap), SECRET_TEXT.encode()]
    assert [path for path, content in _files(tmp_path) if any(mark in content for mark in marks)] == []


async def test_tables_never_have_the_texts(platform):
    await register_two(platform)
    connection = await asyncpg.connect(platform.dsn)
    try:
        rows = await connection.fetch(placed("SELECT title, body FROM rm_reminder.alarm_rows"))
        events = await connection.fetch(placed("SELECT * FROM rm_reminder.events"))
    finally:
        await connection.close()
    assert all(parse_sealed(row["title"]) for row in rows)
    stored = str([dict(row) for row in (*rows, *events)])
    assert SECRET_TEXT not in stored
    contents = sealed_bytes_in(stored)
    assert len(contents) == 5, "three titles and two bodies"
    assert not any(SECRET_TEXT.encode() in content for content in contents)


async def test_a_restored_backup_of_the_keys_is_erased_again_before_anything_is_served(platform):
    await register_two(platform)
    partition, key = await stored_key(platform)
    await erase(platform)
    (text, _) = await texts_in_the_log(platform)
    # As a restore of the stream from before the erasure would bring it back.
    await _put_back(platform, partition, key)
    assert await stored_key(platform) is not None

    async def destroyed():
        with pytest.raises(Erased):
            (await AlarmTexts(_fresh_keys(platform)).opener([text]))("title", text)
        return await stored_key(platform) is None

    await eventually(destroyed)


async def test_a_new_leader_destroys_what_a_restore_brought_back(make_platform):
    async with AsyncExitStack() as stack:
        first = await make_platform(stack)
        await register_two(first)
        partition, key = await stored_key(first)
        await erase(first)
        (text, _) = await texts_in_the_log(first)
        await _put_back(first, partition, key)
    async with AsyncExitStack() as stack:
        second = await make_platform(stack)

        async def destroyed():
            return await stored_key(second) is None

        await eventually(destroyed)
        with pytest.raises(Erased):
            (await AlarmTexts(_fresh_keys(second)).opener([text]))("title", text)


async def test_a_backup_is_restored_without_those_who_were_erased_since(platform, tmp_path):
    await register_two(platform)
    folder = tmp_path / "keys"
    assert "2 keys" in await drover(platform, "sealing", "backup", str(folder))
    (file,) = folder.iterdir()
    assert (file.stat().st_mode & 0o777, SECRET_TEXT in file.read_text()) == (0o600, False)
    await erase(platform)
    store = JetStreamSubjectKeys(platform.nats, "reminder")
    for partition in platform.partitions:  # as if all keys were lost
        await store.destroy(partition.name, token_of("reminder", "lee"))
    said = await drover(platform, "sealing", "restore", str(file))
    assert "1 of 2 keys are stored now. Erased since the backup, not put back: 1." in said
    assert await stored_key(platform) is None
    (row,) = await platform.rows("alarm?select=title")
    assert row["title"] == "Another's"


async def drover(platform, *words, code=0, **settings):
    """Run the command line on the platform of the test."""
    servers = {"DROVER_NATS_URL": platform.nats_url, "DROVER_POSTGRES_URL": platform.dsn}
    found = await run_command(*words, environ=servers | settings)
    assert found.code == code, found.err
    return found.out + found.err


@pytest.mark.control
async def test_with_the_key_put_back_and_no_erasure_in_the_log_the_text_is_readable(platform):
    await register_two(platform)
    partition, key = await stored_key(platform)
    await JetStreamSubjectKeys(platform.nats, "reminder").destroy(partition, key.token)
    (text, _) = await texts_in_the_log(platform)
    await _put_back(platform, partition, key)
    assert (await AlarmTexts(_fresh_keys(platform)).opener([text]))("title", text) == SECRET_TEXT


async def test_an_erased_user_may_come_back(platform):
    await register_two(platform)
    await erase(platform)

    async def registers():
        answer, _ = await platform.post("register-by-page", {"page_id": "p9", "user_id": USER, "title": "Hello again"})
        assert answer.status in (201, 503)  # 503: while the edge has the destroyed key, for KEPT_S
        return answer.status == 201

    await eventually(registers)
    rows = await platform.rows(f"alarm?select=title&user_id=eq.{USER}")
    assert [row["title"] for row in rows] == ["Hello again"]


async def _put_back(platform, partition, key):
    subject = f"key.reminder.{partition}.{key.token}"
    await platform.nats.jetstream().publish(subject, msgspec.json.encode(key), stream=stream_of("reminder"))


def _fresh_keys(platform):
    return served_keys(platform.nats, "reminder", partitions=[partition.name for partition in platform.partitions])


def _files(folder):
    """All files with their content, but for those that NATS or Postgres removes at this moment."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                yield path, path.read_bytes()
