"""`python -m tools.snapshots [FOLDER]`: writes the forms of the snapshots, unless a released one cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.messages.published import FOLDER
from tools.snapshots.publishing import publish

if __name__ == "__main__":
    problems = publish(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
    for problem in problems:
        sys.stderr.write(f"{problem}\n\n")
    if problems:
        sys.stderr.write("Nothing was written.\n")
    sys.exit(bool(problems))
