"""Steps of the users' programs that do not work yet: what builds them, and what they get today.

Each must really fail, so that the list can only shrink. A race may also end well: its reason begins with `BY_CHANCE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BY_CHANCE: Final = "by chance, "

NOT_YET: Final[Mapping[str, Mapping[str, str]]] = {
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
