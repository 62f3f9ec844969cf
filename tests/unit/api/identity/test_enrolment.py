"""Enrolment over HTTP: an admin makes a code, the agent of a PC gets a key for each of its phones, and nobody else."""

from __future__ import annotations

from math import log2

import pytest

from drover.api.identity import enrolments
from drover.api.identity.enrolment_codes import new_code
from drover.domain.fleet.commands import RegisterDevice
from drover.domain.identity.policy import ENROLMENT_USES_MAX
from tests.unit.api.identity.conftest import bearer
from tests.unit.api.identity.test_api_keys import claims

pytestmark = pytest.mark.req("SE-03")

AGENT, STRANGER = "nonce of the agent itself", "nonce of somebody else"
ELSEWHERE = "018f2b5e-0000-7000-8000-00000000000a"


class Pcs:
    """A read model that knows these PCs."""

    def __init__(self, *pcs: str) -> None:
        self._pcs = pcs

    async def fetch(self, query, pc_id, *args, **options):
        assert "pc_rows" in query
        return [(1,)] if pc_id in self._pcs else []


@pytest.fixture
async def admin(world):
    return bearer(await world.signed_in())


async def made(world, admin, **body):
    body = {"pc_id": "PC-01", "new_pc": True} | body
    async with world.client.post("/api/enrolments", json=body, headers=admin) as answer:
        assert answer.status == 201, await answer.text()
        assert answer.headers["Cache-Control"] == "no-store"
        return await answer.json()


def phones(count: int, begin: int = 0):
    return [{"serial_number": f"SERIAL{n:04d}", "group_id": "P1-G1"} for n in range(begin, begin + count)]


async def enrol(world, code: str, devices=None, *, nonce: str = AGENT, headers=None):
    body = {"code": code, "nonce": nonce, "devices": phones(2) if devices is None else devices}
    async with world.client.post("/api/enrol", json=body, headers=headers) as answer:
        return answer.status, await answer.json()


async def test_each_phone_is_registered_and_gets_a_key_of_its_own(world, admin):
    code = await made(world, admin)
    status, answer = await enrol(world, code["code"])
    assert status == 200, answer
    assert answer["pc_id"] == "PC-01"
    assert [phone["serial_number"] for phone in answer["devices"]] == ["SERIAL0000", "SERIAL0001"]
    fleet = world.bus.fleet.state
    for phone in answer["devices"]:
        said = claims(phone["key"])
        assert (said["role"], said["device_id"]) == ("device", phone["device_id"])
        assert fleet.device_by_serial[phone["serial_number"]] == phone["device_id"]
        assert fleet.devices[phone["device_id"]].pc_id == "PC-01"
        assert said["jti"] in world.bus.scenario.state.api_keys
    assert world.bus.sent[-1][1] == "pc:PC-01"


def test_a_code_has_122_bits():
    codes = {new_code() for _ in range(1000)}
    assert len(codes) == 1000
    letters = [code.replace("-", "") for code in codes]
    assert min(map(len, letters)) * log2(len(set("".join(letters)))) > 122


async def test_neither_code_nor_nonce_nor_key_is_in_an_event(world, admin):
    code = await made(world, admin)
    _, answer = await enrol(world, code["code"])
    written = repr(world.bus.events)
    for secret in (code["code"], code["code"].replace("-", ""), AGENT, answer["devices"][0]["key"]):
        assert secret not in written


async def test_a_code_may_be_typed_in_small_letters_and_with_spaces(world, admin):
    code = (await made(world, admin))["code"]
    assert (await enrol(world, code.lower().replace("-", " ")))[0] == 200


async def test_phones_that_are_registered_already_keep_their_ids(world, admin):
    code = (await made(world, admin))["code"]
    _, first = await enrol(world, code, phones(2))
    other = (await made(world, admin))["code"]
    status, second = await enrol(world, other, phones(3), nonce="another nonce of the agent")
    assert status == 200
    assert [phone["device_id"] for phone in second["devices"][:2]] == [p["device_id"] for p in first["devices"]]


async def test_a_lost_answer_is_asked_for_again_and_the_lost_keys_are_revoked(world, admin):
    code = (await made(world, admin))["code"]
    _, lost = await enrol(world, code)
    status, again = await enrol(world, code)
    assert status == 200
    assert list(world.bus.scenario.state.revoked) == [claims(phone["key"])["jti"] for phone in lost["devices"]]
    assert [phone["device_id"] for phone in again["devices"]] == [phone["device_id"] for phone in lost["devices"]]


async def test_nobody_else_can_use_a_used_code_and_the_refusal_says_what_to_do(world, admin):
    code = (await made(world, admin))["code"]
    await enrol(world, code)
    status, answer = await enrol(world, code, phones(1, begin=7), nonce=STRANGER)
    assert (status, answer["error"]) == (409, "CONFLICT")
    assert "Ask an admin for a new one" in answer["message"] and "revoke the keys of PC-01" in answer["message"]
    assert "SERIAL0007" not in world.bus.fleet.state.device_by_serial


async def test_a_code_gives_no_key_for_a_phone_of_another_pc(world, admin):
    await world.bus.send("fleet", RegisterDevice(ELSEWHERE, "SERIAL0001", "P1-G1", "PC-02"), by="test")
    code = (await made(world, admin))["code"]
    status, answer = await enrol(world, code)
    assert (status, answer["details"]["serial_numbers"]) == (409, ["SERIAL0001"])
    assert "Move them to PC-01 first" in answer["message"]
    assert not world.bus.scenario.state.api_keys


async def test_an_unknown_an_expired_and_a_withdrawn_code_register_nothing(world, admin):
    expired, withdrawn = await made(world, admin, hours=1), await made(world, admin)
    assert (await world.client.delete(f"/api/enrolments/{withdrawn['id']}", headers=admin)).status == 204
    world.after(hours=2)
    for code in (expired["code"], withdrawn["code"], "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA"):
        status, answer = await enrol(world, code)
        assert (status, answer["error"]) == (404, "NOT_FOUND")
        assert "ask an admin for a new one" in answer["message"]
    assert not world.bus.fleet.state.devices


async def test_too_many_phones_are_refused_before_any_is_registered(world, admin):
    code = (await made(world, admin, devices_max=2))["code"]
    status, answer = await enrol(world, code, phones(3))
    assert status == 400
    assert "The code is for 2 phones, and these are 3" in answer["message"]
    assert not world.bus.fleet.state.devices


async def test_a_code_is_used_so_often(world, admin):
    code = (await made(world, admin))["code"]
    for _ in range(ENROLMENT_USES_MAX):
        assert (await enrol(world, code))[0] == 200
    assert (await enrol(world, code, phones(1, begin=7)))[0] == 409
    assert "SERIAL0007" not in world.bus.fleet.state.device_by_serial, "nor does it register phones any more"


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ([], "devices"),
        (phones(1) * 2, "SERIAL0000: named twice"),
        ([{"serial_number": "short", "group_id": "P1-G1"}], "serial_number"),
        ([{"serial_number": "SERIAL0000", "group_id": "nowhere"}], "group_id"),
        (phones(201), "devices"),
    ],
)
async def test_a_bad_request_registers_nothing(world, admin, devices, said):
    code = (await made(world, admin))["code"]
    status, answer = await enrol(world, code, devices)
    assert status == 400 and said in answer["message"], answer
    assert not world.bus.fleet.state.devices and not world.bus.scenario.state.api_keys


async def test_from_another_machine_a_code_is_taken_over_https_only(world, admin):
    code = (await made(world, admin))["code"]
    status, answer = await enrol(world, code, headers={"X-Forwarded-Proto": "http", "X-Forwarded-For": "10.0.0.7"})
    assert (status, answer["error"]) == (403, "HTTPS_REQUIRED")
    assert not world.bus.fleet.state.devices


async def test_an_address_that_tries_codes_is_limited(make_world):
    world = await make_world(requests_per_s="5", requests_burst="50")
    answers = [(await enrol(world, f"AAAAA-AAAAA-AAAAA-AAAAA-{n:05d}"))[0] for n in range(8)]
    assert answers == [404] * 5 + [429] * 3


async def test_a_code_for_an_unknown_pc_is_refused_unless_the_pc_is_new(world, admin, monkeypatch):
    codes = next(handler for handler in world.identity.handlers if isinstance(handler, enrolments.EnrolmentCodes))
    monkeypatch.setattr(codes, "_pool", Pcs("PC-01"))
    await made(world, admin, new_pc=False)
    async with world.client.post("/api/enrolments", json={"pc_id": "PC-10"}, headers=admin) as answer:
        assert answer.status == 404
        assert "There is no PC PC-10" in (await answer.json())["message"]
    await made(world, admin, pc_id="PC-10")


@pytest.mark.parametrize("body", [{"pc_id": ""}, {"devices_max": 201}, {"hours": 0}, {"hours": 721}, {"more": 1}])
async def test_a_bad_code_is_not_made(world, admin, body):
    body = {"pc_id": "PC-01", "new_pc": True} | body
    async with world.client.post("/api/enrolments", json=body, headers=admin) as answer:
        assert answer.status == 400
    assert not world.bus.scenario.state.enrolments


async def test_only_admins_make_list_and_withdraw_codes(world, admin):
    new = {"email": "lee@example.com", "password": "a password of his own", "role": "operator"}
    await world.client.post("/api/accounts", json=new, headers=admin)
    operator = bearer(await world.signed_in(new["email"], new["password"]))
    code = await made(world, admin)
    for method, path in (
        ("GET", "/api/enrolments"),
        ("POST", "/api/enrolments"),
        ("DELETE", f"/api/enrolments/{code['id']}"),
    ):
        for headers, status in ((operator, 403), ({}, 401)):
            async with world.client.request(method, path, json={"pc_id": "PC-01"}, headers=headers) as answer:
                assert answer.status == status, (method, path)
    assert len(world.bus.scenario.state.enrolments) == 1
