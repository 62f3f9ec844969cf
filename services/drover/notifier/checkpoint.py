"""The position in one log up to which every notice is settled (delivered or dropped). A restart continues after it."""

from __future__ import annotations

from collections.abc import Callable


class Checkpoint:
    """The settled position of one delivery queue in the log of one context, while this process leads."""

    def __init__(self, position: int) -> None:
        self._read_to = position
        self._open: dict[int, int] = {}
        """The number of unsettled notices of each commit, by the commit's sequence number."""

    def opened(self, seq: int) -> Callable[[], None]:
        """Count one more notice of this commit. The caller calls the returned function when the notice is settled."""
        self._open[seq] = self._open.get(seq, 0) + 1

        def settled() -> None:
            self._open[seq] -= 1
            if not self._open[seq]:
                del self._open[seq]

        return settled

    def read(self, seq: int) -> None:
        """Note that all notices of this commit have been counted."""
        self._read_to = seq

    @property
    def position(self) -> int:
        return min((seq - 1 for seq in self._open), default=self._read_to)
