#!/usr/bin/env python3
"""Count lines of code, comments and tests of each crate in `crates/`, and of `engines/` as one row.

    python3 tools/count_code.py

Blank lines do not count. A test line is a line of a file in a folder `tests`, `benches` or `examples`, of a file `tests.rs`,
`laws.rs`, `testing.rs`, `*_tests.rs` or `*_laws.rs`, of a file directly in `engines/` (the tests that all engines share), or a
line from `#[cfg(test)]` in front of an inline module to the end of its file (including blank lines and comments). Of the other lines, one that starts with `//` is a comment, every other one is code.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST_FOLDERS = {"tests", "benches", "examples"}
TEST_FILE = re.compile(r"(.*_)?(tests|laws|testing)\.rs")
INLINE_TESTS = re.compile(r"^[ \t]*#\[cfg\(test\)\]\n[ \t]*mod \w+ \{", re.MULTILINE)


def count(path, folder):
    """Lines of code, comments and tests in one file."""
    text = path.read_text()
    inner = path.relative_to(folder).parts
    shared_by_engines = folder.name == "engines" and len(inner) == 1
    if shared_by_engines or TEST_FOLDERS & set(inner[:-1]) or TEST_FILE.fullmatch(inner[-1]):
        return 0, 0, sum(1 for line in text.splitlines() if line.strip())
    tests = INLINE_TESTS.search(text)
    start = tests.start() if tests else len(text)
    lines = [line.strip() for line in text[:start].splitlines()]
    lines = [line for line in lines if line]
    comments = sum(1 for line in lines if line.startswith("//"))
    return len(lines) - comments, comments, len(text[start:].splitlines())


def main():
    folders = sorted(path for path in (ROOT / "crates").iterdir() if path.is_dir()) + [ROOT / "engines"]
    total = (0, 0, 0)
    print(f"{'crate':15} {'code':>8} {'comments':>9} {'tests':>7}")
    for folder in folders:
        files = sorted(path for path in folder.rglob("*.rs") if "target" not in path.relative_to(folder).parts)
        counts = [sum(column) for column in zip(*(count(path, folder) for path in files))]
        print(f"{folder.name:15} {counts[0]:8} {counts[1]:9} {counts[2]:7}")
        total = tuple(map(sum, zip(total, counts)))
    print(f"{'total':15} {total[0]:8} {total[1]:9} {total[2]:7}")


if __name__ == "__main__":
    main()
