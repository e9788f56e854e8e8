"""Prints the notes of a release: the section of `CHANGELOG.md` about its version.

    python tools/release/notes.py v0.1.0

The version must be that of the workspace, and its section must have content. The text goes to standard output.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class NotesError(Exception):
    """The release has no notes."""


def workspace_version(manifest: str) -> str:
    """The version in the section `[workspace.package]` of a manifest."""
    section = manifest.partition("[workspace.package]\n")[2].partition("\n[")[0]
    found = re.search(r'^version = "([^"]+)"$', section, re.MULTILINE)
    if not found:
        raise NotesError("the manifest has no version")
    return found.group(1)


def section(changelog: str, version: str) -> str:
    """The text below the heading of a version, which may have a date: `## 0.1.0 (2026-01-31)`."""
    heading = re.compile(rf"^## {re.escape(version)}(?: .*)?$", re.MULTILINE)
    start = heading.search(changelog)
    if not start:
        raise NotesError(f"`CHANGELOG.md` has no section `## {version}`")
    text = re.split(r"^## ", changelog[start.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not text:
        raise NotesError(f"the section `## {version}` of `CHANGELOG.md` is empty")
    return text + "\n"


def notes(tag: str, manifest: str, changelog: str) -> str:
    """The notes of the release with this tag."""
    version = workspace_version(manifest)
    if tag != f"v{version}":
        raise NotesError(f"the tag is `{tag}`, but the version of the workspace is {version}")
    return section(changelog, version)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("Cargo.toml", "CHANGELOG.md")]
    try:
        sys.stdout.write(notes(arguments[0], *texts))
    except NotesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
