"""Asking for a stream: who may, from where on, what is refused, and how it ends."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

from drover.api.live.window import Window
from drover.eventlog.log import LogUnreachable
from drover.service.api_keys import Role, issue_api_key
from drover.testing.waiting import eventually
from tests.integration.api.office import GRACE_S, SECRET, office_on
from tests.unit.api.live.writing import WrittenLog

OPEN = 'drover_streams_open{route="/api/events/stream"}'


@pytest.fixture
def log():
    return WrittenLog()


@pytest.fixture
async def office(log):
    await log.write(3)
    async with office_on([log]) as office:
        yield office


@pytest.mark.req("DF-23")
async def test_it_begins_now_and_tells_what_comes_as_the_log_has_it(office, log):
    async with office.listening() as listener:
        assert listener.hello.id == "fleet=1.2"
        assert listener.hello.data == {
            "position": "fleet=1.2",
            "min_position": "fleet=1",
            "contexts": ["fleet"],
            "heartbeat_s": 15.0,
        }
        assert listener.ear.retry_ms == 2000
        answer = listener.answer
        assert (answer.content_type, answer.headers["Cache-Control"]) == ("text/event-stream", "no-store")
        await log.write(2, job_id="j-1")
        assert await listener.next(2) == [
            ("fleet=2.0", "Happened", {"type": "Happened", "n": 3, "job_id": "j-1"}),
            ("fleet=2.1", "Happened", {"type": "Happened", "n": 4, "job_id": "j-1"}),
        ]


@pytest.mark.req("DF-23")
@pytest.mark.parametrize(
    ("last_id", "missed"),
    [("fleet=0.0", [0, 1, 2, 3, 4]), ("fleet=1.0", [1, 2, 3, 4]), ("fleet=1.2", [3, 4]), ("fleet=2.0", [4])],
)
async def test_it_goes_on_exactly_after_an_id_wherever_that_was_said(office, log, last_id, missed):
    await log.write(2)
    for how in ({"last_id": last_id}, {"query": f"?last_event_id={last_id}"}):
        async with office.listening(**how) as listener:
            assert listener.hello.id == last_id
            assert [event.data["n"] for event in await listener.next(len(missed))] == missed


async def test_filters_choose_what_is_told(office, log):
    async with office.listening("?type=Job*,DeviceReset&entity=e-1&context=fleet") as listener:
        for type_, entity in (("JobCreated", "e-2"), ("DeviceReset", "e-1"), ("PcHeld", "e-1"), ("JobPaused", "e-1")):
            await log.write(type_=type_, some_id=entity)
        assert [event.type for event in await listener.next(2)] == ["DeviceReset", "JobPaused"]


async def test_an_empty_log_can_be_watched_and_gone_on_in():
    log = WrittenLog()
    async with office_on([log]) as office, office.listening() as listener:
        assert listener.hello.id == "fleet=0.0"
        async with office.listening(last_id="fleet=0.0") as other:
            await log.write()
            assert await listener.next() == await other.next()


@pytest.mark.parametrize("last_id", ["fleet=2.0", "fleet=999999.0", "fleet=1.3", "fleet=0.1", f"fleet={2**63 - 1}.0"])
async def test_an_id_of_no_event_is_refused_with_the_field(office, last_id):
    status, _, body = await office.ask(**{"Last-Event-ID": last_id})
    assert (status, body["error"]) == (400, "VALIDATION_ERROR")
    assert body["details"] == {"field": "Last-Event-ID", "value": last_id}
    status, _, body = await office.ask(f"?last_event_id={last_id}")
    assert (status, body["details"]["field"]) == (400, "last_event_id")


@pytest.mark.parametrize("query", ["?last_event_id=17", "?type=no+type", "?context=nope", "?since=1h"])
async def test_a_malformed_request_is_refused_with_the_field(office, query):
    status, _, body = await office.ask(query)
    assert status == 400
    assert body["details"]["field"] == query[1:].partition("=")[0]


async def test_only_the_back_office_may_watch_and_the_key_goes_by_header(office):
    for key, status in (("", 401), ("nonsense", 401), (office.anon_key, 403)):
        assert (await office.ask(key=key))[0] == status
    assert (await office.ask(f"?apikey={office.service_key}", key=""))[0] == 401
    device = issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id="018f2b5e-0000-7000-8000-00000000000a")
    status, _, body = await office.ask(key=device)
    assert (status, body["details"]) == (403, {"role": "device", "relation": "stream", "verb": "read"})


async def test_head_says_what_get_would_and_opens_nothing(office):
    status, headers, _ = await office.ask(method="HEAD")
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    assert (await office.ask("?last_event_id=fleet=9.0", method="HEAD"))[0] == 400
    assert office.streams == 0


async def test_a_log_that_does_not_answer_is_503_and_nothing_else_suffers(office, log, monkeypatch):
    async def unreachable(seq):
        raise LogUnreachable("away")

    for _ in range(3):
        await log.write()
    await eventually(lambda: office.live._tails["fleet"].window.seq == 4)
    monkeypatch.setattr(log, "get", unreachable)
    status, headers, _ = await office.ask(**{"Last-Event-ID": "fleet=99.0"})
    assert (status, headers["Retry-After"]) == (503, "2")
    async with office.listening(last_id="fleet=3.0") as listener:  # that one is in memory
        assert [event.id for event in await listener.next()] == ["fleet=4.0"]


async def test_before_the_log_has_answered_it_is_503(monkeypatch):
    log = WrittenLog()
    answering = asyncio.Event()

    async def last():
        await answering.wait()

    monkeypatch.setattr(log, "last", last)
    monkeypatch.setattr("tests.integration.api.office.eventually", _at_once)
    async with office_on([log]) as office:
        assert (await office.ask())[0] == 503
        assert "not answered" in office.live.why_not_ready()
        answering.set()
        await eventually(lambda: office.live.why_not_ready() is None)
        async with office.listening():
            pass


async def _at_once(condition):
    pass


async def test_their_number_has_a_bound_and_who_leaves_makes_room(log):
    async with office_on([log], streams_max=2) as office:
        async with office.listening(), office.listening():
            status, headers, body = await office.ask()
            assert (status, body["error"], headers["Retry-After"]) == (503, "UNAVAILABLE", "2")
            assert await office.metric(OPEN) == 2
        await eventually(lambda: office.streams == 0)
        assert await office.metric(OPEN) == 0
        async with office.listening():
            assert office.streams == 1


async def test_only_the_way_to_the_answer_is_timed_as_a_request(office, log):
    seconds = 'drover_http_request_duration_seconds_sum{method="GET",route="/api/events/stream"}'
    requests = 'drover_http_requests_total{method="GET",route="/api/events/stream",status="2xx"}'
    count = await office.metric(requests)
    async with office.listening() as listener:
        assert await office.metric(requests) == count + 1
        timed = await office.metric(seconds)
        await log.write()
        await listener.next()
    await eventually(lambda: office.streams == 0)
    assert await office.metric(seconds) == timed


async def test_events_that_were_told_are_counted(office, log):
    told = "drover_api_stream_events_total"
    before = await office.metric(told)
    async with office.listening() as one, office.listening("?type=Nope") as other:
        await log.write(3)
        await one.next(3)
        await log.write(type_="Nope")
        await other.next()
        await one.next()
    assert await office.metric(told) == before + 5


async def test_a_quiet_stream_gives_signs_of_life_by_which_one_can_go_on(log):
    await log.write()
    async with office_on([log], heartbeat_s=0.05) as office, office.listening("?type=Nope") as listener:
        await listener.heartbeat()
        assert listener.ear.last_id == "fleet=1.0"
        await log.write(2)

        async def noted():
            await listener.heartbeat()
            return listener.ear.last_id == "fleet=2.1"

        await eventually(noted)


async def test_a_stream_ends_with_its_key(log):
    await log.write(3)
    # The clock of streams is ahead, so that the key has time to open one on a busy machine.
    async with office_on([log], clock=lambda: time.time() + 59) as office:
        office.service_key = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time(), lifetime_s=60)
        async with office.listening() as listener:
            (bye,) = await listener.rest()
        assert (bye.type, bye.id, bye.data) == ("bye", "fleet=1.2", {"reason": "The key has expired"})
        expired = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time(), lifetime_s=-1)
        refused = (await office.ask(key=expired))[2]
        assert refused == {"error": "TOKEN_EXPIRED", "message": "Please refresh your token"}


@pytest.mark.req("DF-23")
async def test_a_stop_says_goodbye_on_every_stream_within_the_grace(log):
    await log.write()
    async with office_on([log]) as office, office.listening() as one, office.listening() as other:
        started = asyncio.get_running_loop().time()
        stopping = asyncio.create_task(office.stop())
        for listener in (one, other):
            (bye,) = await listener.rest()
            assert (bye.type, bye.id, bye.data) == ("bye", "fleet=1.0", {"reason": "The server restarts"})
        await stopping
        assert asyncio.get_running_loop().time() - started < GRACE_S


@pytest.mark.req("SY-15")
async def test_of_a_private_context_only_who_when_which_type_and_which_ids_are_told():
    log = WrittenLog("identity")
    secret = {"email_hash": "e" * 64, "password_sealed": "sealed", "digest": "d" * 64, "user_agent": "Firefox"}
    async with office_on([log]) as office, office.listening() as listener:
        await log.write(type_="AccountCreated", account_id="a-1", **secret)
        await log.write(type_="AlertRaised", alert_id="x", kind="refresh_token_reused", message="read me")
        created, alert = await listener.next(2)
        assert created.data == {"type": "AccountCreated", "n": 0, "account_id": "a-1"}
        assert alert.data["message"] == "read me"
    # Whoever comes later, and has fallen out of the window, reads the log itself and is told no more.
    narrow = partial(Window, events_max=1)
    async with office_on([log], window=narrow) as office, office.listening(last_id="identity=0.0") as listener:
        assert (await listener.next())[0].data.keys() == {"type", "n", "account_id"}
