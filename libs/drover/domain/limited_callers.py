"""The alert about a caller that keeps sending requests beyond its limit, although they are refused. Contexts with HTTP
services of their own share it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from drover.domain.alerts import KeepsAlerts, raise_alert
from drover.domain.decider import Command, Decision, accept
from drover.domain.field_checks import invalid

CALLER_LIMITED: Final = "caller_limited"
ALERT_LASTS: Final = timedelta(hours=1)
OPEN_MAX: Final = 20
"""From this number of open alerts of this kind on, no further one is raised. Otherwise somebody who calls under many
names could fill the log."""
_CALLER: Final = re.compile(r"[^\x00-\x20]{1,200}")


class ReportLimited(Command):
    """Record that a caller exceeds the limit of its requests again and again."""

    caller: str
    """The principal, such as `user:<id>` or `service_role`. Never an address, which is personal data."""


def report_limited(state: KeepsAlerts, command: ReportLimited, now: datetime) -> Decision:
    caller = command.caller
    if not _CALLER.fullmatch(caller):
        return Decision(rejection=invalid("caller", caller[:200], "caller is not valid"))
    if sum(key.startswith(f"{CALLER_LIMITED}:") for key in state.alerts) >= OPEN_MAX:
        return accept()
    message = f"{caller} sends too many requests: those beyond its limit are refused"
    return accept(*raise_alert(state, CALLER_LIMITED, caller, message, now, until=now + ALERT_LASTS))
