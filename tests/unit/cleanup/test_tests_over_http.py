"""People start tests and see theirs, workers end them, the back office does both and more; nobody else does."""

from uuid import UUID

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from tests.unit.cleanup.conftest import ANN

TESTS = "/api/saju/tests"
USERS = "/api/saju/users"


async def started(world, user=ANN):
    answer = await world.client.post(TESTS, headers=world.person(user))
    assert answer.status == 201, await answer.text()
    return await answer.json()


@pytest.mark.req("SY-01")
async def test_a_person_starts_a_test_of_their_own(world):
    world.user(tests=2)
    answer = await world.client.post(TESTS, headers=world.person())
    assert answer.status == 201
    assert answer.headers["Drover-Position"].startswith("analysis=")
    body = await answer.json()
    assert UUID(body["id"]).version == 7
    assert (body["user_id"], body["status"], body["remaining_tests"]) == (ANN, "processing", 1)
    assert world.bus.sent[0]["by"] == f"user:{ANN}"


@pytest.mark.req("SY-01")
async def test_the_back_office_starts_one_for_somebody(world):
    world.user()
    answer = await world.client.post(TESTS, headers=world.service, json={"user_id": ANN})
    assert (answer.status, (await answer.json())["user_id"]) == (201, ANN)
    answer = await world.client.post(TESTS, headers=world.service, json={})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "user_id")


@pytest.mark.req("SY-01")
async def test_nobody_starts_a_test_at_somebody_elses_cost(world):
    world.user("user_ben")
    answer = await world.client.post(TESTS, headers=world.person(), json={"user_id": "user_ben"})
    assert answer.status == 400
    assert world.bus.sent == []


@pytest.mark.req("SY-01")
async def test_at_zero_it_is_402_with_a_code_of_its_own(world):
    world.user(tests=0)
    answer = await world.client.post(TESTS, headers=world.person())
    assert answer.status == 402
    body = await answer.json()
    assert (body["error"], body["message"]) == ("NO_TESTS_LEFT", "No tests are left")
    assert body["details"]["remaining_tests"] == 0


async def test_somebody_whom_nobody_registered_is_404_and_a_strange_id_400(world):
    answer = await world.client.post(TESTS, headers=world.person("user_new"))
    assert (answer.status, (await answer.json())["error"]) == (404, "NOT_FOUND")
    answer = await world.client.post(TESTS, headers=world.person("ann@example.com"))
    assert (answer.status, (await answer.json())["error"]) == (400, "VALIDATION_ERROR")


@pytest.mark.req("SY-01")
async def test_the_same_idempotency_key_is_the_same_command(world):
    world.user()
    for _ in range(2):
        await world.client.post(TESTS, headers=world.person() | {"Idempotency-Key": "k1"})
    first, second = (sent["id"] for sent in world.bus.sent)
    assert first == second, "the writer then tells it what it told before, whatever the new id of the test"


@pytest.mark.req("SY-01")
async def test_a_worker_completes_one_and_fails_another(world):
    world.user(tests=5)
    one, two = await started(world), await started(world)
    answer = await world.client.post(f"{TESTS}/{one['id']}/complete", headers=world.service, json={"result_ref": "r/1"})
    assert (answer.status, (await answer.json())["status"]) == (200, "completed")
    told = {"error_code": "GEMINI_503", "error_message": "overloaded"}
    answer = await world.client.post(f"{TESTS}/{two['id']}/fail", headers=world.service, json=told)
    body = await answer.json()
    assert (answer.status, body["status"], body["remaining_tests"]) == (200, "failed", 4)


@pytest.mark.req("SY-06")
async def test_a_late_completion_is_409_and_on_record(world):
    world.user()
    test = await started(world)
    world.analyses.after(minutes=31)
    await world.clean()
    for _ in range(2):
        answer = await world.client.post(f"{TESTS}/{test['id']}/complete", headers=world.service)
        body = await answer.json()
        assert (answer.status, body["error"]) == (409, "STALE_ATTEMPT")
        assert body["details"] == {"status": "failed", "refunded": True}
    assert world.analyses.state.users[ANN].remaining == 10


@pytest.mark.req("SY-01")
@pytest.mark.parametrize("ending", ["complete", "fail"])
async def test_only_workers_end_tests(world, ending):
    world.user()
    test = await started(world)
    for headers in (world.person(), world.anon):
        answer = await world.client.post(f"{TESTS}/{test['id']}/{ending}", headers=headers)
        assert (answer.status, (await answer.json())["error"]) == (403, "42501")
    assert (await world.client.post(f"{TESTS}/{test['id']}/{ending}")).status == 401
    assert test["id"] in world.analyses.state.tests


@pytest.mark.req("YR-10")
@pytest.mark.parametrize(
    ("status", "refunded", "error"), [("failed", True, "STALE_ATTEMPT"), ("completed", False, "CONFLICT")]
)
async def test_a_completion_that_the_writer_has_forgotten_is_told_how_the_test_ended(world, status, refunded, error):
    test_id = str(UUID(int=7, version=4))
    world.pool.shows({"id": test_id, "user_id": ANN, "status": status, "refunded": refunded})
    answer = await world.client.post(f"{TESTS}/{test_id}/complete", headers=world.service)
    body = await answer.json()
    assert (answer.status, body["error"], body["details"]["status"]) == (409, error, status)


@pytest.mark.req("YR-10")
async def test_a_forgotten_test_is_409_while_postgres_is_down(world):
    answer = await world.client.post(f"{TESTS}/{UUID(int=7, version=4)}/fail", headers=world.service)
    assert (answer.status, (await answer.json())["error"]) == (409, "ENDED_LONG_AGO")


async def test_a_test_that_nobody_knows_is_404_and_what_is_no_id_400(world):
    world.pool.shows()
    for path, status in ((f"{TESTS}/{UUID(int=7, version=4)}/fail", 404), (f"{TESTS}/seven/fail", 400)):
        assert (await world.client.post(path, headers=world.service)).status == status


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"user_id": 5}', b'{"name": "Ann"}', b'{"user_id": "a\\u0000b"}'])
async def test_a_body_that_is_not_understood_is_400(world, body):
    headers = world.service | {"Content-Type": "application/json"}
    answer = await world.client.post(TESTS, headers=headers, data=body)
    assert (answer.status, (await answer.json())["error"]) == (400, "VALIDATION_ERROR")
    assert world.bus.sent == []


async def test_a_writer_that_nobody_can_reach_is_503(world):
    world.user()
    world.bus.answer = Rejected(Code.UNAVAILABLE, "Nobody answered in time")
    answer = await world.client.post(TESTS, headers=world.person())
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")


@pytest.mark.req("SY-01")
async def test_a_person_sees_their_own_and_what_is_left(world):
    world.pool.rows, world.pool.row = [{"id": "t1", "status": "failed"}], {"remaining_tests": 3}
    answer = await world.client.get(TESTS, headers=world.person())
    assert await answer.json() == {"tests": [{"id": "t1", "status": "failed"}], "remaining_tests": 3}
    assert world.pool.asked == [(ANN, None, None, 50)]
    answer = await world.client.get(f"{TESTS}?user_id=user_ben", headers=world.person())
    assert answer.status == 400, "others are not theirs to see"


async def test_the_back_office_sees_everybodys_or_somebodys(world):
    world.pool.rows = []
    before = UUID(int=3, version=4)
    await world.client.get(TESTS, headers=world.service)
    await world.client.get(f"{TESTS}?user_id=user_ben&status=processing&limit=7&before={before}", headers=world.service)
    assert world.pool.asked == [(None, None, None, 50), ("user_ben", "processing", before, 7)]


@pytest.mark.parametrize("query", ["status=lost", "limit=0", "limit=501", "limit=x", "before=5", "order=id"])
async def test_a_question_that_is_not_understood_is_400(world, query):
    world.pool.rows = []
    assert (await world.client.get(f"{TESTS}?{query}", headers=world.service)).status == 400


async def test_without_a_database_reading_is_503_and_starting_goes_on(world):
    world.user()
    assert (await world.client.get(TESTS, headers=world.person())).status == 503
    await started(world)


async def test_nobody_is_401(world):
    for method, path in (("GET", TESTS), ("POST", TESTS), ("POST", USERS)):
        answer = await world.client.request(method, path)
        assert (answer.status, (await answer.json())["error"]) == (401, "UNAUTHORIZED")
    assert (await world.client.get(TESTS, headers=world.anon)).status == 403


@pytest.mark.req("SY-01")
async def test_the_back_office_registers_grants_sets_the_tier_and_freezes(world):
    answer = await world.client.post(USERS, headers=world.service, json={"user_id": ANN, "remaining_tests": 3})
    assert (answer.status, (await answer.json())["tier"]) == (201, "free")
    answer = await world.client.post(USERS, headers=world.service, json={"user_id": ANN})
    assert (answer.status, (await answer.json())["error"]) == (409, "23505")
    change = {"grant_tests": 2, "tier": "gold", "frozen": True}
    answer = await world.client.patch(f"{USERS}/{ANN}", headers=world.service, json=change)
    body = await answer.json()
    assert (answer.status, body["remaining_tests"], body["tier"], body["frozen"]) == (200, 5, "gold", True)
    answer = await world.client.patch(f"{USERS}/{ANN}", headers=world.service, json={"tier": "gold"})
    assert (answer.status, await answer.json()) == (200, {"id": ANN})
    assert (await world.client.patch(f"{USERS}/nobody", headers=world.service, json=change)).status == 404


async def test_people_grant_themselves_nothing(world):
    world.user()
    answer = await world.client.patch(f"{USERS}/{ANN}", headers=world.person(), json={"grant_tests": 2})
    assert answer.status == 403
    assert (await world.client.post(USERS, headers=world.person(), json={"user_id": ANN})).status == 403


@pytest.mark.req("SY-15")
@pytest.mark.parametrize("extra", [{"email": "ann@example.com"}, {"name": "Ann Lee"}])
async def test_who_somebody_is_never_comes_in(world, extra):
    answer = await world.client.post(USERS, headers=world.service, json={"user_id": ANN, **extra})
    assert answer.status == 400
    assert world.bus.sent == []
