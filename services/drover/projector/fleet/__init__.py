"""The fleet's projection: PCs, devices, jobs, assignments, attempts and alerts as rows. It does no I/O.

Tables are in `tables.sql`, what clients see of them in `views.sql`; each module folds what its name says.
"""

from drover.projector.fleet.devices import DEVICES, PCS, DeviceRow, PcRow
from drover.projector.fleet.projection import FLEET_PROJECTION, RULES

__all__ = ["DEVICES", "FLEET_PROJECTION", "PCS", "RULES", "DeviceRow", "PcRow"]
