"""`POST /api/system/cleanup-tests`, answer by answer; and how nobody gets in."""

import ast
import asyncio
import inspect
from datetime import timedelta

import pytest

from drover.bus.messages import Rejected
from drover.cleanup import cleaning, manual, secret
from drover.cleanup.secret import CronSecrets
from drover.domain.analysis import commands as c
from drover.domain.backoff import Backoff
from drover.domain.errors import Code
from drover.web.commands import CommandClient
from tests.unit.cleanup.conftest import ANN, CRON_SECRET, OLD_SECRET

UNAUTHORIZED = {"error": "UNAUTHORIZED", "message": "Invalid cron secret"}


@pytest.mark.req("SY-04", "SY-03")
async def test_it_answers_with_count_and_users(world):
    for user in ("user_abc123", "user_def456"):
        world.user(user)
    world.stalled("user_abc123", 1, 2, 3)
    world.stalled("user_def456", 4, 5)
    world.analyses.after(minutes=31)
    answer = await world.clean()
    assert (answer.status, answer.content_type) == (200, "application/json")
    assert await answer.json() == {
        "message": "Cleanup completed",
        "cleaned_count": 5,
        "users_affected": ["user_abc123", "user_def456"],
    }
    assert {sent["by"] for sent in world.bus.sent} == {"cron_secret"}


@pytest.mark.req("SY-04")
async def test_with_nothing_to_do_it_says_so(world):
    answer = await world.clean()
    assert await answer.json() == {"message": "Cleanup completed", "cleaned_count": 0, "users_affected": []}


@pytest.mark.req("SY-04")
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Cron-Secret": CRON_SECRET},
        {"X-Cron-Secret": OLD_SECRET},
        {"Authorization": f"Bearer {CRON_SECRET}"},
        {"Authorization": f"bearer {OLD_SECRET}"},
    ],
)
async def test_either_header_and_either_secret_will_do(world, headers):
    assert (await world.clean(**headers)).status == 200


@pytest.mark.req("SY-04")
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Nothing": "at all"},
        {"X-Cron-Secret": ""},
        {"X-Cron-Secret": CRON_SECRET[:-1]},
        {"X-Cron-Secret": CRON_SECRET + "x"},
        {"X-Cron-Secret": f"{CRON_SECRET},{OLD_SECRET}"},
        {"X-Cron-Secret": "비밀"},
        {"Authorization": f"Basic {CRON_SECRET}"},
        {"Authorization": CRON_SECRET},
        {"X-Cron-Secret": "wrong", "Authorization": f"Bearer {CRON_SECRET}"},
    ],
)
async def test_without_the_secret_nobody_gets_in(world, headers):
    answer = await world.clean(**headers)
    assert answer.status == 401
    assert await answer.json() == UNAUTHORIZED
    assert world.bus.sent == []


@pytest.mark.parametrize("world", [{"DROVER_CRON_SECRETS": ""}], indirect=True)
async def test_where_no_secret_is_set_none_is_right(world):
    for sent in ("", "x", CRON_SECRET):
        assert (await world.clean(**{"X-Cron-Secret": sent})).status == 401


@pytest.mark.parametrize("world", [{"DROVER_CRON_SECRETS": "", "CRON_SECRET": "your-secret-token-here"}], indirect=True)
@pytest.mark.req("SY-23")
async def test_the_users_own_name_for_the_setting_will_do(world):
    assert (await world.clean(**{"X-Cron-Secret": "your-secret-token-here"})).status == 200


async def test_the_service_key_is_no_cron_secret(world):
    assert (await world.clean(**world.service)).status == 401
    assert (await world.clean(Authorization=f"Bearer {world.service['apikey']}")).status == 401


@pytest.mark.req("SY-04", "SY-15")
@pytest.mark.parametrize("name", ["X-Cron-Secret", "secret", "cron_secret", "token"])
async def test_attack_the_secret_in_a_query_string_opens_nothing(world, logged, name):
    answer = await world.client.post(f"/api/system/cleanup-tests?{name}={CRON_SECRET}")
    assert answer.status == 401
    assert CRON_SECRET not in str(logged)
    assert world.bus.sent == []


@pytest.mark.req("SY-04")
async def test_only_post_cleans(world):
    assert (await world.client.get("/api/system/cleanup-tests", headers=world.cron)).status == 405
    assert world.bus.sent == []


@pytest.mark.req("SY-23")
async def test_a_json_content_type_without_a_body_is_what_pg_net_sends(world):
    headers = world.cron | {"Content-Type": "application/json"}
    assert (await world.client.post("/api/system/cleanup-tests", headers=headers)).status == 200
    assert (await world.client.post("/api/system/cleanup-tests", headers=headers, data=b"{}")).status == 200


@pytest.mark.req("SY-04")
async def test_attack_timing_every_comparison_is_in_constant_time(world, monkeypatch):
    """What is sent meets each live secret, whole, as bytes, in `hmac.compare_digest`, also after one has matched."""
    compared = []

    def compare(sent, known):
        compared.append((sent, known))
        return real(sent, known)

    real = secret.compare_digest
    monkeypatch.setattr(secret, "compare_digest", compare)
    known = [CRON_SECRET.encode(), OLD_SECRET.encode()]
    for sent in (CRON_SECRET, OLD_SECRET, "wrong", CRON_SECRET[:5], ""):
        compared.clear()
        await world.clean(**{"X-Cron-Secret": sent})
        assert compared == [(sent.encode(), one) for one in known]


@pytest.mark.req("SY-04")
def test_attack_timing_nothing_else_looks_at_a_secret():
    """No `==`, no `in`, no `startswith` on what was sent or is known: only `compare_digest` sees both."""
    tree = ast.parse(inspect.getsource(CronSecrets).lstrip())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    called = {
        node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    assert called == {"compare_digest", "any", "encode", "tuple", "_sent"}


@pytest.mark.req("SY-18", "SY-15")
async def test_a_wrong_secret_is_logged_without_it(world, logged):
    await world.clean(**{"X-Cron-Secret": "a-wrong-secret-of-somebody"})
    (line,) = logged
    assert line["event"] == "cleanup-tests: Invalid cron secret"
    assert line["log_level"] == "warning"
    assert "a-wrong-secret-of-somebody" not in str(line)


async def test_guessing_fills_no_disk(logged):
    now = [0.0]
    guarded = cleaning.Cleaning(CronSecrets([CRON_SECRET]), None, None, clock=lambda: now[0])
    for _ in range(100):
        guarded._log_wrong_secret("10.0.0.1")
    now[0] += cleaning.TOLD_EVERY_S
    guarded._log_wrong_secret("10.0.0.1")
    assert [line["unmentioned"] for line in logged] == [0, 99]


@pytest.mark.req("SY-04", "SY-18")
async def test_what_fails_is_told_as_such_and_logged(world, logged):
    world.bus.answer = Rejected(Code.UNAVAILABLE, "Nobody answered in time")
    answer = await world.clean()
    assert answer.status == 500
    assert await answer.json() == {
        "error": "CLEANUP_FAILED",
        "message": "Failed to cleanup tests",
        "details": "UNAVAILABLE: Nobody answered in time",
    }
    (line,) = logged
    assert line["event"] == "cleanup-tests: Failed to cleanup tests - UNAVAILABLE: Nobody answered in time"
    assert line["log_level"] == "error"


@pytest.mark.req("SY-16")
async def test_what_fails_raises_an_alert_if_anybody_is_there_for_it(world):
    world.bus.answer = Rejected(Code.INTERNAL, "…")
    await world.clean()
    reported = world.bus.commands[-1]
    assert isinstance(reported, c.ReportCleanupFailed)
    world.bus.answer = None
    world.bus.do(reported)
    assert world.analyses.state.alerts


@pytest.mark.req("SY-04", "SY-06")
async def test_a_run_of_many_commits_is_waited_for_and_all_of_its_users_are_named(world, monkeypatch):
    monkeypatch.setattr(manual, "LOOK", Backoff(first_s=0.001, max_s=0.001))
    users = [f"user_{number:04d}" for number in range(1200)]
    for place, user in enumerate(users):
        world.user(user)
        world.stalled(user, place)
    world.analyses.after(minutes=31)
    answer = await (await world.clean()).json()
    assert (answer["cleaned_count"], answer["users_affected"]) == (1200, users)
    assert len([command for command in world.bus.commands if isinstance(command, c.GetCleanupRun)]) > 5


@pytest.mark.req("SY-06")
async def test_a_call_while_a_run_is_at_work_gets_what_that_one_found(world):
    for number in range(300):
        world.user(f"user_{number:04d}")
        world.stalled(f"user_{number:04d}", number)
    world.analyses.after(minutes=31)
    world.bus.do(c.Cleanup("11111111-0000-7000-8000-000000000001", c.CRON, world.analyses.now - timedelta(minutes=1)))
    answer = await (await world.clean()).json()
    assert answer["cleaned_count"] == 300
    assert len(world.analyses.state.runs) == 1


@pytest.mark.req("SY-04")
async def test_a_run_that_does_not_end_is_a_failure_and_not_a_wait_for_ever(world):
    for number in range(300):
        world.user(f"user_{number:04d}")
        world.stalled(f"user_{number:04d}", number)
    world.analyses.after(minutes=31)
    world.bus.ticks_between = 0
    cleanup = manual.ManualCleanup(CommandClient(world.bus, "analysis"), {}, wait_s=0.05)
    with pytest.raises(manual.CleanupFailed, match=r"has not ended within .* it continues"):
        await cleanup.run(by="somebody")


@pytest.mark.req("SY-06")
async def test_skipped_tests_are_no_failure_of_the_call(world):
    world.user()
    world.stalled(ANN, 1)
    world.bus.do(c.ChangeUser(ANN, frozen=True))
    world.analyses.after(minutes=31)
    answer = await world.clean()
    assert answer.status == 200
    assert (await answer.json())["cleaned_count"] == 0
    assert world.analyses.state.alerts


@pytest.mark.parametrize(
    "world",
    [{"DROVER_CLEANUP_TIMEOUT_S": "60", "DROVER_CLEANUP_TIER_TIMEOUTS_S": "gold=7200", "DROVER_CLEANUP_NOTIFIES": "0"}],
    indirect=True,
)
@pytest.mark.req("SY-02", "SY-16")
async def test_settings_travel_with_the_command(world):
    await world.clean()
    command = world.bus.commands[0]
    assert (command.timeout_s, command.tier_timeouts_s, command.notify) == (60, {"gold": 7200}, False)
    assert command.trigger == "manual"


@pytest.mark.req("SY-06")
async def test_many_calls_at_once_are_all_answered(world):
    world.user()
    world.stalled(ANN, 1, 2)
    world.analyses.after(minutes=31)
    answers = await asyncio.gather(*(world.clean() for _ in range(10)))
    assert {answer.status for answer in answers} == {200}
    assert world.analyses.state.users[ANN].remaining == 10
