"""`python -m drover.cli`, and the entry point of the command `drover`."""

from __future__ import annotations

import sys
from typing import Final

INTERRUPTED: Final = 130
"""`exits.Exit.INTERRUPTED`, which cannot be imported before everything else is."""


def main() -> None:
    try:
        from drover.cli.group import run  # here: a Ctrl-C within the second that this takes must not show a traceback
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run())


if __name__ == "__main__":
    main()
