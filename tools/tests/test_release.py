"""The scripts of a release."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "tools" / "release"


def loaded(name: str) -> ModuleType:
    """A module of the folder `tools/release`."""
    spec = importlib.util.spec_from_file_location(name, RELEASE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


notes = loaded("notes")
publish = loaded("publish")
api = loaded("api")
install = loaded("install")

MANIFEST = '[workspace]\n\n[workspace.package]\nversion = "0.2.0"\n\n[profile.dev]\n'
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-01-31)\n\n### Part\n\n- New.\n\n## 0.1.0\n\n- Old.\n"


def package(name: str, *dependencies: dict[str, object], published: bool = True) -> dict[str, object]:
    return {
        "name": name,
        "publish": None if published else [],
        "dependencies": list(dependencies),
        "manifest_path": str(ROOT / "crates" / "term" / "Cargo.toml"),
        "keywords": ["a"],
        "categories": ["science"],
        **{field: "x" for field in publish.FIELDS if field not in ("keywords", "categories")},
    }


def needs(name: str, req: str = "^0.1.0", kind: str | None = None) -> dict[str, object]:
    return {"name": name, "req": req, "kind": kind, "path": f"/{name}"}


def test_the_notes_of_a_release_are_its_section() -> None:
    assert notes.notes("v0.2.0", MANIFEST, CHANGELOG) == "### Part\n\n- New.\n"


@pytest.mark.parametrize(
    ("tag", "changelog", "message"),
    [
        ("v0.3.0", CHANGELOG, "the version of the workspace is 0.2.0"),
        ("v0.2.0", "# Changelog\n\n## 0.2.01\n\n- New.\n", "no section"),
        ("v0.2.0", "# Changelog\n\n## 0.2.0\n\n## 0.1.0\n\n- Old.\n", "is empty"),
    ],
)
def test_a_release_without_notes_is_an_error(tag: str, changelog: str, message: str) -> None:
    with pytest.raises(notes.NotesError, match=message):
        notes.notes(tag, MANIFEST, changelog)


def test_packages_follow_their_dependencies() -> None:
    found = [package("a", needs("b"), needs("c", kind="build")), package("b"), package("c", needs("b"))]
    assert publish.order(found) == ["b", "c", "a"]
    assert publish.problems(found) == []


def test_packages_that_need_each_other_have_no_order() -> None:
    with pytest.raises(ValueError, match="a, b wait"):
        publish.order([package("a", needs("b")), package("b", needs("a"))])


@pytest.mark.parametrize(
    ("dependency", "message"),
    [
        (needs("inner"), "needs `inner`, which is not published"),
        (needs("b", req="*"), "needs a version of `b`"),
        (needs("b", kind="dev"), "the dev-dependency `b` has a version"),
    ],
)
def test_a_dependency_that_the_registry_refuses_is_a_problem(dependency: dict[str, object], message: str) -> None:
    found = [package("a", dependency), package("b"), package("inner", published=False)]
    assert publish.problems(found) == [f"a: {message}"]


def test_missing_metadata_and_included_files_outside_are_problems(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text('const A: &str = include_str!("../../a.md");\nconst B: &str = include_str!("b.md");\n')
    odd = package("a") | {"readme": None, "manifest_path": str(tmp_path / "Cargo.toml")}
    assert publish.problems([odd]) == [
        "a: `readme` is missing",
        "a: src/lib.rs includes `../../a.md`, which is not in the package",
    ]


def test_the_packages_of_the_workspace_can_be_published() -> None:
    found = publish.packages()
    assert publish.problems(found) == []
    names = publish.order(found)
    assert names.index("typeloom-term") < names.index("typeloom") < names.index("typeloom-cli")
    assert not {"typeloom-testing", "typeloom-python", "typeloom-differential", "typeloom-fuzz-targets"} & set(names)


def test_every_file_names_the_same_repository() -> None:
    address = next(package["repository"] for package in publish.packages() if package["name"] == "typeloom")
    other = [
        path
        for path in ["mkdocs.yml", "SECURITY.md", "docs/ci-recipes.md", "ci/action/install.sh"]
        if address not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert other == []


@pytest.mark.parametrize("target", ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"])
def test_an_archive_has_the_command_and_a_checksum_and_is_reproducible(target: str, tmp_path: Path) -> None:
    binary = tmp_path / "typeloom"
    binary.write_bytes(b"command")
    shared = tmp_path / "shared"
    (shared / "man" / "man1").mkdir(parents=True)
    (shared / "man" / "man1" / "typeloom.1").write_text(".TH typeloom 1\n")
    command = [sys.executable, RELEASE / "archive.py", "--target", target, "--binary", binary, "--shared", shared, "--output"]
    for folder in ("one", "two"):
        subprocess.run([*command, tmp_path / folder], check=True, capture_output=True)
    archive, checksum = sorted((tmp_path / "one").iterdir())
    assert archive.read_bytes() == (tmp_path / "two" / archive.name).read_bytes()
    assert checksum.read_text() == f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n"
    texts = {f"typeloom-{target}/{name}" for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md", "man/man1/typeloom.1")}
    if archive.suffix == ".zip":
        assert set(zipfile.ZipFile(archive).namelist()) == {f"typeloom-{target}/typeloom.exe", *texts}
    else:
        with tarfile.open(archive) as opened:
            assert set(opened.getnames()) == {f"typeloom-{target}/typeloom", *texts}
            assert opened.getmember(f"typeloom-{target}/typeloom").mode == 0o755


def test_the_shared_files_are_pages_of_all_commands_and_completions_of_all_shells(real: Path, tmp_path: Path) -> None:
    binary = real / "bin" / "typeloom"
    subprocess.run([sys.executable, RELEASE / "shared.py", "--binary", binary, "--output", tmp_path / "shared"], check=True)
    found = {path.relative_to(tmp_path / "shared").as_posix() for path in (tmp_path / "shared").rglob("*") if path.is_file()}
    names = ("typeloom.bash", "typeloom.elv", "typeloom.fish", "_typeloom.ps1", "_typeloom")
    assert {f"completions/{name}" for name in names} == {path for path in found if not path.startswith("man/")}
    assert {"man/man1/typeloom.1", "man/man1/typeloom-check.1", "man/man1/typeloom-rust-diff.1"} <= found
    assert all((tmp_path / "shared" / path).stat().st_size > 100 for path in found)


def test_a_large_command_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "typeloom"
    with binary.open("wb") as file:
        file.truncate(20_000_001)
    command = [sys.executable, RELEASE / "archive.py", "--target", "t", "--binary", binary, "--shared", tmp_path, "--output", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "more than 20000000" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("0.1.0", "0.1.1", False),
        ("0.1.9", "0.2.0", True),
        ("1.4.0", "1.5.0", False),
        ("1.4.0", "2.0.0", True),
        ("0.0.3", "0.0.4", True),
        ("0.1.0", "0.1.0", False),
    ],
)
def test_breaking_changes_need_a_new_major_version(old: str, new: str, allowed: bool) -> None:
    assert api.may_break(old, new) is allowed


def repository(folder: Path, version: str) -> None:
    """A repository with the version in its manifest and two commits."""
    (folder / "crates" / "typeloom").mkdir(parents=True)
    (folder / "crates" / "typeloom" / "lib.rs").write_text("old\n")
    (folder / "Cargo.toml").write_text(MANIFEST.replace("0.2.0", version))
    run(folder, "init", "--quiet")
    commit(folder, "first")


def run(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, message: str) -> None:
    run(folder, "add", "--all")
    run(folder, "commit", "--quiet", "--allow-empty", "--message", message)


def compared(folder: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Runs the comparison with a command that prints the old and the new crate, and reports a breaking change."""
    command = tmp_path / "fake"
    command.write_text('#!/bin/sh\necho "$1 $2"; cat "$3/lib.rs" "$4/lib.rs"; exit 1\n')
    command.chmod(0o755)
    arguments = [sys.executable, str(RELEASE / "api.py"), "--command", str(command), "--root", str(folder)]
    return subprocess.run(arguments, capture_output=True, text=True)


@pytest.mark.skipif(os.name == "nt", reason="the command is a shell script")
def test_the_api_is_compared_with_the_last_tag(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    repository(folder, "0.1.0")
    done = compared(folder, tmp_path)
    assert (done.returncode, done.stdout) == (0, "there is no earlier release to compare with\n")
    run(folder, "tag", "v0.1.0")
    (folder / "crates" / "typeloom" / "lib.rs").write_text("new\n")
    commit(folder, "second")
    done = compared(folder, tmp_path)
    assert (done.returncode, done.stdout) == (1, "rust diff\nold\nnew\n"), done.stderr
    (folder / "Cargo.toml").write_text(MANIFEST)
    done = compared(folder, tmp_path)
    assert done.returncode == 0 and "version 0.2.0 may break the API of v0.1.0" in done.stdout


def test_the_support_policy_has_the_versions_of_the_sources() -> None:
    page = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    table = (ROOT / "crates" / "ops" / "data" / "operators.txt").read_text(encoding="utf-8")
    microsoft = (ROOT / "crates" / "ops" / "data" / "com.microsoft.txt").read_text(encoding="utf-8")
    ir_version = (ROOT / "crates" / "solver" / "pages" / "ir-version.md").read_text(encoding="utf-8")
    rust = found(r'rust-version = "([0-9.]+)"', manifest)
    onnx = found(r"^source onnx (.+)$", table)
    runtime = found(r"Operators of onnxruntime ([0-9.]+[0-9])", microsoft)
    newest = found(r"newest known is ([0-9]+)", ir_version)
    facts = [f"Rust {rust} is the oldest", f"from onnx {onnx}.", f"onnxruntime {runtime}.", f"IR version 1 to {newest} "]
    for domain, first, last in re.findall(r"^domain (\S+) (\d+) (\d+)$", table, re.MULTILINE):
        facts.append(f"| `{domain}` | {first if first == last else f'{first} to {last}'} |")
    assert len(facts) > 5
    assert [fact for fact in facts if fact not in page] == []


def found(pattern: str, text: str) -> str:
    """The part of the text that the group in the pattern matches."""
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, pattern
    return match.group(1)


def test_the_documents_install_the_version_of_the_workspace_and_lead_to_one_page() -> None:
    assert install.problems(ROOT) == []
    version = notes.workspace_version((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    page = (ROOT / install.PAGE).read_text(encoding="utf-8")
    assert {pin.group(2) for pin in install.PIN.finditer(page)} == {version}
    assert install.STATE.search(page)


def test_a_release_replaces_the_note_that_there_is_none(tmp_path: Path) -> None:
    for path in install.documents(ROOT):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    changed = {path.relative_to(tmp_path).as_posix() for path in install.write(tmp_path, "7.8.9")}
    assert {"README.md", install.PAGE, "docs/ci-recipes.md"} <= changed
    page = (tmp_path / install.PAGE).read_text(encoding="utf-8")
    assert "No release is published" not in page and "Version 7.8.9 is published" in page
    assert install.problems(tmp_path) == []
    assert install.write(tmp_path, "7.9.0")
    assert "Version 7.9.0 is published" in (tmp_path / install.PAGE).read_text(encoding="utf-8")


def test_a_line_that_installs_a_release_leads_to_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / install.PAGE).write_text("pip install typeloom==0.1.0\n")
    (tmp_path / "README.md").write_text("pip install typeloom\n")
    (tmp_path / "docs" / "a.md").write_text("[install](install.md): typeloom/typeloom@v0.2.0\n")
    assert install.problems(tmp_path) == [
        "README.md: installs typeloom from a registry, and has no link to `docs/install.md`",
        "docs/a.md: `typeloom/typeloom@v0.2.0` is not of the version in `docs/install.md`",
    ]
