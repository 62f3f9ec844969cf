"""The settings of sign-in."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import AccessSeconds, Burst, Days, Rate, SessionCount


class IdentitySettings(Section, frozen=True, kw_only=True):
    """How long people stay signed in, and how often they may try."""

    access_token_s: AccessSeconds = 900
    """Lifetime of a person's access token in seconds."""
    session_days: Days = 30
    """Maximum lifetime of a session."""
    session_idle_days: Days = 7
    """A session that is not used for this many days ends."""
    sessions_max: SessionCount | None = None
    """Maximum of sessions per account; a new session beyond it ends the least recently used one. Not set: no limit."""
    sign_ins_per_min: Rate = 6.0
    """How many attempts to sign in per minute an account may make in the long run. A network address may make five
    times as many."""
    sign_ins_burst: Burst = 10
    """How many attempts to sign in an account may make at once, before `sign_ins_per_min` applies."""
