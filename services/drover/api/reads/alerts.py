"""`/api/alerts`: the alerts of all contexts, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from drover.api.reads.endpoint import Subject, lists
from drover.api.reads.listing import Key, Values
from drover.api.reads.parameters import FROM, TO, Asked, flag, one_of, text
from drover.api.reads.united import Branch, United
from drover.domain.contexts import CONTEXTS
from drover.readmodel.alerts import AlertRow

PATH: Final = "/api/alerts"


class Alert(AlertRow, frozen=True, kw_only=True):
    """An alert: something that needs a person's attention, or needed it until it was resolved."""

    context: str


CONTEXT: Final = one_of("context", CONTEXTS, "In one of these contexts.", many=True)


def _branches(contexts: Sequence[str], asked: Asked, values: Values) -> list[Branch]:
    conditions = []
    if asked["open"] is not None:
        conditions.append("a.resolved_at IS NULL" if asked["open"] else "a.resolved_at IS NOT NULL")
    for name, sql in (
        ("kind", "a.kind = {}"),
        ("subject", "a.subject = {}"),
        ("from", "a.raised_at >= {}"),
        ("to", "a.raised_at < {}"),
    ):
        if asked[name] is not None:
            conditions.append(sql.format(values.add(asked[name])))
    return [Branch(name, tuple(conditions)) for name in contexts if name in (asked["context"] or contexts)]


ALERTS: Final = United(
    "alerts",
    CONTEXTS,
    Alert,
    key=(Key("raised_at", "a.raised_at", datetime, "timestamptz"), Key("id", "a.id", str, "text")),
    kinds=(
        CONTEXT,
        flag("open", "true: only open alerts; false: only resolved ones."),
        text("kind", "Of this kind, such as host_failing."),
        text("subject", "About this device, job, PC or render."),
        FROM,
        TO,
    ),
    branches=_branches,
)


class Alerts(Subject):
    alerts = lists(ALERTS, PATH, id="listAlerts", tag="operations", summary="Alerts, newest first")
