"""All generated pages of the reference, by their path in the site."""

from __future__ import annotations

from functools import cache

from tools.docs.command_line import command_line_markdown
from tools.docs.http_api import http_pages
from tools.docs.messages import message_pages
from tools.docs.settings import settings_markdown


@cache
def reference_pages() -> dict[str, str]:
    return {
        "reference/settings.md": settings_markdown(),
        "reference/command-line.md": command_line_markdown(),
        **http_pages(),
        **message_pages("events"),
        **message_pages("commands"),
    }
