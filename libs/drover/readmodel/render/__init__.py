"""The render queue's read model: renders, their history, compositions. `tables.sql` is generated from it; `views.sql`
has the hand-written views."""

from typing import Final

from drover.readmodel.model import ReadModel
from drover.readmodel.render import attempts, mapping, queue

RENDER: Final = ReadModel(
    context="render",
    own_tables=(queue.RENDERS, queue.GFX, queue.AUDIT, attempts.RENDERS_EVENT, mapping.COMPOSITIONS, mapping.FIELDS),
    relations=(*queue.RELATIONS, *attempts.RELATIONS, *mapping.RELATIONS),
    rules=4,
)
