"""Validates a rendered file for broadcast. A separate process inspects it: see `probe`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Final

import msgspec

from drover.domain.errors import DroverError
from drover.render.probe import Findings

BYTES_MIN: Final = 100 * 1024
PROBE: Final = (sys.executable, "-P", "-m", "drover.render.probe")
PROBE_S: Final = 120.0
"""Time-out of the probe, in seconds. Reading 10 GB takes less."""
ENDING_S: Final = 5.0
"""How many seconds to wait for the end of a killed probe. One that hangs in the kernel is abandoned."""


class FileFacts(msgspec.Struct, frozen=True):
    """Facts about a valid file."""

    size_bytes: int
    codec: str
    width: int
    height: int
    duration_s: float
    frames: int


class OutputInvalid(DroverError):
    """The rendered file is missing, incomplete, or not as requested. The text is for people."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.text = text


async def validate_output(
    path: Path,
    *,
    codec: str = "h264",
    width: int = 1920,
    height: int = 1080,
    bytes_min: int = BYTES_MIN,
    timeout_s: float = PROBE_S,
) -> FileFacts:
    """Validate a rendered file, and return facts about it. Raises OutputInvalid if it is not valid, also if the probe
    crashes."""
    found = await _probe(path, bytes_min, timeout_s)
    if found.damage is not None:
        raise OutputInvalid(path, f"File not readable: {found.damage}")
    if found.size_bytes is None:
        raise OutputInvalid(path, f"Output file not found: {path}")
    if found.size_bytes < bytes_min:
        raise OutputInvalid(path, f"File too small: {found.size_bytes} bytes")
    if (video := found.video) is None:
        raise OutputInvalid(path, "No video stream found")
    if video.codec != codec:
        raise OutputInvalid(path, f"Codec mismatch: {video.codec}")
    if (video.width, video.height) != (width, height):
        raise OutputInvalid(path, f"Resolution mismatch: {video.width}x{video.height}")
    return FileFacts(found.size_bytes, video.codec, video.width, video.height, video.duration_s, video.frames)


async def _probe(path: Path, bytes_min: int, timeout_s: float) -> Findings:
    try:
        probe = await asyncio.create_subprocess_exec(
            *PROBE,
            *(str(path), str(bytes_min), str(ceil(timeout_s))),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:  # a problem of this machine, not of the file: too many processes, no memory
        return Findings(damage=f"the probe could not start ({error.strerror})")
    try:
        async with asyncio.timeout(timeout_s):
            said, _ = await probe.communicate()
    except TimeoutError:
        return Findings(damage=f"the probe took more than {timeout_s:g} s")
    finally:
        await _end(probe)
    try:
        return msgspec.json.decode(said, type=Findings)
    except msgspec.DecodeError:
        return Findings(damage=f"the probe ended with code {probe.returncode}")


async def _end(probe: asyncio.subprocess.Process) -> None:
    if probe.returncode is None:
        with suppress(ProcessLookupError):
            probe.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING_S):
                await probe.wait()
