"""Answers the queries of workers from the decider's state, without events."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import asdict

from drover.domain.decider import Decision, answer, reject
from drover.domain.errors import Code
from drover.domain.render.commands import GetComposition, GetRender, GetRuns
from drover.domain.render.mapping_spec import Layer
from drover.domain.render.state import Composition, RenderQueue
from drover.domain.spec import fields_of


def get_render(queue: RenderQueue, command: GetRender, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if render is None:
        return reject(Code.NOT_FOUND, f"Render {command.render_id} not found", render_id=command.render_id)
    composition = queue.compositions.get(render.composition_id)
    return answer(
        {
            "render_id": render.render_id,
            "status": render.status,
            "run": render.run,
            "generation": render.generation,
            "worker_id": render.worker_id,
            "composition_id": render.composition_id,
            "composition": render.composition,
            "gfx_id": render.gfx_id,
            "gfx_data": render.gfx_data,
            "broadcast_date": render.broadcast_date,
            "uid": render.uid,
            "nexrender_job_id": render.nexrender_job_id,
            "progress": render.progress,
            "retry_due": render.retry_due,
            "mapping_version": composition.version if composition else 0,
        }
    )


def get_runs(queue: RenderQueue, command: GetRuns, now: datetime) -> Decision:
    """Return the status of these renders. Those missing in the answer ended long ago, or never existed."""
    known = (queue.renders[render_id] for render_id in command.render_ids if render_id in queue.renders)
    return answer({str(one.render_id): {"status": one.status, "run": one.run, "uid": one.uid} for one in known})


def get_composition(queue: RenderQueue, command: GetComposition, now: datetime) -> Decision:
    """Return a composition. One that was never described has no template and no fields."""
    composition = queue.compositions.get(command.composition_id, Composition())
    return answer(
        {
            "composition_id": command.composition_id,
            **asdict(composition.spec),
            "version": composition.version,
            "fields": {name: fields_of(Layer, field) for name, field in composition.fields.items()},
        }
    )
