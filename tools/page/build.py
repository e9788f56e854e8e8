"""Builds the script, the style and the engine of pages into `crates/view/assets`.

    python tools/page/build.py            # writes the files
    python tools/page/build.py --texts    # writes the script and the style only
    python tools/page/build.py --check    # builds all files and compares, without writing

Needs Node.js with npm, and a Rust toolchain with the target `wasm32-unknown-unknown`. `npm ci` installs the compilers that
`crates/view/page/package-lock.json` pins, without running their scripts. The optimizer of Binaryen is not used: the compressed module would
not be smaller.

The files are the same on every machine: paths are removed from the module, and `built.json` has the version of each tool. A module
of another compiler has other bytes, so `--check` compares the module only if `rustc` has the recorded version. Without npm or the
target, `--check` prints what it cannot compare; with `CI=true` a missing npm is an error.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "crates" / "view" / "page"
ASSETS = ROOT / "crates" / "view" / "assets"
TARGET = "wasm32-unknown-unknown"
#: Maximum sizes in bytes.
MAX_SCRIPT = 42_000
MAX_MODULE = 330_000


class Unavailable(Exception):
    """A tool is missing."""


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """The output of a command; ends the program if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed with {done.returncode}\n{done.stdout}")
    return done.stdout


def install() -> dict[str, str]:
    """Installs the pinned compilers; returns their versions."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise Unavailable("npm is not installed")
    lock = (PAGE / "package-lock.json").read_bytes()
    stamp = PAGE / "node_modules" / ".typeloom-lock"
    digest = hashlib.sha256(lock).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=PAGE)
        stamp.write_text(digest)
    return json.loads((PAGE / "package.json").read_text())["devDependencies"]


def tool(name: str) -> Path:
    return PAGE / "node_modules" / ".bin" / name


def texts() -> dict[str, bytes]:
    """The script and the style, with their hashes for the content security policy."""
    run(tool("tsc"), "--noEmit", cwd=PAGE)
    # A server that declares another encoding changes no byte of the script.
    options = ["--bundle", "--minify", "--target=es2022", "--charset=ascii", "--log-level=warning"]
    script = run(tool("esbuild"), "src/main.ts", *options, "--format=iife", "--loader:.css=text", cwd=PAGE)
    style = run(tool("esbuild"), "page.css", "--minify", "--target=chrome123,firefox120,safari17.5", cwd=PAGE)
    if len(script.encode()) > MAX_SCRIPT:
        sys.exit(f"the script has {len(script.encode())} bytes, more than {MAX_SCRIPT}")
    files = {"page.js": script.strip().encode(), "page.css": style.strip().encode()}
    for name, contents in list(files.items()):
        if any(end in contents for end in (b"</script", b"</style", b"<!--")):
            sys.exit(f"{name} would end its element")
        files[f"{name}.sha256"] = base64.b64encode(hashlib.sha256(contents).digest())
    return files


def compiler() -> str:
    """The version of the Rust compiler, which must have the target."""
    version = run("rustc", "--version").strip()
    libraries = Path(run("rustc", "--print", "target-libdir", "--target", TARGET).strip())
    if not libraries.is_dir():
        raise Unavailable(f"the target {TARGET} is not installed: rustup target add {TARGET}")
    return version


def module() -> bytes:
    """The engine, without the paths of this machine."""
    cargo_home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    flags = [f"--remap-path-prefix={cargo_home}=cargo", f"--remap-path-prefix={ROOT}=."]
    env = {name: value for name, value in os.environ.items() if name not in ("RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS")}
    env["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    # Settings of a developer do not change the module.
    env = {name: value for name, value in env.items() if not name.startswith("CARGO_PROFILE_")}
    command = ["cargo", "rustc", "--locked", "--quiet", "--profile", "page", "--target", TARGET, "--package", "typeloom-view", "--lib"]
    run(*command, "--crate-type", "cdylib", env=env)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = folder / TARGET / "page" / "typeloom_view.wasm"
    contents = built.read_bytes()
    for path in (str(ROOT), cargo_home, str(Path.home())):
        if path.encode() in contents:
            sys.exit(f"the module contains the path {path}")
    if len(zlib.compress(contents, 9)) > MAX_MODULE:
        sys.exit(f"the module has more than {MAX_MODULE} bytes")
    return contents


def build() -> tuple[dict[str, bytes], bytes | None, dict[str, str], list[str]]:
    """The texts, the module if its tools are there, the versions of tools, and notes about missing ones."""
    versions = install()
    files = texts()
    try:
        versions["rustc"] = compiler()
        return files, module(), versions, []
    except Unavailable as missing:
        return files, None, versions, [str(missing)]


def inflated(path: Path) -> bytes | None:
    try:
        return zlib.decompress(path.read_bytes())
    except (FileNotFoundError, zlib.error):
        return None


def write() -> None:
    files, engine, versions, notes = build()
    if engine is None:
        sys.exit("\n".join(notes))
    ASSETS.mkdir(exist_ok=True)
    files["built.json"] = (json.dumps(dict(sorted(versions.items())), indent=2) + "\n").encode()
    # Versions of zlib compress differently, so a module that stays the same keeps its file.
    if inflated(ASSETS / "engine.wasm.zlib") != engine:
        files["engine.wasm.zlib"] = zlib.compress(engine, 9)
    for name, contents in files.items():
        (ASSETS / name).write_bytes(contents)
    print(f"engine: {len(engine):,} bytes, {(ASSETS / 'engine.wasm.zlib').stat().st_size:,} compressed")
    print("".join(f"{path.name}: {path.stat().st_size:,} bytes\n" for path in sorted(ASSETS.iterdir())), end="")


def write_texts() -> None:
    install()
    for name, contents in texts().items():
        (ASSETS / name).write_bytes(contents)


def check() -> None:
    recorded = json.loads((ASSETS / "built.json").read_text())
    try:
        files, engine, versions, notes = build()
    except Unavailable as missing:
        if os.environ.get("CI") == "true":
            sys.exit(str(missing))
        print(f"not checked: {missing}")
        return
    wrong = [name for name, contents in files.items() if not (ASSETS / name).exists() or (ASSETS / name).read_bytes() != contents]
    wrong += [f"built.json: {name}" for name, version in versions.items() if name != "rustc" and recorded.get(name) != version]
    if engine is not None and versions["rustc"] != recorded["rustc"]:
        notes.append(f"the module is of {recorded['rustc']}, not of {versions['rustc']}")
    elif engine is not None and inflated(ASSETS / "engine.wasm.zlib") != engine:
        wrong.append("engine.wasm.zlib")
    for note in notes:
        print(f"not checked: {note}")
    if wrong:
        sys.exit("outdated: " + ", ".join(wrong) + "; run python tools/page/build.py")
    print("the files in crates/view/assets are up to date")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", action="store_true", help="write the script and the style only")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    if arguments.check:
        check()
    elif arguments.texts:
        write_texts()
    else:
        write()


if __name__ == "__main__":
    main()
