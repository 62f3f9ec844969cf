"""The users of NATS: each may do what its service does, and nothing else. Asked of a real server, over TLS."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import nats
import nats.js.api as api
import pytest

from drover.archive.archive import Archive
from drover.archive.folder_store import FolderStore
from drover.archive.migrating import migrate
from drover.archive.snapshots import put_snapshots_back
from drover.bus.connection import NatsUnreachable, connected, inbox_of
from drover.cli.log_replicas import STREAMS as REPLICATED
from drover.cli.service_names import PARTS, SERVICES
from drover.domain.contexts import CONTEXTS, REGISTRY, SUBJECT_CONTEXTS
from drover.domain.erasure import token_of
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.copies import TooFewNodes, copies_of, set_copies
from drover.eventlog.durability import refuse_unsynced
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.reactor_switch import contexts_with_reactors_off, switch_reactors
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.subject_keys import JetStreamSubjectKeys
from drover.eventlog.subject_keys import stream_of as key_stream_of
from drover.notifier.ledger import BUCKET as LEDGER
from drover.platform.registry import REGISTRY as SERVICES_BY_NAME
from drover.service.sealing import Ring
from drover.service.subject_sealing import make_key
from drover.testing.waiting import eventually
from drover.web.key_bucket import BUCKET as KEYS
from drover.writer.nats_writer import prepare
from tests.chunks import each, latest
from tests.deploy.permitted_nats import DEPLOY
from tools import nats_users
from tools.nats_users import AUDIT, PEERS, STREAMS, SYSTEM, USERS, publishes, subscribes

LOG = [context.upper() for context in CONTEXTS]
HARM = ("DELETE", "UPDATE", "PURGE", "RESTORE", "SNAPSHOT", "MSG.DELETE", "PEER.REMOVE", "LEADER.STEPDOWN")
REFUSED = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"')


def concrete(subject):
    return subject.replace("*", "x").replace(">", "x.y")


def covered(subject, patterns):
    """Whether one of the patterns, as NATS reads them, fits."""
    regexes = (re.escape(one).replace(r"\*", r"[^.]+").replace(">", ".+") for one in patterns)
    return any(re.fullmatch(regex, subject) for regex in regexes)


SUBJECTS = {
    *(concrete(subject) for user in USERS.values() for subject in publishes(user)),
    *(f"$JS.API.STREAM.{verb}.{stream}" for verb in HARM for stream in LOG),
    *(f"evt.{context}.main" for context in CONTEXTS),
    "$JS.API.ACCOUNT.PURGE.DROVER",
    "$JS.API.STREAM.CREATE.SOMETHING",
    *(f"changed.{context}.a_form.devices" for context in CONTEXTS),
    "anything",
}
INBOXES = {f"{inbox_of(user)}.x" for user in USERS}
HEARD = {
    *(concrete(subject) for name, user in USERS.items() for subject in subscribes(name, user)),
    *INBOXES,
    *(f"changed.{context}.a_form.devices" for context in CONTEXTS),
    "_INBOX.x",
}


INSIDE = [name for name, user in USERS.items() if not user.outside]
OUTSIDE = [name for name, user in USERS.items() if user.outside]


def test_the_file_is_what_the_table_says():
    stale = "deploy/nats/users.conf is stale: run `make contracts`"
    assert (DEPLOY / "nats" / "users.conf").read_text() == nats_users.users_conf(), stale


def test_every_service_has_a_user_of_its_own():
    assert {*SERVICES, *PARTS} <= USERS.keys()


@pytest.mark.req("SE-13")
def test_services_on_machines_of_others_have_an_account_of_their_own_and_all_others_share_one():
    away = {name for name, service in SERVICES_BY_NAME.items() if service.is_outside}
    assert {"render-worker"} <= away == set(OUTSIDE) - {"pages"}, "`pages` is a program of somebody else"
    for name in away:
        assert SERVICES_BY_NAME[name].reacts_to == USERS[name].asks_about


@pytest.mark.req("EV-01")
@pytest.mark.parametrize("context", CONTEXTS)
def test_only_the_writer_of_a_context_and_a_restore_may_write_its_events(context):
    may = {name for name, user in USERS.items() if covered(f"evt.{context}.main", publishes(user))}
    may -= {"restore"}
    assert len(may) == 1, f"name the one service that writes {context} in USERS of tools/nats_users.py"
    assert [USERS[name].writes for name in may] == [(context,)]


@pytest.mark.req("YR-01")
def test_no_service_may_change_or_delete_what_is_in_the_log_but_the_archiver_removes_commits():
    harmful = {f"$JS.API.STREAM.{verb}.{stream}" for verb in HARM for stream in LOG}
    may = {(name, subject) for name, user in USERS.items() for subject in harmful if covered(subject, publishes(user))}
    assert may == {
        # A person's tools: a restore updates streams, and `drover log migrate` recreates them.
        *(("restore", f"$JS.API.STREAM.{verb}.{stream}") for verb in ("UPDATE", "DELETE") for stream in LOG),
        *(("archiver", f"$JS.API.STREAM.PURGE.{stream}") for stream in LOG),
    }


@pytest.mark.req("YR-01")
def test_a_process_that_takes_requests_may_not_remove_commits():
    purging = {name for name, user in USERS.items() if user.purges}
    assert purging == {"archiver"}
    assert not any(SERVICES_BY_NAME[name].takes_requests for name in purging)


def test_only_those_who_watch_may_ask_writers_and_only_writers_may_answer():
    asks = {name for name, user in USERS.items() if covered("probe.fleet.main", publishes(user))}
    hears = {name for name, user in USERS.items() if covered("probe.fleet.main", subscribes(name, user))}
    assert (asks, hears) == ({"operator", "cleanup", "api"}, {"scheduler"})


@pytest.mark.req("EV-02")
def test_snapshots_which_have_the_accounts_in_them_are_for_those_who_go_on_from_one():
    may = {name for name, user in USERS.items() if covered("$JS.API.STREAM.MSG.GET.SNAPSHOTS", publishes(user))}
    # A restore puts them back; it is a person's tool that reads the log of the accounts anyway.
    assert may == {"archiver", "gateway", "restore", *(name for name, user in USERS.items() if user.writes)}
    assert set(USERS["restore"].reads) == set(CONTEXTS)


@pytest.mark.req("SE-01")
def test_only_the_api_may_write_the_bucket_of_keys_and_only_verifiers_read_it():
    """Whoever writes there decides which keys are good."""
    stream = f"KV_{KEYS}"
    harmful = [f"$KV.{KEYS}.signing", *(f"$JS.API.STREAM.{verb}.{stream}" for verb in ("CREATE", *HARM))]
    may = {name for name, user in USERS.items() if any(covered(subject, publishes(user)) for subject in harmful)}
    assert may == {"api", "restore"}
    assert not covered(f"$KV.{KEYS}.signing", publishes(USERS["restore"])), "it changes the number of replicas"
    reads = {name for name, user in USERS.items() if covered(f"$JS.API.STREAM.MSG.GET.{stream}", publishes(user))}
    hears = {name for name, user in USERS.items() if covered(f"$KV.{KEYS}.signing", subscribes(name, user))}
    assert reads == hears == {"api", "gateway", "cleanup", "reminder"}
    takes = {name for name, service in SERVICES_BY_NAME.items() if service.takes_requests}
    assert takes <= reads


@pytest.mark.req("SE-09")
@pytest.mark.parametrize("context", SUBJECT_CONTEXTS)
def test_only_the_writer_of_a_context_may_read_store_and_destroy_the_keys_of_its_subjects(context):
    stream = f"KEYS_{context.upper()}"
    raw = [f"key.{context}.main.x", *(f"$JS.API.{verb}.{stream}" for verb in ("STREAM.MSG.DELETE", "DIRECT.GET"))]
    for subject in (*raw, f"$JS.API.STREAM.MSG.GET.{stream}"):
        may = {name for name, user in USERS.items() if covered(subject, publishes(user))}
        assert may == {name for name, user in USERS.items() if context in user.writes}
    for verb in ("UPDATE", "PURGE", "DELETE"):
        may = {name for name, user in USERS.items() if covered(f"$JS.API.STREAM.{verb}.{stream}", publishes(user))}
        assert may == ({"restore"} if verb == "UPDATE" else set())


@pytest.mark.req("SE-09")
def test_only_those_who_seal_or_open_personal_data_may_ask_for_its_keys_and_only_writers_hear_it():
    asks = {name: user.seals for name, user in USERS.items() if user.seals}
    assert asks == {
        "gateway": ("render", "reminder"),
        "render": ("render",),
        "render-worker": ("render",),
        "reminder": ("reminder",),
        "api": SUBJECT_CONTEXTS,
        "operator": SUBJECT_CONTEXTS,
    }
    for context in SUBJECT_CONTEXTS:
        subject = f"keys.{context}.main"
        assert {name for name in asks if context in asks[name]} == {
            name for name, user in USERS.items() if covered(subject, publishes(user))
        }
        hears = {name for name, user in USERS.items() if covered(subject, subscribes(name, user))}
        assert hears == {name for name, user in USERS.items() if context in user.writes}


@pytest.mark.req("SE-09")
def test_only_the_api_and_operators_may_ask_for_the_keys_of_people_who_sign_in():
    asks = {name for name, user in USERS.items() if covered("keys.identity.main", publishes(user))}
    sends = {name for name, user in USERS.items() if covered("cmd.identity.main", publishes(user))}
    assert asks == sends == {"api", "operator"}


@pytest.mark.req("SE-09", "SE-10")
@pytest.mark.parametrize("context", SUBJECT_CONTEXTS)
def test_only_operators_may_replace_the_wraps_of_keys(context):
    """A wrong wrap is a destroyed key."""
    subject = f"rewrap.{context}.main"
    assert {name for name, user in USERS.items() if covered(subject, publishes(user))} == {"operator"}
    hears = {name for name, user in USERS.items() if covered(subject, subscribes(name, user))}
    assert hears == {name for name, user in USERS.items() if context in user.writes}


@pytest.mark.req("DF-23")
@pytest.mark.parametrize("context", CONTEXTS)
def test_only_the_projector_may_tell_of_changed_rows_and_only_the_api_may_hear_of_them(context):
    subjects = [f"changed.{context}.a_form.anything", f"changed.{context}.a_form.heartbeat"]
    may_say = {name for name, user in USERS.items() if all(covered(one, publishes(user)) for one in subjects)}
    may_hear = {name for name, user in USERS.items() if all(covered(one, subscribes(name, user)) for one in subjects)}
    told = not REGISTRY[context].is_private
    assert may_say == ({"projector"} if told else set())
    assert may_hear == ({"api"} if told else set())


@pytest.mark.req("SE-11")
def test_edges_may_record_accesses_and_only_the_api_and_operators_may_command_accounts():
    may = {name: publishes(user) for name, user in USERS.items()}
    assert {name for name, subjects in may.items() if covered(AUDIT, subjects)} == {
        "gateway",
        "cleanup",
        "reminder",
        "api",
        "operator",
    }
    assert {name for name, user in USERS.items() if covered(AUDIT, subscribes(name, user))} == {"api"}
    assert {name for name, subjects in may.items() if covered("cmd.identity.main", subjects)} == {"api", "operator"}


def test_only_processes_that_serve_realtime_hear_its_broadcasts_and_make_some():
    tells = {name for name, user in USERS.items() if covered(PEERS, publishes(user))}
    hears = {name for name, user in USERS.items() if covered(PEERS, subscribes(name, user))}
    assert tells == hears == {"api"}


@pytest.mark.parametrize("name", USERS)
def test_no_user_may_hear_the_replies_to_another(name):
    heard = {subject for subject in {*INBOXES, "_INBOX.x"} if covered(subject, subscribes(name, USERS[name]))}
    assert heard == {f"{inbox_of(name)}.x"}


@pytest.mark.parametrize("name", ["single.conf", "cluster.conf"])
def test_nats_server_accepts_the_files(nats_files, name):
    checked = nats_files.checks(name)
    assert checked.returncode == 0, checked.stderr
    assert "sync_interval: always" in (DEPLOY / "nats" / "common.conf").read_text()


@asynccontextmanager
async def speaking_as(server, user):
    """A connection without what Drover adds to it, and what it was refused."""
    refused = set()

    async def on_error(error):
        refused.update(match.groups() for match in REFUSED.finditer(str(error).lower()))

    client = await nats.connect(server.url_as(user), inbox_prefix=inbox_of(user), error_cb=on_error)
    try:
        yield client, refused
    finally:
        await client.close()


async def settled(client, refused, expected):
    await client.flush(timeout=30)

    async def all_heard():
        return len(refused) >= len(expected)

    if expected:
        await eventually(all_heard)
    await client.flush(timeout=30)


@pytest.mark.req("EV-01")
async def test_what_a_user_may_not_do_is_refused_and_the_rest_is_not(permitted_nats):
    for name, user in USERS.items():
        may_say, may_hear = publishes(user), subscribes(name, user)
        async with speaking_as(permitted_nats, name) as (client, refused):
            for subject in SUBJECTS:
                await client.publish(subject, b"")
            expected = {("publish", subject.lower()) for subject in SUBJECTS if not covered(subject, may_say)}
            await settled(client, refused, expected)
            assert refused == expected, name
        async with speaking_as(permitted_nats, name) as (client, refused):
            for subject in HEARD:
                await client.subscribe(subject)
            expected = {("subscription", subject.lower()) for subject in HEARD if not covered(subject, may_hear)}
            await settled(client, refused, expected)
            assert refused == expected, name


async def test_who_has_a_wrong_password_or_speaks_without_tls_is_not_let_in(permitted_nats):
    wrong = permitted_nats.url_as("gateway").replace("pw-gateway", "pw-scheduler")
    with pytest.raises(nats.errors.Error):
        await nats.connect(wrong, allow_reconnect=False)
    reader, writer = await asyncio.open_connection("127.0.0.1", permitted_nats.port)
    assert b'"tls_required":true' in await reader.readline()
    writer.write(b'CONNECT {"user":"gateway","pass":"pw-gateway","verbose":true}\r\nPING\r\n')
    assert b"PONG" not in await reader.read()
    writer.close()


async def test_a_server_whose_authority_is_not_trusted_is_not_spoken_to(permitted_nats, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    with pytest.raises(NatsUnreachable, match="the certificate is not trusted"):
        async with asyncio.timeout(30), connected(permitted_nats.url_as("gateway"), "gateway"):
            pass


@pytest.mark.req("EV-02")
async def test_any_service_may_make_the_streams_and_a_writer_keep_its_snapshots(permitted_nats):
    async with connected(permitted_nats.url_as(SYSTEM), "test") as system:
        assert await refuse_unsynced(system) == ["n1"]
    for name in {*SERVICES, *PARTS} - {*OUTSIDE}:
        async with connected(permitted_nats.url_as(name), name) as client:
            await prepare(client, CONTEXTS)
            for context in USERS[name].writes:
                snapshots = JetStreamSnapshots(client)
                for seq in (1, 2, 3):  # the third one clears the first away
                    await snapshots.save(Partition(context), "v1", each(b"state %d" % seq), seq=seq, commit="c")
                assert await latest(snapshots, Partition(context), "v1") == b"state 3"
    assert permitted_nats.violations() == []
    assert set(STREAMS) == {*LOG, "SNAPSHOTS", "KV_drover_leases", *map(key_stream_of, SUBJECT_CONTEXTS)}


@pytest.mark.req("SE-09")
async def test_the_writer_of_a_context_may_store_read_and_destroy_the_keys_of_its_subjects(permitted_nats):
    keys = [make_key(Ring({"k1": b"1" * 32}), "any", token_of("any", subject), 0) for subject in ("kim", "lee")]
    for context in SUBJECT_CONTEXTS:
        name = next(name for name, user in USERS.items() if context in user.writes)
        async with connected(permitted_nats.url_as(name), name) as client:
            await prepare(client, CONTEXTS)
            store = JetStreamSubjectKeys(client, context)
            for key in keys:
                assert await store.create("main", key)
            assert len(await store.read("main", [key.token for key in keys])) == len(keys)
            for key in keys:
                assert await store.destroy("main", key.token)
    assert permitted_nats.violations() == []


async def test_a_restore_may_change_the_number_of_replicas_of_every_stream(permitted_nats):
    async with connected(permitted_nats.url_as("notifier"), "notifier") as client:
        await ensure_bucket(client, LEDGER)
    async with connected(permitted_nats.url_as("api"), "api") as client:
        await ensure_bucket(client, KEYS)
    async with connected(permitted_nats.url_as("restore"), "restore") as client:
        await prepare(client, CONTEXTS)
        for copies in await copies_of(client, REPLICATED):
            await set_copies(client, copies.stream, 1)
            with pytest.raises(TooFewNodes):
                await set_copies(client, copies.stream, 3)
        assert len(await copies_of(client, REPLICATED)) == len(REPLICATED) == len(CONTEXTS) + len(SUBJECT_CONTEXTS) + 4
    assert permitted_nats.violations() == []


async def test_a_restore_may_write_any_log_and_hold_reactors_back(permitted_nats):
    async with connected(permitted_nats.url_as("restore"), "restore") as client:
        await prepare(client, CONTEXTS)
        for context in CONTEXTS:
            log = JetStreamLog(client, Partition(context))
            assert await log.append(Commit("a-commit", 1, b"{}"), 0) == 1
            async with log.read(0) as reader:
                assert [one.id for one in await reader.next()] == ["a-commit"]
            await switch_reactors(client, context, on=False)
            await JetStreamSnapshots(client).forget(context)
        assert await contexts_with_reactors_off(client, CONTEXTS) == set(CONTEXTS)
    assert permitted_nats.violations() == []


@pytest.mark.req("YR-05")
async def test_a_writer_that_may_not_change_the_stream_of_snapshots_goes_on_with_it(permitted_nats):
    """Its age limit of before stays until an operator takes it away; writers save every day meanwhile."""
    async with connected(permitted_nats.url_as("scheduler"), "scheduler") as client:
        old = api.StreamConfig(name="SNAPSHOTS", subjects=["snap.>"], max_age=30 * 86400, num_replicas=1)
        await client.jetstream().add_stream(old)
        await prepare(client, ("fleet",))
        snapshots = JetStreamSnapshots(client)
        await snapshots.save(Partition("fleet"), "v1", each(b"state"), seq=1, commit="c")
        assert await latest(snapshots, Partition("fleet"), "v1") == b"state"


@pytest.mark.req("YR-01")
async def test_a_restore_may_recreate_a_log(permitted_nats, tmp_path):
    payload = b'{"type":"X","n":1,"at":"2026-01-31T08:00:00Z","by":""}\n'
    async with connected(permitted_nats.url_as("restore"), "restore") as client:
        await prepare(client, CONTEXTS)
        assert await JetStreamLog(client, Partition("fleet")).append(Commit("a-commit", 1, payload), 0) == 1
        snapshots = JetStreamSnapshots(client)
        await snapshots.save(Partition("fleet"), "v1", each(b"state"), seq=1, commit="a-commit")
        since = datetime.now(UTC) + timedelta(days=1)
        made = await migrate(client, FolderStore(tmp_path), "fleet", keep_since=since, versions=("v1",))
        assert (made.first, made.last) == (1, 1)
        assert (await JetStreamLog(client, Partition("fleet")).last()).id == "a-commit"
        await snapshots.forget("fleet")
        await put_snapshots_back(await Archive.open(FolderStore(tmp_path), "fleet"), snapshots)
        assert await latest(snapshots, Partition("fleet"), "v1") == b"state"
    assert permitted_nats.violations() == []
