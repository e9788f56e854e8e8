#!/usr/bin/env python3
"""A wrapper of rustc (`RUSTC_WRAPPER`) for `wheel.py`: adds the options in `TYPELOOM_PROFILE` for the crates in `TYPELOOM_PROFILED`.

Cargo knows neither variable, so the crates have the same names of symbols in all builds of `wheel.py`, and a profile of one build fits
the next.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main() -> int:
    command = sys.argv[1:]
    if "--crate-name" in command:
        name = command[command.index("--crate-name") + 1]
        if name in os.environ["TYPELOOM_PROFILED"].split(","):
            command.extend(os.environ["TYPELOOM_PROFILE"].split(","))
    # The pipes of Cargo's job server stay open.
    return subprocess.run(command, check=False, close_fds=False).returncode


if __name__ == "__main__":
    sys.exit(main())
