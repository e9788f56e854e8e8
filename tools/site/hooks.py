"""Hooks of the build of the site: MkDocs reads the repository through them.

The pages keep their paths in the repository, so that their links work on code hosts and on the site. The hooks

- add the documents that `docs/` does not contain, and shorten the addresses of pages;
- add the reference of the Python package (see `python_reference.py`);
- list folders in the navigation;
- point links at sources to the repository;
- show snapshots of problems as pictures (see `crates/testing/src/spec/pictures.rs`), with the text below.
"""

from __future__ import annotations

import html
import os
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# MkDocs loads this file by its path.
sys.path.insert(0, str(Path(__file__).resolve().parent))
import python_reference  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent

#: Folders of documents, and single documents.
FOLDERS = ["docs", "spec", "crates/solver/pages", "bench/results"]
DOCUMENTS = [
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md", "fuzz/README.md",
    "models/README.md", "transports/libp2p/README.md",
]  # fmt: skip

#: Pictures of graphs, which pages show as images.
PICTURES = "docs/pictures"

#: Folders of the repository, and their names in addresses.
ADDRESSES = {"docs/": "", "crates/solver/pages/": "codes/", "bench/results/": "performance/"}

#: The page of the Python reference, which only the site has, and the sources that links lead to on code hosts.
REFERENCE = "docs/python/reference.md"
REFERENCE_SOURCES = "crates/python/python/typeloom"

#: A link with its target, outside images.
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
#: The first line of a fence.
FENCE = re.compile(r"^(`{3,})(\S.*)?$")
#: The highlighted languages; the text of other fences is shown as it is.
LANGUAGES = {"console", "json", "pycon", "python", "rust", "sh", "toml", "yaml", "groovy", "c", "markdown"}


def documents() -> list[str]:
    """The paths of all pages in the repository."""
    found = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.md"))]
    return [*DOCUMENTS, *found]


def pictures() -> Path | None:
    """The folder with the pictures, if the build has them."""
    folder = os.environ.get("TYPELOOM_PICTURES")
    return Path(folder).resolve() if folder else None


def linked(readme: str) -> Iterator[str]:
    """The pages in the folder of a `README.md`, in the order of its links."""
    folder = posixpath.dirname(readme)
    seen: set[str] = set()
    for _, target in LINK.findall((ROOT / readme).read_text(encoding="utf-8")):
        path = posixpath.normpath(posixpath.join(folder, target.split("#")[0]))
        path = REFERENCE if path == REFERENCE_SOURCES else path
        if posixpath.dirname(path) == folder and path.endswith(".md") and path != readme and path not in seen:
            seen.add(path)
            yield path


def expanded(nav: Any) -> Any:
    """The navigation with the pages of its folders."""
    if isinstance(nav, list):
        return [expanded(item) for item in nav]
    if isinstance(nav, dict):
        return {title: expanded(item) for title, item in nav.items()}
    if nav.endswith("/"):
        return [nav + "README.md", *linked(nav + "README.md")]
    return nav


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = expanded(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for path in documents():
        add(files, config, path, ROOT / path)
    append(files, File.generated(config, REFERENCE, content=python_reference.page()))
    drawn = [path for path in (ROOT / PICTURES).iterdir() if path.suffix in (".png", ".svg")]
    for picture in sorted(drawn):
        add(files, config, picture.relative_to(ROOT).as_posix(), picture)
    folder = pictures()
    if folder is not None:
        for picture in sorted(folder.rglob("*.svg")):
            add(files, config, picture.relative_to(folder).as_posix(), picture)
    return files


def add(files: Files, config: MkDocsConfig, path: str, source: Path) -> None:
    """Adds a file of the repository under its path."""
    append(files, File.generated(config, path, abs_src_path=str(source)))


def append(files: Files, file: File) -> None:
    """Adds a file under its address."""
    for folder, name in ADDRESSES.items():
        if file.dest_uri.startswith(folder):
            file.dest_uri = name + file.dest_uri.removeprefix(folder)
    files.append(file)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return LINK.sub(lambda link: to_source(link, page.file.src_uri, config, files), prepared(markdown, page.file.src_uri))


def to_source(link: re.Match[str], page: str, config: MkDocsConfig, files: Files) -> str:
    """The link, which leads to the repository if its target is a file there and no page."""
    text, target = link.groups()
    if ":" in target or target.startswith(("#", "/")):
        return link.group()
    path, _, anchor = target.partition("#")
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if resolved == REFERENCE_SOURCES:
        return f"[{text}]({posixpath.relpath(REFERENCE, posixpath.dirname(page) or '.')})"
    readme = posixpath.join(resolved, "README.md")
    if path.endswith("/") and files.get_file_from_path(readme):
        return f"[{text}]({posixpath.join(path, 'README.md')}{'#' + anchor if anchor else ''})"
    if files.get_file_from_path(resolved) or not (ROOT / resolved).exists():
        return link.group()
    kind = "tree" if (ROOT / resolved).is_dir() else "blob"
    return f"[{text}]({(config.repo_url or '').rstrip('/')}/{kind}/main/{resolved})"


def prepared(markdown: str, page: str) -> str:
    """The page with the languages of its fences, and with pictures for its snapshots."""
    out: list[str] = []
    lines = iter(markdown.split("\n"))
    shown = 0
    for line in lines:
        start = FENCE.match(line)
        if not start:
            out.append(line)
            continue
        marks, info = start.group(1), (start.group(2) or "").strip()
        body: list[str] = []
        for inner in lines:
            if inner.rstrip() == marks:
                break
            body.append(inner)
        word = info.split(" ")[0]
        language = word if word in LANGUAGES else "text"
        if info in ("snapshot", "snapshot human") and pictures() is not None:
            out.extend(picture(page, shown, body))
            shown += 1
        else:
            # More backticks than in the text: a page may show fences.
            fence = "`" * max(len(marks), 1 + longest("\n".join(body)))
            out.extend([fence + language, *body, fence])
    return "\n".join(out)


def longest(text: str) -> int:
    """The length of the longest run of backticks, at least 2."""
    return max(2, *map(len, re.findall("`*", text)))


def picture(page: str, number: int, text: list[str]) -> list[str]:
    """A picture of problems, with their text in a block that opens on demand."""
    folder = pictures()
    path = f"{page.removesuffix('.md')}-{number}.svg"
    if folder is None or not (folder / path).is_file():
        raise PluginError(f"{page}: snapshot {number} has no picture `{path}`")
    name = posixpath.basename(path)
    alternative = html.escape(text[0] if text else "", quote=True)
    fence = "`" * (1 + longest("\n".join(text)))
    return [
        # A block of HTML, in which Markdown does not replace backticks.
        f'<div><img src="{relative(page)}{name}" alt="{alternative}" loading="lazy"></div>',
        "",
        '??? note "The same as text"',
        "",
        *(f"    {line}" for line in [fence + "text", *text, fence]),
        "",
    ]


def relative(page: str) -> str:
    """The prefix of the address of a file next to a page, whose own address is a folder."""
    return "" if posixpath.basename(page) == "README.md" else "../"
