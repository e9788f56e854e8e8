#!/usr/bin/env python3
"""Compare neighbouring releases of well-known crates with `typeloom rust diff` and with cargo-semver-checks.

    cargo install cargo-semver-checks
    python3 tools/crate_pairs.py target/release/typeloom                  # all pairs
    python3 tools/crate_pairs.py target/release/typeloom either nom       # the pairs of some crates
    python3 tools/crate_pairs.py target/release/typeloom --show either    # with every break that the tools report

The documentation of each release is built once with its default features, and both tools read the same rustdoc JSON.
A `compatible` pair has versions that cargo treats as compatible; a `major` pair has not. The script prints a table and
the disagreements: breaks that typeloom reports in compatible pairs, and pairs where only the linter reports a break. The
exit code is 0 if there are none except those that EXPLAINED lists with a reason.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

COMPATIBLE = """
itoa 1.0.14 1.0.15, 1.0.17 1.0.18
ryu 1.0.20 1.0.21
either 1.8.1 1.9.0, 1.9.0 1.10.0, 1.11.0 1.12.0, 1.14.0 1.15.0
fnv 1.0.6 1.0.7
memchr 2.6.4 2.7.0, 2.7.4 2.7.5, 2.7.6 2.8.0
smallvec 1.12.0 1.13.1, 1.13.2 1.14.0, 1.14.0 1.15.0, 1.15.1 1.15.2
arrayvec 0.7.1 0.7.2, 0.7.3 0.7.4, 0.7.5 0.7.6
bitflags 2.5.0 2.6.0, 2.8.0 2.9.0, 2.9.4 2.10.0
cfg-if 1.0.0 1.0.1
lazy_static 1.4.0 1.5.0
once_cell 1.17.2 1.18.0, 1.19.0 1.20.1, 1.20.3 1.21.0
hashbrown 0.14.3 0.14.5, 0.15.2 0.15.3, 0.15.3 0.15.4, 0.16.0 0.16.1
indexmap 2.8.0 2.9.0, 2.9.0 2.10.0, 2.10.0 2.11.0, 2.12.1 2.13.0
semver 1.0.22 1.0.23, 1.0.26 1.0.27
base64 0.21.4 0.21.5, 0.22.0 0.22.1
hex 0.4.2 0.4.3
httparse 1.7.1 1.8.0, 1.8.0 1.9.3, 1.9.5 1.10.0
percent-encoding 2.2.0 2.3.0, 2.3.1 2.3.2
unicode-width 0.1.10 0.1.11, 0.1.12 0.1.13, 0.2.0 0.2.1
log 0.4.20 0.4.21, 0.4.22 0.4.25, 0.4.27 0.4.28
scopeguard 1.1.0 1.2.0
byteorder 1.4.3 1.5.0
bytes 1.7.2 1.8.0, 1.8.0 1.9.0, 1.10.1 1.11.0
humantime 2.1.0 2.2.0, 2.2.0 2.3.0
textwrap 0.16.0 0.16.1, 0.16.1 0.16.2
strsim 0.11.0 0.11.1
heck 0.4.0 0.4.1
nom 7.0.0 7.1.0, 7.1.2 7.1.3
itertools 0.10.3 0.10.4, 0.10.4 0.10.5, 0.12.0 0.12.1
petgraph 0.6.3 0.6.4, 0.7.0 0.7.1, 0.8.1 0.8.2
fixedbitset 0.5.1 0.5.4, 0.5.6 0.5.7
tinyvec 1.6.1 1.7.0, 1.8.1 1.9.0, 1.9.0 1.10.0
slab 0.4.7 0.4.8, 0.4.9 0.4.11
adler2 2.0.0 2.0.1
crc32fast 1.3.2 1.4.0, 1.4.2 1.5.0
foldhash 0.1.3 0.1.4, 0.1.4 0.1.5
ahash 0.8.7 0.8.8, 0.8.11 0.8.12
unicode-segmentation 1.10.1 1.11.0, 1.11.0 1.12.0
data-encoding 2.5.0 2.6.0, 2.8.0 2.9.0
equivalent 1.0.1 1.0.2
fastrand 2.0.2 2.1.0, 2.2.0 2.3.0
anyhow 1.0.97 1.0.98
thiserror 2.0.11 2.0.12
http 1.2.0 1.3.0
arc-swap 1.6.0 1.7.0
bytemuck 1.21.0 1.22.0, 1.22.0 1.23.0
aho-corasick 1.1.2 1.1.3
shlex 1.2.1 1.3.0
matchit 0.8.3 0.8.4
roxmltree 0.18.0 0.18.1
siphasher 1.0.0 1.0.1
utf8parse 0.2.1 0.2.2
winnow 0.7.11 0.7.12
unicode-xid 0.2.4 0.2.5
glob 0.3.1 0.3.2
subtle 2.4.1 2.5.0, 2.5.0 2.6.1
zeroize 1.6.0 1.7.0
static_assertions 1.0.0 1.1.0
downcast-rs 1.2.0 1.2.1
dyn-clone 1.0.16 1.0.17
rustc-hash 2.1.0 2.1.1
twox-hash 2.0.1 2.1.0
xxhash-rust 0.8.15 0.8.16
constant_time_eq 0.3.0 0.3.1
seahash 4.0.1 4.1.0
bit-vec 0.6.2 0.6.3
"""

MAJOR = """
itoa 0.4.8 1.0.0
either 0.1.7 1.0.0
arrayvec 0.5.2 0.6.0, 0.6.1 0.7.0
hashbrown 0.13.2 0.14.0, 0.14.5 0.15.0, 0.15.5 0.16.0, 0.16.1 0.17.0
indexmap 1.9.3 2.0.0
base64 0.13.1 0.20.0, 0.20.0 0.21.0, 0.21.7 0.22.0
hex 0.3.2 0.4.0
percent-encoding 1.0.1 2.0.0
unicode-width 0.1.14 0.2.0
scopeguard 0.3.3 1.0.0
humantime 1.3.0 2.0.0
textwrap 0.15.2 0.16.0
strsim 0.10.0 0.11.0
heck 0.3.3 0.4.0, 0.4.1 0.5.0
nom 6.2.1 7.0.0, 7.1.3 8.0.0
itertools 0.10.5 0.11.0, 0.12.1 0.13.0, 0.13.0 0.14.0
petgraph 0.6.5 0.7.0, 0.7.1 0.8.0
fixedbitset 0.4.2 0.5.0
foldhash 0.1.5 0.2.0
fastrand 1.9.0 2.0.0
matchit 0.7.3 0.8.0
roxmltree 0.19.0 0.20.0
rustc-hash 1.1.0 2.0.0
twox-hash 1.6.3 2.0.0
downcast-rs 1.2.1 2.0.0
bit-vec 0.8.0 0.9.0
siphasher 0.3.11 1.0.0
minimal-lexical 0.1.4 0.2.0
"""

# Disagreements that were examined, with the reason.
EXPLAINED = {
    ("nom", "7.0.0", "7.1.0"): "real: `ParseTo` is a new condition of four functions; overriders of `flat_map` need `FnMut`",
    ("humantime", "2.1.0", "2.2.0"): "the linter reports a new impl of `Copy`, which can only change what a closure captures",
}

MANIFEST = """[package]
name = "crate-pairs"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[workspace]
[dependencies.documented]
package = "{name}"
version = "={version}"
"""


def pairs(table: str) -> list[tuple[str, str, str]]:
    found = []
    for line in table.split("\n"):
        name, _, versions = line.partition(" ")
        found += [(name, *pair.split()) for pair in versions.split(",") if pair.strip()]
    return found


def cargo(project: Path, *args: str, **env: str) -> str:
    command = ["cargo", *args]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=900, env={**os.environ, **env})
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip()[-1500:])
    return run.stdout


def document(cache: Path, name: str, version: str) -> tuple[Path, str]:
    """The rustdoc JSON of a release and its edition."""
    json_file = cache / f"{name}-{version}.json"
    edition_file = cache / f"{name}-{version}.edition"
    if not edition_file.exists():
        project = cache / "project"
        project.mkdir(parents=True, exist_ok=True)
        (project / "lib.rs").write_text("")
        (project / "Cargo.lock").unlink(missing_ok=True)
        (project / "Cargo.toml").write_text(MANIFEST.format(name=name, version=version))
        metadata = json.loads(cargo(project, "metadata", "--format-version", "1"))
        package = next(p for p in metadata["packages"] if p["name"] == name and p["version"] == version)
        kinds = ({"lib", "rlib", "dylib", "proc-macro"} & set(target["kind"]) for target in package["targets"])
        library = next(target["name"] for target, kind in zip(package["targets"], kinds) if kind).replace("-", "_")
        options = "-Z unstable-options --output-format json --document-hidden-items --document-private-items --cap-lints allow"
        target = ("--target-dir", str(cache / "target"))
        package_id = ("--package", f"{name}@{version}")
        cargo(project, "rustdoc", "--lib", *target, *package_id, "--", *options.split(), RUSTC_BOOTSTRAP=library)
        (cache / "target/doc" / f"{library}.json").rename(json_file)
        edition_file.write_text(package["edition"])
    return json_file, edition_file.read_text()


def ours(command: str, old: tuple[Path, str], new: tuple[Path, str]) -> tuple[int, list[str]]:
    """The number of changes and the breaks that typeloom reports."""
    editions = ["--edition", old[1], "--new-edition", new[1]]
    args = [command, "rust", "diff", str(old[0]), str(new[0]), "--format", "json", *editions]
    run = subprocess.run(args, capture_output=True, text=True, timeout=900)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"typeloom: {run.stderr.strip()}")
    changes = json.loads(run.stdout)["changes"]
    show = "{item}: {change} at {path}: {old} -> {new}"
    breaks = [show.format_map(change) for change in changes if change["breaking"]]
    assert (run.returncode == 1) == bool(breaks)
    return len(changes), breaks


def theirs(command: str, old: Path, new: Path) -> list[str]:
    """The breaks that cargo-semver-checks reports: the lint and its items."""
    args = [command, "semver-checks", "--baseline-rustdoc", str(old), "--current-rustdoc", str(new)]
    run = subprocess.run([*args, "--release-type", "minor", "--color", "never"], capture_output=True, text=True, timeout=900)
    breaks, lint = [], None
    for line in run.stdout.split("\n"):
        if heading := re.match(r"--- failure (\w+):", line):
            lint = heading[1]
        elif re.match(r"  \S", line) and lint:
            breaks.append(f"{lint}: {line.strip()}")
    if (run.returncode != 0) != bool(breaks):
        raise RuntimeError(f"cargo-semver-checks: {run.stdout[-500:]} {run.stderr.strip()[-1000:]}")
    return breaks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("typeloom", help="the command to test")
    parser.add_argument("crates", nargs="*", help="compare only these crates")
    parser.add_argument("--linter", default="cargo-semver-checks", help="the command cargo-semver-checks, or `none`")
    parser.add_argument("--cache", type=Path, default=Path("target/crate-pairs"), help="folder for rustdoc JSON")
    parser.add_argument("--show", action="store_true", help="print every break")
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    cache = args.cache.resolve()
    everything = [(*pair, "compatible") for pair in pairs(COMPATIBLE)] + [(*pair, "major") for pair in pairs(MAJOR)]
    chosen = [pair for pair in everything if not args.crates or pair[0] in args.crates]
    counts = {"compatible": [0, 0, 0], "major": [0, 0, 0]}
    details, failed, open_disagreements = [], [], 0
    print("| crate | versions | kind | changes | breaks | linter |\n|---|---|---|---|---|---|")
    for name, old, new, kind in chosen:
        try:
            files = document(cache, name, old), document(cache, name, new)
            changes, own = ours(args.typeloom, *files)
            other = [] if args.linter == "none" else theirs(args.linter, files[0][0], files[1][0])
        except (RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
            failed.append(f"{name} {old} {new}: {error!r}")
            continue
        count = counts[kind]
        count[0] += 1
        count[1] += bool(own)
        count[2] += bool(other)
        print(f"| {name} | {old}, {new} | {kind} | {changes} | {len(own)} | {len(other)} |", flush=True)
        if (other and not own) or (kind == "compatible" and own):
            reason = EXPLAINED.get((name, old, new))
            open_disagreements += reason is None
            details.append(f"\n{name} {old}, {new} ({kind}): {reason or 'not explained'}")
        elif args.show:
            details.append(f"\n{name} {old}, {new} ({kind})")
        else:
            continue
        details += [f"  typeloom: {line}" for line in own] + [f"  linter: {line}" for line in other]
    print("\n".join(details))
    for kind, (number, own, other) in counts.items():
        print(f"{kind}: {number} pairs; typeloom reports {own} as breaking, the linter {other}")
    for line in failed:
        print(f"not compared: {line}")
    print(f"{open_disagreements} disagreements without explanation, {len(failed)} pairs not compared")
    return 1 if open_disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
