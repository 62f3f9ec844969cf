"""All relations that take writes. Add a declaration here; its routes and their documentation follow."""

from __future__ import annotations

from typing import Final

from drover.gateway.tables.assignments import ASSIGNMENTS
from drover.gateway.tables.compositions import COMPOSITIONS
from drover.gateway.tables.devices import DEVICES
from drover.gateway.tables.field_mapping import FIELD_MAPPING
from drover.gateway.tables.jobs import JOBS
from drover.gateway.tables.pcs import PCS
from drover.gateway.tables.render_queue import RENDER_QUEUE

TABLES: Final = (DEVICES, PCS, JOBS, ASSIGNMENTS, RENDER_QUEUE, COMPOSITIONS, FIELD_MAPPING)
