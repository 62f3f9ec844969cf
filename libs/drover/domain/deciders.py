"""The deciders of all contexts. Separate from `contexts`, so that code that needs only names imports no rules."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.by_context import parts_in
from drover.domain.decider import Decider

DECIDERS: Final[dict[str, Decider[Any]]] = {decider.context: decider for decider in parts_in("domain")}
