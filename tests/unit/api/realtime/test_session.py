"""The protocol of one client: joins, changes, rights, tokens, broadcasts, presence."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode

import jwt
import msgspec
import pytest

from drover.api.realtime import limits, watcher
from drover.api.realtime.capacity import TooManyMessages
from drover.api.realtime.frames import BadFrame, Binary, Vsn
from drover.api.realtime.presence import Topic
from drover.api.realtime.subscriptions import Wish
from drover.readmodel.models import LIVE
from drover.service.api_keys import Role, digest_of
from drover.web.auth import Principal
from drover.web.errors import NotYet
from tests.unit.api.realtime.client import MINE, OTHER, Farm, key_of
from tests.unit.web.known_keys import KnownKeys

A_ROW = {"id": MINE, "serial_number": "A"}


@pytest.fixture
async def farm():
    made = Farm()
    made.beat()
    return made


def error(reply):
    assert reply["status"] == "error", reply
    return reply["response"]["reason"]


def repeat(say, times):
    for _ in range(times):
        say()


@pytest.mark.req("DI-08")
@pytest.mark.parametrize("vsn", Vsn)
async def test_a_join_is_answered_with_ids_and_changes_carry_them(farm, vsn):
    client = farm.client(vsn=vsn)
    reply = client.join("farm", {"table": "devices"}, {"table": "jobs", "event": "INSERT"})
    first, second = reply["response"]["postgres_changes"]
    assert first == {"event": "*", "schema": "public", "table": "devices", "id": first["id"]}
    assert 0 < first["id"] != second["id"]
    farm.tell("devices", A_ROW, new=[[MINE]])
    ((topic, event, told),) = client.take()
    assert (topic, event, told["ids"]) == ("realtime:farm", "postgres_changes", [first["id"]])
    data = told["data"]
    assert (data["schema"], data["table"], data["type"]) == ("public", "devices", "INSERT")
    assert (data["record"], data["errors"], data["commit_timestamp"][-1]) == (A_ROW, None, "Z")
    assert {"name": "id", "type": "uuid"} in data["columns"]
    assert {"name": "capabilities", "type": "_text"} in data["columns"]


async def test_a_join_is_followed_by_a_word_that_changes_are_heard(farm):
    client = farm.client()
    client.say("realtime:farm", "phx_join", {"config": {"postgres_changes": [{"event": "*", "table": "devices"}]}})
    events = [(event, what) for _, event, what in client.take()]
    assert [event for event, _ in events] == ["phx_reply", "system", "presence_state"]
    said = {"status": "ok", "message": "Subscribed to PostgreSQL", "extension": "postgres_changes", "channel": "farm"}
    assert events[1][1] == said


async def test_inserts_updates_and_deletes_are_told_apart(farm):
    client = farm.client()
    client.join("farm", {"table": "devices"})
    farm.tell("devices", A_ROW, {"id": OTHER}, new=[[OTHER]], gone=[["gone"]])
    assert client.changes() == [
        ("UPDATE", A_ROW, {"id": MINE}),
        ("INSERT", {"id": OTHER}, None),
        ("DELETE", None, {"id": "gone"}),
    ]


@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
async def test_a_subscription_for_one_event_hears_no_other(farm, event):
    client = farm.client()
    client.join("farm", {"table": "devices", "event": event})
    farm.tell("devices", A_ROW, {"id": OTHER}, new=[[OTHER]], gone=[["gone"]])
    assert [type_ for type_, _, _ in client.changes()] == [event]


async def test_several_subscriptions_of_a_channel_share_one_message(farm):
    client = farm.client()
    reply = client.join(
        "farm", {"table": "devices"}, {"table": "devices", "filter": f"id=eq.{MINE}"}, {"table": "jobs"}
    )
    ids = [one["id"] for one in reply["response"]["postgres_changes"]]
    farm.tell("devices", A_ROW)
    ((_, _, told),) = client.take()
    assert sorted(told["ids"]) == sorted(ids[:2])


async def test_equal_subscriptions_of_one_channel_have_ids_of_their_own(farm):
    first, second = farm.client().join("farm", {"table": "jobs"}, {"table": "jobs"})["response"]["postgres_changes"]
    assert first["id"] != second["id"]


async def test_equal_clients_get_the_same_bytes(farm):
    clients = [farm.client() for _ in range(3)]
    for client in clients:
        client.join("farm", {"table": "devices"})
    farm.tell("devices", A_ROW)
    (first,), (second,), (third,) = (client.frames for client in clients)
    assert first is second is third


async def test_a_filter_is_evaluated_on_the_new_row_and_a_delete_passes_it(farm):
    client = farm.client()
    client.join("farm", {"table": "job_assignments", "filter": f"device_id=eq.{MINE}"})
    farm.tell("job_assignments", {"id": "1", "device_id": MINE}, {"id": "2", "device_id": OTHER}, gone=[["3"]])
    assert [(type_, (row or old)["id"]) for type_, row, old in client.changes()] == [("UPDATE", "1"), ("DELETE", "3")]


async def test_a_delete_is_filtered_by_the_columns_of_its_key(farm):
    client = farm.client()
    client.join("farm", {"table": "devices", "filter": f"id=eq.{MINE}"})
    farm.tell("devices", gone=[[OTHER], [MINE]])
    assert client.changes() == [("DELETE", None, {"id": MINE})]


async def test_a_delete_looks_only_at_subscriptions_that_it_may_concern(farm, monkeypatch):
    looked = []
    monkeypatch.setattr(Wish, "wants", lambda wish, type_: looked.append(wish) or True)
    client = farm.client()
    others = [{"table": "devices", "filter": f"id=eq.{MINE[:-2]}{n:02}"} for n in range(50)]
    serial = {"table": "devices", "filter": "serial_number=eq.A"}
    client.join("farm", *others, {"table": "devices", "filter": f"id=eq.{MINE}"}, serial)
    farm.tell("devices", gone=[[MINE]])
    assert len(looked) == 2
    assert [what for what, _, _ in client.changes()] == ["DELETE"]


async def test_only_the_columns_that_are_selected_are_sent(farm):
    client = farm.client()
    client.join("farm", {"table": "devices", "select": ["serial_number"]})
    farm.tell("devices", A_ROW)
    ((_, _, told),) = client.take()
    assert told["data"]["record"] == {"serial_number": "A"}
    assert told["data"]["columns"] == [{"name": "serial_number", "type": "text"}]


async def test_without_a_table_everything_that_may_be_read_is_heard(farm):
    farm.beat("render")
    office, phone = farm.client(), farm.client(Role.ANON)
    office.join("all", {})
    phone.join("all", {"table": "*"})
    farm.tell("devices", A_ROW)
    farm.tell("render_queue", {"id": 1})
    farm.tell("alerts", {"context": "fleet", "id": "a"})
    assert len(office.changes()) == 3
    assert [row for _, row, _ in phone.changes()] == [A_ROW]


# Rights


@pytest.mark.req("DI-08")
@pytest.mark.parametrize("table", ["render_queue", "users", "alarm", "alerts"])
async def test_what_may_not_be_read_cannot_be_heard(farm, table):
    assert error(farm.client(Role.ANON).join("farm", {"table": table})).startswith("Unauthorized: permission denied")


@pytest.mark.parametrize("table", ["accounts", "sessions", "events", "pc_device_summary", "nothing"])
async def test_a_table_without_live_rows_is_refused_with_those_that_have_some(farm, table):
    assert "has no live rows; use aep_compositions" in error(farm.client().join("farm", {"table": table}))


@pytest.mark.req("DI-08")
async def test_the_key_of_a_device_hears_its_own_rows_only_and_no_key_of_others(farm):
    phone = farm.client(Role.DEVICE)
    phone.join("mine", {"table": "devices"}, {"table": "job_assignments"})
    farm.tell("devices", A_ROW, {"id": OTHER}, gone=[[OTHER]])
    farm.tell("job_assignments", {"id": "1", "device_id": MINE}, {"id": "2", "device_id": OTHER}, gone=[["3"]])
    assert [row for _, row, _ in phone.changes()] == [A_ROW, {"id": "1", "device_id": MINE}]


async def test_columns_that_are_withheld_are_left_out_of_rows_and_columns(farm):
    farm.beat("render")
    client = farm.client()
    client.join("farm", {"table": "render_queue"}, {"table": "render_queue", "select": ["id", "gfx_data"]})
    farm.tell("render_queue", {"id": 1, "gfx_data": None, "gfx_data_error": None, "status": "pending"})
    told = [what["data"] for _, _, what in client.take()]
    assert [one["record"] for one in told] == [{"id": 1, "status": "pending"}, {"id": 1}]
    assert not any(column["name"].startswith("gfx_data") for one in told for column in one["columns"])


async def test_the_token_of_a_join_counts_and_not_the_key_of_the_socket(farm):
    client = farm.client(Role.ANON)
    assert client.join("farm", {"table": "render_queue"}, token=key_of())["status"] == "ok"
    assert error(client.join("other", {"table": "devices"}, token="nonsense")).startswith("InvalidJWTToken")


async def test_a_token_that_expires_closes_its_channel_and_says_so():
    now = [time.time()]
    farm = Farm(clock=lambda: now[0])
    client = farm.client()
    client.join("lasting", {"table": "devices"})
    client.join("farm", {"table": "devices"}, token=key_of(now_s=now[0], lifetime_s=60))
    now[0] += 61
    client.session.look()
    (_, event, said), closed = client.take()
    assert (event, said["status"], said["message"]) == ("system", "error", "InvalidJWTToken: Token has expired")
    assert closed == ("realtime:farm", "phx_close", {})
    farm.tell("devices", A_ROW)
    assert [topic for topic, _, _ in client.take()] == ["realtime:lasting"]
    assert (
        error(client.join("farm", {}, token=key_of(now_s=now[0] - 61, lifetime_s=60))) == "InvalidJWTToken: JWT expired"
    )


@pytest.mark.req("DI-08")
async def test_a_newer_token_keeps_the_channel_and_brings_its_own_rights():
    now = [time.time()]
    farm = Farm(clock=lambda: now[0])
    farm.beat()
    client = farm.client(Role.ANON)
    client.join("farm", {"table": "devices"}, token=key_of(now_s=now[0], lifetime_s=60))
    client.say("realtime:farm", "access_token", {"access_token": key_of(Role.DEVICE, now_s=now[0])})
    now[0] += 61
    client.session.look()
    farm.tell("devices", A_ROW, {"id": OTHER})
    assert [row for _, row, _ in client.changes()] == [A_ROW], "the newer token is of a device"
    client.say("realtime:farm", "access_token", {"access_token": None})
    assert client.take() == []
    client.say("realtime:farm", "access_token", {"access_token": "nonsense"})
    assert [event for _, event, _ in client.take()] == ["system", "phx_close"]


async def test_a_newer_token_with_fewer_rights_closes_the_channel(farm):
    farm.beat("render")
    client = farm.client()
    client.join("farm", {"table": "render_queue"})
    client.say("realtime:farm", "access_token", {"access_token": key_of(Role.ANON)})
    (_, _, said), _ = client.take()
    assert said["message"].startswith("Unauthorized: permission denied for table render_queue")
    farm.tell("render_queue", {"id": 1})
    assert client.take() == []


class Rotating:
    """An issuer whose newest key must be fetched first."""

    issuer = "https://issuer.example"

    def __init__(self):
        self.is_fetched = False

    def verify(self, token, now):
        if not self.is_fetched:
            raise NotYet(self.fetch, "The issuer's keys are being fetched")
        return Principal(Role.OPERATOR, "user:1", now + 60)

    async def fetch(self):
        self.is_fetched = True

    def token(self):
        return jwt.encode({"iss": self.issuer}, "x" * 32, algorithm="HS256")


@pytest.mark.req("DI-08", "DI-06")
async def test_a_token_whose_key_must_be_fetched_first_is_neither_refused_nor_the_end_of_a_channel():
    issuer = Rotating()
    farm = Farm(people=[issuer])
    client = farm.client()
    with pytest.raises(NotYet):
        client.join("farm", {"table": "devices"}, token=issuer.token())
    assert client.take() == []
    client.join("farm", {"table": "devices"})
    client.take()
    with pytest.raises(NotYet) as not_yet:
        client.say("realtime:farm", "access_token", {"access_token": issuer.token()})
    assert (client.take(), [*client.session.channels]) == ([], ["realtime:farm"])
    await not_yet.value.ready()
    client.say("realtime:farm", "access_token", {"access_token": issuer.token()})
    assert client.session.channels["realtime:farm"].principal.role is Role.OPERATOR


# What was missed


@pytest.mark.req("DI-08")
@pytest.mark.parametrize("how", ["hole", "epoch", "behind"])
async def test_whoever_may_have_missed_a_change_gets_an_error_that_makes_clients_join_again(farm, how):
    client, other = farm.client(), farm.client()
    client.join("farm", {"table": "devices"})
    other.join("renders", {"table": "render_queue"})
    if how == "hole":
        farm.tell("devices", A_ROW, hole=True)
    elif how == "behind":
        farm.tell("devices", reset=True)
    else:
        farm.epoch = "e2"
        farm.beat()
    farm.now += limits.REJOIN_AFTER_S
    farm.watcher.look()
    ((topic, event, said),) = client.take()
    assert (topic, event) == ("realtime:farm", "phx_error")
    assert said == {"reason": f"Changes were missed ({how}): join again, then read again"}
    assert other.take() == []
    farm.tell("devices", A_ROW)
    assert client.take() == [], "it has not joined again"
    client.join("farm", {"table": "devices"})
    farm.tell("devices", A_ROW)
    assert len(client.changes()) == 1


async def test_while_a_projector_is_behind_clients_join_again_in_turns_and_not_each_second(farm, monkeypatch):
    monkeypatch.setattr(watcher, "REJOINS_PER_LOOK_MAX", 2)
    clients = [farm.client() for _ in range(3)]
    joins = [0, 0, 0]
    for second in range(30):
        for number, client in enumerate(clients):
            if second == 0 or any(event == "phx_error" for _, event, _ in client.take()):
                client.join("farm", {"table": "devices"})
                joins[number] += 1
        farm.tell("devices", reset=True)
        farm.now += 1.0
        farm.watcher.look()
    assert all(4 <= count <= 6 for count in joins), joins


async def test_who_has_left_is_not_told_to_join_again(farm):
    client = farm.client()
    client.join("farm", {"table": "devices"})
    farm.tell("devices", reset=True)
    client.say("realtime:farm", "phx_leave", {})
    client.take()
    farm.now += limits.REJOIN_AFTER_S
    farm.watcher.look()
    assert client.take() == []
    assert farm.watcher._to_rejoin == {}


async def test_the_first_word_of_a_projector_is_no_reason_to_join_again():
    farm = Farm()
    client = farm.client()
    client.join("farm", {"table": "devices"})
    farm.tell("devices", A_ROW)
    farm.beat()
    assert [row for _, row, _ in client.changes()] == [A_ROW]


# Frames


async def test_heartbeats_are_answered_and_a_leave_ends_the_changes(farm):
    client = farm.client()
    client.say("phoenix", "heartbeat", {}, join_ref=None)
    assert client.take() == [("phoenix", "phx_reply", {"status": "ok", "response": {}})]
    client.join("farm", {"table": "devices"})
    client.say("realtime:farm", "phx_leave", {})
    assert [event for _, event, _ in client.take()] == ["phx_reply", "phx_close"]
    farm.tell("devices", A_ROW)
    assert client.take() == []
    assert "devices" not in farm.office.subscriptions


async def test_a_second_join_of_a_topic_replaces_the_first(farm):
    client = farm.client()
    client.join("farm", {"table": "devices"})
    client.join("farm", {"table": "jobs"})
    farm.tell("devices", A_ROW)
    assert client.take() == []


async def test_what_is_sent_to_a_topic_that_was_not_joined_is_refused(farm):
    client = farm.client()
    client.say("realtime:farm", "broadcast", {"event": "x"})
    ((_, _, reply),) = client.take()
    assert error(reply) == "unmatched topic"
    client.say("rooms:farm", "phx_join", {})
    ((_, _, reply),) = client.take()
    assert "realtime:<name>" in error(reply)


@pytest.mark.parametrize(
    ("binding", "why"),
    [
        ({"table": "devices", "filter": "nothing=eq.1"}, "no column nothing"),
        ({"table": "devices", "select": ["nothing"]}, "no column nothing"),
        ({"table": "devices", "event": "TRUNCATE"}, "event TRUNCATE is not known"),
        ({"table": "devices", "schema": "auth"}, "schema auth has no tables"),
        ({"table": 7}, "Expected `str"),
        ({"filter": "id=eq.1"}, "needs a table"),
    ],
)
async def test_a_subscription_that_cannot_be_is_refused_with_the_reason(farm, binding, why):
    assert why in error(farm.client().join("farm", binding))


async def test_a_configuration_that_cannot_be_read_is_refused(farm):
    client = farm.client()
    client.say("realtime:farm", "phx_join", {"config": {"broadcast": "loud"}})
    ((_, _, reply),) = client.take()
    assert "cannot be read" in error(reply)
    with pytest.raises(BadFrame):
        client.session.receive("{")


async def test_nothing_is_left_of_a_client_that_is_gone(farm):
    client = farm.client()
    client.join("farm", {"table": "devices", "filter": f"id=eq.{MINE}"}, {"table": "jobs"})
    client.say("realtime:farm", "presence", {"event": "track", "payload": {}})
    client.session.close()
    assert len(farm.office.subscriptions) == 0
    assert (farm.rooms._members, farm.rooms.presences._topics) == ({}, {})


# Limits


async def test_channels_and_subscriptions_have_a_limit(farm):
    client = farm.client()
    too_many = [{"table": "devices"}] * (limits.SUBSCRIPTIONS_PER_CHANNEL_MAX + 1)
    assert f"at most {limits.SUBSCRIPTIONS_PER_CHANNEL_MAX}" in error(client.join("farm", *too_many))
    for number in range(limits.CHANNELS_PER_SOCKET_MAX):
        assert client.join(f"farm-{number}")["status"] == "ok"
    assert error(client.join("one-more")).startswith("ChannelRateLimitReached")


async def test_a_client_that_sends_too_fast_is_stopped(farm):
    client = farm.client()
    with pytest.raises(TooManyMessages):
        repeat(lambda: client.say("phoenix", "heartbeat", {}), int(limits.MESSAGES_BURST) * 2)


async def test_a_broadcast_to_many_counts_for_more(farm):
    client = farm.client()
    client.join("farm")
    for _ in range(limits.FRAMES_PER_MESSAGE * 10):
        farm.client().join("farm")
    with pytest.raises(TooManyMessages):
        repeat(lambda: client.say("realtime:farm", "broadcast", {"event": "x"}), int(limits.MESSAGES_BURST / 5))


async def test_a_join_counts_for_more_if_its_filters_take_long_to_read(farm):
    """Each pattern is compiled: a single frame with as many as fit held up everybody for seconds."""
    pattern = "error_message=ilike." + "ab%" * 80
    one = {"table": "job_assignments", "filter": ",".join([pattern] * limits.CONDITIONS_MAX)}
    client = farm.client()
    with pytest.raises(TooManyMessages):
        client.join("farm", *[one] * limits.SUBSCRIPTIONS_PER_CHANNEL_MAX)
    usual = {"table": "job_assignments", "filter": "error_message=ilike.%time%out%"}
    assert farm.client().join("farm", *[usual] * 100)["status"] == "ok"


async def test_a_newer_token_counts_as_much_as_the_join(farm):
    client = farm.client()
    client.join("farm", {"table": "job_assignments", "filter": "error_message=like." + "a" * 200})
    cost = 1 + 200 / limits.PATTERN_CHARS_PER_MESSAGE
    with pytest.raises(TooManyMessages):
        repeat(
            lambda: client.say("realtime:farm", "access_token", {"access_token": key_of()}),
            int(limits.MESSAGES_BURST / cost),
        )


# Broadcast


@pytest.mark.req("DI-08")
async def test_a_broadcast_reaches_the_others_and_oneself_only_if_asked_for(farm):
    one, echo, old, elsewhere = farm.client(), farm.client(), farm.client(vsn=Vsn.ONE), farm.client()
    one.join("farm")
    echo.join("farm", broadcast={"self": True, "ack": True})
    old.join("farm")
    elsewhere.join("other")
    said = {"type": "broadcast", "event": "moved", "payload": {"x": 1}}
    one.say("realtime:farm", "broadcast", said)
    assert one.take() == []
    assert echo.take() == old.take() == [("realtime:farm", "broadcast", said)]
    echo.say("realtime:farm", "broadcast", said)
    assert [event for _, event, _ in echo.take()] == ["broadcast", "phx_reply"]
    assert len(one.take()) == 1
    assert elsewhere.take() == []


async def test_bytes_are_broadcast_to_those_who_can_read_them(farm):
    one, two, old = farm.client(), farm.client(), farm.client(vsn=Vsn.ONE)
    for client in (one, two, old):
        client.join("farm")
    topic = b"realtime:farm"
    one.session.receive(bytes((3, 1, 1, len(topic), 1, 0, 0)) + b"19" + topic + b"e" + b"\xff")
    assert two.frames == [bytes((4, len(topic), 1, 0, 0)) + topic + b"e\xff"]
    assert isinstance(two.frames[0], Binary)
    assert old.frames == []


@pytest.mark.parametrize("role", [Role.ANON, Role.DEVICE])
async def test_private_channels_are_for_people_and_the_back_office_and_a_world_of_their_own(farm, role):
    assert error(farm.client(role).join("farm", private=True)).startswith("Unauthorized")
    office, public = farm.client(), farm.client(role)
    assert office.join("farm", private=True)["status"] == "ok"
    public.join("farm")
    public.say("realtime:farm", "broadcast", {"event": "x"})
    assert office.take() == []


@pytest.mark.req("SE-02")
async def test_the_anon_key_joins_no_public_channel_where_it_may_do_nothing():
    farm = Farm(anon="off")
    refused = error(farm.client(Role.ANON).join("farm"))
    assert refused.startswith("Unauthorized: permission denied")
    assert "DROVER_ANON=read," in refused
    assert farm.client(Role.DEVICE).join("farm")["status"] == "ok"
    person = farm.client(Role.ANON)  # supabase-js opens the socket with the anon key, and joins as the person
    person.say("realtime:farm", "phx_join", {"config": {}, "access_token": key_of(Role.SERVICE_ROLE)})
    assert person.take()[0][2]["status"] == "ok"
    person.say("realtime:farm", "access_token", {"access_token": key_of(Role.ANON)})
    assert "phx_close" in [event for _, event, _ in person.take()], "as soon as it is the anon key's channel"


# Presence


@pytest.mark.req("DI-08")
async def test_presence_is_told_as_it_is_and_as_it_changes(farm):
    one, two = farm.client(), farm.client()
    one.join("farm", presence={"key": "one"})
    one.say("realtime:farm", "presence", {"type": "presence", "event": "track", "payload": {"at": "desk"}})
    (_, _, diff), (_, event, reply) = one.take()
    assert (event, reply["status"]) == ("phx_reply", "ok")
    ((meta,),) = [entry["metas"] for entry in diff["joins"].values()]
    assert (meta["at"], diff["leaves"]) == ("desk", {})

    two.say("realtime:farm", "phx_join", {"config": {"presence": {"key": "two", "enabled": True}}})
    assert two.take()[-1] == ("realtime:farm", "presence_state", {"one": {"metas": [meta]}})

    one.say("realtime:farm", "presence", {"event": "track", "payload": {"at": "door"}})
    ((_, _, diff),) = two.take()
    ((newer,),) = [entry["metas"] for entry in diff["joins"].values()]
    assert (newer["at"], newer["phx_ref_prev"]) == ("door", meta["phx_ref"])
    assert diff["leaves"] == {"one": {"metas": [meta]}}

    one.session.close()
    assert two.take() == [("realtime:farm", "presence_diff", {"joins": {}, "leaves": {"one": {"metas": [newer]}}})]


async def test_untracking_ends_a_presence_and_its_size_has_a_limit(farm):
    client = farm.client()
    client.join("farm", presence={"key": "one", "enabled": True})
    client.say("realtime:farm", "presence", {"event": "track", "payload": {"x": "x" * limits.PRESENCE_BYTES_MAX}})
    ((_, _, reply),) = client.take()
    assert "at most" in error(reply)
    client.say("realtime:farm", "presence", {"event": "track", "payload": {}})
    client.say("realtime:farm", "presence", {"event": "untrack"})
    assert [event for _, event, _ in client.take()] == ["presence_diff", "phx_reply", "presence_diff", "phx_reply"]
    assert msgspec.json.decode(farm.rooms.presences.state(next(iter(farm.rooms._members)))) == {}


async def test_who_does_not_look_at_presence_hears_nothing_of_it(farm):
    one, two = farm.client(), farm.client()
    one.join("farm")
    two.join("farm")
    one.say("realtime:farm", "presence", {"event": "track", "payload": {}})
    assert two.take() == []


async def test_a_topic_has_a_limited_number_of_presences(farm, monkeypatch):
    monkeypatch.setattr(limits, "PRESENCES_PER_TOPIC_MAX", 1)
    one, two = farm.client(), farm.client()
    for client in (one, two, one):
        client.join("farm")
        client.say("realtime:farm", "presence", {"event": "track", "payload": {}})
    assert [reply["status"] for _, _, reply in one.take()] == ["ok"]
    ((_, _, reply),) = two.take()
    assert error(reply) == "A topic has at most 1 presences"


async def test_what_a_topic_tells_who_joins_fits_into_what_may_wait_for_a_client(farm):
    """Otherwise everybody who joins is disconnected as too slow."""
    clients, replies = [farm.client() for _ in range(400)], []
    for n, client in enumerate(clients):
        client.join("farm", presence={"key": "\x01" * limits.KEY_CHARS_MAX, "enabled": False})
        client.say("realtime:farm", "presence", {"event": "track", "payload": {"n": n, "x": "x" * 3_900}})
        replies.append(client.take()[-1][2])
    assert {reply["status"] for reply in replies[:50]} == {"ok"}
    assert error(replies[-1]) == f"The presences of a topic have at most {limits.PRESENCE_BYTES_PER_TOPIC_MAX} bytes"
    state = farm.rooms.presences.state(Topic("farm", False))
    assert len(state) < limits.OUTBOUND_BYTES_MAX / 2 + 100_000
    clients[0].say("realtime:farm", "presence", {"event": "track", "payload": {"x": "y" * 3_900}})
    assert clients[0].take()[-1][2]["status"] == "ok", "it takes the place of what it said before"


async def test_what_this_process_told_the_others_is_not_heard_twice(farm):
    told = []
    farm.rooms.tell = told.append
    client = farm.client()
    client.join("farm", broadcast={"self": True})
    client.say("realtime:farm", "broadcast", {"event": "x"})
    for message in told:
        farm.rooms.hear(message)
    assert len(client.take()) == 1


async def test_a_frame_of_an_earlier_join_does_not_end_the_later_one(farm):
    client = farm.client()
    client.join("farm", {"table": "devices"})
    client.say("realtime:farm", "phx_leave", {}, join_ref="0")
    ((_, _, reply),) = client.take()
    assert error(reply) == "unmatched topic"
    farm.tell("devices", A_ROW)
    assert len(client.changes()) == 1


class People:
    """An issuer whose tokens all belong to one session."""

    issuer = "people"
    token = f"x.{urlsafe_b64encode(msgspec.json.encode({'iss': 'people'})).decode()}.x"

    def verify(self, token, now):
        return Principal(Role.ADMIN, "user:1", float("inf"), user_id="1", session_id="s-1", issuer="people")


async def test_a_session_that_ends_closes_its_channels():
    ended = set()
    farm = Farm(people=[People()], ended=ended)
    farm.beat()
    client = farm.client(Role.ANON)
    assert client.join("farm", {"table": "alerts"}, token=People.token)["status"] == "ok"
    client.session.look()
    farm.watcher.look()
    assert client.take() == []
    ended.add("s-1")
    client.session.look()
    assert [event for _, event, _ in client.take()] == ["system", "phx_close"]


@pytest.mark.req("SE-01")
async def test_a_revoked_key_closes_its_channels():
    keys = KnownKeys()
    farm = Farm(keys=keys)
    farm.beat()
    client = farm.client()
    client.join("farm", {"table": "alerts"})
    keys.revoke(digest_of(client.key))
    client.session.look()
    assert [event for _, event, _ in client.take()] == ["system", "phx_close"]


@pytest.mark.req("SE-01")
async def test_a_process_that_cannot_check_keys_lets_its_clients_join_again_and_says_why():
    keys = KnownKeys()
    farm = Farm(keys=keys)
    farm.beat()
    client = farm.client()
    client.join("farm", {"table": "alerts"})
    keys.cut_off()
    client.session.look()
    assert [event for _, event, _ in client.take()] == ["phx_error"]
    assert "Keys cannot be checked" in error(client.join("farm", {"table": "alerts"}))


async def test_subscriptions_of_a_socket_and_of_a_process_have_a_limit(farm, monkeypatch):
    monkeypatch.setattr(limits, "SUBSCRIPTIONS_PER_SOCKET_MAX", 3)
    monkeypatch.setattr(limits, "AGENT_SUBSCRIPTIONS_MAX", 4)
    monkeypatch.setattr(limits, "SUBSCRIPTIONS_MAX", 5)
    phone, other, office = farm.client(Role.ANON), farm.client(Role.ANON), farm.client()
    assert phone.join("one", {"table": "devices"}, {"table": "jobs"})["status"] == "ok"
    reason = "ChannelRateLimitReached: At most 3 subscriptions on one socket"
    assert error(phone.join("two", {"table": "devices"}, {"table": "jobs"})) == reason
    assert error(other.join("all", {})) == "ChannelRateLimitReached: Too many subscriptions are open"
    assert other.join("one", {"table": "devices"}, {"table": "jobs"})["status"] == "ok"
    assert error(phone.join("two", {"table": "devices"})) == "ChannelRateLimitReached: Too many subscriptions are open"
    assert phone.join("room")["status"] == "ok", "a channel without subscriptions takes no place"
    assert office.join("one", {"table": "devices"})["status"] == "ok"
    assert "Too many" in error(office.join("two", {"table": "devices"}))
    phone.session.close()
    assert office.join("two", {"table": "devices"})["status"] == "ok"


async def test_a_newer_token_does_not_get_more_subscriptions_than_a_join(farm):
    client = farm.client(Role.ANON)
    everything = [{"filter": "", "event": "*"}] * 50
    for number in range(2):
        assert client.join(f"farm-{number}", *everything)["status"] == "ok"
    before = farm.office.subscriptions.total
    assert before <= limits.SUBSCRIPTIONS_PER_SOCKET_MAX
    client.take()
    client.say("realtime:farm-1", "access_token", {"access_token": key_of(Role.SERVICE_ROLE)})
    (said, _), (_, closed) = [(what, event) for _, event, what in client.take()]
    assert said["message"].startswith("ChannelRateLimitReached: At most 500 subscriptions on one socket")
    assert closed == "phx_close"
    assert farm.office.subscriptions.total == before / 2


async def test_a_newer_token_keeps_its_channel_where_no_more_channels_fit(farm, monkeypatch):
    client = farm.client(Role.ANON)
    client.join("farm", {})
    monkeypatch.setattr(limits, "CHANNELS_MAX", 1)
    monkeypatch.setattr(limits, "CHANNELS_PER_SOCKET_MAX", 1)
    client.say("realtime:farm", "access_token", {"access_token": key_of(Role.SERVICE_ROLE)})
    assert client.take() == [] and client.session.channels


async def test_nothing_is_kept_of_a_join_that_means_nothing(farm):
    """100 channels with a frame full of empty objects each took half a gigabyte."""
    client = farm.client(Role.ANON)
    asked = {"table": "devices", "filter": f"id=eq.{MINE}", "select": ["id"]}
    reply = client.join("farm", asked | {"more": [{}] * 10_000})
    (told,) = reply["response"]["postgres_changes"]
    assert told == {"event": "*", "schema": "public", **asked, "id": told["id"]}
    channel = client.session.channels["realtime:farm"]
    assert "more" not in channel.asked[0]
    assert len(channel.join_ref) < 10
    for ref in ("x" * 300, 2**70):
        client.say("realtime:other", "phx_join", {}, join_ref=ref)
        assert error(client.take()[-1][2]) == "The join_ref is too long"
    columns = len(LIVE["devices"][0].relation.columns)
    assert "It selects more columns" in error(client.join("farm", asked | {"select": ["id"] * (columns + 1)}))


async def test_channels_of_a_process_have_a_limit(farm, monkeypatch):
    monkeypatch.setattr(limits, "CHANNELS_MAX", 3)
    monkeypatch.setattr(limits, "AGENT_CHANNELS_MAX", 2)
    phone, office = farm.client(Role.ANON), farm.client()
    assert [phone.join(name)["status"] for name in ("one", "two", "two", "three")] == ["ok", "ok", "ok", "error"]
    assert [office.join(name)["status"] for name in ("one", "two")] == ["ok", "error"]
    phone.session.close()
    office.session.close()
    assert farm.office.open.channels == 0


async def test_all_filters_of_a_process_together_have_a_limit(farm, monkeypatch):
    phone, office = farm.client(Role.ANON), farm.client()
    monkeypatch.setattr(limits, "FILTERS_CHARS_MAX", 100)
    monkeypatch.setattr(limits, "AGENT_FILTERS_CHARS_MAX", 50)
    by_id = {"table": "devices", "filter": f"id=eq.{MINE}"}
    assert phone.join("one", by_id)["status"] == "ok"
    assert error(phone.join("two", by_id)).endswith("Too many filters are open")
    assert office.join("one", by_id)["status"] == "ok"
    assert error(office.join("two", by_id)).endswith("Too many filters are open")
    phone.session.close()
    office.session.close()
    assert farm.office.open.filter_chars == 0


async def test_filters_that_are_compared_with_every_row_have_a_limit_in_the_process(farm, monkeypatch):
    """A few sockets with thousands of them held up everybody for a tenth of a second with each changed row."""
    monkeypatch.setattr(limits, "COMPARISONS_MAX", 4)
    monkeypatch.setattr(limits, "AGENT_COMPARISONS_MAX", 2)
    table = {"table": "job_assignments"}
    one, two = farm.client(Role.ANON), farm.client()
    by_value = [table | {"filter": f"device_id=eq.{id_}"} for id_ in (MINE, OTHER)]
    assert one.join("values", *by_value * 10)["status"] == "ok", "found by its value"
    assert one.join("scanned", *[table | {"filter": f"progress_pct=gt.{n}"} for n in (1, 2)])["status"] == "ok"
    assert "Too many filters" in error(one.join("more", table | {"filter": "progress_pct=gt.3"}))
    further = table | {"filter": f"device_id=eq.{MINE},progress_pct=gt.3"}
    assert "Too many filters" in error(one.join("more", further)), "all of one value"
    assert two.join("more", table | {"filter": "progress_pct=gt.3"})["status"] == "ok", "the back office has more"
    assert "Too many filters" in error(two.join("pattern", table | {"filter": "error_code=like.a%"}))
    one.session.close()
    assert two.join("more", *[table | {"filter": f"progress_pct=gt.{n}"} for n in range(4)])["status"] == "ok"
    two.session.close()
    assert farm.office.subscriptions.comparisons == 0


async def test_presences_of_a_process_have_a_limit(farm, monkeypatch):
    monkeypatch.setattr(limits, "PRESENCES_MAX", 1)
    client = farm.client()
    replies = []
    for name in ("one", "two"):
        client.join(name)
        client.say(f"realtime:{name}", "presence", {"event": "track", "payload": {}})
        replies += [reply["status"] for _, _, reply in client.take()]
    assert replies == ["ok", "error"]


async def test_after_a_gap_only_some_are_told_at_once(farm, monkeypatch):
    monkeypatch.setattr(watcher, "REJOINS_PER_LOOK_MAX", 2)
    clients = [farm.client() for _ in range(3)]
    for client in clients:
        client.join("farm", {"table": "devices"})
    farm.tell("devices", reset=True)
    farm.now += limits.REJOIN_AFTER_S
    told = []
    for _ in range(3):
        farm.watcher.look()
        told.append(sum(len(client.take()) for client in clients))
    assert told == [2, 1, 0]
