"""The names of the services that `drover serve` can run. `drover.platform` builds them."""

from __future__ import annotations

from typing import Final

SERVICES: Final = ("scheduler", "gateway", "render", "cleanup", "reminder", "notifier", "projector", "archiver", "api")
PARTS: Final = ("render-worker",)
"""Names of parts of services. `all` leaves them out, because it has the services that include them."""
ALL: Final = "all"
