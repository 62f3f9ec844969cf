"""A simulated farm whose phones have keys of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from drover.agent.clock import Clock
from drover.agent.enrolment import NotEnrolled
from drover.agent.protocol import Answer, Heartbeat, Report
from drover.simulator.app import NoSocketOfPc, Options, Simulation
from drover.simulator.enrolment import Enroller
from drover.simulator.phone import Identity

from .conftest import ANON_KEY, device_id

pytestmark = pytest.mark.req("SE-03")

BEAT = Heartbeat("online")
PHONES = [Identity(f"SERIAL000{n}", "P1-G1", pc) for n, pc in enumerate(("PC-1", "PC-1", "PC-2"))]


class Office:
    """Answers what an enrolment asks, and loses its first answers or refuses on request."""

    def __init__(self, lost: int = 0, refuses: bool = False) -> None:
        self.asked: list[dict] = []
        self.keys: dict[str, str] = {}
        self.lost = lost
        self.refuses = refuses

    async def post(self, path, body, *, token=None):
        if path.startswith("/auth"):
            return Answer(200), b'{"access_token": "token"}'
        if path == "/api/enrolments":
            return (
                (Answer(201), b'{"code": "of %s"}' % body["pc_id"].encode()) if token == "token" else (Answer(401), b"")
            )
        self.asked.append(body)
        if len(self.asked) <= self.lost:
            return Answer(None, connected=False), b""
        if self.refuses:
            return Answer(404), b"ask an admin"
        rows = ",".join(
            f'{{"serial_number": "{one["serial_number"]}", "device_id": "id of {one["serial_number"]}", "key": "k"}}'
            for one in body["devices"]
        )
        return Answer(200), f'{{"devices": [{rows}]}}'.encode()

    def use_keys(self, keys):
        self.keys |= keys


async def test_each_pc_enrols_its_phones_in_one_request():
    office = Office()
    ids = await Enroller(office, Clock()).enrol(PHONES, email="a", password="p")
    assert ids == {phone.serial_number: f"id of {phone.serial_number}" for phone in PHONES}
    assert office.keys.keys() == ids.keys()
    assert [(body["code"], len(body["devices"])) for body in office.asked] == [("of PC-1", 2), ("of PC-2", 1)]


async def test_a_lost_answer_is_asked_for_again_with_the_same_nonce():
    office = Office(lost=1)
    await Enroller(office, Clock(speed=1000)).enrol(PHONES[:1], email="a", password="p")
    first, second = office.asked
    assert first == second


async def test_a_refusal_is_not_repeated():
    office = Office(refuses=True)
    with pytest.raises(NotEnrolled, match="ask an admin"):
        await Enroller(office, Clock()).enrol(PHONES[:1], email="a", password="p")
    assert len(office.asked) == 1


async def test_phones_with_keys_of_their_own_use_them_and_no_others(platform, client):
    used = []

    def refuse(request):
        used.append(request.headers["apikey"])
        return web.Response(status=403)

    platform.refuse = refuse
    platform.agent_keys.add("key of S1")
    client.use_keys({"S1": "key of S1"})
    await client.heartbeat("S1", BEAT)
    await client.poll(device_id("S1"), "S1")
    await client.report(Report("a1", 1, "running"), Clock(), "S1")
    await client.dial("S1")
    assert used == ["key of S1"] * 4
    await client.heartbeat("S2", BEAT)
    assert used[-1] == ANON_KEY


def test_phones_with_keys_of_their_own_cannot_share_a_socket():
    with pytest.raises(NoSocketOfPc, match="--socket-for device"):
        Simulation(Options(data_dir=Path(), enrol=True))
    Simulation(Options(data_dir=Path(), enrol=True, socket_for="device"))
    Simulation(Options(data_dir=Path(), enrol=True, transport="http"))
