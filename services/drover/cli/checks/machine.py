"""Checks that this machine can run the platform: programs, directory, disk, settings, port. Needs no running server."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final, TypeVar

from drover.cli.checks.finding import Check, Finding, Scene, fail, ok, skipped, warn
from drover.cli.checks.http import ask
from drover.cli.commands.up import PORT_DEFAULT
from drover.cli.target import Target
from drover.embedded import programs
from drover.embedded.errors import ProgramMissing
from drover.platform.settings import FIELDS, load
from drover.service import config

PYTHON_MIN: Final = (3, 11)
PROGRAM_S: Final = 10.0
FREE_BYTES_MIN: Final = 1024**3
S = TypeVar("S", bound=config.Section)


async def python(scene: Scene) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MIN:
        return fail(f"Python {version}", f"Drover needs {'.'.join(map(str, PYTHON_MIN))} or newer: install that.")
    return ok(f"Python {version}")


async def nats_program(scene: Scene) -> Finding:
    return await _program(scene, programs.nats_server)


async def postgres_program(scene: Scene) -> Finding:
    return await _program(scene, lambda: programs.postgres("postgres"))


async def _program(scene: Scene, find: Callable[[], Path]) -> Finding:
    if scene.is_external:
        return skipped("not needed: the environment names the servers")
    try:
        path = find()
    except ProgramMissing as error:
        return fail(f"{error.program} was not found", error.advice)
    reinstall = "Install it again: pip install --force-reinstall 'drover[embedded]'"
    try:
        process = await asyncio.create_subprocess_exec(
            path, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
    except OSError as error:
        return fail(f"{path} cannot be run: {error.strerror}", reinstall)
    try:
        async with asyncio.timeout(PROGRAM_S):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return fail(f"{path} did not print its version within {PROGRAM_S:g} s", reinstall)
    first = (said.decode(errors="replace").splitlines() or [""])[0]
    if process.returncode != 0:
        return fail(f"{path} ended with {process.returncode}: {first}", reinstall)
    return ok(first)


async def root_can_step_down(scene: Scene) -> Finding:
    """Check that a root user can start PostgreSQL as another user: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return ok("not root, so PostgreSQL runs as this user")
    if scene.is_external:
        return skipped("not needed: the environment names the servers")
    try:
        return ok(f"root; PostgreSQL is started as another user with {programs.setpriv()}")
    except ProgramMissing as error:
        return fail("this is root, and setpriv was not found", error.advice)


async def data_directory(scene: Scene) -> Finding:
    place = _existing(scene.data_dir)
    remedy = "Give it to the user who runs Drover, or choose another one with --data-dir."
    if not place.is_dir():
        return fail(f"{place} is not a directory", "Move it away, or choose another one with --data-dir.")
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"{place} cannot be written by this user", remedy)
    if place == scene.data_dir.absolute():
        return ok(f"{place} is writable")
    return ok(f"{scene.data_dir} does not exist yet and can be created")


async def disk_space(scene: Scene) -> Finding:
    place = _existing(scene.data_dir)
    free = shutil.disk_usage(place).free
    found = f"{free / 1024**3:.1f} GiB free at {place}"
    if free < FREE_BYTES_MIN:
        return warn(found, "Free some space: a log that cannot grow refuses every command.")
    return ok(found)


def _existing(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    path = path.absolute()
    return next((place for place in (path, *path.parents) if place.exists()), Path("/"))


def settings_of(scene: Scene, section: type[S]) -> S:
    """Load settings from the environment. Raises ConfigurationError."""
    # `drover up` fills in the addresses; if the environment sets one of them, it must set all that are required.
    from_environment = isinstance(scene.target, config.ConfigurationError) or scene.is_external
    return load(scene.environ, without=() if from_environment else config.REQUIRED)[section]


def with_settings(check: Check) -> Check:
    """Make a check that is skipped if the settings cannot be read: the check `configuration` reports that."""

    @wraps(check)
    async def checked(scene: Scene) -> Finding:
        try:
            return await check(scene)
        except config.ConfigurationError:
            return skipped("the settings are invalid", "Correct the configuration first.")

    return checked


async def configuration(scene: Scene) -> Finding:
    try:
        settings_of(scene, config.Settings)
    except config.ConfigurationError as error:
        count = len(error.problems)
        return fail(f"{count} setting{'' if count == 1 else 's'} to correct", " ".join(error.problems))
    given = sum(name in FIELDS and bool(value) for name, value in scene.environ.items())
    return ok(
        f"{given} DROVER_ settings in the environment, all valid" if given else "no DROVER_ settings; defaults apply"
    )


async def http_port(scene: Scene) -> Finding:
    if isinstance(scene.target, Target):
        host, port, https = scene.target.http_host, scene.target.http_port, scene.target.https
    else:
        host, port, https = "127.0.0.1", PORT_DEFAULT, False
    if port == 0:
        return skipped("any free port is used (DROVER_HTTP_PORT=0)")
    trouble = _trouble_with(host, port)
    if trouble is None:
        return ok(f"port {port} on {host} is free")
    if trouble == errno.EADDRINUSE and await _is_ours(host, port, https=https):
        return ok(f"port {port} on {host} is Drover's own")
    what = "is used by another program" if trouble == errno.EADDRINUSE else f"cannot be used: {os.strerror(trouble)}"
    return warn(f"port {port} on {host} {what}", "Choose another with --port of `drover up`, or with DROVER_HTTP_PORT.")


def _trouble_with(host: str, port: int) -> int | None:
    """Try to listen on the port. Returns the error number; None if it succeeds."""
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return error.errno or errno.EADDRNOTAVAIL
    return None


async def _is_ours(host: str, port: int, *, https: bool) -> bool:
    answer = await ask(host, port, "GET", "/livez", https=https)
    return answer is not None and answer[1].keys() == {"status", "reasons"}
