//! Pushing a version.
//!
//! The order of writes is the reason why readers never see half of a version: first the bundle, under a name
//! that no other upload has, then the entry, then the hint. A crash leaves at most a bundle that no entry
//! refers to, which a [collection](crate::gc) removes.

use std::sync::Arc;

use bytes::Bytes;
use typeloom_interface::exports::Content;
use typeloom_io::stores::Created;

use crate::entry::{BundleName, Change, Hash, MAX_SOURCE, SourceFile, State, Version, listed_roots};
use crate::error::RegistryError;
use crate::log::{Appended, Draft, Located, Log};
use crate::names::Subject;
use crate::registry::{MAX_BUNDLE, Registry};
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::verdict::Comparer;

/// A version to push.
#[derive(Clone, Debug)]
pub struct Push {
    /// The bundle.
    pub bundle: Bytes,
    /// The file that it was created from.
    pub source: SourceFile,
    /// The name and the version of the program that pushes.
    pub tool: String,
    /// Changes of the state in the same entry. The version has to fulfil a new mode, and
    /// [`Selector::Latest`](crate::Selector::Latest) is the pushed version.
    pub settings: Settings,
    /// The time.
    pub time: Timestamp,
}

/// Result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The subject.
    pub subject: Subject,
    /// The number of the version.
    pub version: u64,
    /// Whether the version is new.
    pub novelty: Novelty,
    /// The last entry after the push.
    pub head: Located,
}

/// Whether a push created a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Novelty {
    /// It did.
    New,
    /// The latest version has the same content. Its names of symbols stay.
    Existing,
}

/// Result of a push that was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preview {
    /// The number that the version would have.
    pub version: u64,
    /// Whether the version would be new.
    pub novelty: Novelty,
}

/// The effect of a push after an entry.
struct Next {
    /// The state before.
    old: State,
    /// The state after.
    state: State,
    /// The number of the version.
    version: u64,
    novelty: Novelty,
}

/// The effect of a push after the entry `head`.
fn next(
    log: &Log<'_>,
    head: Option<&Arc<Located>>,
    push: &Push,
    digest: Hash,
    content: &Content,
) -> Result<Next, RegistryError> {
    let (old, versions) =
        head.map_or_else(|| (State::default(), 0), |head| (head.entry.state.clone(), head.entry.versions));
    let is_latest = match head {
        Some(head) if versions > 0 => {
            let latest = log.seek_version(Arc::clone(head), versions)?;
            let record = log.version(&latest)?;
            // The bundle is read only if the record does not show a difference.
            record.bundle.digest == digest
                || (record.roots == listed_roots(content)
                    && log.content(&latest)?.1.roots() == content.roots())
        }
        Some(_) | None => false,
    };
    let (version, novelty) =
        if is_latest { (versions, Novelty::Existing) } else { (versions + 1, Novelty::New) };
    let state = push.settings.apply(&log.subject, &old, version)?;
    Ok(Next { old, state, version, novelty })
}

impl Registry {
    /// Pushes a version, and creates the registry and the subject if they do not exist. If the latest version
    /// has the same types under the same labels, that version is returned, and only settings that differ are
    /// written. The names of symbols are hints: those of the first push stay.
    ///
    /// # Errors
    /// [`RegistryError::Rejected`] if the version violates the mode of the state that it would have. After a
    /// lost race the check is repeated with the new latest version.
    pub fn push(&self, subject: &Subject, push: &Push) -> Result<Pushed, RegistryError> {
        let (digest, content) = self.content_of(push)?;
        self.ensure_format()?;
        let log = Log::new(self, subject);
        let mut head = log.head()?;
        let mut comparer = Comparer::new(&content);
        // The bundle is uploaded after the head is read, so that a sweep of its name is in an entry that a
        // lost race shows.
        let mut upload: Option<BundleName> = None;
        for lost in 0..self.contention.attempts {
            self.pause(lost)?;
            let Next { old, state, version, novelty } = next(&log, head.as_ref(), push, digest, &content)?;
            let change = if novelty == Novelty::Existing {
                if let Some(head) = head.as_ref().filter(|_| state == old) {
                    let head = Located::clone(head);
                    return Ok(Pushed { subject: subject.clone(), version, novelty, head });
                }
                Change::Set {}
            } else {
                let verdict = comparer.verdict(&log, head.as_ref(), &state)?;
                if !verdict.is_compatible() {
                    return Err(RegistryError::Rejected(Box::new(verdict)));
                }
                let bundle = match &upload {
                    Some(name) => name.clone(),
                    None => upload.insert(self.upload(subject, digest, &push.bundle)?).clone(),
                };
                let (source, tool) = (push.source.clone(), push.tool.clone());
                let (roots, size) = (listed_roots(&content), push.bundle.len() as u64);
                Change::Push(Version { bundle, roots, size, source, tool })
            };
            match log.append(head.as_ref(), Draft { change, state, time: push.time })? {
                Appended::Head(head) => {
                    let head = Located::clone(&head);
                    return Ok(Pushed { subject: subject.clone(), version, novelty, head });
                }
                Appended::Lost(entries) => {
                    let is_swept = |name: &BundleName| {
                        entries.iter().any(|located| {
                            matches!(&located.entry.change, Change::Sweep { bundles } if bundles.contains(name))
                        })
                    };
                    upload = upload.filter(|name| !is_swept(name));
                    head = entries.last().map(Arc::clone).or(head);
                }
            }
        }
        Err(RegistryError::Contended { subject: subject.clone(), attempts: self.contention.attempts })
    }

    /// The result that [`Self::push`] would have now. Writes nothing.
    ///
    /// # Errors
    /// As of a push, as far as they do not come from writing.
    pub fn preview(&self, subject: &Subject, push: &Push) -> Result<Preview, RegistryError> {
        let (digest, content) = self.content_of(push)?;
        let first = Preview { version: 1, novelty: Novelty::New };
        match self.check_format() {
            Err(RegistryError::NoRegistry(_)) => return Ok(first),
            format => format?,
        }
        let log = Log::new(self, subject);
        let head = log.head()?;
        let Next { old: _, state, version, novelty } = next(&log, head.as_ref(), push, digest, &content)?;
        if novelty == Novelty::New {
            let verdict = Comparer::new(&content).verdict(&log, head.as_ref(), &state)?;
            if !verdict.is_compatible() {
                return Err(RegistryError::Rejected(Box::new(verdict)));
            }
        }
        Ok(Preview { version, novelty })
    }

    /// The hash and the content of the bundle of a push within the limits.
    fn content_of(&self, push: &Push) -> Result<(Hash, Arc<Content>), RegistryError> {
        if push.bundle.len() as u64 > MAX_BUNDLE {
            return Err(RegistryError::Limit { what: "the size of the bundle", limit: MAX_BUNDLE });
        }
        if push.source.name.len() > MAX_SOURCE || push.tool.len() > MAX_SOURCE {
            return Err(RegistryError::Limit { what: "the name of the file", limit: MAX_SOURCE as u64 });
        }
        let digest = Hash::of(&push.bundle);
        Ok((digest, self.decoded(digest, &push.bundle).map_err(RegistryError::NotABundle)?))
    }

    /// Uploads a bundle under a new name.
    fn upload(&self, subject: &Subject, digest: Hash, bytes: &Bytes) -> Result<BundleName, RegistryError> {
        for lost in 0..self.contention.attempts {
            self.pause(lost)?;
            let name = BundleName::new(digest, Self::nonce()?);
            let object = Self::bundle_object(subject, &name);
            if self.folder.create(&object, bytes.clone())? == Created::Written {
                return Ok(name);
            }
            // The name is random, so the object is the own one, of a request that was repeated.
            let found = self.folder.read(&object, MAX_BUNDLE)?;
            if found.is_some_and(|found| Hash::of(&found) == digest) {
                return Ok(name);
            }
        }
        Err(RegistryError::Contended { subject: subject.clone(), attempts: self.contention.attempts })
    }
}
