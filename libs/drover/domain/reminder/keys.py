"""The key under which a provider sees a sending: the same however often it is tried, and never used for another."""

from __future__ import annotations


def sending_key(page_id: str, sending: int, life: int = 1) -> str:
    """`page_id:sent_count`; with the number of its life where the page had an alarm before (ids have no `~`)."""
    return f"{page_id}:{sending}" if life == 1 else f"{page_id}:{sending}~{life}"
