"""Makes a state of one ended test, from its row in the read model. With it the rules answer reports about a test that
the state has forgotten as they would have answered before."""

from __future__ import annotations

import msgspec

from drover.domain.analysis.state import Analyses, Ended, TestStatus


class TestRow(msgspec.Struct, frozen=True):
    """The columns of `saju_tests` that are needed here."""

    __test__ = False  # pytest must not collect it

    id: str
    user_id: str
    status: TestStatus
    refunded: bool

    def revive(self) -> Analyses | None:
        """Make the state. None if the row shows a running test: the read model does not have its end yet."""
        if self.status is TestStatus.PROCESSING:
            return None
        return Analyses(ended={self.id: Ended(self.user_id, self.status, self.refunded, late_noted=True)})
