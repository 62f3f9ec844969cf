"""What the service is made of by its settings, and what it says when they do not suffice."""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.bus.messages import Accepted
from drover.domain.render.polling import Pace
from drover.nas import opening
from drover.nas.opening import NasAddressInvalid, open_nas
from drover.nas.settings import NasSettings
from drover.nas.store import NasAway
from drover.platform.settings import SECTIONS
from drover.platform.settings import load as configured
from drover.render.app import RenderSettingsMissing, RenderWorkers, worker_ids
from drover.render.health import WorkerProbe
from drover.render.queue import Queue
from drover.render.settings import RenderPolicySettings, RenderSettings
from drover.render.worker import Worker
from drover.service.config import ConfigurationError
from drover.service.health import Health
from drover.testing.scenario import NOON
from drover.web.application import add_handlers, create_application
from tests.settings import load

BASE = {
    "DROVER_NATS_URL": "nats://nowhere:1",
    "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
    "DROVER_JWT_SECRETS": "s" * 32,
}


@pytest.mark.req("RN-23")
def test_everything_of_003_can_be_set_and_has_its_default():
    settings, policy = load(BASE, RenderSettings), load(BASE, RenderPolicySettings)
    assert (policy.render_retries, policy.render_retry_base_s) == (3, 60)
    assert (settings.render_poll_s, settings.render_poll_idle_s) == (10, 30)
    environ = BASE | {
        "DROVER_RENDER_NEXRENDER_URL": "http://nexrender-server:8080",
        "DROVER_RENDER_NAS": "/mnt/nas/broadcast/output",
        "DROVER_RENDER_OUTPUT_DIR": "/mnt/output",
        "DROVER_RENDER_TEMPLATE_DIR": "D:\\templates",
        "DROVER_RENDER_WORKER_ID": "ae-1",
        "DROVER_RENDER_RETRIES": "5",
        "DROVER_RENDER_POLL_S": "2",
    }
    set_ = load(environ, RenderSettings)
    assert load(environ, RenderPolicySettings).render_retries == 5
    assert set_.render_template_dir == "D:\\templates"
    assert (set_.render_worker_id, set_.render_poll_s) == ("ae-1", 2)


@pytest.mark.req("RN-17", "RN-23")
def test_paths_and_secrets_come_from_the_environment_and_secrets_are_not_shown():
    environ = BASE | {"DROVER_RENDER_NEXRENDER_SECRET": "hush-hush", "DROVER_RENDER_NAS_PASSWORD": "hunter2"}
    for section in SECTIONS:
        assert "hush-hush" not in repr(load(environ, section))
        assert "hunter2" not in repr(load(environ, section))


def test_an_address_with_a_password_in_it_is_no_address_of_nexrender():
    with pytest.raises(ConfigurationError):
        load(BASE | {"DROVER_RENDER_NEXRENDER_URL": "http://bob:secret@nexrender"})


@pytest.mark.req("RN-03")
def test_as_many_workers_as_licences_each_with_a_name_that_stays():
    assert worker_ids("ae", 3) == ["ae-1", "ae-2", "ae-3"]
    assert worker_ids("ae", 1) == ["ae"]
    assert worker_ids(None, 2) == worker_ids(None, 2), "the same after a restart"


def test_workers_without_their_settings_say_which_are_missing():
    with pytest.raises(RenderSettingsMissing) as missing:
        RenderWorkers(None, configured(BASE | {"DROVER_RENDER_NAS": "/mnt/nas"}))
    assert missing.value.names == [
        "DROVER_RENDER_NEXRENDER_URL",
        "DROVER_RENDER_OUTPUT_DIR",
        "DROVER_RENDER_SEALING_KEYS",
    ]
    assert "DROVER_RENDER_WORKERS=0" in str(missing.value)


class Shop:
    passed_s = 0.0
    now = staticmethod(lambda: NOON)

    def elapsed(self):
        return self.passed_s


def test_no_workers_are_no_worker_process():
    settings = BASE | {
        "DROVER_RENDER_NEXRENDER_URL": "http://nexrender:3000",
        "DROVER_RENDER_NAS": "/mnt/nas",
        "DROVER_RENDER_OUTPUT_DIR": "/mnt/out",
        "DROVER_SEALING_KEYS": "k1:" + "A" * 43 + "=",
        "DROVER_RENDER_WORKERS": "0",
    }
    with pytest.raises(RenderSettingsMissing, match="DROVER_RENDER_WORKERS of at least 1"):
        RenderWorkers(None, configured(settings))


@pytest.mark.req("RN-11", "RN-23")
@pytest.mark.parametrize("place", ["output", "."])
async def test_a_folder_that_is_not_behind_a_mount_is_not_the_nas(tmp_path, place):
    (tmp_path / "output").mkdir()
    settings = {
        "DROVER_RENDER_NAS": str(tmp_path / "output"),
        "DROVER_RENDER_NAS_MOUNT": str(tmp_path / place),
    }
    with pytest.raises(NasAway, match="is not mounted"):
        await open_nas(load(BASE | settings, NasSettings)).free_bytes()


@pytest.mark.req("RN-11", "RN-23")
@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="there is no mount to try it with")
async def test_a_folder_below_the_mount_point_is_behind_the_mount():
    with TemporaryDirectory(dir="/dev/shm") as folder:
        nas = {"DROVER_RENDER_NAS": folder}
        mounted = nas | {"DROVER_RENDER_NAS_MOUNT": "/dev/shm"}
        with pytest.raises(NasAway):
            await open_nas(load(BASE | nas, NasSettings)).free_bytes()
        assert await open_nas(load(BASE | mounted, NasSettings)).free_bytes() > 0


def test_a_mount_point_that_the_folder_is_not_behind_is_told():
    nas = {"DROVER_RENDER_NAS": "/srv/output", "DROVER_RENDER_NAS_MOUNT": "/mnt/nas"}
    with pytest.raises(NasAddressInvalid, match="/mnt/nas"):
        open_nas(load(BASE | nas, NasSettings))
    with pytest.raises(ConfigurationError):
        load(BASE | {"DROVER_RENDER_NAS_MOUNT": "mnt/nas"})


@pytest.mark.req("RN-23")
@pytest.mark.parametrize(("value", "encrypt"), [(None, True), ("1", True), ("0", False)])
def test_smb_is_encrypted_unless_somebody_says_otherwise(monkeypatch, value, encrypt):
    opened = {}
    monkeypatch.setattr(opening, "open_store", lambda url, **how: opened.update(how))
    env = {} if value is None else {"DROVER_RENDER_NAS_ENCRYPT": value}
    open_nas(load(BASE | {"DROVER_RENDER_NAS": "smb://nas/share/folder"} | env, NasSettings))
    assert opened["encrypt"] is encrypt


class Idle(Worker):
    """Its queue has no work for it."""

    async def polled(self):
        await self._turn()


class Crew:
    def __init__(self, *ids):
        self.shop = Shop()
        self.workers = [Idle(Queue(NoWork(), id_), self.shop, NoNews(), None, Pace()) for id_ in ids]


class NoWork:
    async def send(self, context, command, *, by, id=None):
        return Accepted(1, None)


class NoNews:
    def ticket(self):
        return None

    async def for_work(self, ticket, timeout_s):
        return None


async def health_of(crew):
    served = create_application(Health(), body_bytes_max=1024)
    add_handlers(served, [WorkerProbe(crew)])
    async with TestClient(TestServer(served)) as client:
        return await (await client.get("/health")).json()


@pytest.mark.req("RN-15")
@pytest.mark.parametrize("ids", [("ae-1",), ("ae-1", "ae-2")])
async def test_the_health_of_a_worker_is_that_of_003(ids):
    crew = Crew(*ids)
    await crew.workers[0].polled()
    health = await health_of(crew)
    others = health.pop("workers", [])
    assert health == {
        "status": "healthy",
        "worker_id": "ae-1",
        "uptime_seconds": 0,
        "current_job_id": None,
        "last_poll": "2026-03-02T12:00:00Z",
        "job_count_completed": 0,
    }
    assert [other["worker_id"] for other in others] == list(ids if len(ids) > 1 else ())


@pytest.mark.req("RN-15")
async def test_a_worker_that_nobody_has_answered_yet_is_starting_and_after_a_while_it_is_not_well():
    crew = Crew("ae-1")
    health = await health_of(crew)
    assert (health["status"], health["last_poll"]) == ("starting", None)
    crew.shop.passed_s = 3600
    assert (await health_of(crew))["status"] == "unhealthy"


@pytest.mark.req("RN-15")
async def test_an_idle_worker_that_is_not_answered_any_more_is_not_well_and_a_busy_one_is():
    crew = Crew("ae-1")
    await crew.workers[0].polled()
    crew.shop.passed_s = 3600
    assert (await health_of(crew))["status"] == "unhealthy"
    crew.workers[0].run = SimpleNamespace(claimed=SimpleNamespace(render_id=7))
    health = await health_of(crew)
    assert (health["status"], health["current_job_id"]) == ("healthy", 7)


@pytest.mark.req("RN-05")
async def test_a_poll_on_demand_is_a_post_to_the_worker():
    asked = []

    class Demanded(Crew):
        def poll_now(self):
            asked.append(True)
            return len(asked) == 1

    served = create_application(Health(), body_bytes_max=1024)
    add_handlers(served, [WorkerProbe(Demanded("w1"))])
    async with TestClient(TestServer(served)) as client:
        answers = [await client.post("/health/poll") for _ in range(2)]
        assert [(answer.status, await answer.json()) for answer in answers] == [
            (200, {"asked": True}),
            (200, {"asked": False}),
        ]
