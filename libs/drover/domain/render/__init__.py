"""The render queue: requests, claims by workers, faults and retries. Pure."""

from drover.domain.render.decider import RENDER, render_decider

__all__ = ["RENDER", "render_decider"]
