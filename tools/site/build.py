"""Builds the documentation site into `target/site`, and checks it.

    python tools/site/build.py                  # pictures, pages, checks
    python tools/site/build.py --output DIR

Needs the packages of `tools/site/requirements.txt` and a Rust toolchain, which draws the pictures of diagnostics. A warning of
MkDocs (a broken link or anchor, a page outside the navigation) is an error. A reader needs no other host: a page that loads a
script, a style, a font or a picture from elsewhere, or a file that does not exist, is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: Elements that load a file, and the attribute with its address.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "embed": "src", "link": "href"}
#: Relations of `<link>` that load nothing.
LINKS_ONLY = {"canonical", "next", "prev", "alternate", "edit"}
#: Addresses in styles.
IN_STYLE = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")


class Resources(HTMLParser):
    """The addresses of the files that a page loads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._in_style = tag == "style"
        address = attributes.get(LOADS.get(tag, ""))
        relations = set((attributes.get("rel") or "").split())
        if address and not (tag == "link" and relations & LINKS_ONLY):
            self.found.append(address)
        self.found.extend(in_style(attributes.get("style") or ""))

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found.extend(in_style(data))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False


def in_style(text: str) -> list[str]:
    """The addresses in a style sheet."""
    return [first or second for first, second in IN_STYLE.findall(text)]


def problems(site: Path) -> list[str]:
    """The files that pages load from other hosts, and those that do not exist."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix not in (".html", ".css", ".svg"):
            continue
        text = path.read_text(encoding="utf-8")
        for address in in_style(text) if path.suffix == ".css" else Resources(text).found:
            name = path.relative_to(site).as_posix()
            if address.startswith(("data:", "#")):
                continue
            if re.match(r"[a-z]+:|//", address):
                found.append(f"{name}: loads {address}")
                continue
            file = re.split(r"[?#]", address)[0]
            target = site / file.lstrip("/") if file.startswith("/") else path.parent / file
            # The page of errors is shown under any address, so its links start at the root of the host.
            if name != "404.html" and not target.exists():
                found.append(f"{name}: {address} does not exist")
    return found


def drawing_command() -> str:
    """Builds the command that draws pictures, with the features of a build of the workspace, which is often there already."""
    cargo = ["cargo", "build", "--quiet", "--locked", "--workspace", "--bin", "typeloom-pictures", "--message-format", "json"]
    done = subprocess.run(cargo, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    executables = [json.loads(line).get("executable") for line in done.stdout.splitlines()]
    return next(executable for executable in executables if executable)


def build(output: Path) -> None:
    """Draws the pictures and builds the pages."""
    paths = (path for folder in ["docs", "spec", "crates/solver/pages"] for path in (ROOT / folder).rglob("*.md"))
    documents = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    with tempfile.TemporaryDirectory() as pictures:
        done = subprocess.run([drawing_command(), pictures, *documents], cwd=ROOT)
        if done.returncode != 0:
            sys.exit("error: the diagnostics in the documents cannot be drawn")
        mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--site-dir", str(output.resolve())]
        environment = {**os.environ, "TYPELOOM_PICTURES": pictures, "NO_MKDOCS_2_WARNING": "1"}
        # With `--quiet`, MkDocs would not count warnings.
        built = subprocess.run(mkdocs, cwd=ROOT, env=environment, capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(built.stdout + built.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("--output", type=Path, default=ROOT / "target" / "site")
    output = parser.parse_args().output
    build(output)
    found = problems(output)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
