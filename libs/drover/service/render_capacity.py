"""How many renders are done at a time. The render service works by it, the projector's metrics compare with it."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import HttpUrl, Licences, WorkerCount


class RenderCapacity(Section, frozen=True, kw_only=True):
    """Workers of this process and licences of the farm."""

    render_workers: WorkerCount = 1
    """Renders at a time in this process: the number of After Effects licences it stands for. 0: none."""
    render_licences: Licences | None = None
    """Live workers that there should be in all, for the metric and its alert. Not set: those of this process."""
    render_nexrender_url: HttpUrl | None = None
    """Where nexrender's server is. Not set: no renders are done here."""

    @property
    def licences(self) -> int | None:
        """Live workers that there should be in all. None: nobody has said."""
        return self.render_licences or (self.render_workers if self.render_nexrender_url else None)
