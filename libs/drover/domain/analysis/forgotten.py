"""Makes a state that has only one ended test, from the test's row in the read model. The decider's own state forgets
ended tests after a while. With the state made here, the rules answer a late report as they would have answered it
before."""

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
