"""Severity of each kind of alert: `critical` if work stops until a person acts or there may be an intruder, else
`warning`."""

from __future__ import annotations

from typing import Final

CRITICAL: Final = "critical"
WARNING: Final = "warning"

SEVERITIES: Final = {
    # Work has stopped, or there may be an intruder.
    "poison_job": CRITICAL,
    "host_failing": CRITICAL,
    "host_silent": CRITICAL,
    "no_render_worker": CRITICAL,
    "nexrender_down": CRITICAL,
    "nexrender_refused": CRITICAL,
    "nas_away": CRITICAL,
    "cleanup_failed": CRITICAL,
    "push_failing": CRITICAL,
    "refresh_token_reused": CRITICAL,
    # Only one piece of work, one device or one composition is affected.
    "needs_reset": WARNING,
    "offers_untaken": WARNING,
    "rate_limited": WARNING,
    "caller_limited": WARNING,
    "template_missing": WARNING,
    "mapping_missing": WARNING,
    "gfx_data_unreadable": WARNING,
    "render_failed": WARNING,
    "render_timeout": WARNING,
    "render_recovering": WARNING,
    "render_not_stopped": WARNING,
    "minute_crowded": WARNING,
}


def severity_of(kind: str) -> str:
    """Return the severity of a kind of alert. An unknown kind is critical: it is newer than this program, or was not
    listed."""
    return SEVERITIES.get(kind, CRITICAL)
