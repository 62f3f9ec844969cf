"""The services that `drover serve` can run. What they are made of is in `compose`."""

from __future__ import annotations

from typing import Final

SERVICES: Final = ("scheduler", "gateway", "render", "cleanup", "reminder", "notifier", "projector", "api")
PARTS: Final = ("render-worker",)
"""Of a service that has them anyway: not in `all`."""
ALL: Final = "all"
