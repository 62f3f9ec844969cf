"""From an HTTP handler to the writer: ids, actors, read-your-writes, refusals, partitions. The bus is a double."""

from __future__ import annotations

import pytest

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.partitions import partition_of
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.projection.positions import MIN_POSITION_HEADER, POSITION_HEADER
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.commands import CommandClient, PartitionedClient, origin_of
from drover.web.errors import ApiError
from drover.web.freshness import Freshness

OFFICE = Principal(Role.SERVICE_ROLE, "service_role", float("inf"))
PHONES = Principal(Role.ANON, "anon", float("inf"))
PARTITIONS = ("p0", "p1", "p2")


class Rename(Command):
    name: str


class Bus:
    """Notes what is sent and answers with rising positions, or as it is told."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.answers: dict[str, Outcome] = {}
        """By the name that the command asks for."""

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        self.sent.append({"context": context, "name": command.name, "by": by, "id": id, "partition": partition})
        return self.answers.get(command.name) or Accepted(len(self.sent), {"name": command.name})


class Waits:
    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def wait(self, place, seq, timeout_s):
        self.asked.append((place, seq))
        return True


def no_empty_name(command: Rename) -> Rejection | None:
    return None if command.name else Rejection(Code.VALIDATION_ERROR, "A name is needed", {"field": "name"})


def freshness_of(read_model: Waits) -> Freshness:
    return Freshness(read_model, Newest([Partition("fleet"), *(Partition("reminder", name) for name in PARTITIONS)]))


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
def read_model() -> Waits:
    return Waits()


@pytest.fixture
def client(bus, read_model) -> CommandClient:
    return CommandClient(bus, "fleet", freshness=freshness_of(read_model), validate=no_empty_name)


def ids(bus: Bus) -> list[str]:
    return [sent["id"] for sent in bus.sent]


async def test_a_command_is_sent_in_its_callers_name_and_answered_with_its_position(bus, client):
    done = await client.send(Rename("a"), origin_of(OFFICE, route="PATCH pcs"))
    assert bus.sent[0] | {"id": None} == {
        "context": "fleet", "name": "a", "by": "service_role", "id": None, "partition": "main",
    }  # fmt: skip
    assert (done.result, client.position_headers(done.position)) == ({"name": "a"}, {POSITION_HEADER: "fleet=1"})


async def test_an_answer_without_a_write_names_no_position(client):
    assert client.position_headers(0) == {}


async def test_a_command_that_can_never_be_accepted_is_refused_without_asking_the_writer(bus, client):
    with pytest.raises(ApiError) as refused:
        await client.send(Rename(""), origin_of(OFFICE))
    assert (refused.value.status, refused.value.details, bus.sent) == (400, {"field": "name"}, [])


async def test_the_same_key_route_and_body_give_the_same_id(bus, client):
    for _ in range(2):
        await client.send(Rename("a"), origin_of(OFFICE, route="PATCH pcs", key="k", raw=b"1"))
    first, second = ids(bus)
    assert first == second


@pytest.mark.parametrize(
    "other",
    [
        origin_of(OFFICE, route="PATCH jobs", key="k", raw=b"1"),
        origin_of(PHONES, route="PATCH pcs", key="k", raw=b"1"),
        origin_of(OFFICE, route="PATCH pcs", key="other", raw=b"1"),
        origin_of(OFFICE, route="PATCH pcs", raw=b"1"),
    ],
    ids=["route", "caller", "key", "no key"],
)
async def test_another_route_caller_or_key_gives_another_id(bus, client, other):
    await client.send(Rename("a"), origin_of(OFFICE, route="PATCH pcs", key="k", raw=b"1"))
    await client.send(Rename("a"), other)
    first, second = (id_.partition("~")[0] for id_ in ids(bus))
    assert first != second


async def test_several_commands_of_one_request_have_ids_of_their_own(bus, client):
    origin = origin_of(OFFICE, route="PATCH pcs", key="k", raw=b"1")
    await client.outcomes([Rename("a"), Rename("b")], origin)
    await client.outcomes([Rename("a"), Rename("b")], origin, targets=["PC-01", "PC-02"])
    assert len(set(ids(bus))) == 4


async def test_a_refusal_is_an_http_error_with_the_position_where_it_was_recorded(bus, client):
    bus.answers["a"] = Rejected(Code.CONFLICT, "Not now", {"name": "a"}, position=7)
    with pytest.raises(ApiError) as refused:
        await client.send(Rename("a"), origin_of(OFFICE))
    error = refused.value
    assert (error.status, error.code, error.details) == (409, Code.CONFLICT, {"name": "a"})
    assert error.headers[POSITION_HEADER] == "fleet=7"


async def test_codes_of_refusals_can_be_renamed(bus):
    client = CommandClient(bus, "identity", codes={Code.UNIQUE_VIOLATION: Code.CONFLICT})
    error = client.refusal(Rejected(Code.UNIQUE_VIOLATION, "There is one already"))
    assert (error.status, error.code) == (409, Code.CONFLICT)


async def test_the_next_read_waits_for_the_write(client, read_model):
    await client.send(Rename("a"), origin_of(OFFICE))
    await client.readable({})
    assert read_model.asked == [("fleet", 1)]
    await client.readable({MIN_POSITION_HEADER: "fleet=5"})
    assert read_model.asked[1:] == [("fleet", 5), ("fleet", 1)]


async def test_what_one_context_wrote_holds_up_no_read_of_another(bus, read_model):
    freshness = freshness_of(read_model)
    await CommandClient(bus, "fleet", freshness=freshness).send(Rename("a"), origin_of(PHONES))
    await CommandClient(bus, "reminder", freshness=freshness).readable({})
    assert read_model.asked == []


async def test_an_answer_can_wait_until_this_process_has_folded_the_write(bus):
    local = Waits()
    client = CommandClient(bus, "fleet", local=local)
    assert await client.wait_local(0)
    assert local.asked == []
    assert await client.wait_local(3)
    assert local.asked == [("fleet", 3)]


@pytest.fixture
def partitioned(bus, read_model) -> PartitionedClient:
    freshness = freshness_of(read_model)
    return PartitionedClient(bus, "reminder", PARTITIONS, freshness=freshness, validate=no_empty_name)


async def test_an_owners_commands_go_to_the_owners_partition(bus, partitioned):
    client = partitioned.of("ann")
    done = await client.send(Rename("a"), origin_of(OFFICE))
    home = partition_of("ann", PARTITIONS)
    assert bus.sent[0]["partition"] == home
    assert client.position_headers(done.position) == {POSITION_HEADER: f"reminder.{home}=1"}


async def test_several_commands_of_one_owner_stay_together(bus, partitioned):
    results, headers = await partitioned.send_all([Rename("a"), Rename("b")], origin_of(OFFICE), owner="ann")
    home = partition_of("ann", PARTITIONS)
    assert {sent["partition"] for sent in bus.sent} == {home}
    assert (results, headers) == ([{"name": "a"}, {"name": "b"}], {POSITION_HEADER: f"reminder.{home}=2"})


async def test_commands_without_an_owner_go_to_every_partition(bus, partitioned):
    results, headers = await partitioned.send_all([Rename("a")], origin_of(OFFICE, key="k"))
    assert [sent["partition"] for sent in bus.sent] == list(PARTITIONS)
    assert len(set(ids(bus))) == len(results) == len(PARTITIONS)
    assert headers == {POSITION_HEADER: "reminder.p0=1,reminder.p1=2,reminder.p2=3"}


async def test_one_refusal_among_several_names_all_that_was_written(bus, partitioned):
    bus.answers["b"] = Rejected(Code.CONFLICT, "Not now")
    with pytest.raises(ApiError) as refused:
        await partitioned.send_all([Rename("a"), Rename("b")], origin_of(OFFICE), owner="ann")
    home = partition_of("ann", PARTITIONS)
    assert (refused.value.status, refused.value.headers) == (409, {POSITION_HEADER: f"reminder.{home}=1"})


async def test_nothing_is_sent_when_one_of_several_is_invalid(bus, partitioned):
    with pytest.raises(ApiError):
        await partitioned.send_all([Rename("a"), Rename("")], origin_of(OFFICE))
    assert bus.sent == []
