"""The read model of analyses: users, tests, the ledger of balances, cleanups. Users are ids only, without personal
data. `tables.sql` is generated from it."""

from typing import Final

from drover.readmodel.analysis import cleanups, users
from drover.readmodel.model import ReadModel

ANALYSIS: Final = ReadModel(
    context="analysis",
    own_tables=(users.USERS, users.TESTS, cleanups.RUNS, cleanups.RUN_TESTS, users.LEDGER),
    relations=(*users.RELATIONS, *cleanups.RELATIONS),
    rules=4,
)
