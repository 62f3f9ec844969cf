"""Why a render waits or ended, from its row and what is around it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from drover.api.reads.why.explanation import OpenAlert
from drover.api.reads.why.renders import RenderQuestion, why_render
from drover.domain.render.state import Status
from drover.readmodel.render.queue import Render, RenderStage, WorkerFacts

pytestmark = pytest.mark.req("EV-05")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def render(**columns) -> Render:
    some = {
        "id": 7,
        "composition_id": "news",
        "composition_name": "News",
        "cue_item_id": None,
        "broadcast_date": date(2026, 11, 18),
        "created_at": NOW,
        "updated_at": NOW,
        "stage_since": NOW - timedelta(seconds=40),
    }
    return Render(**some | columns)


def worker(status: str, name: str = "ae-1") -> WorkerFacts:
    return WorkerFacts(name, status, NOW, None, None, None)


def codes(**question) -> list[str]:
    return [one.data["code"] for one in why_render(RenderQuestion(**question), NOW)]


@pytest.mark.parametrize(
    ("workers", "ahead", "expected"),
    [
        ([], 0, ["no_render_worker"]),
        (["gone"], 2, ["no_render_worker", "renders_ahead"]),
        (["busy", "busy"], 0, ["render_workers_busy"]),
        (["busy", "gone"], 3, ["render_workers_busy", "renders_ahead"]),
        (["busy", "idle"], 3, ["renders_ahead"]),
        (["idle"], 0, ["render_next"]),
    ],
)
def test_a_waiting_render_waits_for_a_worker_and_its_turn(workers, ahead, expected):
    assert codes(render=render(), workers=[worker(one) for one in workers], ahead=ahead) == expected


def test_an_open_alert_is_named_first():
    found = why_render(
        RenderQuestion(render=render(), alerts=[OpenAlert("nas_away", "The NAS is away")], workers=[worker("busy")]),
        NOW,
    )
    assert [one.data["code"] for one in found] == ["render_alert", "render_workers_busy"]
    assert found[0].data == {"code": "render_alert", "kind": "nas_away", "message": "The NAS is away"}
    assert found[1].sentence == "The only render worker is busy."


def test_work_says_who_does_it_and_how_far_it_is():
    (one,) = why_render(
        RenderQuestion(render=render(status=Status.RENDERING, worker_id="ae-1", progress=40), workers=[worker("busy")]),
        NOW,
    )
    assert one.data == {
        "code": "render_working",
        "worker_id": "ae-1",
        "stage": "rendering",
        "since": "2026-11-18T11:59:20Z",
        "progress_pct": 40,
    }


def test_work_that_does_not_get_on_says_why_before():
    at_work = {"status": Status.UPLOADING, "worker_id": "ae-1", "lock_expires_at": NOW + timedelta(minutes=9)}
    slow = RenderStage(4, "uploading", 90.2, True, 5.0, 30.0, "above")
    retry = {"retry_due_at": NOW + timedelta(seconds=30), "error_code": "NAS_AWAY"}
    assert codes(render=render(**at_work), workers=[worker("gone")]) == ["render_worker_gone", "render_working"]
    assert codes(render=render(**at_work), workers=[worker("busy")], stage=slow) == ["render_slow", "render_working"]
    assert codes(render=render(**at_work | retry)) == ["render_retry", "render_working"]
    for one in why_render(RenderQuestion(render=render(**at_work | retry), workers=[worker("gone")], stage=slow), NOW):
        assert "None" not in one.sentence


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.COMPLETED, "render_completed"),
        (Status.CANCELLED, "render_cancelled"),
        (Status.FAILED, "render_failed"),
    ],
)
def test_an_ended_render_says_how_whatever_is_around_it(status, code):
    ended = render(status=status, error_code="TEMPLATE_MISSING", error_message="news.aep is not there")
    alerts = [OpenAlert("nas_away", "The NAS is away")]
    assert codes(render=ended, alerts=alerts, ahead=5) == [code]


def test_every_status_has_a_reason():
    for status in Status:
        assert codes(render=render(status=status))
