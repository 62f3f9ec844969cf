"""What a rebuild found is on record for whoever sees the dashboard: without what only few of them may see."""

from __future__ import annotations

import msgspec
import pytest

from drover.projection.difference import Difference, TableReport
from drover.projection.rebuild_progress import HIDDEN, RebuildProgress

pytestmark = pytest.mark.req("EV-06")
SHOWN = ("what the log says", "what stands there")


class Paper:
    """Keeps what is written."""

    async def execute(self, statement: str, *values: object) -> None:
        self.tables, self.error = values[5], values[6]


async def recorded(projection: str, *columns: str) -> dict[str, list[str]]:
    paper = Paper()
    difference = Difference("a_table", "1", "differs", dict.fromkeys(columns, SHOWN))
    await RebuildProgress(paper, 1, projection).compared([TableReport("a_table", 1, 1, [difference])])
    ((example,),) = (table["examples"] for table in msgspec.json.decode(paper.tables))
    return {name: values for name, values in example["columns"].items() if values != [HIDDEN, HIDDEN]}


async def test_users_own_words_sealed_fields_and_raw_events_are_not_on_record():
    assert await recorded("reminder", "title", "body", "attempt", "data") == {"attempt": list(SHOWN)}
    assert await recorded("render", "gfx_data", "status") == {"status": list(SHOWN)}
    assert await recorded("identity", "email_sealed", "role", "user_agent") == {}
    assert await recorded("fleet", "group_id", "data") == {"group_id": list(SHOWN)}


async def test_of_an_error_its_first_line_is_on_record():
    paper = Paper()
    await RebuildProgress(paper, 1, "reminder").failed(
        RuntimeError("duplicate key\nDETAIL:  Key (title)=(secret) exists")
    )
    assert paper.error == "duplicate key"
