"""The fleet's projection: PCs, devices, jobs, assignments, attempts and alerts as rows. It does no I/O.

Rows and tables are declared in `drover.readmodel.fleet`; each module folds what its name says.
"""

from drover.projector.fleet.projection import FLEET_PROJECTION, RULES

__all__ = ["FLEET_PROJECTION", "RULES"]
