#!/usr/bin/env python3
"""A wrapper of rustc (`RUSTC_WRAPPER`) for `backend.py`: adds the options in `TYPELOOM_PROFILE`, one a line, for the crates in
`TYPELOOM_PROFILED`, and appends their names and Cargo's hashes of them to the file `TYPELOOM_PROFILE_LOG`.

Cargo knows none of the variables, so the crates have the same names of symbols in all builds, and a profile of one build fits
the next.
"""

from __future__ import annotations

import os
import subprocess
import sys

METADATA = "metadata="
"""Cargo's hash of a crate, of its dependencies, features and options: a part of the names of all its symbols."""


def main() -> int:
    command = sys.argv[1:]
    if "--crate-name" in command:
        name = command[command.index("--crate-name") + 1]
        if name in os.environ["TYPELOOM_PROFILED"].split(","):
            hashes = [argument for argument in command if argument.startswith(METADATA)]
            with open(os.environ["TYPELOOM_PROFILE_LOG"], "a", encoding="utf-8") as log:
                log.write(f"{name} {' '.join(hashes)}\n")
            command.extend(os.environ["TYPELOOM_PROFILE"].split("\n"))
    # The pipes of Cargo's job server stay open.
    return subprocess.run(command, check=False, close_fds=False).returncode


if __name__ == "__main__":
    sys.exit(main())
