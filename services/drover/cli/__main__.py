"""`python -m drover.cli`, and the entry point of the command `drover`."""

from __future__ import annotations

import sys
from typing import Final

INTERRUPTED: Final = 130
"""The value of `exits.Exit.INTERRUPTED`. Not imported: Ctrl-C during the import would show a traceback."""


def main() -> None:
    try:
        from drover.cli.group import run  # imported here so that Ctrl-C during the import shows no traceback
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run())


if __name__ == "__main__":
    main()
