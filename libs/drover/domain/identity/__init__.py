"""Identity: the people who sign in, and their sessions."""

from drover.domain.identity.decider import IDENTITY

__all__ = ["IDENTITY"]
