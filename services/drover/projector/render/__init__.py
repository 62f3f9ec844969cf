"""The render queue's projection: renders, their history, compositions and their fields as rows. No I/O.

Rows and tables are declared in `drover.readmodel.render`; each module folds the rows that it is named after. Besides,
`workers` handles telemetry, and `figures` shows metrics computed from the tables.
"""

from drover.projector.render.projection import RENDER_PROJECTION, RULES

__all__ = ["RENDER_PROJECTION", "RULES"]
