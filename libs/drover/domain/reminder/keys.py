"""The idempotency key of a sending: the same for every retry, and never used for another sending."""

from __future__ import annotations


def sending_key(page_id: str, sending: int, life: int = 1) -> str:
    """`page_id:sent_count`, plus the life number if the page had an alarm before (ids contain no `~`)."""
    return f"{page_id}:{sending}" if life == 1 else f"{page_id}:{sending}~{life}"
