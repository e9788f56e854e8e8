"""Measures what each Cargo feature of the command and of the library costs: crates, and seconds of one core.

    python tools/feature_costs.py

Builds both with all features and the profile `release` in a new folder, with one rustc at a time, and reads the time of each crate from
the report of `cargo build --timings`. The cost of a feature is that of the crates that it adds to a build without features. Prints
tables in Markdown for `docs/features.md`. A crate whose own features grow with those of the command is counted as it is in the full
build. The machine must be idle.
"""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNITS = re.compile(r"const UNIT_DATA = (\[.*?\]);\n", re.DOTALL)


def crates(package: str, features: str) -> set[str]:
    """The packages of a build, `name version`."""
    tree = ["cargo", "tree", "--locked", "-p", package, "--no-default-features", "--features", features, "-e", "normal,build", "--prefix", "none"]
    lines = subprocess.run(tree, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {" ".join(line.split()[:2]).replace(" v", " ") for line in lines if line}


def features_of(package: str) -> dict[str, list[str]]:
    """The features of a package of the workspace with those that they imply."""
    metadata = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    known = json.loads(subprocess.run(metadata, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return next(it["features"] for it in known["packages"] if it["name"] == package)


def seconds() -> collections.Counter[str]:
    """The seconds of each package in a build of everything."""
    with tempfile.TemporaryDirectory(prefix="typeloom-features-") as folder:
        build = ["cargo", "build", "--locked", "--release", "--jobs", "1", "--timings", "-p", "typeloom", "-p", "typeloom-cli", "--all-features"]
        subprocess.run(build, cwd=ROOT, check=True, env=os.environ | {"CARGO_TARGET_DIR": folder})
        page = Path(folder, "cargo-timings", "cargo-timing.html").read_text(encoding="utf-8")
    found = UNITS.search(page)
    if found is None:
        sys.exit("the report of cargo has no UNIT_DATA")
    total: collections.Counter[str] = collections.Counter()
    for unit in json.loads(found[1]):
        total[f"{unit['name']} {unit['version']}"] += unit["duration"]
    return total


def main() -> None:
    times = seconds()
    for package in ("typeloom-cli", "typeloom"):
        known = features_of(package)
        base = crates(package, "")

        def row(name: str, chosen: set[str]) -> None:
            in_default = "yes" if name in known["default"] else ""
            print(f"| {name} | {len(chosen)} | {sum(times[crate] for crate in chosen):.0f} | {in_default} |")

        print(f"\n| `{package}` | crates | seconds | default |\n|---|---:|---:|---|")
        row("no feature", base)
        for name in sorted(set(known) - {"default"}):
            row(name, crates(package, name) - base)
        row("the default features", crates(package, "default"))


if __name__ == "__main__":
    main()
