"""What must hold for the built site, whoever builds it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_LOADED: Final = re.compile(
    r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""", re.IGNORECASE
)


def loads_from_elsewhere(site: Path) -> dict[str, str]:
    """Return the pages that would load something from the internet, each with the first such tag."""
    found: dict[str, str] = {}
    for page in sorted(site.rglob("*.html")):
        if tag := _LOADED.search(page.read_text(encoding="utf-8")):
            found[page.relative_to(site).as_posix()] = tag[0]
    return found
