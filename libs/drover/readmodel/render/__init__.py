"""The render queue's read model: renders, their history, compositions. `tables.sql` is made from it; `views.sql` has
the views that are queries of their own."""

from typing import Final

from drover.readmodel.model import ReadModel
from drover.readmodel.render import mapping, queue

RENDER: Final = ReadModel(
    context="render",
    own_tables=(queue.RENDERS, queue.GFX, queue.AUDIT, mapping.COMPOSITIONS, mapping.FIELDS),
    relations=(*queue.RELATIONS, *mapping.RELATIONS),
)
