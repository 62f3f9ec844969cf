"""What a PATCH or DELETE says of the rows that it did not change."""

from __future__ import annotations

from drover.domain.errors import Code
from drover.gateway.writes.outcome import REFUSED_CHARS_MAX, Done
from drover.web.errors import ApiError

MOVED_ON = ApiError(409, Code.CONFLICT, "It has changed")


def refused(*ids: str) -> dict[str, str]:
    return Done({}, dict.fromkeys(ids, MOVED_ON)).headers


def test_every_refused_row_is_named():
    assert refused("a", "b|") == {"Drover-Refused": "a=CONFLICT, b%7C=CONFLICT"}


def test_long_ids_do_not_make_a_header_that_clients_refuse():
    """Clients and proxies end at 8 KiB, some at 4 KiB: they would take the whole answer for an error."""
    headers = refused(*(f"{'|' * 120}{n}" for n in range(100)))
    assert 3_000 < len(headers["Drover-Refused"]) <= REFUSED_CHARS_MAX < 4_000
    assert headers["Drover-Refused-Count"] == "100"
    many = refused(*(str(n) for n in range(200)))
    assert (many["Drover-Refused"].count("="), many["Drover-Refused-Count"]) == (100, "200")
