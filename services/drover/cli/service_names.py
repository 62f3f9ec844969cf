"""The services that `drover serve` can run. `drover.platform` composes them."""

from __future__ import annotations

from typing import Final

SERVICES: Final = ("scheduler", "gateway", "render", "cleanup", "reminder", "notifier", "projector", "api")
PARTS: Final = ("render-worker",)
"""Parts of a service that already includes them, so they are not in `all`."""
ALL: Final = "all"
