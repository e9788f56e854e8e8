"""The command ``typeloom``: ``python -m typeloom`` and the script of the package."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Runs the command with the arguments of the process; returns its exit code."""
    from typeloom import _core

    # As in the binary: Ctrl-C ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # `run --compare ort` uses the packages of this interpreter.
    os.environ.setdefault("TYPELOOM_PYTHON", sys.executable)
    return _core.main(["typeloom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
