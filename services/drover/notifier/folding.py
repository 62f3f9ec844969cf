"""Folds warnings of one kind that wait together into one notice, for receivers that people read. Critical alerts are
never folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from drover.notifier.notice import Notice

FOLDED_MAX: Final = 40
"""Maximum of notices in one message. All are listed, so it bounds the length of the message."""
GATHER_S: Final = 2.0
"""How many seconds a warning waits for others of its kind."""

_NOUNS: Final = {
    "needs_reset": "phones",
    "offers_untaken": "phones",
    "rate_limited": "phones",
    "template_missing": "compositions",
    "mapping_missing": "compositions",
    "gfx_data_unreadable": "renders",
    "render_failed": "renders",
    "render_timeout": "renders",
    "render_recovering": "renders",
    "render_not_stopped": "renders",
}
"""What the alerts of a kind are about, in the plural. Kinds that are not here: `alerts`."""


def fold(notices: Sequence[Notice]) -> Notice:
    """Make one notice of several of one kind and phase. One notice stays as it is."""
    first, *others = notices
    if not others:
        return first
    return replace(
        first,
        alert_id="",
        subject="",
        message=f"{len(notices)} {_NOUNS.get(first.kind, 'alerts')}: {first.kind.replace('_', ' ')}",
        details={},
        until=None,
        reason="",
        raised_at=None,
        folded=tuple(notices),
    )
