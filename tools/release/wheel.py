#!/usr/bin/env python3
"""Builds the wheel of a release, with a profile of its checks: `wheel.py FOLDER`.

The call for a small model executes each instruction about once, so it takes the time to load code into the first cache. With a
profile, the compiler places the code that runs together, and moves the rest away. If the recorded profile is of this compiler, one build
uses it. Otherwise, or with `--record`, a profile is made:

1. a build with counters in the crates of the check; `train.py` runs models of every operator, those of a pinned package;
2. a build with the counts. `--record` writes them to the repository.

Needs `maturin` in the environment of the interpreter that runs the script. A recording also needs the component `llvm-tools` of the
Rust toolchain, and PyPI, for the models of the ONNX package. The target folder is `profiled` in that of Cargo, `CARGO_TARGET_DIR`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import backend
import profiled_rustc
from backend import HERE, ROOT

TRAINING = ["numpy", "onnx==1.23.2"]


def profdata() -> Path | None:
    """The program that merges profiles, if it is installed."""
    command = ["rustc", "--print", "target-libdir"]
    libraries = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    folder = Path(libraries.strip()).parent / "bin"
    for name in ("llvm-profdata", "llvm-profdata.exe"):
        if (folder / name).is_file():
            return folder / name
    return None


def build(options: list[str], crates: list[str], out: Path) -> Path:
    """Builds the wheel with options of rustc for some crates. Returns its path."""
    environment = os.environ | backend.variables(options, crates)
    # Cargo does not see the options, so it would use the crates of an earlier build.
    packages = [f"--package={name.replace('_', '-')}" for name in profiled_rustc.CRATES]
    clean = ["cargo", "clean", "--quiet", "--locked", "--profile", "wheel", "--package=typeloom-python", *packages]
    subprocess.run(clean, cwd=ROOT, env=environment, check=True)
    maturin = Path(sys.executable).parent / "maturin"
    command = [str(maturin), "build", "--locked", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    # The next build must not use crates with counters.
    subprocess.run(clean, cwd=ROOT, env=environment, check=True)
    (wheel,) = out.glob("typeloom-*.whl")
    return wheel


def record(merge: Path, work: Path) -> Path:
    """The profile of a training run."""
    counting = build([f"-Cprofile-generate={work / 'counts'}"], [*profiled_rustc.CRATES, backend.MODULE], work / "wheel")
    venv.create(work / "venv", with_pip=True)
    python = next(path for path in (work / "venv/bin/python", work / "venv/Scripts/python.exe") if path.exists())
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", counting, *TRAINING]
    subprocess.run(install, check=True)
    environment = os.environ | {"LLVM_PROFILE_FILE": str(work / "counts" / "%m.profraw")}
    subprocess.run([python, HERE / "train.py"], env=environment, check=True)
    profile = work / "checks.profdata"
    counts = sorted((work / "counts").glob("*.profraw"))
    subprocess.run([merge, "merge", "-o", profile, *counts], check=True)
    return profile


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the wheel")
    parser.add_argument("--record", action="store_true", help="write the profile that `pip install .` uses")
    options = parser.parse_args()
    out = options.folder.resolve()
    if not options.record and profiled_rustc.fits():
        wheel = build(backend.used(profiled_rustc.PROFILE), backend.USED, out)
    else:
        merge = profdata()
        if merge is None:
            sys.exit("`llvm-profdata` is missing: install it with `rustup component add llvm-tools`")
        with tempfile.TemporaryDirectory(prefix="typeloom-profile-") as name:
            profile = record(merge, Path(name))
            if options.record:
                shutil.copyfile(profile, profiled_rustc.PROFILE)
                profiled_rustc.COMPILER.write_text(f"{profiled_rustc.compiler()}\n", encoding="utf-8")
            wheel = build(backend.used(profile), backend.USED, out)
    print(f"{wheel}: {wheel.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
