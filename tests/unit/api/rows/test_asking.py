"""Asking for a stream of rows over HTTP: who may, what is refused, what comes, and how it ends."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from drover.api.rows import hub as hub_module
from drover.api.rows.hub import Hub
from drover.api.rows.rows import PATH, RowStreams
from drover.api.rows.track import WINDOW_BYTES_MAX
from drover.bus.rows import RowsChanged, RowsHeartbeat
from drover.eventlog.log import Partition
from drover.readmodel.models import LIVE
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.access import Access
from drover.web.application import SOCKETS, add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.limits import PERSONAL
from drover.web.permissions import Permissions
from drover.web.serve import serve
from tests.integration.api.listening import listening

SECRET = "s" * 32
MINE, OTHER = "018f2b5e-0000-7000-8000-00000000000a", "018f2b5e-0000-7000-8000-00000000000b"
EPOCH = "e1"
MORE_THAN_A_LINE_HOLDS_BYTES = 8 * 1024 * 1024
PADDING = "x" * 10_000
PARTITIONS = {"reminder": [Partition("reminder", "p0"), Partition("reminder", "p1")]}


class Desk:
    """Streams on a real port, of a hub that the test feeds."""

    def __init__(self, *, anon: Any = "agent", **options: Any) -> None:
        self.hub = Hub(PARTITIONS)
        self.app = create_application(Health(), body_bytes_max=1024)
        self.access = access = Access(Authenticator([SECRET]), Permissions(anon=anon), Callers())
        streams = RowStreams(access, self.hub, **options)
        add_handlers(self.app, [streams], access)
        self.url = ""
        self.epoch = EPOCH
        self._last: dict[str, int] = {}

    def key(self, role: Role = Role.SERVICE_ROLE) -> str:
        device = {"device_id": MINE} if role is Role.DEVICE else {}
        return issue_api_key(SECRET, role, now_s=time.time(), **device)

    def beat(self, seq: int = 10, context: str = "fleet", partition: str = "main") -> None:
        names = [name for name, many in LIVE.items() if any(one.context == context for one in many)]
        last = {name: self._last.get(name, 10) for name in names}
        self.hub.heartbeat(context, RowsHeartbeat(epoch=self.epoch, partition=partition, seq=seq, last=last))

    def tell(self, relation: str, to: int, *rows: Any, gone: tuple[Any, ...] = (), **message: Any) -> None:
        after = message.pop("after", self._last.get(relation, 10))
        self._last[relation] = to
        raw = [msgspec.Raw(msgspec.json.encode(row)) for row in rows]
        told = RowsChanged(epoch=self.epoch, partition="main", after=after, to=to, rows=raw, gone=[*gone], **message)
        self.hub.changed("fleet", relation, told)

    def listening(self, relations: str = "jobs", *, role: Role = Role.SERVICE_ROLE, **how: Any):
        return listening(self.url, self.key(role), f"?relations={relations}", path=PATH, **how)

    async def ask(self, query: str, key: str, method: str = "GET") -> tuple[int, Any]:
        headers = {"apikey": key} if key else {}
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
            session.request(method, f"{self.url}{PATH}{query}", headers=headers) as answer,
        ):
            return answer.status, await answer.json() if await answer.read() else None


@asynccontextmanager
async def desk_on(**options: Any) -> AsyncIterator[Desk]:
    desk = Desk(**options)
    async with desk.hub.running(), serve(desk.app, "127.0.0.1", 0, grace_s=1) as port:
        desk.url = f"http://127.0.0.1:{port}"
        desk.beat()
        yield desk


@pytest.fixture
async def desk():
    async with desk_on() as made:
        yield made


@pytest.mark.req("DF-23")
async def test_hello_says_what_to_read_and_then_changed_rows_are_told(desk):
    async with desk.listening("jobs,render_queue") as listener:
        hello = listener.hello.data
        assert hello["min_position"] == "fleet=10,render=0"
        assert hello["epochs"] == {"fleet": EPOCH, "render": None}
        assert hello["relations"] == {
            "jobs": {"key": ["id"], "withheld": [], "contexts": ["fleet"]},
            "render_queue": {"key": ["id"], "withheld": ["gfx_data", "gfx_data_error"], "contexts": ["render"]},
        }
        assert hello["heartbeat_s"] == 15.0
        (lag,) = await listener.next()
        assert (lag.type, lag.data) == ("lag", {"context": "render", "stale": True})
        desk.tell("jobs", 12, {"id": "j-1"}, gone=(["j-2"],))
        desk.tell("devices", 12, {"id": "d-1"})
        desk.tell("jobs", 13, {"id": "j-3"})
        first, second = await listener.next(2)
        told = {"relation": "jobs", "context": "fleet", "to": 12, "rows": [{"id": "j-1"}], "gone": [["j-2"]]}
        assert (first.type, first.data) == ("rows", told)
        assert second.data["to"] == 13


async def test_a_hole_an_epoch_and_a_projector_that_is_behind_are_resets(desk):
    async with desk.listening("jobs,devices") as listener:
        desk.tell("jobs", 15, {"id": "j-1"}, after=14)
        (reset,) = await listener.next()
        assert (reset.type, reset.data) == ("reset", {"relations": ["jobs"], "min_position": "fleet=15", "why": "hole"})
        desk.tell("devices", 16, reset=True)
        (reset,) = await listener.next()
        assert reset.data == {"relations": ["devices"], "min_position": "fleet=16", "why": "behind"}
        desk.epoch = "e2"
        desk.beat(20)
        (reset,) = await listener.next()
        assert (reset.data["relations"], reset.data["why"]) == (["jobs", "devices"], "epoch")


@pytest.mark.req("DF-23")
async def test_who_comes_back_gets_what_it_missed_and_nothing_twice(desk):
    async with desk.listening("jobs,devices") as listener:
        desk.tell("jobs", 12, {"id": "j-1"})
        (heard,) = await listener.next()
    desk.tell("devices", 12, {"id": "d-1"})
    desk.tell("jobs", 13, {"id": "j-2"})
    async with desk.listening("jobs,devices", last_id=heard.id) as listener:
        missed = await listener.next(2)
        assert [(event.data["relation"], event.data["to"]) for event in missed] == [("devices", 12), ("jobs", 13)]
        desk.tell("jobs", 14, {"id": "j-3"})
        (following,) = await listener.next()
        assert following.data["to"] == 14


@pytest.mark.parametrize("last_id", ["nonsense", "fleet=e0:jobs.10", "fleet=e1:jobs.9", "fleet=e1:devices.10"])
async def test_who_comes_back_from_where_nobody_can_go_on_must_read_again(desk, last_id):
    async with desk.listening("jobs", last_id=last_id) as listener:
        (reset,) = await listener.next()
        assert (reset.type, reset.data["relations"], reset.data["min_position"]) == ("reset", ["jobs"], "fleet=10")


async def test_who_is_cut_off_before_it_was_told_to_read_again_is_told_when_it_comes_back(desk):
    async with desk.listening("jobs", last_id="fleet=e1:jobs.9") as listener:
        assert listener.hello.id == "fleet=e1:jobs.9", "not where it would be after reading again"
        (reset,) = await listener.next()
        assert (reset.type, reset.id) == ("reset", "fleet=e1:jobs.10")


async def test_of_several_resets_only_the_last_has_an_id(desk):
    desk.tell("jobs", 12, reset=True)
    async with desk.listening("jobs,devices", last_id="fleet=e1:jobs.10:devices.9") as listener:
        first, second = await listener.next(2)
        assert {first.data["why"], second.data["why"]} == {"behind", "hole"}
        assert (first.id, second.id) == (listener.hello.id, "fleet=e1:jobs.12:devices.10")


@pytest.mark.parametrize(
    ("query", "field"),
    [("", "relations"), ("?relations=", "relations"), ("?relations=nope", "relations"), ("?relations=pcs", "relations"),
     ("?relations=accounts", "relations"), ("?relations=jobs&type=x", "type")],
)  # fmt: skip
async def test_what_cannot_be_followed_is_refused_with_the_field(desk, query, field):
    status, body = await desk.ask(query, desk.key())
    assert (status, body["details"]["field"]) == (400, field)


async def test_who_may_not_read_a_relation_may_not_follow_it(desk):
    for key, status in (("", 401), ("nonsense", 401), (desk.key(Role.ANON), 403), (desk.key(Role.DEVICE), 403)):
        assert (await desk.ask("?relations=jobs,alerts", key))[0] == status
    assert (await desk.ask("?relations=jobs", desk.key(Role.ANON), "HEAD"))[0] == 200
    assert len(desk.app[SOCKETS]) == 0


@pytest.mark.req("SE-02")
async def test_the_anon_key_gets_no_rows_where_it_may_do_nothing():
    async with desk_on(anon="off") as desk:
        status, refused = await desk.ask("?relations=jobs", desk.key(Role.ANON))
        assert status == 403
        assert "DROVER_ANON=read," in refused["hint"]
        assert (await desk.ask("?relations=jobs", desk.key(Role.DEVICE), "HEAD"))[0] == 200


@pytest.mark.req("DF-23")
async def test_a_key_of_a_device_is_told_of_its_own_rows_only(desk):
    async with desk.listening("devices,jobs", role=Role.DEVICE) as listener:
        desk.tell("devices", 12, {"id": OTHER})
        desk.tell("devices", 13, {"id": OTHER}, {"id": MINE})
        desk.tell("jobs", 14, {"id": "j-1"})
        own, job = await listener.next(2)
        assert (own.data["to"], own.data["rows"]) == (13, [{"id": MINE}])
        assert job.data["rows"] == [{"id": "j-1"}]


async def test_a_silent_projector_is_told_of_and_so_is_its_return(monkeypatch):
    monkeypatch.setattr(hub_module, "STALE_S", 0.2)
    monkeypatch.setattr(hub_module, "LOOK_S", 0.05)
    async with desk_on() as desk, desk.listening() as listener:
        (lag,) = await listener.next()
        assert lag.data == {"context": "fleet", "stale": True}
        desk.beat()
        (lag,) = await listener.next()
        assert lag.data == {"context": "fleet", "stale": False}


async def test_a_divided_context_is_as_stale_as_its_most_silent_partition(desk):
    async with desk.listening("user_info") as listener:
        assert listener.hello.data["min_position"] == "reminder.p0=0,reminder.p1=0"
        assert (await listener.next())[0].data == {"context": "reminder", "stale": True}
        desk.beat(context="reminder", partition="p0")
        await listener.until("reset")
        desk.beat(context="reminder", partition="p1")
        assert [event.type for event in await listener.next(2)] == ["lag", "reset"]


async def test_phones_cannot_take_the_streams_of_people():
    async with desk_on(agent_streams_max=1) as desk, desk.listening(role=Role.ANON):
        assert (await desk.ask("?relations=jobs", desk.key(Role.ANON)))[0] == 503
        async with desk.listening():
            assert len(desk.app[SOCKETS]) == 2


@pytest.mark.req("SE-05")
async def test_a_phone_that_opens_many_streams_is_told_to_come_back_later(desk):
    async with AsyncExitStack() as others:
        for _ in range(PERSONAL[Role.DEVICE] - 1):
            await others.enter_async_context(desk.listening(role=Role.DEVICE))
        async with desk.listening(role=Role.DEVICE):
            assert (await desk.ask("?relations=jobs", desk.key(Role.DEVICE)))[0] == 429
            async with desk.listening():
                pass
        await eventually(lambda: len(desk.app[SOCKETS]) == PERSONAL[Role.DEVICE] - 1)
        async with desk.listening(role=Role.DEVICE):
            pass


async def test_a_stream_ends_with_its_key(desk, monkeypatch):
    async with desk.listening() as listener:
        monkeypatch.setattr(Authenticator, "holds", lambda self, principal: False)
        desk.tell("jobs", 12, {"id": "j-1"})
        assert [event.type for event in await listener.rest()] == ["bye"]
    await eventually(lambda: len(desk.app[SOCKETS]) == 0)


@pytest.mark.req("DF-23")
async def test_a_slow_reader_is_told_to_read_again_and_holds_up_nobody():
    async with desk_on() as desk, desk.listening(takes_little=True) as slow, desk.listening() as quick:
        seq, sent_bytes = 10, 0
        while sent_bytes < MORE_THAN_A_LINE_HOLDS_BYTES:
            for _ in range(20):
                seq += 1
                desk.tell("jobs", seq, {"id": "j-1", "padding": PADDING})
                sent_bytes += len(PADDING)
            heard = await quick.next(20)
            assert [event.type for event in heard] == ["rows"] * 20, "the other one is up to date all the time"
        (line,) = desk.hub.lines(["fleet"])
        assert line.tracks["jobs"].size_bytes <= WINDOW_BYTES_MAX, "nothing is kept for the slow one"
        reset = (await slow.until("reset"))[-1]
        assert reset.data == {"relations": ["jobs"], "min_position": f"fleet={seq}", "why": "slow"}
        desk.tell("jobs", seq + 1, {"id": "j-1"})
        (following,) = await slow.next()
        assert following.data["to"] == seq + 1


async def test_many_messages_at_once_wake_a_stream_once(desk):
    async with desk.listening() as listener:
        for seq in range(11, 111):
            desk.tell("jobs", seq, {"id": f"j-{seq}"})
        heard = await listener.next(100)
        assert [event.data["to"] for event in heard] == [*range(11, 111)]
