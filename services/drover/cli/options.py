"""The options that commands share. No command's work is imported here: every `--help` loads this module."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

DATA_DIR_DEFAULT: Final = Path(".drover")

json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, one document a line, for machines."
)
data_dir_option: Final = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"Directory of `drover up`.  [default: {DATA_DIR_DEFAULT}, unless DROVER_NATS_URL is set]",
)
forget_option: Final = click.option(
    "--forget-read-models",
    "forget",
    is_flag=True,
    help="Drop the tables of the context, also where they are ahead of what is put back. They are folded anew.",
)
