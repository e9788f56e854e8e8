"""The built files of pages."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "crates" / "view" / "assets"


@pytest.mark.parametrize("name", ["page.js", "page.css"])
def test_the_recorded_hashes_are_those_of_the_files(name: str) -> None:
    digest = hashlib.sha256((ASSETS / name).read_bytes()).digest()
    assert (ASSETS / f"{name}.sha256").read_text() == base64.b64encode(digest).decode()


def test_the_engine_is_a_module_without_imports_and_without_paths_of_a_machine() -> None:
    module = zlib.decompress((ASSETS / "engine.wasm.zlib").read_bytes())
    assert module.startswith(b"\0asm\1\0\0\0")
    # Sections have ids and sizes as LEB128; 2 is the one of imports.
    at, sections = 8, []
    while at < len(module):
        section, at, size, shift = module[at], at + 1, 0, 0
        while True:
            byte, at = module[at], at + 1
            size, shift = size | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        sections.append(section)
        at += size
    assert at == len(module) and 7 in sections and 2 not in sections
    for path in (b"/home/", b"/root/", b"/work/", b".cargo/registry", b"rustup"):
        assert path not in module


def test_the_versions_of_all_tools_are_recorded() -> None:
    recorded = json.loads((ASSETS / "built.json").read_text())
    package = json.loads((ROOT / "crates" / "view" / "page" / "package.json").read_text())
    assert {name: recorded.get(name) for name in package["devDependencies"]} == package["devDependencies"]
    assert recorded["rustc"].startswith("rustc 1.")


def test_the_pinned_tools_have_checksums() -> None:
    lock = json.loads((ROOT / "crates" / "view" / "page" / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages and all(entry["integrity"].startswith("sha512-") for entry in packages.values())
