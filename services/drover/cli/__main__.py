"""`python -m drover.cli`, and the entry point of the command `drover`."""

from __future__ import annotations

import sys

from drover.cli.group import run


def main() -> None:
    sys.exit(run())


if __name__ == "__main__":
    main()
