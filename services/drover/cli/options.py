"""The options that several commands have. This module imports no code of commands, because every `--help` loads it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

DATA_DIR_DEFAULT: Final = Path(".drover")


class Number(click.IntRange):
    """The type of an option that is a bounded integer. Errors call it a number; click would say `integer range`."""

    name = "number"


json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for programs, one document a line."
)
data_dir_option: Final = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, readable=False),  # our own error names the owner
    help="The data directory of `drover up`.",
    show_default=f"{DATA_DIR_DEFAULT}, unless DROVER_NATS_URL or DROVER_POSTGRES_URL is set",
)
forget_option: Final = click.option(
    "--forget-read-models",
    "forget",
    is_flag=True,
    help="Drop the tables of the context, even if they are ahead of the restored log. They are built again from it.",
)
