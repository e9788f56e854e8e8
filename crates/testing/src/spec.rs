//! Executes the manual: the fenced blocks of `README.md`, `spec/`, `docs/start/`, `docs/how-to/` and
//! `docs/types.md` are tests.
//!
//! A document is prose with fences. A fence is a statement in a notation that a reader understands without
//! the runner. The runner checks whether it is true:
//!
//! | fence | statement |
//! |---|---|
//! | `types` | facts about the type tree and about dims, one per line |
//! | `tree` | the type tree, or the part below a node |
//! | `graph` | a model with the types of its values and its diagnostics in comments |
//! | `primitives` | nodes of operators declared without signatures, seeds, and the resulting nodes of the tree |
//! | `snapshot` | a rendering of the preceding `graph` |
//! | `console` | whole commands with output and exit code |
//!
//! `spec/README.md` describes the syntax of each for authors.
//!
//! Every executed fence is one test. Its name is the document, the headings above it and its kind, so that
//! `cargo test --test spec matmul` runs the fences of the manual about it.
//!
//! **Invariant:** nothing is skipped silently. A fence of an unknown kind, a comment in a graph without a
//! statement, a document that cannot be read: each is a failing test that reports file and line.
//!
//! **Invariant:** a fence is checked by computing its corrected text ([`kinds::Kind::truth`]). A test passes
//! if the document contains that text. A failure is the difference of the two, and blessing replaces one by
//! the other.
//!
//! The command `typeloom-pictures` renders the problems in documents as pictures for the site ([`pictures`]).
//!
//! Not for documents outside the repository: the pages of diagnostic codes are
//! executed by the tests of the renderers.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Trial};

pub mod bless;
pub mod document;
pub mod kinds;
pub mod pictures;

mod comments;
mod diff;
mod pattern;

use bless::Edit;
use document::{Document, Fence, Malformed};
use kinds::Context;

/// The documents of the manual, or folders of them: the reference, the first steps, pages for one situation
/// each, and the notation of types.
const DOCUMENTS: [&str; 5] = ["README.md", "spec", "docs/start", "docs/how-to", "docs/types.md"];

/// The documents to run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The folder that file names start from, and in which commands run.
    pub repository: PathBuf,
    /// The documents below it, and folders of them.
    pub documents: Vec<PathBuf>,
    /// The `typeloom` command.
    pub command: PathBuf,
    /// Whether to correct the documents instead of failing.
    pub bless: bool,
}

impl Suite {
    /// The manual of a repository. It is blessed if the environment has `TYPELOOM_BLESS`.
    #[must_use]
    pub fn new(repository: impl Into<PathBuf>, command: impl Into<PathBuf>) -> Self {
        Self {
            repository: repository.into(),
            documents: DOCUMENTS.map(PathBuf::from).to_vec(),
            command: command.into(),
            bless: std::env::var_os("TYPELOOM_BLESS").is_some(),
        }
    }

    /// Runs the tests that the command line selects.
    #[must_use]
    pub fn main(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let edits = Arc::new(Mutex::new(Vec::new()));
        let mut trials = self.trials(&edits);
        if trials.is_empty() {
            trials.push(Trial::test("the manual", || Err("there are no documents".into())));
        }
        let conclusion = libtest_mimic::run(&arguments, trials);
        let edits = std::mem::take(&mut *edits.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        match bless::apply(&self.repository, edits) {
            Ok(()) => conclusion.exit_code(),
            Err(_) => ExitCode::FAILURE,
        }
    }

    /// One test for each fence that states something, and one for each that is malformed.
    #[must_use]
    pub fn trials(&self, edits: &Arc<Mutex<Vec<Edit>>>) -> Vec<Trial> {
        let mut trials = Vec::new();
        let documents = self.documents.iter().flat_map(|folder| Document::all(&self.repository, folder));
        for document in documents {
            match document {
                Ok(document) => self.trials_of(document, edits, &mut trials),
                Err(malformed) => trials.push(failing(&malformed)),
            }
        }
        trials
    }

    fn trials_of(&self, document: Document, edits: &Arc<Mutex<Vec<Edit>>>, trials: &mut Vec<Trial>) {
        trials.extend(document.malformed.iter().map(failing));
        let document = Arc::new(document);
        for (index, fence) in document.fences.iter().enumerate() {
            let (suite, document, edits) = (self.clone(), Arc::clone(&document), Arc::clone(edits));
            trials.push(Trial::test(fence.name.clone(), move || match suite.judge(&document, index)? {
                Judged::True => Ok(()),
                Judged::Blessed(edit) => {
                    edits.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(edit);
                    Ok(())
                }
                Judged::False(message) => Err(message.into()),
            }));
        }
    }

    /// Checks one fence of a document.
    ///
    /// # Errors
    /// The fence cannot be checked: it is malformed, or has a statement that cannot be blessed.
    pub fn judge(&self, document: &Document, index: usize) -> Result<Judged, Malformed> {
        let fence: &Fence = &document.fences[index];
        let cx = Context { suite: self, document, index };
        let truth = fence.kind.truth(&cx)?;
        if truth == fence.text {
            return Ok(Judged::True);
        }
        let ends = |line: &str| line.bytes().take_while(|byte| *byte == b'`').count() >= fence.marks;
        if truth.lines().any(ends) {
            return Err(cx.malformed(
                0,
                "the corrected text contains the backticks that end the fence: use more backticks around it",
            ));
        }
        if self.bless {
            let Document { file, .. } = document;
            return Ok(Judged::Blessed(Edit { file: file.clone(), range: fence.range.clone(), text: truth }));
        }
        let place = format!("{}:{}", document.file.display(), fence.line);
        let difference = diff::lines(&fence.text, &truth);
        Ok(Judged::False(format!(
            "{place}: this `{}` is not true (- written, + true)\n{difference}",
            fence.info
        )))
    }
}

/// The result of a fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The statement is true.
    True,
    /// The statement is false; contains the replacement.
    Blessed(Edit),
    /// The statement is false; contains the difference.
    False(String),
}

fn failing(malformed: &Malformed) -> Trial {
    let message = malformed.to_string();
    Trial::test(format!("{}:{}", malformed.file.display(), malformed.line), move || Err(message.into()))
}
