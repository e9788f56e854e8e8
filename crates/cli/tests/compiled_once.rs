//! `cargo test --workspace` does not compile again what the first command of the README has compiled.
//!
//! Cargo compiles a crate once for each set of its features, and each crate that uses it as often. So a
//! feature that one dependency adds in a build of the whole workspace costs a second compilation of all
//! crates above it. `Cargo.toml` of the workspace and of this crate name such features.

use std::collections::BTreeSet;
use std::process::Command;

/// Crates that are meant to differ: the command and the facade, with the crates that the command reads and
/// reports by, have features, and `clap` one for terminals. Of these builds, only the facade uses the crate
/// of tensors, which has other values only where models are run.
const BY_FEATURE: &[&str] = &[
    "clap",
    "clap_builder",
    "typeloom",
    "typeloom-cli",
    "typeloom-io",
    "typeloom-project",
    "typeloom-report",
    "typeloom-tensor",
];

/// Each package with its version and its features, as Cargo resolves them for a selection.
fn resolved(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none", "--format", "{p} [{f}]"])
        .args(selection)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are text");
    // A package that was listed before has a mark at the end.
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

fn name(package: &str) -> &str {
    package.split(' ').next().unwrap_or_default()
}

#[test]
fn the_first_command_and_the_tests_compile_the_same_crates() {
    let first = resolved(&["--package", "typeloom-cli", "--no-default-features", "--edges", "normal,build"]);
    let tests = resolved(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(first.len() > 20 && tests.len() > first.len(), "{} and {} packages", first.len(), tests.len());
    let mut wrong = String::new();
    for package in first.difference(&tests).filter(|package| !BY_FEATURE.contains(&name(package))) {
        let others: Vec<_> = tests.iter().filter(|other| name(other) == name(package)).collect();
        wrong.push_str(&format!("\n{package}\n    in the tests: {others:?}"));
    }
    assert!(wrong.is_empty(), "compiled again with other features:{wrong}");
}
