"""Steps of the users' programs that do not work yet: what builds them, and what they get today.

Each must really fail, so that the list can only shrink. A race may also end well: its reason begins with `BY_CHANCE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BY_CHANCE: Final = "by chance, "

NOT_YET: Final[Mapping[str, Mapping[str, str]]] = {
    "000_dashboard.mjs": {
        "2.1 registers a phone": "DI-12: 403 for devices",
        "2.1 registers a phone again by upsert": "DI-18: 403 for devices",
        "8.1 subscribes to assignments and devices": "DI-08: no Realtime",
        "8.1 assigns the job to each phone": "DI-12: 403 for job_assignments",
        "8.1 hears of the new assignments": "DI-08: no Realtime",
        "5.6 assigns it a second time and gets the same one": "DI-12: 403 for job_assignments",
        "6 an assignment to an unknown phone is refused (V003)": "DI-12: 403",
        "8.1 lists assignments with their job and their phone": "DI-12: needs an earlier step",
        "8.1 counts what is pending": "DI-12: needs an earlier step",
        "8.1 hears of a phone that comes online": "DI-08: no Realtime",
        "3.2 cancels one assignment": "DI-12: needs an earlier step",
        "8.1 hears of the cancellation": "DI-08: no Realtime",
        "3.2 deactivates the job, and what is pending is cancelled": "DI-12: 403 for jobs",
        "3.3 resumes the job, and it is pending again": "DI-10: 403 for jobs",
        "3.3 deactivates all jobs at once": "DI-12: 403 for jobs",
        "5.5 hears the broadcast of a phone that was slowed down": "DI-08: no Realtime",
        "3.1 resets a phone that is in error": "DI-09: 204, and the phone is not in error",
    },
    "000_agent.mjs": {
        "8.1 sees at once what the dashboard has created": "by chance, DI-07: another key reads up to 50 ms late",
        "8.1 reports progress alone": "DI-09: 400, status is required",
        "4.3 completes without a report between": "DI-09: 409, not running",
        "5.3 and deactivates its job for all phones": "DI-12: 403 for jobs",
        "5.3 and runs again without a poll": "DI-09: 409, not running",
        "5.2 notes a crash while it runs": "DI-09: 400, status is required",
        "5.2 starts again in place with progress 0": "DI-09: 400, error_code only with failed",
        "5.2 the third crash is final": "DI-09: pending again, its own count 1",
        "5.2 and takes the phone out of work": "DI-09: 204, and the phone is not in error",
        "5.4 notes a stalled video and plays it again": "DI-09: 400, error_code only with failed",
        "3.2 gives its work back": "DI-09: 400, pending is no report",
        "5.5 tells the dashboard by broadcast": "DI-08: 404",
    },
    "002_runner.py": {
        "3 says how many phones it can run": "DI-01: 405",
        "3 says it with max_devices": "DI-01: 405",
        "3 its claim is a sign of life of its phones": "DI-03: its phones stay offline",
        "2 inserts two tasks": "DI-01: 405",
        "3 what it has claimed is running": "DI-03: claimed",
        "4 claims one without max_to_claim": "DI-02: 400, max_to_claim is required",
        "4 claims one by the name of the PC": "DI-02: 400, not a known field",
        "4 claims one with the prefix p_": "DI-02: 400, not a known field",
        "5 a failure with the prefix p_ is tried again": "DI-02: 400, not a known field",
        "5 reports that it runs": "DI-01: 405",
        "5 reports success": "DI-01: 405",
        "5 reports success by a function": "DI-02: no such function",
        "5 reports a failure by the table": "DI-01: 405",
        "5 gives one back by the table": "DI-01: 405",
        "5 cancels one by the table": "DI-01: 405",
        "4 inserts one row for a free slot": "DI-01: 405",
        "2 cancels a task": "DI-01: needs an earlier step",
        "2 works until every task has ended": "DI-01: 405",
    },
    "003_dashboard.mjs": {
        "4.2 subscribes to the queue": "DI-08: no Realtime",
        "3.2 reads cue_item_id as it was written": "DI-19: a number comes back as a text",
        "4.2 hears of the new film": "DI-08: no Realtime",
        "4.2 hears of the cancellation": "DI-08: no Realtime",
        "4.2 cancels all that wait at once": "DI-14: 400, one filter only",
    },
    "003_worker.py": {
        "3.3 claims it": "DI-13: 400, one filter only",
        "3.3 a second worker gets nothing": "DI-13: needs an earlier step",
        "3.5.1 gives the film to nexrender": "DI-13: needs an earlier step",
        "3.5.2 reports each status and its progress": "DI-13: needs an earlier step",
        "5.3 renews its lease": "DI-13: needs an earlier step",
        "3.6 copies the file and reports the end": "DI-13: needs an earlier step",
        "6.1 goes on with the next film": "DI-13: needs an earlier step",
        "3.6 reports a failure": "DI-13: 400, one filter only",
        "8.1 a worker that has not claimed a film changes nothing": "DI-13: 400, one filter only",
        "5.1 gives a film back after a time-out": "DI-13: needs an earlier step",
        "7.2 counts the workers that are at work": "DI-13: 400, one filter only",
        "6.1 finds nothing more": "DI-13: needs an earlier step",
    },
    "003_recovery.py": {
        "10.2 given four films of a worker that is gone": "DI-13: 400, one filter only",
        "10.2 puts one film back by its id": "DI-14: needs an earlier step",
        "5.3 puts all films of the worker back by filters": "DI-14: 400, one filter only",
        "5.3 a lease that has lapsed frees its film": "DI-14: 400, one filter only",
        "5.3 frees nothing where nothing is stuck": "DI-14: 400, one filter only",
    },
    "003_sql.py": {
        "3.2 the oldest film that waits": "DI-17: no such relation",
        "5.3 the films that are stuck": "DI-17: no such relation",
        "6.2 the field mapping of a composition": "DI-17: no such relation",
        "7.2 how many films wait": "DI-17: no such relation",
        "7.2 the mean duration of the latest 100": "DI-17: no such relation",
        "7.2 the success rate of a day": "DI-17: no such relation",
        "7.2 how many workers are at work": "DI-17: no such relation",
        "8.2 the audit trail": "DI-17: no such relation",
    },
}
