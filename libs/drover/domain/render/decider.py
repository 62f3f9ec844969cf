"""The decider of the render queue: which rule decides which command. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final

from drover.domain import alert_handling
from drover.domain.decider import Decider, Decision, Tick
from drover.domain.render import commands as c
from drover.domain.render import compositions, erasing, external, queries, requests, stops, work
from drover.domain.render.answers import answer
from drover.domain.render.deadlines import next_deadline, tick
from drover.domain.render.events import QueueEvent
from drover.domain.render.evolution import evolve
from drover.domain.render.faults import report_fault
from drover.domain.render.policy import Policy
from drover.domain.render.state import RenderQueue
from drover.domain.render.validation import validate

Rule = Callable[[RenderQueue, Any, datetime], Decision]

_RULES: Final[dict[type, Rule]] = {
    c.RequestRender: requests.request_render,
    c.CancelRender: requests.cancel_render,
    c.ReleaseRender: requests.release_render,
    c.RerunRender: requests.rerun_render,
    c.EraseRender: erasing.erase_render,
    c.HandBack: work.hand_back,
    c.ReportProgress: work.report_progress,
    c.ReportRendered: work.report_rendered,
    c.ReportUnmapped: work.report_unmapped,
    c.ReportCompleted: work.report_completed,
    c.ClaimStop: stops.claim_stop,
    c.ReportStopped: stops.report_stopped,
    c.GetRender: queries.get_render,
    c.GetRuns: queries.get_runs,
    c.GetComposition: queries.get_composition,
    c.DescribeComposition: compositions.describe_composition,
    c.RemoveComposition: compositions.remove_composition,
    c.MapField: compositions.map_field,
    c.ChangeField: compositions.change_field,
    c.UnmapField: compositions.unmap_field,
    **alert_handling.RULES,
}
_BY_POLICY: Final[dict[type, Callable[[Policy, RenderQueue, Any, datetime], Decision]]] = {
    c.Claim: work.claim,
    c.ClaimRender: external.claim_render,
    c.ReportWork: external.report_work,
    c.RenewLease: work.renew_lease,
    c.ReportSubmitted: work.report_submitted,
    c.ReportFault: report_fault,
    Tick: tick,
}


def render_decider(policy: Policy) -> Decider[RenderQueue]:
    rules: dict[type, Rule] = dict(_RULES)
    rules.update((type_, partial(rule, policy)) for type_, rule in _BY_POLICY.items())

    def decide(queue: RenderQueue, command: c.QueueCommand, now: datetime) -> Decision:
        if (refusal := validate(command)) is not None:
            return Decision(rejection=refusal)
        return rules[type(command)](queue, command, now)

    return Decider(
        context=erasing.CONTEXT,
        initial=RenderQueue,
        decide=decide,
        evolve=evolve,
        next_deadline=next_deadline,
        answer=answer,
        commands=c.QueueCommand,
        events=QueueEvent,
        state=RenderQueue,
        image_migrations={"32f6282a4a91b2f2": None, "a44791dae1d9eb05": None, "df44dc232a606add": None},
        erasures=lambda queue: queue.erased,
        version=4,
    )


RENDER: Final = render_decider(Policy())
"""The decider of the render queue with the default values, which are those of document 003 (the render queue)."""
