//! A crate depends only on crates above it in the code map of `ARCHITECTURE.md`.

#[expect(dead_code, reason = "each test of the repository uses a part of the module")]
#[path = "repository/files.rs"]
mod repository;

use std::sync::OnceLock;

use repository::manifest::{self, Manifest};
use repository::{files, none, read, root, shown, source};

/// The crates from the bottom up: the rows of the code map in `ARCHITECTURE.md`.
fn code_map() -> &'static [String] {
    static ROWS: OnceLock<Vec<String>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let text = read(&root().join("ARCHITECTURE.md"));
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/")?.split_once('`'));
        rows.map(|(folder, _)| folder.to_owned()).collect()
    })
}

/// The crates that may depend on [`OF_FACES`].
const FACES: &[&str] = &["cli", "io", "python"];

/// Crates for terminals, files, networks and clocks.
const OF_FACES: &[&str] =
    &["anstream", "anyhow", "clap", "env_logger", "indicatif", "memmap2", "reqwest", "tokio", "ureq"];

/// Items of the standard library that perform input or output.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "process::Command",
    "process::exit",
    "std::time",
    "io::std",
    "File::",
];

/// The position of a crate in the code map.
fn position(folder: &str) -> Option<usize> {
    code_map().iter().position(|row| row == folder)
}

/// Whether a crate is below the facade and must not perform input or output.
fn is_core(folder: &str) -> bool {
    position(folder) < position("typeloom")
}

/// Workspace crates that a crate depends on, by folder.
fn inner<'m>(manifest: &'m Manifest, all: &'m [Manifest]) -> impl Iterator<Item = &'m str> {
    let named = |package: &String| all.iter().find(|other| other.package == *package);
    manifest.dependencies.iter().filter_map(named).map(|other| other.folder.as_str())
}

#[test]
fn the_code_map_lists_every_crate() {
    let missing = manifest::all().into_iter().filter(|manifest| position(&manifest.folder).is_none());
    none("crates missing from the code map", &missing.map(|manifest| manifest.folder).collect::<Vec<_>>());
}

#[test]
fn packages_are_named_after_their_folders() {
    let odd = manifest::all().into_iter().filter(|Manifest { folder, package, .. }| {
        folder != package && *package != format!("typeloom-{folder}")
    });
    none("packages", &odd.map(|manifest| manifest.package).collect::<Vec<_>>());
}

#[test]
fn dependencies_follow_the_code_map() {
    let all = manifest::all();
    let mut edges = 0;
    let mut upward = Vec::new();
    for manifest in &all {
        for below in inner(manifest, &all) {
            edges += 1;
            if position(below) >= position(&manifest.folder) {
                upward.push(format!("{} -> {below}", manifest.folder));
            }
        }
    }
    assert!(edges > 0, "no dependency between crates was read");
    none("dependencies against the order of the code map", &upward);
}

#[test]
fn only_faces_need_crates_of_faces() {
    let mut found = Vec::new();
    for manifest in manifest::all().iter().filter(|manifest| !FACES.contains(&manifest.folder.as_str())) {
        let faces = manifest.dependencies.iter().filter(|name| OF_FACES.contains(&name.as_str()));
        found.extend(faces.map(|name| format!("{} -> {name}", manifest.folder)));
    }
    none("dependencies that belong to faces", &found);
}

#[test]
fn core_crates_touch_nothing_outside() {
    let mut found = Vec::new();
    for folder in manifest::all().iter().map(|manifest| manifest.folder.as_str()).filter(|it| is_core(it)) {
        for path in files(&format!("crates/{folder}/src"), "rs") {
            let of_tests = ["tests", "testing"].iter().any(|name| shown(&path).contains(name));
            let code = source::code_of(&read(&path));
            let code = code.split_once("#[cfg(test)]\nmod tests {").map_or(code.as_str(), |(code, _)| code);
            for outside in OUTSIDE.iter().filter(|outside| !of_tests && code.contains(**outside)) {
                found.push(format!("{}: {outside}", shown(&path)));
            }
        }
    }
    none("uses of the world outside in core crates", &found);
}
