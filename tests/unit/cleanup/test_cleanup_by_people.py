"""`POST /api/saju/cleanup-runs`: people who run the farm may clean up now, and it is on record who did."""

import time

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.service.api_keys import Role, issue_api_key
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.permissions import Verb, demand
from tests.unit.cleanup.conftest import SECRET

PATH = "/api/saju/cleanup-runs"
pytestmark = pytest.mark.req("SY-04")


async def test_it_cleans_up_and_says_how_much(world):
    world.user("user_abc123")
    world.stalled("user_abc123", 1, 2)
    world.analyses.after(minutes=31)
    answer = await world.client.post(PATH, headers=world.service)
    body = await answer.json()
    assert answer.status == 201
    assert (body["cleaned_count"], body["skipped_count"], body["users_count"]) == (2, 0, 1)
    assert {sent["by"] for sent in world.bus.sent} == {"service_role"}
    again = await (await world.client.post(PATH, headers=world.service)).json()
    assert again["cleaned_count"] == 0


async def test_a_key_of_a_phone_a_person_of_elsewhere_and_the_secret_of_cron_do_not_open_it(world):
    device = issue_api_key(SECRET, Role.ANON, now_s=time.time())
    for headers, status in (
        ({"apikey": device}, 403),
        (world.person(), 403),
        (world.cron, 401),
        ({}, 401),
    ):
        assert (await world.client.post(PATH, headers=headers)).status == status
    assert world.bus.sent == []


@pytest.mark.parametrize(("role", "may"), [(Role.ADMIN, True), (Role.OPERATOR, True), (Role.VIEWER, False)])
def test_a_viewer_only_looks_on(role, may):
    principal = Principal(role, "user:kim", float("inf"))
    if may:
        assert demand(principal, "cleanup_runs", Verb.CREATE)
    else:
        with pytest.raises(ApiError):
            demand(principal, "cleanup_runs", Verb.CREATE)


async def test_what_fails_is_said_and_raises_an_alert(world, logged):
    world.bus.answer = Rejected(Code.UNAVAILABLE, "nobody leads", None, 0)
    answer = await world.client.post(PATH, headers=world.service)
    assert (answer.status, (await answer.json())["error"]) == (500, "CLEANUP_FAILED")
    assert any("nobody leads" in line["event"] for line in logged)
