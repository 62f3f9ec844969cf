"""`/api/renders`: the render queue, with the history and the stage times of each render."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from drover.api.reads.endpoint import Question, Subject, lists, number_in, reads
from drover.api.reads.listing import Key, Listing, Page, Where, within
from drover.api.reads.parameters import INT_MAX, ORDER, day, one_of, text
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.domain.render.state import Status
from drover.readmodel.render.queue import Render, RenderStage, StatusChange, WorkerFacts
from drover.web.route import in_path

CONTEXT: Final = "render"
PATH: Final = "/api/renders"
WORKERS_PATH: Final = "/api/render-workers"
AUDIT_MAX: Final = 500
WORKERS_MAX: Final = 500


class Stage(RenderStage, frozen=True):
    """How long a render was in a stage, and how long renders usually are in it."""


class RenderDetail(msgspec.Struct):
    """A render and its history."""

    render: Render
    audit: list[StatusChange]
    """Changes of status, newest first."""
    audit_left_out: bool
    """Whether there were more than 500 changes of status: the oldest are missing."""
    stages: list[Stage]


class RenderWorker(WorkerFacts, frozen=True):
    """A render worker and its current render."""

    render_id: int | None


_make_change: Final = maker(StatusChange)
_make_stage: Final = maker(Stage)
_make_worker: Final = maker(RenderWorker)

RENDERS: Final = Listing(
    "renders",
    CONTEXT,
    Render,
    "rm_render.render_rows r",
    key=(Key("created_at", "r.created_at", datetime, "timestamptz"), Key("id", "r.id", int, "int")),
    wheres=(
        Where(one_of("status", [*Status], "In one of these states.", many=True), "r.status = {}", fans=True),
        Where(text("composition_id", "Of this composition."), "r.composition_id = {}"),
        Where(text("cue_item_id", "Of this cue item."), "r.cue_item_id #>> ARRAY[]::text[] = {}"),
        Where(day("broadcast_date", "For this day."), "r.broadcast_date = {}"),
        *within("r.created_at"),
    ),
    order=ORDER,
)


class Renders(Subject):
    renders = lists(RENDERS, PATH, id="listRenders", tag="render", summary="Renders by request time")

    @reads(
        f"{PATH}/{{id}}",
        id="getRender",
        tag="render",
        summary="A render with its history and its stages",
        answer=RenderDetail,
        contexts=(CONTEXT,),
        parameters=(in_path("id", int, "Its number."),),
        errors=(404,),
    )
    async def detail(self, question: Question) -> RenderDetail:
        models, render_id = self._endpoint.models, number_in(question.request, "id", INT_MAX)
        render = await RENDERS.one(models, "Render", "r.id = $1", render_id)
        audit = await models.fetch(CONTEXT, QUERIES["render_audit"], render_id, AUDIT_MAX + 1)
        stages = await models.fetch(CONTEXT, QUERIES["render_stages"], render_id)
        return RenderDetail(
            render,
            [_make_change(change) for change in audit[:AUDIT_MAX]],
            len(audit) > AUDIT_MAX,
            [_make_stage(stage) for stage in stages],
        )

    @reads(
        WORKERS_PATH,
        id="listRenderWorkers",
        tag="render",
        summary="Render workers",
        answer=Page[RenderWorker],
        contexts=(CONTEXT,),
    )
    async def workers(self, question: Question) -> Page[RenderWorker]:
        """List all workers on one page: there are never more workers than licences."""
        rows = await self._endpoint.models.fetch(CONTEXT, QUERIES["render_workers"], WORKERS_MAX)
        return Page([_make_worker(row) for row in rows], None)
