"""The deciders of all contexts. Separate from `contexts`, so that code that needs only names imports no rules."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.analysis import ANALYSIS
from drover.domain.decider import Decider
from drover.domain.fleet import FLEET
from drover.domain.identity import IDENTITY
from drover.domain.reminder import REMINDER
from drover.domain.render import RENDER

DECIDERS: Final[dict[str, Decider[Any]]] = {
    decider.context: decider for decider in (FLEET, RENDER, ANALYSIS, IDENTITY, REMINDER)
}
