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

/// The crates that a face imports: the facade, the check of a file, and the command, which the Python package contains.
const OF_A_FACE: &[&str] = &["cli", "project", "typeloom"];

/// The other crates that a face imports, with the reasons. An entry that is not needed is an error.
const BELOW_THE_FACADE: &[(&str, &[&str], &str)] = &[
    ("cli", &["io", "onnx"], "it maps files, copies their pieces to outputs, and converts texts"),
    ("cli", &["report", "serving", "view"], "it prints in all formats; the facade has one renderer"),
    ("cli", &["settings"], "its arguments are settings, and `config` shows them with their sources"),
    (
        "cli",
        &["ops", "solver", "targets", "types"],
        "`explain`, `ops`, `targets` and `--types` list catalogues",
    ),
    ("cli", &["rewrite"], "it shows each change of a repair, and writes annotations in pieces"),
    (
        "cli",
        &["components", "contracts", "cpu", "runtime", "wire"],
        "`run` reads and generates values, and shows them",
    ),
    ("cli", &["compiler"], "`compile --view` adds a pass that keeps the model"),
    ("cli", &["interface", "link", "pool"], "`diff` and `link` show each difference and each change"),
    ("cli", &["registry"], "`registry`: the facade has no registries"),
    (
        "cli",
        &["rust-api", "term"],
        "`rust` is a command of its own that builds without the facade's features",
    ),
    ("python", &["io"], "it maps files, and checks models in object stores"),
    (
        "python",
        &["report", "serving", "view"],
        "it returns reports as text and as objects, contracts and pages",
    ),
    ("python", &["settings"], "its arguments are settings"),
    (
        "python",
        &["onnx", "rewrite", "solver"],
        "`typeloom.onnx` does as the functions of the package onnx do",
    ),
    ("python", &["interface", "link", "registry"], "objects of Python contain interfaces and registries"),
    (
        "python",
        &["pool", "term", "types"],
        "`typeloom.pool`, `typeloom.term` and `typeloom.types` build each part of a type",
    ),
];

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
fn the_command_and_the_python_package_import_the_facade_and_the_check_of_a_file() {
    let all = manifest::all();
    let mut found = Vec::new();
    for face in ["cli", "python"] {
        let manifest = all.iter().find(|manifest| manifest.folder == face).expect("the face is a crate");
        let known: Vec<&str> = BELOW_THE_FACADE
            .iter()
            .filter(|(of, ..)| *of == face)
            .flat_map(|(_, crates, reason)| {
                assert!(!reason.is_empty(), "{face}: {crates:?}");
                crates.iter().copied()
            })
            .collect();
        let imported: Vec<&str> = inner(manifest, &all).filter(|it| !OF_A_FACE.contains(it)).collect();
        assert!(inner(manifest, &all).any(|it| it == "project"), "{face} does not call `project`");
        let is_new = |it: &&&str| !known.contains(*it);
        found.extend(imported.iter().filter(is_new).map(|it| format!("{face} -> {it}")));
        let is_unused = |it: &&&str| !imported.contains(*it);
        found.extend(
            known.iter().filter(is_unused).map(|it| format!("{face} does not import {it}: remove the entry")),
        );
    }
    none("imports of faces below the facade, without a reason", &found);
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
