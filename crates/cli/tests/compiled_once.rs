//! `cargo test --workspace` compiles no crate again that the first command of the README has compiled.
//!
//! Cargo compiles a crate once for each set of its features, and each crate that uses it again. So a feature that one dependency adds
//! in a build of the whole workspace costs a second compilation of all crates above it. `Cargo.toml` of this crate names such features.

use std::collections::BTreeSet;
use std::process::Command;

/// Crates that differ by intent: the features of the command itself, of its reports and of terminals.
const BY_FEATURE: &[&str] = &["clap", "clap_builder", "typeloom-cli", "typeloom-report"];

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

#[test]
fn the_first_command_and_the_tests_compile_the_same_crates() {
    let first = resolved(&["--package", "typeloom-cli", "--no-default-features", "--edges", "normal,build"]);
    let tests = resolved(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(first.len() > 20 && tests.len() > first.len(), "{} and {} packages", first.len(), tests.len());
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let again: Vec<&String> =
        first.difference(&tests).filter(|line| !BY_FEATURE.contains(&name(line).as_str())).collect();
    let others =
        again.iter().map(|line| tests.iter().filter(|it| name(it) == name(line)).collect::<Vec<_>>());
    let shown: Vec<String> =
        again.iter().zip(others).map(|(line, others)| format!("{line}\n    in a test: {others:?}")).collect();
    assert!(shown.is_empty(), "compiled again with other features:\n{}", shown.join("\n"));
}
