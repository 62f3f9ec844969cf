"""The fleet's projection: PCs, devices, jobs, assignments, attempts and alerts as rows. No I/O.

Rows and tables are declared in `drover.readmodel.fleet`. Each module here applies events to the rows that it is named
after.
"""

from drover.projector.fleet.projection import FLEET_PROJECTION, RULES

__all__ = ["FLEET_PROJECTION", "RULES"]
