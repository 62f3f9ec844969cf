"""The deciders of all contexts, in the order in which contracts name them."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.analysis import ANALYSIS
from drover.domain.decider import Decider
from drover.domain.fleet import FLEET
from drover.domain.identity import IDENTITY
from drover.domain.reminder import REMINDER
from drover.domain.render import RENDER

DECIDERS: Final[tuple[Decider[Any], ...]] = (FLEET, RENDER, ANALYSIS, IDENTITY, REMINDER)
