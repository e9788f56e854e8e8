"""Measures the builds of a clean clone: time, processor time and disk space.

    python tools/build_times.py [--step NAME]...

Clones the commit of the current folder into a temporary folder, which must have about 10 GB of space, runs each step there, and prints a
table in Markdown. Dependencies are fetched before the measurement. The steps are executed in order in one target folder, as a new user
does; processor time is that of all processes of a step.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = {
    "first": ["cargo", "run", "--locked", "-p", "typeloom-cli", "--no-default-features", "--", "check", "models/decoder.onnx"],
    "command": ["cargo", "build", "--locked", "-p", "typeloom-cli"],
    "release": ["cargo", "build", "--locked", "--release", "-p", "typeloom-cli"],
    "tests": ["cargo", "test", "--locked", "--workspace"],
    "pip": [sys.executable, "-m", "pip", "install", "--target", "installed", "--no-deps", "."],
    "ci": [".ci/run"],
}
DEFAULT = ["first", "tests"]


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def size(folder: Path) -> int:
    """Bytes on the disk; a file with several links counts once."""
    seen: dict[tuple[int, int], int] = {}
    for root, _, files in os.walk(folder):
        for file in files:
            status = os.lstat(Path(root, file))
            seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", choices=list(STEPS), action="append", help=f"default: {', '.join(DEFAULT)}")
    options = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    recorded = here.parent / "shared" / "conformance"
    with tempfile.TemporaryDirectory(prefix="typeloom-build-") as name:
        clone = Path(name, "typeloom")
        subprocess.run(["git", "clone", "--quiet", str(here), str(clone)], check=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CARGO_")}
        environment["CARGO_TARGET_DIR"] = str(clone / "target")
        if recorded.is_dir():
            environment.setdefault("TYPELOOM_CONFORMANCE", str(recorded))
        subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=clone, env=environment, check=True)
        print("| command | time | processor time | disk space after it |\n|---|---:|---:|---:|", flush=True)
        for step in options.step or DEFAULT:
            command = STEPS[step]
            start, before = time.monotonic(), children()
            done = subprocess.run(command, cwd=clone, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            took, used = time.monotonic() - start, children() - before
            if done.returncode != 0:
                print(done.stderr[-4000:], file=sys.stderr)
                return 1
            shown = " ".join(word for word in command if word != "--locked")
            print(f"| `{shown}` | {took:.0f} s | {used:.0f} s | {size(clone / 'target') / 1e9:.1f} GB |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
