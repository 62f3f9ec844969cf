"""`python -m drover.cli`, and the entry point of the command `drover`."""

from __future__ import annotations

import sys
from typing import Final

INTERRUPTED: Final = 130
"""`exits.Exit.INTERRUPTED`: importing it here would leave a moment in which Ctrl-C shows a traceback."""


def main() -> None:
    try:
        from drover.cli.group import run  # here: Ctrl-C while this is imported must not show a traceback
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run())


if __name__ == "__main__":
    main()
