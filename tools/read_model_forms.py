"""Counts how often the SQL of each read model has changed. `python -m tools.read_model_forms` writes the counts to a
file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from drover.readmodel import form
from drover.readmodel.models import READ_MODELS


def main() -> None:
    forms = form.next_forms(form.read_forms(), {model.context: model.ddl for model in READ_MODELS})
    text = msgspec.json.format(msgspec.json.encode(forms), indent=2)
    (Path(form.__file__).parent / form.FILE).write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
