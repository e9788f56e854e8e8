"""The build backend of the package (PEP 517): maturin, with a recorded profile of checks.

`pip install .` compiles the crates of the check with `checks.profdata`, the counts of a training run (LLVM's profile-guided
optimisation; rustc book, "Profile-guided Optimization"). `wheel.py --record` writes it.

A function finds its counts by its name, which contains hashes of the compiler's version and of its crate with all dependencies, and by
the hash of its branches. So the counts of a function that changed are not used, and those of a crate with a new dependency neither. Then
the code is slower, and otherwise the same. `checks.txt` has the compiler and the hashes of the crates. With another compiler, on Windows,
where a script is no wrapper of rustc, and in an archive of the sources, the package is compiled without a profile.

Needs `maturin`, which pip installs, and Rust.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import maturin

HERE = Path(__file__).resolve().parent
PROFILE = HERE / "checks.profdata"
BUILD = HERE / "checks.txt"
"""The compiler of the profile, then its crates."""

PACKAGES = ["onnx", "solver", "rewrite", "python"]
"""The crates with counters, without their common prefix. Rules of operators are built for size. In the other crates, code that the
training does not run, such as kernels, would be compiled as rare code."""

CRATES = ["typeloom_onnx", "typeloom_solver", "typeloom_rewrite", "_core"]

HOT = "-Cllvm-args=-hot-callsite-threshold=225"
"""Frequent calls are inlined up to the usual limit of others, because of the size of the wheel."""

get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
build_sdist = maturin.build_sdist


def compiler() -> str:
    """The version of rustc, and of its LLVM, or nothing without rustc: maturin reports that."""
    try:
        return subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def recorded() -> tuple[str, str]:
    """The compiler of the recorded profile, and the names and hashes of its crates. Both are empty if there is none."""
    if not (PROFILE.is_file() and BUILD.is_file()):
        return "", ""
    compiler, _, crates = BUILD.read_text(encoding="utf-8").partition("\n\n")
    return compiler, crates


def fits() -> bool:
    """Whether this compiler wrote the recorded profile."""
    version = compiler().strip()
    return version != "" and version == recorded()[0]


def variables(options: list[str], log: Path) -> dict[str, str]:
    """The environment of a build with options of rustc for the crates of the check. Their hashes are appended to `log`."""
    return {
        # The wrapper runs in the interpreter of this process.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "RUSTC_WRAPPER": str(HERE / "profiled_rustc.py"),
        "TYPELOOM_PROFILE": "\n".join(options),
        "TYPELOOM_PROFILED": ",".join(CRATES),
        "TYPELOOM_PROFILE_LOG": str(log),
    }


def used(profile: Path) -> list[str]:
    """The options of rustc for a build with a profile."""
    return [f"-Cprofile-use={profile}", HOT]


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    """Builds in this context use the recorded profile. A wrapper of the user, such as a cache, stays."""
    before = dict(os.environ)
    if os.name == "posix" and "RUSTC_WRAPPER" not in before and fits():
        os.environ.update(variables(used(PROFILE), Path(os.devnull)))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def build_wheel(folder: str, settings: dict[str, object] | None = None, metadata: str | None = None) -> str:
    with profiled():
        return maturin.build_wheel(folder, settings, metadata)


def build_editable(folder: str, settings: dict[str, object] | None = None, metadata: str | None = None) -> str:
    with profiled():
        return maturin.build_editable(folder, settings, metadata)
