"""Lists and checks the packages for the registry, in the order in which they are published.

    python tools/release/publish.py             # the order, one package a line
    python tools/release/publish.py --check     # metadata, dependencies, and the files of each package
    python tools/release/publish.py --dry-run   # builds every package from its archive and uploads nothing (takes long)

`cargo publish --workspace` uploads the packages in this order. A package without `publish = false` is published. It has complete
metadata, depends on published packages only, and names their versions. Its dev-dependencies in the workspace are paths without
versions, because Cargo omits these from the archive: some lead up the layers, and no order would satisfy them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent

#: Fields of a manifest that a page of the registry shows.
FIELDS = ["description", "repository", "documentation", "readme", "license", "rust_version", "keywords", "categories"]
#: The registry refuses larger archives; the files of a package are well below.
MAX_BYTES = 8_000_000
#: Files that a source includes. A path that leaves the package is not in its archive.
INCLUDED = re.compile(r"include_(?:str|bytes)!\((?:concat!\(env!\(\"CARGO_MANIFEST_DIR\"\), )?\"([^\"]+)\"")

Package = dict[str, Any]


def packages() -> list[Package]:
    """The packages of the workspace, as Cargo describes them."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["packages"]


def is_published(package: Package) -> bool:
    return package["publish"] != []


def inner(package: Package, kinds: set[str | None]) -> list[Package]:
    """The dependencies of a package in the workspace, of these kinds."""
    return [found for found in package["dependencies"] if found.get("path") and found["kind"] in kinds]


def order(found: list[Package]) -> list[str]:
    """The published packages, each after its dependencies."""
    waiting = {
        package["name"]: {dependency["name"] for dependency in inner(package, {None, "build"})}
        for package in found
        if is_published(package)
    }
    ordered: list[str] = []
    while waiting:
        ready = sorted(name for name, needs in waiting.items() if needs <= set(ordered))
        if not ready:
            raise ValueError(f"no order: {', '.join(sorted(waiting))} wait for each other or for an unpublished package")
        ordered.extend(ready)
        for name in ready:
            del waiting[name]
    return ordered


def problems(found: list[Package]) -> list[str]:
    """The reasons why the registry would refuse a package, or show it incompletely."""
    published = {package["name"] for package in found if is_published(package)}
    out = []
    for package in found:
        name = package["name"]
        if name not in published:
            continue
        out.extend(f"{name}: `{field}` is missing" for field in FIELDS if not package.get(field))
        if len(package["keywords"]) > 5 or len(package["categories"]) > 5:
            out.append(f"{name}: more than 5 keywords or categories")
        for dependency in inner(package, {None, "build"}):
            if dependency["name"] not in published:
                out.append(f"{name}: needs `{dependency['name']}`, which is not published")
            if dependency["req"] == "*":
                out.append(f"{name}: needs a version of `{dependency['name']}`")
        for dependency in inner(package, {"dev"}):
            if dependency["req"] != "*":
                out.append(f"{name}: the dev-dependency `{dependency['name']}` has a version")
        out.extend(f"{name}: {problem}" for problem in of_sources(Path(package["manifest_path"]).parent))
    return out


def of_sources(folder: Path) -> list[str]:
    """The files outside a package that its sources include."""
    out = []
    for path in sorted((folder / "src").rglob("*.rs")):
        if path.name == "tests.rs":
            continue
        for included in INCLUDED.findall(path.read_text(encoding="utf-8")):
            base = folder if included.startswith("/") else path.parent
            if not (base / included.lstrip("/")).resolve().is_relative_to(folder.resolve()):
                out.append(f"{path.relative_to(folder).as_posix()} includes `{included}`, which is not in the package")
    return out


def contents(name: str) -> list[Path]:
    """The files in the archive of a package that exist in its folder."""
    command = ["cargo", "package", "--list", "--allow-dirty", "--locked", "--package", name]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description="Packages for the registry, in order.")
    parser.add_argument("--check", action="store_true", help="check metadata, dependencies and files")
    parser.add_argument("--dry-run", action="store_true", help="build every package from its archive")
    arguments = parser.parse_args()
    found = packages()
    wrong = problems(found)
    names = order(found) if not wrong else []
    if arguments.check and not wrong:
        folders = {package["name"]: Path(package["manifest_path"]).parent for package in found}
        for name in names:
            files = [folders[name] / path for path in contents(name)]
            size = sum(path.stat().st_size for path in files if path.is_file())
            if size > MAX_BYTES:
                wrong.append(f"{name}: the files have {size} bytes")
            print(f"{name} {len(files)} files, {size // 1000} kB")
    for problem in wrong:
        print(problem, file=sys.stderr)
    if wrong:
        return 1
    if arguments.dry_run:
        command = ["cargo", "publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"]
        return subprocess.run(command, cwd=ROOT).returncode
    if not arguments.check:
        print("\n".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
