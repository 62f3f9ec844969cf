"""How many renders may run at a time. The render service starts as many workers; metrics of the projector compare the
running workers with this number."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import HttpUrl, Licences, WorkerCount


class RenderCapacity(Section, frozen=True, kw_only=True):
    """Settings: how many workers this process runs, and how many After Effects licences the farm has."""

    render_workers: WorkerCount = 1
    """Concurrent renders in this process: one for each of its After Effects licences. 0: none."""
    render_licences: Licences | None = None
    """How many workers should run on the whole farm, for the metric and its alert. Not set: as many as this process
    runs."""
    render_nexrender_url: HttpUrl | None = None
    """Where nexrender's server is. Not set: this process does not render."""

    @property
    def licences(self) -> int | None:
        """How many workers should run on the whole farm. None: neither this number nor nexrender is configured."""
        return self.render_licences or (self.render_workers if self.render_nexrender_url else None)
