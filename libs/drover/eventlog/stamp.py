"""When a commit was stored: as the server says, or, of one that was restored, as it was the first time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

STORED_HEADER: Final = "Drover-Stored"


def stored_at(headers: Mapping[str, str], by_server: datetime) -> datetime:
    first = headers.get(STORED_HEADER)
    return by_server if first is None else datetime.fromisoformat(first)
