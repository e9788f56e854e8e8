"""Writes the version of a release into the documents.

    python tools/release/install.py 0.2.0          # before the tag of the release
    python tools/release/install.py --check        # the documents have one version, and lead to `docs/install.md`

`docs/install.md` is the one page that states whether a release is published. The first release replaces its note that there is none;
each release replaces the version in the lines of all documents that install typeloom from a registry. A document with such a line
has a link to the page.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: The page that states whether a release is published, and the part of it that a release replaces.
PAGE = "docs/install.md"
STATE = re.compile(r"(<!-- release: .* -->\n).*?(<!-- end of release -->\n)", re.DOTALL)
VERSION = r"\d+\.\d+\.\d+(?:-[\w.]+)?"
#: The parts of a line before the version that it installs.
PINS = [
    r"typeloom(?:-cli)?(?:==|@)",
    r"typeloom/typeloom@v",
    r"rev: v",
]
PIN = re.compile(rf"({'|'.join(PINS)})({VERSION})")
#: Lines that install typeloom from a registry: those with a version, and those that name the package.
LINE = re.compile(rf"{PIN.pattern}|pip install typeloom\b|cargo (?:b?install|add) (?:--locked )?typeloom|typeloom = \{{ version")


def documents(root: Path) -> Iterator[Path]:
    """The documents that can have such lines."""
    yield root / "README.md"
    yield from sorted((root / "docs").rglob("*.md"))


def state(version: str) -> str:
    return f"Version {version} is published. The commands below install it without a clone.\n"


def write(root: Path, version: str) -> list[Path]:
    """Writes the version into all documents. The ones that changed."""
    changed = []
    for path in documents(root):
        old = path.read_text(encoding="utf-8")
        new = PIN.sub(lambda pin: pin.group(1) + version, old)
        if path == root / PAGE:
            new, count = STATE.subn(lambda part: part.group(1) + state(version) + part.group(2), new)
            if count != 1:
                raise ValueError(f"`{PAGE}` has {count} parts for the state of releases")
        if new != old:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed


def problems(root: Path) -> list[str]:
    """Documents with different versions, and those that lack the link to the page."""
    out = []
    page = (root / PAGE).read_text(encoding="utf-8")
    expected = {pin.group(2) for pin in PIN.finditer(page)}
    if len(expected) != 1:
        out.append(f"{PAGE}: the lines have the versions {sorted(expected)}")
    for path in documents(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        out.extend(f"{name}: `{pin.group()}` is not of the version in `{PAGE}`" for pin in PIN.finditer(text) if pin.group(2) not in expected)
        if LINE.search(text) and name != PAGE and "install.md" not in text:
            out.append(f"{name}: installs typeloom from a registry, and has no link to `{PAGE}`")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the version of a release into the documents.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("version", nargs="?", help="the version, without `v`")
    what.add_argument("--check", action="store_true", help="compare the documents")
    arguments = parser.parse_args()
    if arguments.check:
        found = problems(ROOT)
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    if not re.fullmatch(VERSION, arguments.version):
        print(f"error: `{arguments.version}` is no version", file=sys.stderr)
        return 1
    for path in write(ROOT, arguments.version):
        print(path.relative_to(ROOT).as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main())
