"""What people may do about the open alerts of any context, for walks at random."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random

from drover.domain.alert_handling import AcknowledgeAlert, EndSnooze, SnoozeAlert
from drover.domain.decider import Command


def handles_an_alert(alerts: Mapping[str, str], dice: Random, now: datetime) -> Command | None:
    known = sorted(alerts.values())
    if not known:
        return None
    alert_id = dice.choice(known)
    until = now + timedelta(seconds=dice.choice((30, 300, 7200)))
    snooze = SnoozeAlert(alert_id, until, note="later")
    return dice.choice((AcknowledgeAlert(alert_id, note="mine"), snooze, snooze, EndSnooze(alert_id)))
