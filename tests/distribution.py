"""Which tests one worker of pytest-xdist runs together: those of a file, and all that share one browser."""

from __future__ import annotations

from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER: Final = ("tests/browser/",)
"""Folders with one fixture for the whole package. It would be made anew by every worker."""
SIMULATION: Final = "tests/simulation/"
UNIT: Final = "tests/unit/"
LEFT_FOR_THE_END: Final = 100
"""Groups of unit tests. They take less than half a minute of CPU time."""


class ByFile(LoadScopeScheduling):
    """Hands out groups in the order of collection: the longest (browser, e2e) come early, the shortest (unit) last.

    The early ones wait for servers and browsers much of the time. One worker begins with tests that never wait, and
    uses the cores meanwhile. It leaves some short groups for the end, so that all workers are done at the same time.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # xdist would begin with the groups that have most tests

    def _assign_work_unit(self, node: Any) -> None:
        if len(self.nodes) > 1 and node is self.nodes[-1] and (group := self._without_waits()) is not None:
            self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)

    def _without_waits(self) -> str | None:
        """The next group of the worker that waits for nothing. None: it goes on like the others."""
        if (long := next((group for group in self.workqueue if group.startswith(SIMULATION)), None)) is not None:
            return long
        short = [group for group in self.workqueue if group.startswith(UNIT)]
        return short[0] if len(short) > LEFT_FOR_THE_END else None

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """All tests of a group run on one worker, one after the other."""
    folder = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
    return folder or nodeid.partition("::")[0]
