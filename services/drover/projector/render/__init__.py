"""The projection of the render queue: renders, their history, compositions and their fields as rows. No I/O.

Rows and tables are declared in `drover.readmodel.render`. Each module here applies events to the rows that it is named
after, except `workers`, which stores heartbeats, and `figures`, which computes metrics from the tables.
"""

from drover.projector.render.projection import RENDER_PROJECTION, RULES

__all__ = ["RENDER_PROJECTION", "RULES"]
