//! The JSON of small crates, written by the toolchain that runs the tests.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The JSON of crates by their sources. Each entry is written once, by the first thread that needs it.
type Written = HashMap<String, Arc<OnceLock<Vec<u8>>>>;

/// The JSON that `rustdoc` writes for a crate of this name with this source.
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
    // Many tests compare variants with one crate. Threads that need the same crate wait for the first one of
    // them.
    static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);
    let key = format!("{year}\n{name}\n{options:?}\n{source}");
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let json = Arc::clone(written.get_or_insert_default().entry(key).or_default());
    drop(written);
    let make = || {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("typeloom-rust-{}-{number}", std::process::id()));
        let json = write(&folder, year, name, source, options);
        std::fs::remove_dir_all(&folder).expect("the folder was made by this test");
        json
    };
    json.get_or_init(make).clone()
}

/// Names that a crate without `std` does not have.
const OF_STD: &[&str] = &["std", "alloc", "Box", "Vec", "String", "ToOwned", "vec!", "format!", "println!"];

fn write(folder: &Path, year: &str, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
    std::fs::create_dir_all(folder).expect("the folder for temporary files can be written to");
    // For a crate without `std`, rustdoc needs half of the time.
    let head = if OF_STD.iter().any(|name| source.contains(name)) { "" } else { "#![no_std]\n" };
    std::fs::write(folder.join("lib.rs"), format!("{head}{source}")).expect("the folder was just made");
    // Without cargo, which takes longer than rustdoc.
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| {
        Path::new(env!("CARGO")).with_file_name(format!("rustdoc{}", std::env::consts::EXE_SUFFIX)).into()
    });
    let output = Command::new(rustdoc)
        .args(["lib.rs", "--crate-type", "lib", "--crate-version", "1.0.0"])
        .args(["--crate-name", name, "--edition", year, "--out-dir", "."])
        .args(["-Z", "unstable-options", "--output-format", "json"])
        .args(options)
        .current_dir(folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .expect("the toolchain that runs the tests has rustdoc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join(format!("{name}.json"))).expect("rustdoc wrote the file")
}
