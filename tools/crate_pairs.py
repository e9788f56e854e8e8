#!/usr/bin/env python3
"""Compare neighbouring releases of well-known crates with `typeloom rust diff` and with cargo-semver-checks.

    cargo install cargo-semver-checks
    python3 tools/crate_pairs.py target/release/typeloom                  # all pairs
    python3 tools/crate_pairs.py target/release/typeloom either nom       # the pairs of some crates
    python3 tools/crate_pairs.py target/release/typeloom --show either    # with every break that the tools report

The documentation of each release is built once with its default features, and both tools read the same rustdoc JSON. The
cache folder keeps the JSON and the reports of the linter. A `compatible` pair has versions that cargo treats as
compatible; a `major` pair has not. The pairs of the `sample` are compatible, and were chosen after the rules were written.
The script prints a table and the disagreements: breaks that typeloom reports in compatible pairs, and findings of the
linter at an item for which typeloom reports no break. The exit code is 0 if EXPLAINED and UNREPORTED contain a reason for
each of them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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

# Compatible pairs of crates with many traits, for a fresh sample.
SAMPLE = """
rayon 1.9.0 1.10.0
num-traits 0.2.16 0.2.17
crossbeam-utils 0.8.19 0.8.20
time 0.3.36 0.3.37
http-body-util 0.1.1 0.1.2
generic-array 0.14.6 0.14.7
num-bigint 0.4.4 0.4.5
num-complex 0.4.5 0.4.6
ordered-float 4.2.0 4.3.0
slotmap 1.0.6 1.0.7
chumsky 0.9.2 0.9.3
tower-layer 0.3.2 0.3.3
axum-core 0.4.3 0.4.5
euclid 0.22.9 0.22.10
serde_json 1.0.127 1.0.128
priority-queue 2.0.3 2.1.0
"""

# Breaks in compatible pairs that were examined, with the reason.
EXPLAINED = {
    ("nom", "7.0.0", "7.1.0"): "real: `ParseTo` is a new condition of four functions; overriders of `flat_map` need `FnMut`",
}

# Findings of the linter at items that typeloom does not report as broken: a part of their text, and the reason.
UNREPORTED = {
    ("time", "0.3.36", "0.3.37"): {
        "auto_trait_impl_removed: type Instant": "`Instant` became hidden, so rustdoc lists no auto traits; its fields have them",
    },
    ("axum-core", "0.4.3", "0.4.5"): {
        "copy_impl_added": "a new impl of `Copy` can only change what a closure captures; the version was published as compatible",
    },
    ("humantime", "2.1.0", "2.2.0"): {
        "copy_impl_added": "a new impl of `Copy` can only change what a closure captures; the version was published as compatible",
    },
    ("humantime", "1.3.0", "2.0.0"): {"type Error no longer derives Copy": "reported for its public name `DurationError`"},
    ("petgraph", "0.7.1", "0.8.0"): {
        "enum_marked_non_exhaustive: enum Config": "the hidden variant of the old version had the same effect",
    },
    ("twox-hash", "1.6.3", "2.0.0"): {
        "type Hasher no longer derives Copy": "reported for its public names `XxHash32` and `XxHash64`",
        "Hasher::total_len_64": "reported for its public name `XxHash32`",
    },
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


@dataclass
class Document:
    """The rustdoc JSON of a release, and its edition."""

    json: Path
    edition: str


@dataclass
class Comparison:
    """The reports of both tools about a pair of releases."""

    name: str
    old: str
    new: str
    kind: str
    changes: int = 0
    breaks: list[str] = field(default_factory=list)
    # Items of the breaks.
    items: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    error: str | None = None

    def key(self) -> tuple[str, str, str]:
        return self.name, self.old, self.new

    def title(self) -> str:
        return f"{self.name} {self.old}, {self.new} ({self.kind})"

    def unreported(self) -> list[str]:
        """The findings at items without a break."""
        return [finding for finding in self.findings if not any(is_about(finding, item) for item in self.items)]


class Releases:
    """Builds the documentation of releases. Each thread has a project and a target folder."""

    def __init__(self, cache: Path):
        self.cache = cache
        self.names: dict[int, str] = {}
        self.locks: dict[str, threading.Lock] = {}
        self.lock = threading.Lock()

    def document(self, name: str, version: str) -> Document:
        json_file = self.cache / f"{name}-{version}.json"
        edition_file = self.cache / f"{name}-{version}.edition"
        with self.lock:
            own = self.locks.setdefault(json_file.name, threading.Lock())
            worker = self.names.setdefault(threading.get_ident(), f"build-{len(self.names)}")
        with own:
            if not edition_file.exists():
                edition_file.write_text(build(self.cache / worker, name, version, json_file))
        return Document(json_file, edition_file.read_text())


def build(folder: Path, name: str, version: str, json_file: Path) -> str:
    """Builds the rustdoc JSON of a release, and returns its edition."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / "lib.rs").write_text("")
    (project / "Cargo.lock").unlink(missing_ok=True)
    (project / "Cargo.toml").write_text(MANIFEST.format(name=name, version=version))
    metadata = json.loads(cargo(project, "metadata", "--format-version", "1"))
    package = next(p for p in metadata["packages"] if p["name"] == name and p["version"] == version)
    kinds = ({"lib", "rlib", "dylib", "proc-macro"} & set(target["kind"]) for target in package["targets"])
    library = next(target["name"] for target, kind in zip(package["targets"], kinds) if kind).replace("-", "_")
    options = "-Z unstable-options --output-format json --document-hidden-items --document-private-items --cap-lints allow"
    target = ("--target-dir", str(folder / "target"))
    package_id = ("--package", f"{name}@{version}")
    cargo(project, "rustdoc", "--lib", *target, *package_id, "--", *options.split(), RUSTC_BOOTSTRAP=library)
    (folder / "target/doc" / f"{library}.json").rename(json_file)
    return package["edition"]


def run_typeloom(command: str, old: Document, new: Document) -> list[dict]:
    """The changes that typeloom reports."""
    editions = ["--edition", old.edition, "--new-edition", new.edition]
    args = [command, "rust", "diff", str(old.json), str(new.json), "--format", "json", *editions]
    run = subprocess.run(args, capture_output=True, text=True, timeout=900)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"typeloom: {run.stderr.strip()}")
    changes = json.loads(run.stdout)["changes"]
    assert (run.returncode == 1) == any(change["breaking"] for change in changes)
    return changes


def run_linter(command: str, old: Document, new: Document) -> list[str]:
    """The breaks that cargo-semver-checks reports: the lint and its items."""
    report = old.json.with_name(f"{old.json.stem}-{new.json.stem}.linter")
    if not report.exists():
        args = [command, "semver-checks", "--baseline-rustdoc", str(old.json), "--current-rustdoc", str(new.json)]
        args += ["--release-type", "minor", "--color", "never"]
        run = subprocess.run(args, capture_output=True, text=True, timeout=900)
        findings = linter_findings(run.stdout)
        if (run.returncode != 0) != bool(findings):
            raise RuntimeError(f"cargo-semver-checks: {run.stdout[-500:]} {run.stderr.strip()[-1000:]}")
        report.write_text(run.stdout)
    return linter_findings(report.read_text())


def linter_findings(report: str) -> list[str]:
    findings, lint = [], None
    for line in report.split("\n"):
        if heading := re.match(r"--- failure (\w+):", line):
            lint = heading[1]
        elif re.match(r"  \S", line) and lint:
            findings.append(f"{lint}: {line.strip()}")
    return findings


def is_about(finding: str, item: str) -> bool:
    """Whether the text of a finding contains the name of an item, and that of its type or trait, if it is a member, or the
    name of a module that contained the item."""
    if module := re.match(r"module_missing: mod ([\w:]+)", finding):
        return item.startswith(module[1] + "::")
    words = set(re.findall(r"\w+", finding.partition(": ")[2]))
    if item.startswith("impl ") or item.startswith("<"):
        # `impl path::Trait<..> for path::Type<..>`
        of, _, this = item.removeprefix("impl ").partition(" for ")
        names = [re.split(r"[<( ]", part.lstrip("<&"))[0].split("::")[-1] for part in (of, this)]
        return all(name in words for name in names)
    *parents, name = re.sub(r"<.*?>", "", item).split("::")
    is_member = bool(parents) and parents[-1][:1].isupper()
    return name in words and (not is_member or parents[-1] in words)


def compare(releases: Releases, args: argparse.Namespace, pair: tuple[str, str, str, str]) -> Comparison:
    result = Comparison(*pair)
    try:
        old, new = (releases.document(result.name, version) for version in (result.old, result.new))
        changes = run_typeloom(args.typeloom, old, new)
        result.changes = len(changes)
        show = "{item}: {change} at {path}: {old} -> {new}"
        result.breaks = [show.format_map(change) for change in changes if change["breaking"]]
        result.items = [change["item"] for change in changes if change["breaking"]]
        result.findings = [] if args.linter == "none" else run_linter(args.linter, old, new)
    except (RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
        result.error = repr(error)
    return result


def disagreements(result: Comparison) -> tuple[list[str], int]:
    """Lines about the disagreements of a pair, and the number of those without a reason."""
    lines, unexplained = [], 0
    if result.kind != "major" and result.breaks:
        reason = EXPLAINED.get(result.key())
        unexplained += reason is None
        lines.append(f"  breaks: {reason or 'not explained'}")
        lines += [f"    {line}" for line in result.breaks]
    reasons = UNREPORTED.get(result.key(), {})
    for finding in result.unreported():
        reason = next((reason for part, reason in reasons.items() if part in finding), None)
        unexplained += reason is None
        lines.append(f"  only the linter: {finding}: {reason or 'not explained'}")
    return lines, unexplained


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("typeloom", help="the command to test")
    parser.add_argument("crates", nargs="*", help="compare only these crates")
    parser.add_argument("--linter", default="cargo-semver-checks", help="the command cargo-semver-checks, or `none`")
    parser.add_argument("--cache", type=Path, default=Path("target/crate-pairs"), help="folder for rustdoc JSON")
    parser.add_argument("--jobs", type=int, default=2, help="number of pairs to compare at the same time")
    parser.add_argument("--show", action="store_true", help="print every break")
    args = parser.parse_intermixed_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    releases = Releases(args.cache.resolve())
    tables = {"compatible": COMPATIBLE, "major": MAJOR, "sample": SAMPLE}
    everything = [(*pair, kind) for kind, table in tables.items() for pair in pairs(table)]
    chosen = [pair for pair in everything if not args.crates or pair[0] in args.crates]
    results, details, open_disagreements = [], [], 0
    print("| crate | versions | kind | changes | breaks | findings of the linter | not reported |\n|---|---|---|---|---|---|---|")
    with ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(lambda pair: compare(releases, args, pair), chosen):
            results.append(result)
            if result.error is not None:
                continue
            numbers = result.changes, len(result.breaks), len(result.findings), len(result.unreported())
            row = [result.name, f"{result.old}, {result.new}", result.kind, *map(str, numbers)]
            print(f"| {' | '.join(row)} |", flush=True)
            lines, unexplained = disagreements(result)
            open_disagreements += unexplained
            if args.show:
                lines += [f"  typeloom: {line}" for line in result.breaks] + [f"  linter: {line}" for line in result.findings]
            details += [f"\n{result.title()}", *lines] if lines else []
    print("\n".join(details) + "\n")
    for kind in tables:
        compared = [result for result in results if result.kind == kind and result.error is None]
        findings = sum(len(result.findings) for result in compared)
        unreported = sum(len(result.unreported()) for result in compared)
        own, other = (sum(map(bool, lists)) for lists in zip(*((r.breaks, r.findings) for r in compared), strict=True)) if compared else (0, 0)
        print(f"{kind}: {len(compared)} pairs; breaks in {own}, {sum(len(r.breaks) for r in compared)} in total; findings of the "
              f"linter in {other}, {findings} in total, {unreported} at items without a break")
    failed = [result for result in results if result.error is not None]
    for result in failed:
        print(f"not compared: {result.title()}: {result.error}")
    print(f"{open_disagreements} disagreements without explanation, {len(failed)} pairs not compared")
    return 1 if open_disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
