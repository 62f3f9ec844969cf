"""Turns a User-Agent header into the label of a session, such as `Firefox on Windows`. The header itself is not
stored."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "Unknown client"
HEADER_CHARS_MAX: Final = 512

# The first match wins: browsers also name other browsers, so the more specific ones come first.
_CLIENTS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Whale/", "Whale"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("supabase-py", "supabase-py"),
    ("supabase", "Supabase client"),
    ("python-httpx", "supabase-py"),
    ("node", "Node.js"),
    ("curl/", "curl"),
    ("drover-cli", "drover command"),
)
_SYSTEMS: Final = (
    ("Windows", "Windows"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def label(user_agent: str | None) -> str:
    text = (user_agent or "")[:HEADER_CHARS_MAX]
    client = next((name for mark, name in _CLIENTS if mark in text), None)
    system = next((name for mark, name in _SYSTEMS if mark in text), None)
    if client is None:
        return UNKNOWN if system is None else f"Unknown client on {system}"
    return client if system is None else f"{client} on {system}"
