"""Which contexts there are: each has one stream, one decider, one read model."""

from __future__ import annotations

from typing import Final

CONTEXTS: Final = ("fleet",)
