"""The runner of one PC, as a user of the operations queue (002) writes it for Supabase. A process of its own.

`task_devices` is the only statement of what is at work: the runner keeps nothing across a restart. What its PC has at
work and this process did not begin, a previous life of it began; this one takes it over.
"""

from __future__ import annotations

import os
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from supabase import create_client

WORK_S = (1.5, 3.0)
"""How long a phone works, from and to."""
PAUSE_S = 0.2
AT_WORK = ["running", "claimed"]
OPEN = ["pending", "running", "retrying"]


def main(pc: str, slots: int, diary: Path, film: Path) -> None:
    """`film`: while this file exists, the phone that began first has something long to watch."""
    db = create_client(os.environ["SUPABASE_URL"], os.environ["SUPABASE_SERVICE_ROLE_KEY"])
    until: dict[str, float] = {}
    """When the phone of each row is done."""

    def note(what: str, row_id: str) -> None:
        with diary.open("a") as file:  # a process that is killed has written whole lines
            file.write(f"{what} {row_id}\n")

    def begin(row_id: str, how: str) -> None:
        note(how, row_id)
        until[row_id] = time.monotonic() + random.uniform(*WORK_S)

    def work() -> None:
        rows = db.table("task_devices").select("id").eq("pc_id", pc).in_("status", AT_WORK).execute().data
        for row in rows:
            if row["id"] not in until:
                begin(row["id"], "took over")
        if (free := slots - len(rows)) > 0:
            arguments = {"runner_pc_id": pc, "max_to_claim": free}
            for row in db.rpc("claim_task_devices_for_pc", arguments).execute().data:
                begin(row["id"], "claimed")
        due = [row_id for row_id, moment in until.items() if moment <= time.monotonic()]
        for row_id in due:
            if film.exists() and row_id == next(iter(until)):
                continue
            done = {"status": "completed", "completed_at": datetime.now(UTC).isoformat()}
            (ended,) = db.table("task_devices").update(done).eq("id", row_id).execute().data
            assert ended["status"] == "completed", ended
            note("completed", row_id)
            del until[row_id]

    while db.table("tasks").select("id").in_("status", OPEN).limit(1).execute().data:
        work()
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
