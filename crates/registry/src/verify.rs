//! Verification of a whole registry.
//!
//! Everything is recomputed: the bytes, numbers, links and states of all entries, the hashes, sizes and types
//! of all bundles, and the comparisons that each push had to pass. All problems are reported, not only the
//! first one.
//!
//! Without a [`Checkpoint`], a log that was replaced as a whole by a shorter or different valid one is not
//! detected, because nothing in the store refers to the removed entries. A checkpoint contains the digests of
//! heads, which the caller keeps elsewhere. A log that still contains them extends the log of the checkpoint,
//! because each entry commits to all entries before it.

mod checkpoint;
mod subject;

use std::collections::BTreeMap;

use typeloom_io::stores::StoreError;

use crate::entry::Link;
use crate::error::{Corruption, Problem, RegistryError};
use crate::names::Subject;
use crate::registry::{MARKER, MAX_LISTED, Registry, SUBJECTS};

pub use checkpoint::{Checkpoint, CheckpointError};

/// Maximum number of findings of one subject.
pub const MAX_FINDINGS: usize = 1000;

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The subjects in ascending order.
    pub subjects: Vec<Verified>,
    /// Findings that concern no subject.
    pub findings: Vec<Finding>,
}

/// Result of verifying one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The subject.
    pub subject: Subject,
    /// The last entry, if it can be read.
    pub head: Option<Link>,
    /// The findings, at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// The bundles that no entry refers to. A collection removes them.
    pub unreferenced: Unreferenced,
}

/// Bundles that no entry refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unreferenced {
    /// Their number.
    pub bundles: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A problem of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the registry is damaged.
    pub severity: Severity,
    /// The object and its problem.
    pub corruption: Corruption,
}

/// Severity of a [`Finding`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// An object that is not part of the format.
    Warning,
    /// The registry is not as it was written.
    Error,
}

impl Report {
    /// Whether there is no error.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.all().any(|finding| finding.severity == Severity::Error)
    }

    /// All findings.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(self.subjects.iter().flat_map(|subject| &subject.findings))
    }

    /// The heads of the verified subjects.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let heads = self.subjects.iter().filter_map(|it| Some((it.subject.clone(), it.head?)));
        Checkpoint::new(heads)
    }
}

/// Findings that are collected.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, severity: Severity, corruption: Corruption) {
        if self.list.len() < MAX_FINDINGS {
            self.list.push(Finding { severity, corruption });
        }
    }

    fn error(&mut self, object: String, problem: Problem) {
        self.add(Severity::Error, problem.at(object));
    }

    fn unknown(&mut self, object: String) {
        let problem = Problem::Rule("no object of a registry has this name".to_owned());
        self.add(Severity::Warning, problem.at(object));
    }

    /// The value, or `None` if an object is corrupt. Errors of the store end the verification.
    fn take<T>(&mut self, result: Result<T, RegistryError>) -> Result<Option<T>, RegistryError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(RegistryError::Corrupt(corruption)) => {
                self.add(Severity::Error, *corruption);
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}

impl Registry {
    /// Verifies the subject, or all subjects. `checkpoint` must be of the same registry.
    ///
    /// Writers may continue meanwhile.
    ///
    /// # Errors
    /// The store contains no registry of a known format, or cannot be read. Damage is not an error but a
    /// [`Finding`].
    pub fn verify(
        &self,
        subject: Option<&Subject>,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Report, RegistryError> {
        let mut findings = Findings::default();
        findings.take(self.check_format())?;
        let empty = BTreeMap::new();
        let heads = checkpoint.map_or(&empty, |checkpoint| &checkpoint.subjects);
        let mut subjects = match subject {
            Some(subject) => vec![subject.clone()],
            None => {
                self.unknown_objects(&mut findings)?;
                self.subjects(None)?
            }
        };
        if subject.is_none() {
            subjects.extend(heads.keys().cloned());
            subjects.sort_unstable();
            subjects.dedup();
        }
        let verify = |subject: &Subject| subject::verify(self, subject, heads.get(subject));
        let verified = subjects.iter().map(verify).collect::<Result<_, RegistryError>>()?;
        Ok(Report { subjects: verified, findings: findings.list })
    }

    /// Reports objects outside of the folders of subjects.
    fn unknown_objects(&self, findings: &mut Findings) -> Result<(), StoreError> {
        let (folders, objects) = self.folder.entries("", MAX_LISTED)?;
        let names = folders.into_iter().filter(|name| name != SUBJECTS);
        let names = names.chain(objects.into_iter().map(|it| it.name).filter(|name| name != MARKER));
        names.for_each(|name| findings.unknown(self.folder.url_of(&name)));
        let mut open = vec![SUBJECTS.to_owned()];
        while let Some(folder) = open.pop() {
            let (folders, objects) = self.folder.entries(&folder, MAX_LISTED)?;
            let is_subject =
                folders.iter().any(|name| name.rsplit('/').next().is_some_and(|it| it.starts_with('_')));
            for name in folders {
                let last = name.rsplit('/').next().unwrap_or_default();
                let of_subject = name.strip_prefix(SUBJECTS).and_then(|rest| rest.strip_prefix('/'));
                match of_subject.map(str::parse::<Subject>) {
                    Some(Ok(_)) => open.push(name),
                    // Objects of subjects are verified with them.
                    _ if last.starts_with('_') && folder != SUBJECTS => {}
                    _ => findings.unknown(self.folder.url_of(&name)),
                }
            }
            if !is_subject {
                objects.iter().for_each(|object| findings.unknown(self.folder.url_of(&object.name)));
            }
        }
        Ok(())
    }
}
