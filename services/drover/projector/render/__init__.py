"""The render queue's projection: renders, their history, compositions and their fields as rows. It does no I/O.

Tables are in `tables.sql`, what clients see of them in `views.sql`; each module folds what its name says. Beside it:
`workers` says what becomes of telemetry, `figures` shows what the tables add up to as metrics.
"""

from drover.projector.render.projection import RENDER_PROJECTION, RULES

__all__ = ["RENDER_PROJECTION", "RULES"]
