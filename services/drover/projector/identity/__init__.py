"""The projection of accounts, sessions and API keys. E-mail addresses stay encrypted; passwords are left out."""

from drover.projector.identity.projection import IDENTITY_PROJECTION

__all__ = ["IDENTITY_PROJECTION"]
