//! Questions to rustc and to the comparison of crates, and random choices.
//!
//! A test calls [`for_each_seed`] and collects questions in a [`Probe`]: the declarations of an old and a new
//! crate, and for each name a statement that rustc accepts exactly if the new declaration can replace the old
//! one. [`Probe::ask`] compiles the statements, compares the crates, and records both answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use typeloom_rust_api::ItemChange;
use typeloom_testing::number;

use crate::compare::compare;
use crate::json;

/// A generator of random numbers (an LCG with the constants of Knuth's MMIX).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut this = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        this.below(2);
        this
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    pub(crate) fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

/// Seeds selected by `TYPELOOM_RUSTC_SEEDS`: a number of seeds from 0, or a range such as `1000..1060`; one
/// seed by default.
fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TYPELOOM_RUSTC_SEEDS") else { return 0..1 };
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    let number = |text: &str| text.parse().expect("TYPELOOM_RUSTC_SEEDS is a number or a range");
    number(from)..number(to)
}

/// Runs a test for each selected seed. The salt gives every test its own choices.
pub(crate) fn for_each_seed(salt: u64, mut test: impl FnMut(u64, Random)) {
    for seed in seeds() {
        println!("seed {seed}");
        test(seed, Random::new(seed ^ salt));
    }
}

/// A temporary folder, removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("typeloom-agreement-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for temporary files can be written to");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Statements by name.
pub(crate) type Statements = BTreeMap<String, String>;

/// The names of the statements that rustc accepts after a source. `None` if it rejects the source.
pub(crate) fn accepted(source: &str, statements: &Statements) -> Option<BTreeSet<String>> {
    accepted_in(&Folder::new(), "probe", source, statements, &[])
}

/// The same, for a crate of a given name in a folder. Its metadata stays there if all statements are
/// accepted.
pub(crate) fn accepted_in(
    folder: &Folder,
    name: &str,
    source: &str,
    statements: &Statements,
    options: &[&str],
) -> Option<BTreeSet<String>> {
    let mut source = source.to_owned();
    let before = source.lines().count() as u64;
    let mut lines = BTreeMap::new();
    for (line, (name, statement)) in (before + 1..).zip(statements) {
        lines.insert(line, name.clone());
        assert!(!statement.contains('\n'), "a statement is one line");
        writeln!(source, "{statement}").expect("text");
    }
    let file = folder.0.join(format!("{name}.rs"));
    std::fs::write(&file, &source).expect("the folder was just made");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=json", "--out-dir"])
        .arg(&folder.0)
        .args(options)
        .arg(&file)
        .output()
        .expect("the toolchain that runs the tests has a rustc");
    let mut all: BTreeSet<String> = statements.keys().cloned().collect();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("rustc writes JSON");
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().into_iter().flatten();
        let here: Vec<u64> = spans
            .filter(|span| span["file_name"].as_str().is_some_and(|of| file.ends_with(of)))
            .filter_map(|span| span["line_start"].as_u64())
            .collect();
        let rejected: Vec<&String> = here.iter().filter_map(|line| lines.get(line)).collect();
        // A message without a location is the number of errors.
        if !here.is_empty() && rejected.is_empty() {
            return None;
        }
        for name in rejected {
            all.remove(name);
        }
    }
    Some(all)
}

/// Whether a change of an item whose path contains `name` is a break.
pub(crate) fn breaks(changes: &[ItemChange], name: &str) -> bool {
    changes.iter().any(|change| change.breaking && change.item.contains(name))
}

/// Two versions of a crate that differ in the declarations of questions.
pub(crate) struct Probe {
    prelude: String,
    old: String,
    new: String,
    questions: Statements,
}

impl Probe {
    /// Versions that both start with these lines.
    pub(crate) fn new(prelude: &str) -> Self {
        let (old, new) = (prelude.to_owned(), prelude.to_owned());
        Self { prelude: prelude.to_owned(), old, new, questions: Statements::new() }
    }

    /// Adds declarations to the versions.
    pub(crate) fn declare(&mut self, old: &str, new: &str) {
        writeln!(self.old, "{old}").expect("text");
        writeln!(self.new, "{new}").expect("text");
    }

    /// Adds a question: the declarations, and the statement about them. The paths of these declarations
    /// contain the name of the question, and no others do.
    pub(crate) fn question(&mut self, name: &str, old: &str, new: &str, statement: String) {
        self.declare(old, new);
        self.questions.insert(name.to_owned(), statement);
    }

    /// The changes from the old version to the new one.
    pub(crate) fn changes(&self) -> Vec<ItemChange> {
        compare(&json::of("probe", &self.old), &json::of("probe", &self.new))
    }

    /// Answers all questions, and records each answer in the tally that `which` selects by the name.
    pub(crate) fn ask(self, title: &str, tallies: &mut [Tally], which: impl Fn(&str) -> usize) {
        let yes = accepted(&self.prelude, &self.questions).expect("the declarations are accepted");
        let changes = self.changes();
        for (name, question) in &self.questions {
            let here = !breaks(&changes, name);
            tallies[which(name)].record(yes.contains(name), here, || format!("{title}: {question}"));
        }
    }
}

/// Counts questions and those with the answer yes, and collects disagreements.
#[derive(Default)]
pub(crate) struct Tally {
    asked: usize,
    held: usize,
    wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn record(&mut self, by_rustc: bool, here: bool, question: impl FnOnce() -> String) {
        self.asked += 1;
        self.held += usize::from(by_rustc);
        if by_rustc != here {
            self.wrong.push(format!("rustc: {by_rustc}, typeloom: {here}: {}", question()));
        }
    }

    /// Prints the counts, and fails if there is a disagreement or if nearly all answers are equal.
    pub(crate) fn finish(self, title: &str) {
        let (asked, held) = (self.asked, self.held);
        self.agree(title);
        let least = number(1, 5);
        assert!(held >= least && held + least <= asked, "{title}: {held} of {asked}");
    }

    /// Prints the counts, and fails if there is a disagreement.
    pub(crate) fn agree(self, title: &str) {
        let Self { asked, held, wrong } = self;
        println!("{title}: {asked} questions, {held} of them hold, {} disagreements", wrong.len());
        assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
    }
}
