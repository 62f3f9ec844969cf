"""Identity's projection: accounts, sessions and alerts as rows. Addresses stay sealed; passwords stay out."""

from drover.projector.identity.projection import IDENTITY_PROJECTION

__all__ = ["IDENTITY_PROJECTION"]
