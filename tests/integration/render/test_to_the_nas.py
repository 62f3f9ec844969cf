"""Nothing stood in for but After Effects: queue, log, worker, the real nexrender, and a NAS, mounted or by SMB."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Rejected
from drover.domain.render import commands as c
from drover.platform.settings import load
from drover.render.app import RenderWorkers, render_writer
from drover.render.nexrender.client import NexrenderClient
from drover.render.settings import RenderPolicySettings
from drover.service.sealing import Sealer
from drover.testing.waiting import eventually
from drover.writer.nats_writer import prepare
from tests.contract.smbd import PASSWORD, SHARE, USER, listens, missing, smbd
from tests.e2e.process import free_port
from tests.integration.nexrender.real_server import RENDER_S, real_nexrender, render_one
from tests.integration.render.films import film

SECRET = "secret of the test"
KEYS = ("k1:" + "A" * 43 + "=",)
WIDTH, HEIGHT = 320, 180
MOUNT = "/dev/shm"

# Says what aerender says, waits until it may end, and writes a real film to where it was told to.
AERENDER = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in -output) output="$2";; esac
  shift
done
echo "PROGRESS:  Start: 0:00:00:00"
echo "PROGRESS:  Duration: 0:00:10:00"
echo "PROGRESS:  0:00:04:00 (1): 0 Seconds"
while [ ! -e {folder}/may-end ]; do sleep 0.1; done
cp {folder}/film.mp4 "$output"
"""


class Nas:
    """Where files go, as the settings say it, and as this test sees it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.settings = settings

    def files(self):
        return {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def mounted():
    """A folder below a mount point, which is checked: `guard` is as it is by default."""
    if not os.path.ismount(MOUNT):
        pytest.skip(f"nothing is mounted at {MOUNT}")
    with TemporaryDirectory(dir=MOUNT) as folder:
        yield Nas(Path(folder), DROVER_RENDER_NAS=folder, DROVER_RENDER_NAS_MOUNT=MOUNT)


@pytest.fixture
async def by_smb(tmp_path):
    if (why := missing()) is not None:
        pytest.skip(why)
    with smbd(tmp_path / "smbd", free_port()) as server:
        await eventually(lambda: listens(server.port))
        folder = server.files / "output"
        folder.mkdir()
        url = f"smb://127.0.0.1:{server.port}/{SHARE}/output"
        account = {"DROVER_RENDER_NAS_USER": USER, "DROVER_RENDER_NAS_PASSWORD": PASSWORD}
        yield Nas(folder, DROVER_RENDER_NAS=url, **account)


@pytest.fixture(params=["mounted", "by_smb"])
def nas(request):
    return request.getfixturevalue(request.param)


class Farm:
    def __init__(self, bus, nexrender, url, folder) -> None:
        self._bus = bus
        self.nexrender = nexrender
        self._url = url
        self._folder = folder

    async def ask(self, command):
        outcome = await self._bus.send("render", command, by="test")
        return None if isinstance(outcome, Rejected) else outcome.result

    async def request(self):
        await self.ask(c.MapField(composition_id="comp", field_name="Slot 1 - name", layer_name="Name 1"))
        gfx = msgspec.json.encode({"slots": [{"fields": {"name": "PHIL IVEY"}}]})
        sealed = Sealer.from_settings(KEYS).seal(gfx, context="render", subject="g1")
        return (await self.ask(c.RequestRender("comp", "g1", sealed, composition="Chip Count")))["id"]

    async def until(self, status, render_id):
        async def reached():
            now = await self.ask(c.GetRender(render_id))
            assert now["status"] == status or now["status"] not in ("failed", "cancelled"), now
            return now if now["status"] == status else None

        return await eventually(reached, within_s=RENDER_S)

    async def render_one(self):
        """A worker of nexrender takes one job."""
        await render_one(self._url, SECRET, folder=self._folder / "work", aerender=self._folder / "aerender")

    def may_end(self):
        (self._folder / "may-end").touch()

    def folders(self):
        return [path.name for path in (self._folder / "out").iterdir()]


@pytest.fixture
async def farm(own_nats, nas, tmp_path):
    folder = tmp_path / "farm"
    (folder / "out").mkdir(parents=True)
    (folder / "film.mp4").write_bytes(film(WIDTH, HEIGHT))
    (folder / "poker.aep").write_bytes(b"not really After Effects")
    (folder / "aerender").write_text(AERENDER.format(folder=folder))
    (folder / "aerender").chmod(0o755)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        (tmp_path / "nexrender").mkdir()
        url = await enter(real_nexrender(tmp_path / "nexrender", SECRET))
        settings = load(
            {
                "DROVER_NATS_URL": own_nats.url,
                "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
                "DROVER_JWT_SECRETS": "s" * 32,
                "DROVER_SEALING_KEYS": ",".join(KEYS),
                "DROVER_RENDER_NEXRENDER_URL": url,
                "DROVER_RENDER_NEXRENDER_SECRET": SECRET,
                "DROVER_RENDER_OUTPUT_DIR": str(folder / "out"),
                "DROVER_RENDER_TEMPLATE": str(folder / "poker.aep"),
                "DROVER_RENDER_IMAGE_DIR": str(folder / "images"),
                "DROVER_RENDER_WIDTH": str(WIDTH),
                "DROVER_RENDER_HEIGHT": str(HEIGHT),
                "DROVER_RENDER_FOLLOW_S": "0.3",
                "DROVER_RENDER_WORKER_ID": "ae",
                **nas.settings,
            }
        )
        client = await enter(connected(own_nats.url, "test"))
        await prepare(client, ("render",))
        await enter(render_writer(client, settings[RenderPolicySettings], instance="test").running())
        await enter(RenderWorkers(client, settings).running())
        nexrender = await enter(NexrenderClient(url, secret=SECRET))
        yield Farm(CommandBus(client), nexrender, url, folder)


@pytest.mark.req("RN-07", "RN-08", "RN-09", "RN-10", "RN-11")
async def test_a_render_goes_through_the_real_nexrender_to_a_whole_file_on_the_nas(farm, nas):
    render_id = await farm.request()
    await farm.until("rendering", render_id)
    farm.may_end()
    await farm.render_one()
    done = await farm.until("completed", render_id)
    name = f"{done['broadcast_date']}/Chip Count_{render_id}.mp4"
    assert list(nas.files()) == [name]
    assert nas.files()[name].read_bytes() == film(WIDTH, HEIGHT)
    await eventually(lambda: farm.folders() == [])


@pytest.mark.req("RN-02", "RN-08", "RN-12")
async def test_a_render_that_is_cancelled_is_removed_at_the_real_nexrender_and_what_lands_behind_our_back_is_not_used(
    farm, nas
):
    render_id = await farm.request()
    uid = (await farm.until("rendering", render_id))["uid"]
    rendering = asyncio.create_task(farm.render_one())

    async def begun():
        job = await farm.nexrender.find(uid)
        return job is not None and job.state != "queued"

    await eventually(begun)
    await farm.ask(c.CancelRender(render_id))

    async def removed():
        return await farm.nexrender.find(uid) is None

    await eventually(removed)
    farm.may_end()
    await asyncio.gather(rendering, return_exceptions=True)  # it may not like that its job is gone

    async def stopped():
        again = await farm.ask(c.RerunRender(render_id))
        return again is not None

    await eventually(stopped)
    await farm.until("rendering", render_id)
    await farm.render_one()
    done = await farm.until("completed", render_id)
    assert done["uid"] != uid
    assert list(nas.files()) == [f"{done['broadcast_date']}/Chip Count_{render_id}.mp4"]
