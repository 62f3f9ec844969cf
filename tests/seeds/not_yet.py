"""Steps of the users' programs that do not work yet: what builds them, and what they get today.

Each must really fail, so that the list can only shrink. A race may also end well: its reason begins with `BY_CHANCE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BY_CHANCE: Final = "by chance, "

NOT_YET: Final[Mapping[str, Mapping[str, str]]] = {}
