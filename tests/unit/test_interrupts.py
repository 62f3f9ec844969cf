"""Tests of Ctrl-C pass wherever the run was started."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.interrupts import heed_interrupts

ASK = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"


@pytest.fixture
def in_the_background():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def ignored_below() -> bool:
    return subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True).stdout == "True\n"


def test_a_process_that_a_test_starts_heeds_ctrl_c(in_the_background):
    heed_interrupts()
    assert not ignored_below()


@pytest.mark.control
def test_without_that_it_would_inherit_what_the_shell_ignores(in_the_background):
    assert ignored_below()


def test_what_handles_ctrl_c_already_is_left_as_it_is():
    before = signal.getsignal(signal.SIGINT)
    heed_interrupts()
    assert signal.getsignal(signal.SIGINT) is before
