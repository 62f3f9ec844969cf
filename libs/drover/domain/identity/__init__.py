"""Identity: the people who sign in and their sessions, and the API keys of programs."""

from drover.domain.identity.decider import IDENTITY

__all__ = ["IDENTITY"]
