"""Assembles the projection of accounts, sessions and API keys. Its rows in the table `events` have only type and ids of
an event, not its content."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.identity import IDENTITY
from drover.projection.context_projection import context_projection, context_rules
from drover.projector.identity.accounts import ACCOUNT_RULES
from drover.projector.identity.api_keys import API_KEY_RULES
from drover.projector.identity.audit import AUDIT_RULES
from drover.projector.identity.enrolments import ENROLMENT_RULES
from drover.projector.identity.sessions import SESSION_RULES
from drover.readmodel.identity import IDENTITY as READ_MODEL

NO_DATA: Final = "{}"

RULES: Final = context_rules(ACCOUNT_RULES, SESSION_RULES, AUDIT_RULES, API_KEY_RULES, ENROLMENT_RULES)


def _nothing(event: Any, raw: str) -> str:
    return NO_DATA


IDENTITY_PROJECTION: Final = context_projection(
    IDENTITY,
    READ_MODEL,
    rules=RULES,
    shown=_nothing,
)
