"""How far one log is done with: everything up to a position is settled, whatever happened behind it."""

from __future__ import annotations

from collections.abc import Callable


class Checkpoint:
    """Of one context, one queue and one term."""

    def __init__(self, position: int) -> None:
        self._read_to = position
        self._open: dict[int, int] = {}
        """Sequence → notices of that commit that are not settled."""

    def opened(self, seq: int) -> Callable[[], None]:
        """One more notice of this commit; call what this gives when it is settled."""
        self._open[seq] = self._open.get(seq, 0) + 1

        def settled() -> None:
            self._open[seq] -= 1
            if not self._open[seq]:
                del self._open[seq]

        return settled

    def read(self, seq: int) -> None:
        """All of this commit has been opened."""
        self._read_to = seq

    @property
    def position(self) -> int:
        return min((seq - 1 for seq in self._open), default=self._read_to)
