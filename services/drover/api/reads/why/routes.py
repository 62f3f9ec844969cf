"""`/api/why`: why a render, a test or a reminder stands where it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from drover.api.reads.analyses import ANALYSES
from drover.api.reads.endpoint import Handle, Question, Subject, number_in, reads, text_in, uuid_in
from drover.api.reads.parameters import INT_MAX
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.api.reads.reminders import REMINDERS
from drover.api.reads.renders import RENDERS, WORKERS_MAX, RenderWorker, Stage
from drover.api.reads.why import analyses, reminders, renders
from drover.api.reads.why.explanation import About, Explanation, OpenAlert
from drover.api.reads.why.renders import AHEAD_MAX
from drover.domain.reminder.alerts import PROVIDER
from drover.domain.render.alerts import WORKERS
from drover.domain.render.state import Status
from drover.web.route import Parameter, in_path

PATH: Final = "/api/why"
SHARED_SUBJECTS: Final = (WORKERS, "nexrender", "nas")
"""The subjects of alerts that concern every render."""
ALERTS_MAX: Final = 5
_RENDER_ID, _TEST_ID = in_path("id", int, "The render's number."), in_path("id", UUID, "The test's id.")

_make_stage, _make_worker = maker(Stage), maker(RenderWorker)
Declare = Callable[[Callable[["Whys", Question], Awaitable[Explanation]]], Handle["Whys"]]
_decode_tiers = msgspec.json.Decoder(dict[str, datetime]).decode


def _why(about: About, path: str, context: str, *, summary: str, parameters: tuple[Parameter, ...]) -> Declare:
    return reads(
        f"{PATH}/{path}",
        id=f"why{about.capitalize()}",
        tag="operations",
        summary=summary,
        answer=Explanation,
        contexts=(context,),
        parameters=parameters,
        errors=(404,),
    )


class Whys(Subject):
    @_why("render", "renders/{id}", "render", summary="Why a render waits or ended", parameters=(_RENDER_ID,))
    async def render(self, question: Question) -> Explanation:
        models, render_id = self._endpoint.models, number_in(question.request, "id", INT_MAX)
        render = await RENDERS.one(models, "Render", "r.id = $1", render_id)
        ahead = None
        if render.status == Status.PENDING:
            ahead = await models.fetch_one("render", QUERIES["renders_ahead"], render.created_at, render_id, AHEAD_MAX)
        workers = await models.fetch("render", QUERIES["render_workers"], WORKERS_MAX)
        stages = [_make_stage(row) for row in await models.fetch("render", QUERIES["render_stages"], render_id)]
        subjects = [str(render_id), render.composition_id, *SHARED_SUBJECTS]
        alerts = await models.fetch("render", QUERIES["render_open_alerts"], subjects, ALERTS_MAX)
        asked = renders.RenderQuestion(
            render=render,
            ahead=0 if ahead is None else ahead["ahead"],
            workers=[_make_worker(row) for row in workers],
            stage=next((stage for stage in stages if stage.under_way), None),
            alerts=[OpenAlert(row["kind"], row["message"]) for row in alerts],
        )
        return Explanation("render", str(render_id), render.status, renders.why_render(asked, datetime.now(UTC)))

    @_why(
        "test", "tests/{id}", "analysis", summary="Why a test is not finished, or how it ended", parameters=(_TEST_ID,)
    )
    async def test(self, question: Question) -> Explanation:
        models, test_id = self._endpoint.models, uuid_in(question.request, "id")
        test = await ANALYSES.one(models, "Test", "t.id = $1", test_id)
        user = await models.fetch_one("analysis", QUERIES["user"], test.user_id)
        cleanup = await models.fetch_one("analysis", QUERIES["latest_cleanup"])
        asked = analyses.TestQuestion(
            test=test,
            limit=None if cleanup is None else _limit(cleanup, None if user is None else user["tier"]),
            cleaned_at=None if cleanup is None else cleanup["started_at"],
        )
        return Explanation("test", str(test_id), test.status, analyses.why_test(asked, datetime.now(UTC)))

    @_why(
        "reminder",
        "reminders/{user_id}/{page_id}",
        "reminder",
        summary="Why a reminder is not sent yet",
        parameters=(in_path("user_id", str, "Its user."), in_path("page_id", str, "Its page.")),
    )
    async def reminder(self, question: Question) -> Explanation:
        models = self._endpoint.models
        user_id, page_id = text_in(question.request, "user_id"), text_in(question.request, "page_id")
        alarm = await REMINDERS.one(models, "Reminder", "a.user_id = $1 AND a.page_id = $2", user_id, page_id)
        alerts = await models.fetch("reminder", QUERIES["reminder_open_alerts"], [PROVIDER, user_id], ALERTS_MAX)
        last = await models.fetch_one("reminder", QUERIES["last_reminder_event"], user_id, page_id)
        asked = reminders.AlarmQuestion(
            alarm=alarm,
            alerts=[OpenAlert(row["kind"], row["message"]) for row in alerts],
            is_unknown=last is not None and last["event_type"] == "UNKNOWN",
        )
        reasons = reminders.why_alarm(asked, datetime.now(UTC))
        return Explanation("reminder", f"{user_id}/{page_id}", alarm.state, reasons)


def _limit(cleanup: Any, tier: str | None) -> timedelta:
    """Return how long a test may take, by what the latest cleanup looked for."""
    tiers = _decode_tiers(cleanup["tiers_started_before"])
    before: datetime = tiers.get(tier or "", cleanup["started_before"])
    began: datetime = cleanup["started_at"]
    return began - before
