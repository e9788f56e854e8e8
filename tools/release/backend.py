"""The build backend of the package (PEP 517): maturin, with a recorded profile of checks.

`pip install .` compiles the crates of the check with `checks.profdata`, the counts of a training run. `wheel.py --record` writes it;
`profiled_rustc.py` describes how it is used. The counts of a function that changed since are not used: its code is slower, and otherwise the
same. With another compiler than that in `checks.txt`, on Windows, where a script is no wrapper of rustc, and in an archive of the
sources, the package is compiled without a profile.

Needs `maturin`, which pip installs, and Rust.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import maturin
import profiled_rustc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

MODULE = "_core"
"""The crate of the Python module."""

USED = ["typeloom_onnx", "typeloom_solver", "typeloom_rewrite", MODULE]
"""The crates that are compiled with the profile. Rules of operators are built for size."""

HOT = "-Cllvm-args=-hot-callsite-threshold=225"
"""Frequent calls are inlined up to the usual limit of others, because of the size of the wheel."""

get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
build_sdist = maturin.build_sdist


def target() -> Path:
    """The target folder of builds with a profile, in that of other builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target", "profiled")


def variables(options: list[str], crates: list[str]) -> dict[str, str]:
    """The environment of a build with options of rustc for some crates."""
    return {
        # The wrapper runs in the interpreter of this process.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "CARGO_TARGET_DIR": str(target()),
        "RUSTC_WRAPPER": str(HERE / "profiled_rustc.py"),
        "TYPELOOM_PROFILE": "\n".join(options),
        "TYPELOOM_PROFILED": ",".join(crates),
    }


def used(profile: Path) -> list[str]:
    """The options of rustc for a build with a profile."""
    return [f"-Cprofile-use={profile}", HOT]


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    """Builds in this context use the recorded profile. A wrapper of the user, such as a cache, stays."""
    before = dict(os.environ)
    if os.name == "posix" and "RUSTC_WRAPPER" not in before and profiled_rustc.fits():
        os.environ.update(variables(used(profiled_rustc.PROFILE), USED))
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
