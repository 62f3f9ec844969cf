"""Which tests one worker of pytest-xdist runs together: those of a file, and all that share one browser."""

from __future__ import annotations

from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER: Final = ("tests/browser/",)
"""Folders with one fixture for the whole package. It would be made anew by every worker."""


class ByFile(LoadScopeScheduling):
    """Hands out groups in the order of collection: the longest (browser, e2e) come early, the shortest (unit) last."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # xdist would begin with the groups that have most tests

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """All tests of a group run on one worker, one after the other."""
    folder = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
    return folder or nodeid.partition("::")[0]
