"""Registering, scheduling and deleting over HTTP."""

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.partitions import partition_of
from drover.domain.reminder.commands import DeletePages
from drover.domain.reminder.policy import PAGES_PER_DELETION_MAX, SEALED_TEXT_CHARS_MAX
from drover.reminder.edge.alarms import PAGES_MAX
from tests.unit.reminder.world import PARTITIONS


def errors(kind):
    return REGISTRY.get_sample_value("drover_reminder_errors_total", {"kind": kind}) or 0


@pytest.mark.req("RM-01", "RM-02")
async def test_a_page_is_registered_with_201_and_again_with_200(edge):
    body = {"page_id": "page-1", "user_id": "user_1", "title": "제목", "body": "본문"}
    answer, alarm = await edge.post("register-by-page", body)
    assert answer.status == 201
    assert alarm == body | {"next_alarm_time": "2026-03-02T12:00:00Z", "sent_count": 1}
    place = f"reminder.{partition_of('user_1', PARTITIONS)}"
    assert answer.headers["Drover-Position"] == f"{place}=1"
    answer, alarm = await edge.post("register-by-page", {"page_id": "page-1", "user_id": "user_1"})
    assert (answer.status, alarm["title"]) == (200, "제목")


@pytest.mark.req("RM-06")
async def test_commands_go_to_the_partition_of_their_user(edge):
    for number in range(12):
        await edge.registered(f"page-{number}", f"user-{number}")
    went = {command.user_id: partition for partition, command in edge.bus.sent}
    assert went == {user: partition_of(user, PARTITIONS) for user in went}
    assert len(set(went.values())) > 1


async def test_a_person_speaks_for_themselves_and_for_nobody_else(edge):
    for role in ("authenticated", "viewer", "operator", "admin"):
        answer, alarm = await edge.post("register-by-page", {"page_id": f"of-{role}"}, who=f"{role}:u-{role}")
        assert (answer.status, alarm["user_id"]) == (201, f"u-{role}")
    body = {"page_id": "x", "user_id": "somebody"}
    answer, said = await edge.post("register-by-page", body, who="authenticated:me")
    assert (answer.status, said["details"]["field"]) == (400, "user_id")
    assert len(edge.bus.sent) == 4


async def test_the_key_of_the_phones_may_nothing_here_and_nobody_may_nothing(edge):
    answer, said = await edge.post("register-by-page", {"page_id": "x", "user_id": "u"}, who="anon")
    assert (answer.status, set(said)) == (403, {"error", "message", "details"})
    answer = await edge.client.post("/api/reminder/register-by-page", json={})
    assert (answer.status, (await answer.json())["error"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "page_id"),
        ({"page_id": "x"}, "user_id"),
        ({"page_id": "a b", "user_id": "u"}, "page_id"),
        ({"page_id": 7, "user_id": "u"}, "page_id"),
        ({"page_id": "x", "user_id": "u", "colour": "red"}, "colour"),
        ({"page_id": "x", "user_id": "u", "title": "a\0b"}, "title"),
    ],
)
async def test_what_is_malformed_is_400_by_name_and_nothing_is_sent(edge, body, field):
    answer, said = await edge.post("register-by-page", body)
    assert (answer.status, said["error"], said["details"]["field"]) == (400, "VALIDATION_ERROR", field)
    assert edge.bus.sent == []


@pytest.mark.req("RM-01")
async def test_long_texts_are_cut_before_they_travel(edge):
    answer, alarm = await edge.post(
        "register-by-page", {"page_id": "x", "user_id": "u", "title": "가" * 100_000, "body": "b"}
    )
    assert (answer.status, alarm["title"]) == (201, "가" * 2000)
    assert len(edge.bus.sent[0][1].title) <= SEALED_TEXT_CHARS_MAX


async def test_the_same_key_is_the_same_wish_and_another_body_a_misuse(edge):
    body = {"page_id": "x", "user_id": "u", "title": "one"}
    first, _ = await edge.post("register-by-page", body, **{"Idempotency-Key": "k"})
    again, _ = await edge.post("register-by-page", body, **{"Idempotency-Key": "k"})
    assert (first.status, again.status) == (201, 201), "the repeat is told the same"
    other, _ = await edge.post("register-by-page", body | {"title": "two"}, **{"Idempotency-Key": "k"})
    assert other.status == 422


@pytest.mark.req("RM-03")
async def test_the_next_time_is_set_on_the_users_clock(edge):
    await edge.registered()
    body = {"page_id": "page-1", "user_id": "user_1", "next_alarm_time": "2026-03-03T09:00"}
    answer, alarm = await edge.post("schedule/v2", body)
    assert answer.status == 200
    assert (alarm["next_alarm_time"], alarm["timezone"]) == ("2026-03-03T00:00:00Z", "Asia/Seoul")
    answer, zone = await edge.call("PUT", "/api/reminder/users/user_1/timezone", {"timezone": "America/New_York"})
    assert (answer.status, zone) == (200, {"user_id": "user_1", "timezone": "America/New_York"})
    answer, alarm = await edge.post("schedule/v2", body)
    assert alarm["next_alarm_time"] == "2026-03-03T14:00:00Z"
    answer, alarm = await edge.post("schedule/v2", body | {"next_alarm_time": "2026-03-03T14:30:00Z"})
    assert alarm["next_alarm_time"] == "2026-03-03T14:30:00Z"


@pytest.mark.req("RM-03", "RM-14")
async def test_a_past_time_is_422_and_reported(edge):
    await edge.registered()
    before = errors("past_schedule")
    with capture_logs() as lines:
        answer, said = await edge.post(
            "schedule/v2", {"page_id": "page-1", "user_id": "user_1", "next_alarm_time": "2026-03-02T20:59"}
        )
    assert (answer.status, said["error"]) == (422, "PAST_SCHEDULE")
    assert answer.headers["Drover-Position"], "the refusal is on record"
    assert errors("past_schedule") == before + 1
    (line,) = (line for line in lines if line["event"] == "past_schedule_skipped")
    assert (line["log_level"], line["page_id"]) == ("error", "page-1")


@pytest.mark.parametrize("time", ["tomorrow", "", "9:00", "2026-13-01T00:00", "2026-03-03T09:00" + "0" * 100])
async def test_a_time_that_is_none_is_400(edge, time):
    answer, said = await edge.post("schedule/v2", {"page_id": "p", "user_id": "u", "next_alarm_time": time})
    assert (answer.status, said["details"]["field"]) == (400, "next_alarm_time")


async def test_an_alarm_that_is_not_there_is_404(edge):
    answer, said = await edge.post("schedule/v2", {"page_id": "p", "user_id": "u", "next_alarm_time": "2026-03-09"})
    assert (answer.status, said["error"]) == (404, "NOT_FOUND")


@pytest.mark.req("RM-09", "RM-14")
async def test_a_minute_that_had_to_be_shared_is_reported(edge):
    before = errors("crowded_minute")
    for number in range(61):
        await edge.registered(f"page-{number}")
        _, alarm = await edge.post(
            "schedule/v2",
            {"page_id": f"page-{number}", "user_id": "user_1", "next_alarm_time": f"2026-03-03T09:{number % 60:02}"},
        )
    assert alarm["crowded"]
    assert errors("crowded_minute") == before + 1, "the sixty-first of an hour"


@pytest.mark.req("RM-05")
async def test_deleted_pages_lose_their_alarms_also_where_nobody_says_whose_they_are(edge):
    for number in range(8):
        await edge.registered(f"page-{number}", f"user-{number}")
    answer, said = await edge.post("pages-deleted", {"page_ids": ["page-0", "nothing"], "user_id": "user-0"})
    assert (answer.status, said) == (200, {"deleted": ["page-0"]})
    answer, said = await edge.post("pages-deleted", {"page_ids": [f"page-{number}" for number in range(8)]})
    assert sorted(said["deleted"]) == [f"page-{number}" for number in range(1, 8)]
    assert answer.headers["Drover-Position"].count("reminder.p") > 1
    assert not any(state.alarms for state in edge.bus.states.values())


@pytest.mark.req("RM-05")
async def test_many_pages_travel_in_several_commands_and_too_many_are_refused(edge):
    pages = [f"page-{number}" for number in range(PAGES_PER_DELETION_MAX * 2 + 1)]
    answer, _ = await edge.post("pages-deleted", {"page_ids": pages, "user_id": "u"})
    assert answer.status == 200
    assert [len(command.page_ids) for _, command in edge.bus.sent] == [100, 100, 1]
    answer, _ = await edge.post("pages-deleted", {"page_ids": ["x"] * (PAGES_MAX + 1)})
    assert answer.status == 400


@pytest.mark.req("RM-05")
async def test_a_person_deletes_their_own_pages_only(edge):
    await edge.registered("theirs", "somebody")
    answer, said = await edge.post("pages-deleted", {"page_ids": ["theirs"]}, who="authenticated:me")
    assert (answer.status, said) == (200, {"deleted": []})
    assert [command for _, command in edge.bus.sent if isinstance(command, DeletePages)] == [
        DeletePages(("theirs",), "me")
    ]


async def test_while_nobody_leads_it_is_503_with_a_word_when_to_come_back(edge):
    edge.bus.refuse_with = [Rejected(Code.UNAVAILABLE, "nobody answered")]
    answer, said = await edge.post("register-by-page", {"page_id": "x", "user_id": "u"})
    assert (answer.status, said["error"]) == (503, "UNAVAILABLE")
    assert answer.headers["Retry-After"]


@pytest.mark.req("SE-05")
async def test_a_person_who_loops_gets_429_until_midnight_and_staff_do_not(make_edge):
    edge = await make_edge(DROVER_USER_EVENTS_PER_DAY="5")
    body = {"page_id": "page-1", "title": "t"}
    statuses = [(await edge.post("register-by-page", body, who="authenticated:me"))[0].status for _ in range(10)]
    assert statuses == [201, 200, 200, 200, *[429] * 6]
    answer, said = await edge.post("register-by-page", body, who="authenticated:me")
    assert said["error"] == "RATE_LIMITED"
    assert 0 < int(answer.headers["Retry-After"]) <= 86_400
    body = {"page_id": "page-2"}
    statuses = [(await edge.post("register-by-page", body, who="operator:staff"))[0].status for _ in range(10)]
    assert statuses == [201, *[200] * 9]
