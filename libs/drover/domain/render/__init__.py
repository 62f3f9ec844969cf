"""The render queue: who renders what, and what becomes of it. Pure."""

from drover.domain.render.decider import RENDER, render_decider

__all__ = ["RENDER", "render_decider"]
