"""Resume tokens of row streams: the projector's epoch, and the position in each relation. Clients send them back
unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

TOKEN_CHARS_MAX: Final = 8_000
"""Maximum length of a token: it must fit into a header. A partitioned context has one entry per relation and
partition."""
SEQ_MAX: Final = 2**63 - 1

_GROUP: Final = re.compile(r"([a-z0-9_.]{1,65})=([0-9a-f]{1,32})((?::[a-z0-9_]{1,63}\.[0-9]{1,19})+)")


class Stand(NamedTuple):
    """A reader's position in one relation of one partition."""

    epoch: str
    position: int


Stands = Mapping[tuple[str, str], Stand]
"""Positions by partition (or context, if it has only one partition) and relation."""


def format_token(stands: Stands) -> str:
    """Format a token: `fleet=1f0c:devices.125:jobs.120,render=…`."""
    groups: dict[tuple[str, str], list[str]] = {}
    for (place, relation), stand in stands.items():
        groups.setdefault((place, stand.epoch), []).append(f":{relation}.{stand.position}")
    return ",".join(f"{place}={epoch}{''.join(parts)}" for (place, epoch), parts in groups.items())


def parse_token(text: str) -> dict[tuple[str, str], Stand]:
    """Parse the positions in a token. Returns no positions for an invalid token or a token of another server, so that
    the client reads everything again."""
    found: dict[tuple[str, str], Stand] = {}
    for group in text.split(",") if len(text) <= TOKEN_CHARS_MAX else ():
        if (match := _GROUP.fullmatch(group)) is None:
            return {}
        place, epoch, parts = match.groups()
        for part in parts[1:].split(":"):
            relation, _, position = part.partition(".")
            if int(position) <= SEQ_MAX:
                found[place, relation] = Stand(epoch, int(position))
    return found
