"""The entry point of the command `drover`, and of `python -m drover.cli`."""

from __future__ import annotations

import sys
from typing import Final

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, equal to `exits.Exit.INTERRUPTED`. Not imported: Ctrl-C during the import would show a
traceback."""


def main() -> None:
    try:
        from drover.cli.group import run  # imported here so that Ctrl-C during the import shows no traceback
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run())


if __name__ == "__main__":
    main()
