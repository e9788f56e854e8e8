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
profiled_rustc = loaded("profiled_rustc")
backend = loaded("backend")

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
    assert not {"typeloom-spec", "typeloom-python", "typeloom-differential", "typeloom-fuzz-targets"} & set(names)


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


def test_a_compressed_wheel_has_the_same_members_and_is_smaller(tmp_path: Path) -> None:
    wheel = tmp_path / "first" / "name-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    text = "\n".join(f"line {number}: {number * number}" for number in range(20_000))
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        tool = zipfile.ZipInfo("name/tool", (2026, 11, 26, 12, 30, 58))
        tool.external_attr = 0o100755 << 16
        tool.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(tool, text)
        archive.writestr("name/\u00e9.txt", "")
    command = [sys.executable, RELEASE / "compress_wheel.py", wheel, tmp_path / "dist"]
    subprocess.run(command, check=True, capture_output=True)
    result = tmp_path / "dist" / wheel.name
    with zipfile.ZipFile(result) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["name/tool", "name/\u00e9.txt"]
        assert archive.read("name/tool").decode() == text
        assert archive.getinfo("name/tool").external_attr == tool.external_attr
        assert archive.getinfo("name/tool").date_time == tool.date_time
    assert result.stat().st_size < wheel.stat().st_size
    assert [path.name for path in result.parent.iterdir()] == [wheel.name]


def test_a_wheel_is_not_compressed_in_place(tmp_path: Path) -> None:
    wheel = tmp_path / "name-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("name.py", "")
    before = wheel.read_bytes()
    command = [sys.executable, RELEASE / "compress_wheel.py", wheel, tmp_path]
    assert subprocess.run(command, capture_output=True).returncode == 2
    assert wheel.read_bytes() == before


@pytest.fixture
def rustc(tmp_path: Path) -> Path:
    """A compiler that prints its arguments."""
    compiler = tmp_path / "rustc"
    compiler.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    compiler.chmod(0o755)
    return compiler


def wrapped(rustc: Path, environment: dict[str, str], *arguments: str) -> list[str]:
    """The arguments that the wrapper passes to the compiler."""
    package = {"CARGO_PKG_NAME": "a-b", "CARGO_PKG_VERSION": "1.2.3"}
    command = [sys.executable, RELEASE / "profiled_rustc.py", rustc, *arguments]
    done = subprocess.run(command, env=os.environ | package | environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def test_the_options_of_a_profile_are_added_for_the_crates_of_the_check(rustc: Path) -> None:
    environment = backend.variables(["-Cprofile-use=/a b/c,d", backend.HOT], backend.USED)
    assert environment["RUSTC_WRAPPER"] == str(RELEASE / "profiled_rustc.py")
    for crate in backend.USED:
        assert wrapped(rustc, environment, "--crate-name", crate)[2:] == ["-Cprofile-use=/a b/c,d", backend.HOT]
    assert wrapped(rustc, environment, "--crate-name", "typeloom_cpu")[2:] == []
    assert wrapped(rustc, environment, "-vV") == ["-vV"]


def test_symbols_contain_the_package_and_not_a_hash_of_its_dependencies(rustc: Path) -> None:
    hashed = ["-C", "metadata=1a2b", "-C", "extra-filename=-1a2b"]
    assert wrapped(rustc, {}, "--crate-name", "a_b", *hashed)[3:] == ["metadata=a-b-1.2.3", *hashed[2:]]
    for arguments in (["--crate-name", "build_script_build"], ["--crate-name", "a_b", "--crate-type", "proc-macro"]):
        assert wrapped(rustc, {}, *arguments, *hashed) == [*arguments, *hashed]


def test_the_recorded_profile_is_used_with_its_compiler_only(rustc: Path, tmp_path: Path) -> None:
    crate = ["--crate-name", "typeloom_solver"]
    assert wrapped(rustc, {}, *crate) == crate, "this compiler has another version"
    recorded = profiled_rustc.COMPILER.read_text(encoding="utf-8")
    assert recorded.startswith("rustc ")
    (tmp_path / "version").write_text(recorded)
    rustc.write_text(f'#!/bin/sh\nif [ "$1" = -vV ]; then cat "{tmp_path}/version"; else printf "%s\\n" "$@"; fi\n')
    assert wrapped(rustc, {}, *crate) == [*crate, f"-Cprofile-use={profiled_rustc.PROFILE}"]


@pytest.mark.skipif(os.name != "posix", reason="the wrapper is a script")
def test_the_build_backend_uses_a_profile_of_this_compiler_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUSTC_WRAPPER", raising=False)
    seen: list[str | None] = []

    def build(*_arguments: object) -> str:
        seen.append(os.environ.get("TYPELOOM_PROFILE"))
        return "a.whl"

    monkeypatch.setattr(backend.maturin, "build_wheel", build)
    monkeypatch.setattr(backend.maturin, "build_editable", build)
    before = dict(os.environ)
    recorded = profiled_rustc.COMPILER.read_text(encoding="utf-8").strip()
    for version in (recorded, recorded.replace("rustc ", "rustc 9"), ""):
        monkeypatch.setattr(profiled_rustc, "compiler", lambda _rustc, version=version: version)
        assert backend.build_wheel("folder") == backend.build_editable("folder") == "a.whl"
        assert dict(os.environ) == before
    monkeypatch.setattr(profiled_rustc, "compiler", lambda _rustc: recorded)
    monkeypatch.setenv("RUSTC_WRAPPER", "a cache")
    backend.build_wheel("folder")
    options = f"-Cprofile-use={profiled_rustc.PROFILE}\n{backend.HOT}"
    assert seen == [options, options, None, None, None, None, None]


def test_an_archive_of_the_sources_has_the_build_backend_without_a_profile(tmp_path: Path) -> None:
    maturin = Path(sys.executable).parent / "maturin"
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("*/tools/release")
    command = [sys.executable, "-c", "import backend, profiled_rustc; assert not profiled_rustc.fits()"]
    subprocess.run(command, cwd=folder, check=True)


def test_the_crates_with_a_profile_exist() -> None:
    for crate in profiled_rustc.CRATES:
        assert (ROOT / "crates" / crate.removeprefix("typeloom_") / "Cargo.toml").is_file()
    assert {*backend.USED} <= {*profiled_rustc.CRATES, backend.MODULE}
