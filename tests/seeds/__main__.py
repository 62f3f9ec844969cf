"""Runs the users' programs and prints their steps and counts. `python -m tests.seeds [DOCUMENT …]`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.seeds.programs import DOCUMENTS, Run, run_document


async def main(documents: list[str]) -> int:
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        for document in documents:
            print(f"… {document}", file=sys.stderr, flush=True)
            runs += await run_document(document, Path(folder))
    steps, counts = Table("program", "step", "", "why"), Table("program", "steps", "work", "problems")
    for run in runs:
        works = sum(step.why is None for step in run.steps)
        for step in run.steps:
            steps.add_row(run.program, step.name, "ok" if step.why is None else "FAIL", step.why or "")
        counts.add_row(run.program, str(len(run.steps)), str(works), "\n".join(run.problems()))
    Console(width=160).print(steps, counts)
    done, total = sum(step.why is None for run in runs for step in run.steps), sum(len(run.steps) for run in runs)
    print(f"{done} of {total} steps work; {sum(_is_whole(run) for run in runs)} of {len(runs)} programs as a whole")
    return 0 if all(map(_is_whole, runs)) else 1


def _is_whole(run: Run) -> bool:
    return not [*run.problems()]


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - DOCUMENTS.keys()
    if unknown:
        sys.exit(f"No document {', '.join(sorted(unknown))}. There are: {', '.join(DOCUMENTS)}")
    sys.exit(asyncio.run(main(sys.argv[1:] or [*DOCUMENTS])))
