"""The settings of signing in."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import AccessSeconds, Burst, Days, Rate, SessionCount


class IdentitySettings(Section, frozen=True, kw_only=True):
    """How long people stay signed in, and how often they may try."""

    access_token_s: AccessSeconds = 900
    """How long a person's access token lives."""
    session_days: Days = 30
    """How long somebody stays signed in at most."""
    session_idle_days: Days = 7
    """How long a session lasts that nobody uses."""
    sessions_max: SessionCount | None = None
    """Sessions that one account may have at a time; the least recently used one makes room. Not set: no limit."""
    sign_ins_per_min: Rate = 6.0
    """Sign-ins that may be tried for one account in the long run, and five times as many from one address."""
    sign_ins_burst: Burst = 10
    """How many of them at once."""
