//! Reading and appending to the log of a subject.
//!
//! The head is the entry `n` for which entry `n + 1` does not exist. The object `_head.json` is a hint of it:
//! reading starts there and continues until no further entry exists. Each entry that is read must have the
//! digest of the link that led to it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use typeloom_interface::exports::Content;
use typeloom_io::stores::{Created, StoreError};

use crate::entry::{
    Change, Entry, FORMAT, Hash, Link, MAX_ENTRY, MAX_NUMBER, State, Version, canonical, parse,
};
use crate::error::{Problem, RegistryError};
use crate::names::{Alias, Selector, Subject};
use crate::registry::{HEAD, LOG, MAX_LISTED, MAX_MARKER, Registry};
use crate::similar::similar_selectors;
use crate::skew;
use crate::time::Timestamp;

/// Number of entries after the hint that are read one by one before the log is listed.
const PROBES: u64 = 8;
/// Maximum number of entries that an operation keeps.
const MAX_KEPT: usize = 1 << 14;

/// The hint of a head.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hint {
    pub(crate) digest: Hash,
    pub(crate) entry: u64,
}

/// An entry with the hash of its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The hash.
    pub digest: Hash,
    /// The entry.
    pub entry: Entry,
}

impl Located {
    /// The link to the entry.
    #[must_use]
    pub fn link(&self) -> Link {
        Link { digest: self.digest, entry: self.entry.entry, versions: self.entry.versions }
    }
}

/// The log of one subject, during one operation. Entries are read once.
pub(crate) struct Log<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) subject: Subject,
    read: RefCell<HashMap<u64, Arc<Located>>>,
}

/// A change to append to the head.
pub(crate) struct Draft {
    pub(crate) change: Change,
    pub(crate) state: State,
    pub(crate) time: Timestamp,
}

/// Outcome of [`Log::append`].
pub(crate) enum Appended {
    /// The new head.
    Head(Arc<Located>),
    /// Others appended these entries first.
    Lost(Vec<Arc<Located>>),
}

impl<'r> Log<'r> {
    pub(crate) fn new(registry: &'r Registry, subject: &Subject) -> Self {
        Self { registry, subject: subject.clone(), read: RefCell::default() }
    }

    fn object(&self, number: u64) -> String {
        Registry::entry_object(&self.subject, number)
    }

    /// The URL of an entry.
    pub(crate) fn url_of(&self, number: u64) -> String {
        self.registry.folder.url_of(&self.object(number))
    }

    fn bytes(&self, number: u64) -> Result<Option<Bytes>, StoreError> {
        self.registry.folder.read(&self.object(number), MAX_ENTRY)
    }

    /// An entry; `None` if it does not exist.
    pub(crate) fn entry(&self, number: u64) -> Result<Option<Arc<Located>>, RegistryError> {
        if let Some(known) = self.read.borrow().get(&number) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(bytes) = self.bytes(number)? else { return Ok(None) };
        let (digest, entry) = self.registry.decode(&self.subject, number, &bytes)?;
        let located = Arc::new(Located { digest, entry });
        let mut read = self.read.borrow_mut();
        if read.len() >= MAX_KEPT {
            read.clear();
        }
        read.insert(number, Arc::clone(&located));
        Ok(Some(located))
    }

    /// The entry of a link.
    pub(crate) fn follow(&self, link: Link) -> Result<Arc<Located>, RegistryError> {
        let at = |problem: Problem| problem.at(self.url_of(link.entry));
        let Some(located) = self.entry(link.entry)? else {
            return Err(at(Problem::Missing("a later entry refers to it".to_owned())).into());
        };
        Problem::unless_equal("hash", &link.digest, &located.digest).map_err(at)?;
        Problem::unless_equal("number of versions", &link.versions, &located.entry.versions).map_err(at)?;
        Ok(located)
    }

    /// The hint; `None` if it does not exist.
    pub(crate) fn hint(&self) -> Result<Option<Hint>, RegistryError> {
        let name = Registry::object(&self.subject, HEAD);
        let Some(bytes) = self.registry.folder.read(&name, MAX_MARKER)? else { return Ok(None) };
        let hint = parse(&bytes).map_err(|problem| problem.at(self.registry.folder.url_of(&name)))?;
        Ok(Some(hint))
    }

    /// An error of the hint.
    pub(crate) fn hint_error(&self, problem: Problem) -> RegistryError {
        problem.at(self.registry.folder.url_of(&Registry::object(&self.subject, HEAD))).into()
    }

    /// The head; `None` if the subject has no entries.
    pub(crate) fn head(&self) -> Result<Option<Arc<Located>>, RegistryError> {
        let start = match self.hint()? {
            Some(hint) => {
                let Some(located) = self.entry(hint.entry)? else {
                    let text = format!("it refers to entry {}, which does not exist", hint.entry);
                    return Err(self.hint_error(Problem::Rule(text)));
                };
                let equal = Problem::unless_equal("hash", &located.digest, &hint.digest);
                equal.map_err(|problem| self.hint_error(problem))?;
                Some(located)
            }
            None => self.entry(1)?,
        };
        let Some(mut head) = start else { return Ok(None) };
        for _ in 0..PROBES {
            match self.successor(&head)? {
                Some(next) => head = next,
                None => return Ok(Some(head)),
            }
        }
        head = self.skip(head)?;
        while let Some(next) = self.successor(&head)? {
            head = next;
        }
        Ok(Some(head))
    }

    /// The entry after `located`, whose link is verified.
    fn successor(&self, located: &Located) -> Result<Option<Arc<Located>>, RegistryError> {
        let number = located.entry.entry + 1;
        if number > MAX_NUMBER {
            return Ok(None);
        }
        let Some(next) = self.entry(number)? else { return Ok(None) };
        let at = |problem: Problem| problem.at(self.url_of(number));
        if next.entry.previous != Some(located.link()) {
            let found = next.entry.previous.map(|link| link.digest.to_string()).unwrap_or_default();
            return Err(at(Problem::mismatch("hash of the previous entry", &located.digest, &found)).into());
        }
        next.entry.check_transition(Some(&located.entry)).map_err(at)?;
        Ok(Some(next))
    }

    /// The last entry of the run of consecutive numbers after `from` in a listing. A listing of a local
    /// folder can miss entries, so the result may be followed by others.
    fn skip(&self, from: Arc<Located>) -> Result<Arc<Located>, RegistryError> {
        let start = from.entry.entry;
        let folder = Registry::object(&self.subject, LOG);
        let listed = self.registry.folder.list(&folder, Some(&self.object(start)), MAX_LISTED)?;
        let names: std::collections::HashSet<&str> = listed.iter().map(|it| it.name.as_str()).collect();
        let last = (start + 1..).take_while(|number| names.contains(self.object(*number).as_str())).last();
        let Some(located) = last.map(|number| self.entry(number)).transpose()?.flatten() else {
            return Ok(from);
        };
        let reached = self.seek(Arc::clone(&located), start)?;
        let at = |problem: Problem| problem.at(self.url_of(start));
        Problem::unless_equal("hash", &reached.digest, &from.digest).map_err(at)?;
        Ok(located)
    }

    /// The entry with a number, from a later one. Takes a logarithmic number of reads.
    pub(crate) fn seek(&self, mut from: Arc<Located>, number: u64) -> Result<Arc<Located>, RegistryError> {
        while from.entry.entry > number {
            let Entry { jump, previous, .. } = &from.entry;
            let Some(link) = jump.filter(|jump| jump.entry >= number).or(*previous) else { break };
            from = self.follow(link)?;
        }
        Ok(from)
    }

    /// The entry that created a version, from a later or equal one. `version` must be between 1 and the
    /// number of versions. Takes a logarithmic number of reads: versions do not decrease along the log, so
    /// the entry is the first one with so many.
    pub(crate) fn seek_version(
        &self,
        mut from: Arc<Located>,
        version: u64,
    ) -> Result<Arc<Located>, RegistryError> {
        let has = |link: &Link| link.versions >= version;
        loop {
            let Entry { jump, previous, .. } = &from.entry;
            let Some(link) = jump.filter(has).or(previous.filter(has)) else { return Ok(from) };
            from = self.follow(link)?;
        }
    }

    /// The number that a selector refers to.
    pub(crate) fn resolve(&self, head: &Located, selector: &Selector) -> Result<u64, RegistryError> {
        resolve(&self.subject, &head.entry.state, head.entry.versions, selector)
    }

    /// The entry before, if there is one.
    pub(crate) fn previous(&self, located: &Located) -> Result<Option<Arc<Located>>, RegistryError> {
        located.entry.previous.map(|link| self.follow(link)).transpose()
    }

    /// The record of the version that an entry creates.
    pub(crate) fn version<'l>(&self, located: &'l Located) -> Result<&'l Version, RegistryError> {
        let problem = || Problem::Rule("it creates no version".to_owned());
        let entry = &located.entry;
        entry.version().ok_or_else(|| problem().at(self.url_of(entry.entry)).into())
    }

    /// The verified bytes and content of the version that an entry creates.
    pub(crate) fn content(&self, located: &Located) -> Result<(Bytes, Arc<Content>), RegistryError> {
        self.registry.content(&self.subject, self.version(located)?)
    }

    /// The jump link of the entry after `head`.
    fn jump_after(&self, head: &Located) -> Result<Option<Link>, RegistryError> {
        let Some(target) = skew::jump(head.entry.entry + 1) else { return Ok(None) };
        if target == head.entry.entry {
            return Ok(Some(head.link()));
        }
        // The target is that of the jump of `head`, or of the jump after that.
        let Some(first) = head.entry.jump else { return Ok(None) };
        if first.entry == target {
            return Ok(Some(first));
        }
        Ok(self.follow(first)?.entry.jump)
    }

    /// Creates the entry after `head`.
    ///
    /// The outcome of a request that ends with an error is unknown, and a repeated request can fail on the
    /// entry that it wrote itself. So the entry is read in both cases: it contains a nonce, and equal bytes
    /// mean success.
    pub(crate) fn append(
        &self,
        head: Option<&Arc<Located>>,
        draft: Draft,
    ) -> Result<Appended, RegistryError> {
        let Draft { change, state, time } = draft;
        let number = head.map_or(0, |head| head.entry.entry) + 1;
        if number > MAX_NUMBER {
            return Err(RegistryError::Limit { what: "the number of entries", limit: MAX_NUMBER });
        }
        let before = head.map_or(0, |head| head.entry.versions);
        let versions = before + u64::from(matches!(change, Change::Push(_)));
        let entry = Entry {
            change,
            entry: number,
            format: FORMAT,
            jump: head.map_or(Ok(None), |head| self.jump_after(head))?,
            nonce: Registry::nonce()?,
            previous: head.map(|head| head.link()),
            state,
            subject: self.subject.clone(),
            time,
            versions,
        };
        let at = |problem: Problem| problem.at(self.url_of(number));
        entry.validate().map_err(at)?;
        let bytes = Bytes::from(entry.encode().map_err(at)?);
        let created = self.registry.folder.create(&self.object(number), bytes.clone());
        let found = match &created {
            Ok(Created::Written) => Some(bytes.clone()),
            Ok(Created::Exists) => self.bytes(number)?,
            // An error of the second request adds nothing.
            Err(_) => self.bytes(number).unwrap_or_default(),
        };
        match (created, found) {
            (_, Some(found)) if found == bytes => {
                let located = Arc::new(Located { digest: Hash::of(&bytes), entry });
                self.write_hint(&located);
                Ok(Appended::Head(located))
            }
            (_, Some(_)) => Ok(Appended::Lost(self.after(head)?)),
            (Err(error @ StoreError::Denied(..)), None) => Err(error.into()),
            (Err(error), None) => Err(RegistryError::Unconfirmed { object: self.url_of(number), error }),
            // S3 answers two requests at the same time with a conflict, before either has taken effect.
            (Ok(_), None) => Ok(Appended::Lost(Vec::new())),
        }
    }

    /// The entries after `head`, none left out.
    fn after(&self, head: Option<&Arc<Located>>) -> Result<Vec<Arc<Located>>, RegistryError> {
        let mut found = Vec::new();
        let mut last = match head {
            Some(head) => Arc::clone(head),
            None => match self.entry(1)? {
                Some(first) => {
                    found.push(Arc::clone(&first));
                    first
                }
                None => return Ok(found),
            },
        };
        while let Some(next) = self.successor(&last)? {
            found.push(Arc::clone(&next));
            last = next;
        }
        Ok(found)
    }

    /// Writes the hint. An error is ignored: a hint may be missing or old.
    fn write_hint(&self, located: &Located) {
        let hint = Hint { digest: located.digest, entry: located.entry.entry };
        if let Ok(bytes) = canonical(&hint) {
            let name = Registry::object(&self.subject, HEAD);
            let _ = self.registry.folder.replace(&name, bytes.into());
        }
    }
}

/// The error of an alias that a subject does not have.
pub(crate) fn no_alias(subject: &Subject, alias: &Alias, state: &State, versions: u64) -> RegistryError {
    RegistryError::NoAlias {
        subject: subject.clone(),
        alias: alias.clone(),
        aliases: state.aliases.keys().cloned().collect(),
        similar: similar_selectors(alias, state, versions),
    }
}

/// The number of the version that a selector refers to.
pub(crate) fn resolve(
    subject: &Subject,
    state: &State,
    versions: u64,
    selector: &Selector,
) -> Result<u64, RegistryError> {
    let no_version =
        || RegistryError::NoVersion { subject: subject.clone(), selector: selector.clone(), versions };
    match selector {
        Selector::Latest if versions > 0 => Ok(versions),
        Selector::Version(number) if (1..=versions).contains(number) => Ok(*number),
        Selector::Latest | Selector::Version(_) => Err(no_version()),
        Selector::Alias(alias) => {
            let version = state.aliases.get(alias).copied();
            version.ok_or_else(|| no_alias(subject, alias, state, versions))
        }
    }
}
