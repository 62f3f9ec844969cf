"""The idempotency key of a sending: the same for every retry, and never used for another sending."""

from __future__ import annotations


def sending_key(page_id: str, sending: int, life: int = 1) -> str:
    """Make the key: `page_id:sent_count`, followed by `~` and the alarm's `life` number if the page had an alarm
    before. No id contains a `~`."""
    return f"{page_id}:{sending}" if life == 1 else f"{page_id}:{sending}~{life}"
