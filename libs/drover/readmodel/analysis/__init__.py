"""The read model of analyses: users, tests, the ledger between them, cleanups. User ids only: nothing here says who
somebody is. `tables.sql` is made from it."""

from typing import Final

from drover.readmodel.analysis import cleanups, users
from drover.readmodel.model import ReadModel

ANALYSIS: Final = ReadModel(
    context="analysis",
    own_tables=(users.USERS, users.TESTS, cleanups.RUNS, cleanups.RUN_TESTS, users.LEDGER),
    relations=(*users.RELATIONS, *cleanups.RELATIONS),
)
