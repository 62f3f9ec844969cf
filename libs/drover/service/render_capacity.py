"""How many renders may run at a time. The render service starts as many workers; the projector's metrics compare with
it."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import HttpUrl, Licences, WorkerCount


class RenderCapacity(Section, frozen=True, kw_only=True):
    """Settings: the workers of this process and the licences of the farm."""

    render_workers: WorkerCount = 1
    """Concurrent renders in this process: one for each of its After Effects licences. 0: none."""
    render_licences: Licences | None = None
    """How many workers should run in total, for the metric and its alert. Not set: those of this process."""
    render_nexrender_url: HttpUrl | None = None
    """Where nexrender's server is. Not set: this process does not render."""

    @property
    def licences(self) -> int | None:
        """How many workers should run in total. None: not configured."""
        return self.render_licences or (self.render_workers if self.render_nexrender_url else None)
