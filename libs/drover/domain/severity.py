"""How urgent each kind of alert is: `critical` when work stands still until a person acts, else `warning`."""

from __future__ import annotations

from typing import Final

CRITICAL: Final = "critical"
WARNING: Final = "warning"

SEVERITIES: Final = {
    # Nothing goes on, or somebody may be inside.
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
    # One piece of work, one device, one composition.
    "needs_reset": WARNING,
    "offers_untaken": WARNING,
    "rate_limited": WARNING,
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
    """One that is not listed is taken seriously: it is newer than this program, or somebody forgot to list it."""
    return SEVERITIES.get(kind, CRITICAL)
