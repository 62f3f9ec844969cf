"""Reads settings from files: `DROVER_X_FILE=/run/secrets/x` sets `DROVER_X`. `config` interprets the values."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Final

from drover.service.config import ConfigurationError
from drover.service.reasons import reason_of

SUFFIX: Final = "_FILE"
COMMENT: Final = "# "
"""The beginning of a file that has no value yet; its setting is not set. An orchestrator must mount every file that it
names, even for secrets that an installation does not need. An empty file is refused, because it is more likely a
mistake."""
FILE_BYTES_MAX: Final = 64 * 1024


def read_secret_files(environ: MutableMapping[str, str], names: Iterable[str]) -> None:
    """Set each variable whose `_FILE` variable names a file to the content of that file, or raise a ConfigurationError
    with all problems at once. A file is safer than a variable: it is not visible in `docker inspect`, crash reports or
    `/proc/<pid>/environ`.

    `names`: the variables that may come from a file. If the file holds only a comment, the variable is not set.
    """
    named = {name + SUFFIX: name for name in names}
    problems = []
    for variable, name in named.items():
        if not (file := environ.get(variable)):
            continue
        if environ.get(name):
            problems.append(f"{variable} and {name} are both set. Unset one of them.")
            continue
        try:
            content = _content(Path(file))
        except (OSError, ValueError) as error:
            problems.append(
                f"{variable}={file} cannot be read ({reason_of(error)}). Name a text file with nothing else in it."
            )
            continue
        del environ[variable]
        if not content.startswith(COMMENT):
            environ[name] = content
    if problems:
        raise ConfigurationError(tuple(problems))


def _content(file: Path) -> str:
    with file.open("rb") as opened:
        raw = opened.read(FILE_BYTES_MAX + 1)
    if len(raw) > FILE_BYTES_MAX:
        raise ValueError(f"more than {FILE_BYTES_MAX} bytes")
    text = raw.decode().strip()
    if not text:
        raise ValueError("it is empty")
    return text
