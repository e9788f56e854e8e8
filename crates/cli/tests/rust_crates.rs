//! `typeloom rust` for crate folders: the command builds the documentation and leaves the folders as they
//! are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use typeloom_testing::{is_all, number};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-cli-crates-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for temporary files can be written to");
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("it is in the folder"))
            .expect("the folder can be written to");
        std::fs::write(path, text).expect("the folder can be written to");
    }

    /// Writes a crate `sample` with further lines in its manifest.
    fn krate(&self, folder: &str, manifest: &str, source: &str) {
        let header = "[workspace]\n[package]\nname = \"sample\"\nversion = \"1.0.0\"\n";
        self.write(&format!("{folder}/Cargo.toml"), &format!("{header}{manifest}"));
        self.write(&format!("{folder}/src/lib.rs"), source);
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_typeloom"));
        let run =
            command.arg("rust").args(args).current_dir(&self.0).env("CARGO_NET_OFFLINE", "true").output();
        let Output { status, stdout, stderr } = run.expect("the command was built");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command writes text");
        (status.code(), text(stdout), text(stderr))
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        fn search(folder: &Path, files: &mut BTreeSet<PathBuf>) {
            for entry in std::fs::read_dir(folder).expect("the folder can be read") {
                let path = entry.expect("the folder can be read").path();
                if path.is_dir() {
                    search(&path, files);
                }
                files.insert(path);
            }
        }
        let mut files = BTreeSet::new();
        search(&self.0, &mut files);
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A temporary folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Without `std`, rustdoc needs half of the time.
const OLD: &str = "
#![no_std]
pub fn kept(x: &str) {}
pub fn hidden_later() {}
#[cfg(feature = \"extra\")] pub fn extra() {}
mod private { pub trait Sealed {} impl Sealed for u8 {} }
pub trait Tr: private::Sealed {}
";

const NEW: &str = "
#![no_std]
pub fn kept(x: &str) {}
#[doc(hidden)] pub fn hidden_later() {}
pub trait Tr {}
";

#[test]
fn two_folders_are_documented_and_compared_and_not_changed() {
    let folder = Folder::new("diff");
    let manifest = "edition = \"2021\"\n[features]\nextra = []\n";
    folder.krate("old", manifest, OLD);
    folder.krate("new", manifest, NEW);
    let before = folder.files();
    let narrowed = "function sample::hidden_later was narrowed\n  at   documentation";
    // A short run has each statement once: the description shows that `extra` is not a default feature.
    if is_all() {
        let (code, out, err) = folder.run(&["diff", "old", "new"]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        assert!(out.ends_with("2 changes, 0 breaking\n"), "{out}");
        assert!(out.contains(narrowed), "{out}");
        let (code, out, _) = folder.run(&["describe", "new"]);
        assert_eq!(code, Some(0));
        assert!(out.starts_with("trait sample::Tr\nfn sample::kept(x: &str)\n\n"), "{out}");
    }
    let (code, out, err) = folder.run(&["diff", "old", "new", "--all-features"]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    assert!(out.starts_with("breaking: function sample::extra was removed\n"), "{out}");
    assert!(out.ends_with("3 changes, 1 breaking\n") && out.contains(narrowed), "{out}");
    let (code, out, _) = folder.run(&["describe", "old"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("fn sample::hidden_later()") && !out.contains("extra"), "{out}");
    assert_eq!(folder.files(), before);
}

#[test]
fn the_manifest_determines_the_edition() {
    let folder = Folder::new("edition");
    for year in ["2021", "2024"] {
        let manifest = format!("edition = \"{year}\"\n");
        folder.krate(&format!("{year}/old"), &manifest, "#![no_std] pub fn f(x: &u8) -> impl Copy { 0 }");
        folder.krate(
            &format!("{year}/new"),
            &manifest,
            "#![no_std] pub fn f(x: &u8) -> impl Copy + '_ { 0 }",
        );
    }
    let diff = |old, new, more: &[&str]| folder.run(&[&["diff", old, new], more].concat()).0;
    // The third comparison shows by itself that the editions differ.
    if is_all() {
        assert_eq!(diff("2021/old", "2021/new", &[]), Some(1));
        assert_eq!(diff("2024/old", "2024/new", &[]), Some(0));
    }
    assert_eq!(diff("2021/old", "2024/old", &[]), Some(1), "the captures of edition 2024");
    assert_eq!(diff("2021/old", "2021/new", &["--edition", "2024"]), Some(0));
}

#[test]
fn a_crate_that_cannot_be_documented_is_exit_code_2_with_the_output_of_cargo() {
    let folder = Folder::new("errors");
    folder.krate("good", "", "#![no_std] pub fn f() {}");
    folder.krate("broken", "", "#![no_std] pub fn f(x: Missing) {}");
    folder.krate("manifest", "edition = \"1066\"\n", "");
    folder.write("virtual/Cargo.toml", "[workspace]\n");
    folder.write("program/Cargo.toml", "[workspace]\n[package]\nname = \"program\"\nversion = \"1.0.0\"\n");
    folder.write("program/src/main.rs", "fn main() {}");
    folder.write("empty/notes.txt", "");
    let crates = [
        ("broken", "cannot find type `Missing`"),
        ("manifest", "1066"),
        ("virtual", "workspace without a package"),
        ("program", "no library"),
        ("empty", "without a `Cargo.toml`"),
        ("absent", "cannot read"),
        ("sample@1", "not a full version"),
        ("$(id)@1.0.0", "not the name of a package"),
    ];
    for (krate, reason) in crates {
        // Each command takes some tenths of a second, and a comparison documents two crates.
        let forms = [&["describe", krate][..], &["diff", "good", krate]];
        let first = usize::from(krate == "program");
        for args in forms.into_iter().skip(number(first, 0)).step_by(number(2, 1)) {
            let (code, out, err) = folder.run(args);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
            assert!(err.contains(reason), "{args:?}: {err}");
            if args == ["describe", "broken"] {
                let end = "`broken` cannot be documented: cargo rustdoc failed (exit status: 101)\n";
                assert!(err.starts_with("  | ") && err.ends_with(end), "{err}");
            }
        }
    }
}

#[test]
fn the_time_of_a_build_is_bounded() {
    let folder = Folder::new("time");
    folder.krate("slow", "", "");
    // The build script ends by itself, because the command does not stop processes that cargo started.
    folder.write("slow/build.rs", "fn main() { std::thread::sleep(std::time::Duration::from_secs(20)); }");
    let (code, out, err) = folder.run(&["describe", "slow", "--timeout", "1"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("took longer than 1 s"), "{err}");
    assert_eq!(folder.run(&["describe", "slow", "--timeout", "0"]).0, Some(2));
}
