#!/usr/bin/env python3
"""Builds the wheel with a profile of its checks: `wheel.py FOLDER`.

The call for a small model executes each instruction about once, so it takes the time to load code into the first cache. With a
profile, the compiler places the code that runs together, and moves the rest away (LLVM's profile-guided optimisation; rustc book,
"Profile-guided Optimization"). The wheel is built twice:

1. with counters in the crates of the check; `train.py` runs models of every operator;
2. with the counts. Other crates, such as the kernels, are compiled as without a profile.

Needs `maturin` in the environment of the interpreter that runs the script, the component `llvm-tools` of the Rust toolchain, and PyPI,
for the models of the ONNX package. The target folder is that of Cargo, `CARGO_TARGET_DIR`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = ["onnx", "solver", "rewrite"]
"""The crates of the check whose code is not built for size, without their common prefix."""

HOT = "-Cllvm-args=-hot-callsite-threshold=225"
"""Frequent calls are inlined up to the usual limit of others, because of the size of the wheel."""

TRAINING = ["numpy", "onnx==1.23.2"]


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def profdata() -> Path:
    """The program that merges profiles."""
    folder = Path(output("rustc", "--print", "target-libdir").strip()).parent / "bin"
    for name in ("llvm-profdata", "llvm-profdata.exe"):
        if (folder / name).is_file():
            return folder / name
    sys.exit("`llvm-profdata` is missing: install it with `rustup component add llvm-tools`")


def build(options: list[str], out: Path) -> Path:
    """Builds the wheel with options of rustc for the crates of the check. Returns its path."""
    profiled = [f"typeloom_{name}" for name in PACKAGES] + ["_core"]
    environment = dict(os.environ)
    # The wrapper runs in the interpreter of this script.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment["RUSTC_WRAPPER"] = str(HERE / "profiled_rustc.py")
    environment["TYPELOOM_PROFILE"] = ",".join(options)
    environment["TYPELOOM_PROFILED"] = ",".join(profiled)
    # Cargo does not see the option, so it would use the crates of an earlier build.
    packages = [f"--package=typeloom-{name}" for name in [*PACKAGES, "python"]]
    clean = ["cargo", "clean", "--quiet", "--locked", "--profile", "wheel", *packages]
    subprocess.run(clean, cwd=ROOT, env=environment, check=True)
    maturin = Path(sys.executable).parent / "maturin"
    command = [str(maturin), "build", "--locked", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    # The next build must not use crates with counters.
    subprocess.run(clean, cwd=ROOT, env=environment, check=True)
    (wheel,) = out.glob("typeloom-*.whl")
    return wheel


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the wheel")
    options = parser.parse_args()
    merge = profdata()
    with tempfile.TemporaryDirectory(prefix="typeloom-profile-") as name:
        work = Path(name)
        counting = build([f"-Cprofile-generate={work / 'counts'}"], work / "wheel")
        venv.create(work / "venv", with_pip=True)
        python = next(path for path in (work / "venv/bin/python", work / "venv/Scripts/python.exe") if path.exists())
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", counting, *TRAINING], check=True
        )
        environment = os.environ | {"LLVM_PROFILE_FILE": str(work / "counts" / "%m.profraw")}
        subprocess.run([python, HERE / "train.py"], env=environment, check=True)
        profile = work / "profile.profdata"
        counts = sorted((work / "counts").glob("*.profraw"))
        subprocess.run([merge, "merge", "-o", profile, *counts], check=True)
        wheel = build([f"-Cprofile-use={profile}", HOT], options.folder.resolve())
    print(f"{wheel}: {wheel.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
