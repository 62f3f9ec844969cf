"""The time machine over HTTP: what can be asked, what is refused, and what a moment shows."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.past.moments import Moments
from drover.api.past.questions import FleetMoment, RenderMoment, fleet_moment, render_moment
from drover.archive.errors import ArchiveUnreachable
from drover.domain.alert_handling import SnoozeAlert
from drover.domain.alerts import AlertRaised
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CreateJob, MarkOnline, RegisterDevice, ReportRunning, SendAttempt
from drover.domain.render import RENDER
from drover.domain.render.commands import Claim, RequestRender
from drover.eventlog.log import BelowBottom, Partition
from drover.history.moment_jobs import MomentProgress
from drover.history.travel import MomentNotYet, TooManyTravellers
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.scenario import NOON, Scenario
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.permissions import Permissions

SECRET = "s" * 32
PHONE, JOB = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-00000000000a"


class Traveller:
    def __init__(self) -> None:
        self.asked = []
        self.fails = None
        self.progress = None

    async def ask(self, context, at, question):
        self.asked.append((context, at))
        if self.fails is not None:
            raise self.fails
        return self.progress or b'{"at":"then"}'

    async def cancel(self, context, at, question):
        had, self.progress = self.progress, None
        return had is not None


@pytest.fixture
async def machine():
    traveller = Traveller()
    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [Moments(traveller)], Access(Authenticator([SECRET]), Permissions(), Callers()))
    async with TestClient(TestServer(app)) as client:
        client.traveller = traveller
        client.key = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
        yield client


@pytest.mark.parametrize("context", ["fleet", "render"])
async def test_a_moment_is_asked_for_by_its_time_and_may_be_kept_for_ever(machine, context):
    answer = await machine.get(f"/api/moments/{context}?as_of=2026-11-16T09:00:00%2B09:00", headers=machine.key)
    assert (answer.status, await answer.json()) == (200, {"at": "then"})
    assert machine.traveller.asked == [(context, datetime(2026, 11, 16, 0, 0, tzinfo=UTC))]
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("as_of", ["", "yesterday", "2026-11-16T09:00:00", "-1", "1e99"])
async def test_what_is_no_time_is_refused_with_an_example(machine, as_of):
    answer = await machine.get("/api/moments/fleet", params={"as_of": as_of}, headers=machine.key)
    assert answer.status == 400
    assert "2026-11-16T09:00:00Z" in (await answer.json())["message"]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (TooManyTravellers(), 503),
        (ArchiveUnreachable("s3://bucket", "no answer"), 503),
        (BelowBottom(Partition("fleet"), 0), 503),
        (MomentNotYet("x"), 400),
    ],
)
async def test_what_cannot_be_shown_now_says_so_and_when_to_come_back(machine, fault, status):
    machine.traveller.fails = fault
    answer = await machine.get("/api/moments/fleet?as_of=2026-11-16T09:00:00Z", headers=machine.key)
    assert answer.status == status
    assert answer.headers.get("Retry-After") == ("1" if status == 503 else None)


@pytest.mark.req("YR-09")
async def test_a_moment_that_is_being_computed_tells_how_far_it_is_and_can_be_cancelled(machine):
    address = "/api/moments/fleet?as_of=2026-11-16T09:00:00Z"
    machine.traveller.progress = MomentProgress("fleet", NOON, 30, 120)
    answer = await machine.get(address, headers=machine.key)
    assert (answer.status, answer.headers["Retry-After"], answer.headers["Cache-Control"]) == (202, "1", "no-store")
    told = await answer.json()
    assert (told["context"], told["done"], told["of"]) == ("fleet", 30, 120)
    assert (await machine.delete(address, headers=machine.key)).status == 204
    assert (await machine.delete(address, headers=machine.key)).status == 404
    assert (await machine.get(address, headers=machine.key)).status == 200


async def test_nobody_travels_without_a_key(machine):
    assert (await machine.get("/api/moments/fleet?as_of=2026-11-16T09:00:00Z")).status == 401
    anon = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}
    assert (await machine.get("/api/moments/fleet?as_of=2026-11-16T09:00:00Z", headers=anon)).status == 403


def test_a_moment_of_the_farm_shows_who_worked_on_what():
    scenario = Scenario(FLEET)
    scenario.when(RegisterDevice(PHONE, "PHONE0001", "P1-G1", "pc-1")).when(MarkOnline(PHONE))
    scenario.when(CreateJob(job_id=JOB, target_url="https://youtu.be/abc", title="Watch this"))
    (assignment,) = scenario.state.assignments.values()
    scenario.when(SendAttempt(assignment.assignment_id, 1))
    scenario.when(ReportRunning(assignment.assignment_id, 1, progress_pct=30))
    moment = msgspec.json.decode(fleet_moment(scenario.state, NOON), type=FleetMoment)
    (device,), (pc,), (job,) = moment.devices, moment.pcs, moment.jobs
    assert (device.status, device.work.job_id, device.work.status) == ("busy", JOB, "running")
    assert (pc.id, pc.slots_used) == ("pc-1", 1)
    assert (job.title, job.status, job.in_flight) == ("Watch this", "active", 1)


def test_a_moment_of_the_render_queue_shows_who_rendered_what():
    scenario = Scenario(RENDER).when(RequestRender("comp", "g1", "sealed", composition="Chip Count"))
    scenario.when(Claim("ae-1"))
    moment = msgspec.json.decode(render_moment(scenario.state, NOON), type=RenderMoment)
    (render,) = moment.renders
    assert (render.status, render.worker_id, render.composition_name) == ("preparing", "ae-1", "Chip Count")


@pytest.mark.req("DF-19")
def test_a_moment_shows_open_alerts_but_not_what_people_have_snoozed():
    scenario = Scenario(RENDER).when(RequestRender("comp", "g1", "sealed", composition="Chip Count"))
    scenario.after(hours=1).ticked()
    (alert,) = [event.alert_id for event in scenario.decision.events if isinstance(event, AlertRaised)]
    scenario.when(SnoozeAlert(alert, scenario.now + timedelta(hours=1)))
    moment = msgspec.json.decode(render_moment(scenario.state, NOON), type=RenderMoment)
    assert [found.id for found in moment.alerts] == [alert]
