"""The supervision of the embedded servers, of servers that die by themselves."""

import asyncio

import pytest

from drover.embedded import supervision
from drover.embedded.errors import ServerKeepsDying
from drover.embedded.supervision import DEATHS_MAX, START_BYTES_MIN, SupervisedServer
from drover.testing.waiting import eventually


class Dead:
    """A process that has ended already."""

    pid = 1

    async def wait(self):
        return 1

    async def stop(self, first=None):
        return 1


class Dying(SupervisedServer):
    def __init__(self, folder):
        super().__init__("dying", folder / "log")
        self.launches = 0
        self.free = START_BYTES_MIN

    async def _launch(self):
        self.launches += 1
        return Dead()

    def _free_bytes(self):
        return self.free


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(supervision, "ROOM_EVERY_S", 0.001)
    monkeypatch.setattr(supervision.RESTART.__class__, "pause_s", lambda *_: 0.0)


@pytest.mark.req("YR-12")
async def test_a_server_that_died_of_a_full_disk_is_started_when_there_is_room_and_not_given_up(tmp_path):
    server = Dying(tmp_path)
    server.free = START_BYTES_MIN - 1
    async with server.running():
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert server.launches == 1
        server.free = START_BYTES_MIN
        await eventually(lambda: server.launches > 1)


async def test_a_server_that_dies_again_and_again_is_given_up(tmp_path):
    server = Dying(tmp_path)
    async with server.running():
        with pytest.raises(ServerKeepsDying):
            await asyncio.wait_for(server.wait_failed(), 5)
    assert server.launches == DEATHS_MAX + 1
