"""Models for the tests of the package."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

#: Bound on the time of any process of a test, in seconds: a detector of deadlocks.
LIMIT = 300

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '


@pytest.fixture
def text() -> str:
    """A well-typed model as text."""
    return HEAD + "g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"


@pytest.fixture
def wrong() -> str:
    """A model with one error."""
    return HEAD + "g (float[N, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }"


def interrupted(code: str) -> list[str]:
    """The lines that a program prints which gets an interrupt after its first line. It has to end by itself."""
    # A process whose parent ignores interrupts, such as a job in the background, would ignore them too.
    handled = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    with subprocess.Popen([sys.executable, "-c", handled], stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(LIMIT, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip()]
            process.send_signal(signal.SIGINT)
            lines += process.stdout.read().split()
            assert process.wait() == 0
            return lines
        finally:
            watchdog.cancel()
            process.kill()
