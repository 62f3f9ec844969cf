"""The settings of sign-in."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import AccessSeconds, Burst, Days, Rate, SessionCount


class IdentitySettings(Section, frozen=True, kw_only=True):
    """How long people stay signed in, and how often they may try."""

    access_token_s: AccessSeconds = 900
    """Lifetime of a person's access token."""
    session_days: Days = 30
    """Maximum lifetime of a session."""
    session_idle_days: Days = 7
    """A session that is not used for this long ends."""
    sessions_max: SessionCount | None = None
    """Sessions per account; a new one ends the least recently used one. Not set: no limit."""
    sign_ins_per_min: Rate = 6.0
    """Attempts to sign in per account in the long run; five times as many per address."""
    sign_ins_burst: Burst = 10
    """How many attempts to sign in an account may make at once."""
