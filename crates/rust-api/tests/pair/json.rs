//! The JSON of small crates, written by the toolchain that runs the tests.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The JSON that `cargo rustdoc` writes for a crate of this name with this source.
pub(crate) fn of(name: &str, source: &str) -> Vec<u8> {
    with(name, source, &[])
}

/// The same, with further options for rustdoc.
pub(crate) fn with(name: &str, source: &str, options: &[&str]) -> Vec<u8> {
    in_edition("2024", name, source, options)
}

/// The same, in another edition.
pub(crate) fn in_edition(year: &str, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("typeloom-rust-{}-{number}", std::process::id()));
    let json = write(&folder, year, name, source, options);
    std::fs::remove_dir_all(&folder).expect("the folder was made by this test");
    json
}

fn write(folder: &Path, year: &str, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"{year}\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n"
    );
    std::fs::create_dir_all(folder).expect("the folder for temporary files can be written to");
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("the folder was just made");
    std::fs::write(folder.join("lib.rs"), source).expect("the folder was just made");
    let output = Command::new(env!("CARGO"))
        .args(["rustdoc", "--offline", "--quiet", "--lib", "--target-dir"])
        .arg(folder.join("target"))
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        .args(options)
        .current_dir(folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS")
        .output()
        .expect("the toolchain that runs the tests has a cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join("target/doc").join(format!("{name}.json"))).expect("cargo wrote the file")
}
