//! Reading subjects and versions, and checking content against them.

use std::sync::Arc;

use bytes::Bytes;
use typeloom_interface::exports::Content;

use crate::entry::{Entry, Hash, Version};
use crate::error::RegistryError;
use crate::log::{Located, Log};
use crate::mode::Mode;
use crate::names::{Alias, Named, Reference, Subject};
use crate::registry::{MAX_LISTED, Registry, SUBJECTS};
use crate::settings::{Current, is_unborn};
use crate::verdict::{Comparer, Verdict};

/// A verified version.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// The subject.
    pub subject: Subject,
    /// The number of the version.
    pub version: u64,
    /// The aliases of the version.
    pub aliases: Vec<Alias>,
    /// The entry that created it.
    pub entry: Located,
    /// The record in the entry.
    pub record: Version,
    /// The bundle.
    pub bundle: Bytes,
    /// The types in the bundle.
    pub content: Arc<Content>,
}

/// A subject with some of its entries.
#[derive(Clone, Debug)]
pub struct History {
    /// The subject and its last entry.
    pub current: Current,
    /// Entries, the latest one first.
    pub entries: Vec<Located>,
    /// Whether there are entries before those.
    pub rest: Rest,
}

/// Whether a [`History`] is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// It begins with the first entry.
    None,
    /// The number of entries before.
    Entries(u64),
}

impl Registry {
    /// The head of a subject that has versions or settings.
    fn known(&self, log: &Log<'_>) -> Result<Arc<Located>, RegistryError> {
        let head = log.head()?.filter(|head| !is_unborn(head));
        head.ok_or_else(|| self.no_subject(&log.subject))
    }

    /// The error of a subject that does not exist.
    pub(crate) fn no_subject(&self, subject: &Subject) -> RegistryError {
        RegistryError::NoSubject { subject: subject.clone(), similar: self.similar_subjects(subject) }
    }

    /// A version, verified: the chain of entries from the head, the bundle, and its types.
    ///
    /// # Errors
    /// The version does not exist, or an object on the way is [corrupt](RegistryError::Corrupt).
    pub fn pull(&self, reference: &Reference) -> Result<Pulled, RegistryError> {
        self.check_format()?;
        let log = Log::new(self, &reference.subject);
        let head = self.known(&log)?;
        let version = log.resolve(&head, &reference.selector)?;
        let located = log.seek_version(Arc::clone(&head), version)?;
        let record = log.version(&located)?.clone();
        let (bundle, content) = log.content(&located)?;
        let aliases = head.entry.state.aliases.iter().filter(|(_, of)| **of == version);
        let aliases = aliases.map(|(alias, _)| alias.clone()).collect();
        let (subject, entry) = (reference.subject.clone(), Located::clone(&located));
        Ok(Pulled { subject, version, aliases, entry, record, bundle, content })
    }

    /// The subjects whose names begin with the segments of `prefix`, in ascending order, each with its last
    /// entry.
    ///
    /// # Errors
    /// The store cannot be listed, or a head is corrupt.
    pub fn list(&self, prefix: Option<&Subject>) -> Result<Vec<Current>, RegistryError> {
        self.check_format()?;
        let mut found = Vec::new();
        for subject in self.subjects(prefix)? {
            if let Some(head) = Log::new(self, &subject).head()?.filter(|head| !is_unborn(head)) {
                found.push(Current { subject, head: Located::clone(&head) });
            }
        }
        Ok(found)
    }

    /// The names of all subjects with a log or with bundles, in ascending order.
    pub(crate) fn subjects(&self, prefix: Option<&Subject>) -> Result<Vec<Subject>, RegistryError> {
        let root = prefix.map_or_else(|| SUBJECTS.to_owned(), |prefix| format!("{SUBJECTS}/{prefix}"));
        let (mut open, mut found) = (vec![root], Vec::new());
        while let Some(folder) = open.pop() {
            let (folders, _) = self.folder.entries(&folder, MAX_LISTED)?;
            let mut is_subject = false;
            for name in folders {
                let last = name.rsplit('/').next().unwrap_or_default();
                if Subject::is_segment(last) {
                    // A name that is too long is no subject, and its folders are none.
                    if name.parse::<Subject>().is_ok() {
                        open.push(name);
                    }
                } else {
                    is_subject |= last.starts_with('_');
                }
            }
            let name = folder.strip_prefix(SUBJECTS).and_then(|rest| rest.strip_prefix('/'));
            if is_subject {
                found.extend(name.and_then(|name| name.parse().ok()));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The state of a subject and its last entries, at most `limit`.
    ///
    /// # Errors
    /// The subject does not exist, or an entry is corrupt.
    pub fn show(&self, subject: &Subject, limit: usize) -> Result<History, RegistryError> {
        self.check_format()?;
        let log = Log::new(self, subject);
        let head = self.known(&log)?;
        let mut entries: Vec<Located> = Vec::new();
        let mut next = Some(Arc::clone(&head));
        while let Some(located) = next.filter(|_| entries.len() < limit) {
            next = log.previous(&located)?;
            entries.push(Located::clone(&located));
        }
        let before = entries.last().map_or(head.entry.entry, |last| last.entry.entry - 1);
        let rest = if before == 0 { Rest::None } else { Rest::Entries(before) };
        Ok(History {
            current: Current { subject: subject.clone(), head: Located::clone(&head) },
            entries,
            rest,
        })
    }

    /// Compares a bundle with the versions that a push would compare it with, or, if the reference names a
    /// version, with that one alone. Writes nothing. `mode` replaces the mode of the subject.
    ///
    /// # Errors
    /// The subject or version does not exist, an object is corrupt, or `bundle` is not a bundle.
    pub fn check(
        &self,
        reference: &Reference,
        bundle: &[u8],
        mode: Option<Mode>,
    ) -> Result<Verdict, RegistryError> {
        let content = self.decoded(Hash::of(bundle), bundle).map_err(RegistryError::NotABundle)?;
        self.check_format()?;
        let log = Log::new(self, &reference.subject);
        let head = self.known(&log)?;
        let Entry { state, .. } = &head.entry;
        let mut state = state.clone();
        state.mode = mode.unwrap_or(state.mode);
        let mut comparer = Comparer::new(&content);
        match reference.version {
            Named::No => comparer.verdict(&log, Some(&head), &state),
            Named::Yes => {
                let version = log.resolve(&head, &reference.selector)?;
                comparer.verdict_with(&log, &head, version, &state)
            }
        }
    }
}
