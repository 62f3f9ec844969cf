"""The fleet: PCs, the phones on them, and their work."""

from drover.domain.fleet.decider import FLEET

__all__ = ["FLEET"]
