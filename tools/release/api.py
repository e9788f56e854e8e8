"""Compares the public API of the crate `typeloom` with the last release, by `typeloom rust diff`.

    python tools/release/api.py [--command target/debug/typeloom]

The last release is the nearest tag `v*` before the current commit; without one there is nothing to compare. A breaking change needs a
new major version, or a new minor version while the major version is 0. Exit code 1: a change breaks the API within such versions.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from notes import workspace_version  # noqa: E402


def git(root: Path, *arguments: str) -> str | None:
    """The output of a call of git, or `None` if it fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def last_release(root: Path) -> str | None:
    """The nearest tag of a release before the current commit."""
    return git(root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^")


def may_break(old: str, new: str) -> bool:
    """Whether the versions allow breaking changes: they differ in the first number that is not 0."""
    numbers = [re.match(r"(\d+)\.(\d+)\.(\d+)", version) for version in (old, new)]
    if None in numbers:
        raise ValueError(f"`{old}` or `{new}` is no version")
    first, second = (tuple(map(int, found.groups())) for found in numbers if found)
    significant = next((at for at, number in enumerate(first) if number), 2)
    return first[: significant + 1] < second[: significant + 1]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the public API with the last release.")
    parser.add_argument("--command", default="typeloom", help="the command `typeloom`")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent.parent, help="the repository")
    arguments = parser.parse_args()
    root: Path = arguments.root
    tag = last_release(root)
    if tag is None:
        print("there is no earlier release to compare with")
        return 0
    new = workspace_version((root / "Cargo.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(old), tag], cwd=root, check=True)
        try:
            crates = [str(tree / "crates" / "typeloom") for tree in (old, root)]
            code = subprocess.run([arguments.command, "rust", "diff", *crates]).returncode
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], cwd=root, check=True)
    if code == 1 and may_break(tag.removeprefix("v"), new):
        print(f"version {new} may break the API of {tag}")
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
