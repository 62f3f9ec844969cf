"""Steps of the users' programs that do not work yet: what builds them, and what they get today.

Each must really fail, so that the list can only shrink. A race may also end well: its reason begins with `BY_CHANCE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BY_CHANCE: Final = "by chance, "

NOT_YET: Final[Mapping[str, Mapping[str, str]]] = {
    "001_backend.mjs": {
        "1.5 adds a user": "DI-05: 405",
        "1.5 adds the user again by upsert": "DI-18: 405",
        "1.5 reads the user": "DI-05: no such row",
        "1.3 starts a test": "DI-05: 405",
        "1.3 charges the user for it": "DI-05: no such row",
        "1.3 completes the test": "DI-05: needs an earlier step",
        "1.3 fails a test and gives it back": "DI-05: 405",
        "6.1 brings tests under way along with their created_at": "DI-05: 405",
        "1.5 looks for tests that are stalled": "DI-05: needs an earlier step",
        "1.6 cleans them up": "DI-05: no such row",
        "6.1 leaves tests below 30 minutes alone": "DI-05: needs an earlier step",
        "6.1 cleans nothing a second time": "DI-05: needs an earlier step",
    },
    "001_cron.py": {
        "6.1 given three tests of 35 minutes and two of 15": "DI-05: 405",
        "6.1 the three are cleaned": "DI-05: needs an earlier step",
        "6.1 the user has three tests more": "DI-05: no such row",
        "6.1 the two go on": "DI-05: needs an earlier step",
        "6.1 a second run cleans nothing": "DI-05: no such row",
        "4.1 the log has the line of a cleanup": "DI-20: no format plain, nothing cleaned",
    },
    "001_session.mjs": {
        "2.3 given a user": "DI-05: 405",
        "2.6 a valid token gets the data": "DI-06: 401 INVALID_TOKEN without aud",
        "2.5 an expired token is TOKEN_EXPIRED": "DI-06: 401 INVALID_TOKEN without aud",
        "6.2 an expired token is refreshed and the request repeated": "DI-06: 401 INVALID_TOKEN without aud",
        "6.2 five requests at once refresh once": "DI-06: 401 INVALID_TOKEN without aud",
        "6.2 a session that is over leads to the sign-in page": "DI-06: 401 INVALID_TOKEN without aud",
        "2.7 a token that soon expires is refreshed before": "DI-06: 401 INVALID_TOKEN without aud",
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
    "004_registration.mjs": {
        "tables writes the time zone of a user": "DI-04: 405",
        "tables changes the time zone by upsert": "DI-18: 405",
        "tables a user without a time zone has Asia/Seoul": "DI-04: 405",
        "1 reads at once what it has registered": "by chance, DI-07: another door reads up to 50 ms late",
        "registration registers a page by the table": "DI-04: 405",
        "registration registers it again by upsert": "DI-18: 405",
        "registration schedules a page by the table": "DI-04: 405",
        "duplicates two alarms of a user get different times": "DI-04: 405",
        "deletion deletes the alarm of a deleted page": "DI-04: 405",
        "deletion deletes the alarms of several pages": "DI-04: 405",
    },
    "004_sender.mjs": {
        "locks marks one as processed": "DI-04: 405",
        "locks a second sender does not get it": "DI-04: needs an earlier step",
        "sent writes that it was sent": "DI-04: 405",
        "locks releases one after an error": "DI-04: 405",
        "locks keeps one that was sent in part": "DI-04: 405",
        "locks takes one up again after six hours": "DI-04: 405",
        "sent sends all that is left": "DI-04: 405",
    },
}
