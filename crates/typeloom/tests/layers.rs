//! The crate graph runs one way. `ARCHITECTURE.md` draws the picture; this holds the manifests to it.

#[expect(dead_code, reason = "shared with the other tests of the repository's shape")]
#[path = "repository/files.rs"]
mod repository;

use repository::manifest::{self, Manifest};
use repository::{files, none, read, shown, source};

/// The layers from the top down, by folder: a crate needs only crates of layers below its own.
/// A new crate is placed here first.
const LAYERS: &[&[&str]] = &[
    &["cli", "spec", "fuzz-targets"],
    &["differential"],
    &["typeloom"],
    &["report", "components"],
    &["runtime"],
    &["wire"],
    &["compiler"],
    &["module"],
    &["interface", "rewrite"],
    &["ops"],
    &["solver", "cpu"],
    &["contracts"],
    &["onnx"],
    &["types", "rust-api"],
    &["pool"],
    &["term"],
];

/// Crates that own terminals, files and clocks, and only the command may need.
const OF_FACES: &[&str] =
    &["anstream", "anyhow", "clap", "env_logger", "indicatif", "memmap2", "reqwest", "tokio", "ureq"];

/// What touches the world outside, in the standard library.
const OUTSIDE: &[&str] =
    &["std::fs", "std::env", "std::net", "std::process", "std::time", "io::std", "File::"];

fn layer(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&folder))
}

/// Crates below the facade: everything that has to stay free of input and output.
fn is_core(folder: &str) -> bool {
    layer(folder) > layer("typeloom")
}

/// The dependencies of a crate that are crates of the workspace, by folder.
fn inner<'m>(manifest: &'m Manifest, all: &'m [Manifest]) -> impl Iterator<Item = &'m str> {
    let named = |package: &String| all.iter().find(|other| other.package == *package);
    manifest.dependencies.iter().filter_map(named).map(|other| other.folder.as_str())
}

#[test]
fn every_crate_has_a_layer() {
    let unplaced = manifest::all().into_iter().filter(|manifest| layer(&manifest.folder).is_none());
    none("crates without a layer", &unplaced.map(|manifest| manifest.folder).collect::<Vec<_>>());
}

#[test]
fn packages_are_named_after_their_folders() {
    let odd = manifest::all().into_iter().filter(|Manifest { folder, package, .. }| {
        folder != package && *package != format!("typeloom-{folder}")
    });
    none("packages", &odd.map(|manifest| manifest.package).collect::<Vec<_>>());
}

#[test]
fn dependencies_point_down() {
    let all = manifest::all();
    let mut edges = 0;
    let mut upward = Vec::new();
    for manifest in &all {
        for below in inner(manifest, &all) {
            edges += 1;
            if layer(below) <= layer(&manifest.folder) {
                upward.push(format!("{} -> {below}", manifest.folder));
            }
        }
    }
    assert!(edges > 0, "no dependency between crates was read");
    none("dependencies that do not point down", &upward);
}

#[test]
fn only_the_command_needs_crates_of_faces() {
    let mut found = Vec::new();
    for manifest in manifest::all().iter().filter(|manifest| manifest.folder != "cli") {
        let faces = manifest.dependencies.iter().filter(|name| OF_FACES.contains(&name.as_str()));
        found.extend(faces.map(|name| format!("{} -> {name}", manifest.folder)));
    }
    none("dependencies that belong to the command", &found);
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
