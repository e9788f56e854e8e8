#!/usr/bin/env python3
"""A wrapper of rustc (`RUSTC_WRAPPER`) for builds with a profile of checks (LLVM's profile-guided optimisation; rustc book,
"Profile-guided Optimization").

It adds options for the crates in `TYPELOOM_PROFILED`, by default all crates with counts. The options are the lines of `TYPELOOM_PROFILE`,
by default those that use the recorded profile, `checks.profdata`, if its compiler (`checks.txt`) is this one.

The counts of a function are found by the name of its symbol. Cargo makes a hash of a crate, its dependencies, features and options a part of
all names. This script replaces it by the name and version of the package. So one profile fits the Python package with other versions of its
dependencies, and other programs with the same levels of optimisation (`profiled.toml`). A target folder must not contain crates that were
compiled without the script: their generic functions have other names.

Needs a system on which a script is executable.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROFILE = HERE / "checks.profdata"
COMPILER = HERE / "checks.txt"
"""The compiler that made the profile: the output of `rustc -vV`."""

CRATES = ["typeloom_onnx", "typeloom_solver", "typeloom_rewrite", "typeloom_ops"]
"""The crates of the check. In others, code that the training does not run, such as kernels, would be compiled as rare code."""

METADATA = "metadata="


def compiler(rustc: str = "rustc") -> str:
    """The version of rustc, and of its LLVM, or nothing without rustc: Cargo reports that."""
    try:
        return subprocess.run([rustc, "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def fits(rustc: str = "rustc") -> bool:
    """Whether this compiler made the recorded profile."""
    if not (PROFILE.is_file() and COMPILER.is_file()):
        return False
    return COMPILER.read_text(encoding="utf-8").strip() == compiler(rustc) != ""


def named(command: list[str], package: str) -> list[str]:
    """A command with the name of the package instead of Cargo's hash."""
    return [METADATA + package if argument.startswith(METADATA) else argument for argument in command]


def main() -> int:
    command = sys.argv[1:]
    name = command[command.index("--crate-name") + 1] if "--crate-name" in command else ""
    # Scripts and macros run during the build. Cargo asks for properties of the compiler with a name of three underscores.
    if name not in ("", "___", "build_script_build") and "proc-macro" not in command:
        command = named(command, f"{os.environ['CARGO_PKG_NAME']}-{os.environ['CARGO_PKG_VERSION']}")
    if name in os.environ.get("TYPELOOM_PROFILED", ",".join(CRATES)).split(","):
        given = os.environ.get("TYPELOOM_PROFILE")
        if given is not None:
            command.extend(given.split("\n"))
        elif fits(command[0]):
            command.append(f"-Cprofile-use={PROFILE}")
    # The pipes of Cargo's job server stay open.
    return subprocess.run(command, check=False, close_fds=False).returncode


if __name__ == "__main__":
    sys.exit(main())
