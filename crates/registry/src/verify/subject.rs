//! Verification of one subject.
//!
//! The hint is read first, then the listings, then the entries in order. Writers that append meanwhile so
//! never cause a finding: the log only grows, and grows in order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use typeloom_interface::PortIdentity;
use typeloom_interface::exports::Content;
use typeloom_io::stores::Listed;
use typeloom_pool::compat::Direction;

use super::checkpoint::Head;
use super::{Findings, Unreferenced, Verified};
use crate::entry::{BundleName, Change, Entry, Hash, Link, MAX_ENTRY, Ports, Version};
use crate::error::{Problem, RegistryError};
use crate::log::{Hint, Log};
use crate::mode::Reach;
use crate::names::Subject;
use crate::registry::{BUNDLES, HEAD, LOG, MAX_LISTED, Registry, SUBJECTS};

/// Maximum number of decoded bundles that a verification keeps.
const MAX_KEPT: usize = 4096;

/// The verification of one subject.
struct Walk<'r> {
    registry: &'r Registry,
    log: Log<'r>,
    findings: Findings,
    /// The links to the entries by number; `None` for an entry that cannot be read.
    links: BTreeMap<u64, Option<Link>>,
    /// The records of the versions, by number from 1.
    versions: Vec<Version>,
    pushed: HashMap<BundleName, u64>,
    swept: HashMap<BundleName, u64>,
    contents: HashMap<Hash, Arc<Content>>,
    /// The comparisons that are known, by the hashes of both bundles.
    compared: HashMap<(Hash, Hash, Direction, Ports), Option<String>>,
}

/// An object at the name of an entry.
enum Object {
    Missing,
    /// It is not an entry, which is a finding.
    Damaged,
    Entry(Box<Entry>),
}

pub(super) fn verify(
    registry: &Registry,
    subject: &Subject,
    checkpoint: Option<&Head>,
) -> Result<Verified, RegistryError> {
    let log = Log::new(registry, subject);
    let mut walk = Walk {
        registry,
        log,
        findings: Findings::default(),
        links: BTreeMap::new(),
        versions: Vec::new(),
        pushed: HashMap::new(),
        swept: HashMap::new(),
        contents: HashMap::new(),
        compared: HashMap::new(),
    };
    let hint = walk.log.hint();
    let hint = walk.findings.take(hint)?.flatten();
    let listed = walk.listed_entries()?;
    let bundles = registry.folder.list(&Registry::object(subject, BUNDLES), None, MAX_LISTED)?;
    walk.entries(&listed)?;
    walk.hint(hint);
    walk.checkpoint(checkpoint);
    let unreferenced = walk.bundles(&bundles);
    walk.other_objects()?;
    let head = walk.links.values().rev().find_map(|link| *link);
    Ok(Verified { subject: subject.clone(), head, findings: walk.findings.list, unreferenced })
}

impl Walk<'_> {
    fn url(&self, name: &str) -> String {
        self.registry.folder.url_of(&Registry::object(&self.log.subject, name))
    }

    /// The numbers of the listed entries, ascending.
    fn listed_entries(&mut self) -> Result<Vec<u64>, RegistryError> {
        let listed =
            self.registry.folder.list(&Registry::object(&self.log.subject, LOG), None, MAX_LISTED)?;
        let mut numbers = Vec::with_capacity(listed.len());
        for Listed { name, .. } in listed {
            let number =
                name.rsplit('/').next().and_then(|last| last.strip_suffix(".json")?.parse::<u64>().ok());
            match number.filter(|number| Registry::entry_object(&self.log.subject, *number) == name) {
                Some(number) => numbers.push(number),
                None => self.findings.unknown(self.registry.folder.url_of(&name)),
            }
        }
        Ok(numbers)
    }

    /// Verifies all entries: those from 1 until one does not exist, and the listed ones after that.
    fn entries(&mut self, listed: &[u64]) -> Result<(), RegistryError> {
        let (mut last, mut previous) = (0, None);
        loop {
            let object = self.read(last + 1)?;
            if let Object::Missing = object {
                break;
            }
            last += 1;
            previous = self.entry_after(object, previous)?;
        }
        let reached = last;
        for number in listed.iter().copied().filter(|number| *number > reached) {
            if number != last + 1 {
                let problem = Problem::Missing(format!("entry {number} exists"));
                self.findings.error(self.log.url_of(last + 1), problem);
                previous = None;
            }
            let object = self.read(number)?;
            last = number;
            previous = self.entry_after(object, previous)?;
        }
        Ok(())
    }

    fn read(&mut self, number: u64) -> Result<Object, RegistryError> {
        let object = Registry::entry_object(&self.log.subject, number);
        let decoded = match self.registry.folder.read(&object, MAX_ENTRY) {
            Ok(None) => return Ok(Object::Missing),
            Ok(Some(bytes)) => self.registry.decode(&self.log.subject, number, &bytes),
            Err(error) => Err(error.into()),
        };
        let Some((digest, entry)) = self.findings.take(decoded)? else {
            self.links.insert(number, None);
            return Ok(Object::Damaged);
        };
        self.links.insert(number, Some(Link { digest, entry: number, versions: entry.versions }));
        Ok(Object::Entry(Box::new(entry)))
    }

    /// Verifies an entry and returns it.
    fn entry_after(
        &mut self,
        object: Object,
        previous: Option<Box<Entry>>,
    ) -> Result<Option<Box<Entry>>, RegistryError> {
        match object {
            Object::Missing | Object::Damaged => Ok(None),
            Object::Entry(entry) => self.entry(&entry, previous.as_deref()).map(|()| Some(entry)),
        }
    }

    /// Verifies one entry after those before it. `previous` is `None` for the first entry, and if the entry
    /// before cannot be read.
    fn entry(&mut self, entry: &Entry, previous: Option<&Entry>) -> Result<(), RegistryError> {
        let object = self.log.url_of(entry.entry);
        for (what, link) in [("link to the previous entry", entry.previous), ("jump", entry.jump)] {
            let Some(link) = link else { continue };
            // An entry that cannot be read has a finding of its own.
            let Some(Some(expected)) = self.links.get(&link.entry) else { continue };
            if *expected != link {
                let text = |link: &Link| format!("{} with {} versions", link.digest, link.versions);
                self.findings.error(object.clone(), Problem::mismatch(what, &text(expected), &text(&link)));
            }
        }
        if entry.entry == 1 || previous.is_some() {
            let transition = entry.check_transition(previous);
            transition.unwrap_or_else(|problem| self.findings.error(object.clone(), problem));
        }
        match &entry.change {
            Change::Push(version) => self.version(entry, version, &object),
            Change::Set {} => Ok(()),
            Change::Sweep { bundles } => {
                for name in bundles {
                    if let Some(version) = self.pushed.get(name) {
                        let text = format!("it sweeps the bundle {name} of version {version}");
                        self.findings.error(object.clone(), Problem::Rule(text));
                    }
                    self.swept.insert(name.clone(), entry.entry);
                }
                Ok(())
            }
        }
    }

    /// Verifies the version that an entry creates.
    fn version(&mut self, entry: &Entry, version: &Version, object: &str) -> Result<(), RegistryError> {
        if let Some(at) = self.swept.get(&version.bundle) {
            let text = format!("its bundle {} was swept in entry {at}", version.bundle);
            self.findings.error(object.to_owned(), Problem::Rule(text));
        }
        if let Some(other) = self.pushed.insert(version.bundle.clone(), entry.versions) {
            let text = format!("its bundle {} is that of version {other}", version.bundle);
            self.findings.error(object.to_owned(), Problem::Rule(text));
        }
        let content = self.registry.content(&self.log.subject, version);
        let content = self.findings.take(content)?;
        // With entries that cannot be read, versions are missing here, and nothing can be compared.
        let is_complete = self.versions.len() as u64 + 1 == entry.versions;
        self.versions.push(version.clone());
        let (Some((_, content)), true) = (content, is_complete) else { return Ok(()) };
        self.keep(version.bundle.digest, &content);
        let Some((direction, reach)) = entry.state.mode.comparison() else { return Ok(()) };
        let last = self.versions.len() - 1;
        let first = match reach {
            Reach::Latest => last.saturating_sub(1),
            Reach::All => 0,
        };
        for at in first..last {
            let old = self.versions[at].clone();
            if let Some(reason) = self.violation(&old, version, &content, direction, entry.state.ports)? {
                let mode = entry.state.mode;
                // A later version of the comparison can be stricter than the one that accepted the push.
                let (number, tool) = (at + 1, &version.tool);
                let text = format!(
                    "it violates mode {mode} with respect to version {number}, pushed by {tool}: {reason}"
                );
                self.findings.error(object.to_owned(), Problem::Rule(text));
            }
        }
        Ok(())
    }

    fn keep(&mut self, digest: Hash, content: &Arc<Content>) {
        if self.contents.len() >= MAX_KEPT {
            self.contents.clear();
        }
        self.contents.insert(digest, Arc::clone(content));
    }

    /// The first reason why a version cannot follow an old one.
    fn violation(
        &mut self,
        old: &Version,
        version: &Version,
        content: &Content,
        direction: Direction,
        ports: Ports,
    ) -> Result<Option<String>, RegistryError> {
        let key = (old.bundle.digest, version.bundle.digest, direction, ports);
        if let Some(known) = self.compared.get(&key) {
            return Ok(known.clone());
        }
        let before = match self.contents.get(&old.bundle.digest) {
            Some(before) => Arc::clone(before),
            None => match self.registry.content(&self.log.subject, old) {
                Ok((_, before)) => before,
                // The old version has a finding of its own.
                Err(RegistryError::Corrupt(_)) => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        self.keep(old.bundle.digest, &before);
        let reason = match before.compare(content, direction, PortIdentity::from(ports)) {
            Ok(comparison) if comparison.is_compatible() => None,
            Ok(comparison) => {
                let differences = typeloom_report::exports::differences(&comparison);
                let first = differences.iter().find(|difference| difference.breaking);
                Some(first.map_or_else(String::new, |difference| {
                    let finding = typeloom_report::finding::Finding::Difference(difference);
                    format!("{}: {}", finding.at(), difference.message)
                }))
            }
            Err(error) => Some(error.to_string()),
        };
        self.compared.insert(key, reason.clone());
        Ok(reason)
    }

    /// The hint refers to an entry of the log.
    fn hint(&mut self, hint: Option<Hint>) {
        let Some(Hint { digest, entry }) = hint else { return };
        let object = self.url(HEAD);
        match self.links.get(&entry) {
            Some(Some(link)) => {
                let equal = Problem::unless_equal("hash", &link.digest, &digest);
                equal.unwrap_or_else(|problem| self.findings.error(object, problem));
            }
            Some(None) => {}
            None => {
                let text = format!("it refers to entry {entry}, which does not exist");
                self.findings.error(object, Problem::Rule(text));
            }
        }
    }

    /// The log contains the head of a checkpoint.
    fn checkpoint(&mut self, head: Option<&Head>) {
        let Some(Head { digest, entry }) = head else { return };
        let object = self.log.url_of(*entry);
        match self.links.get(entry) {
            Some(Some(link)) => {
                let equal = Problem::unless_equal("hash than in the checkpoint", digest, &link.digest);
                equal.unwrap_or_else(|problem| self.findings.error(object, problem));
            }
            Some(None) => {}
            None => {
                self.findings.error(object, Problem::Missing("the checkpoint refers to it".to_owned()));
            }
        }
    }

    /// Counts the bundles without references, and reports objects with other names.
    fn bundles(&mut self, listed: &[Listed]) -> Unreferenced {
        let mut unreferenced = Unreferenced::default();
        for Listed { name, size, .. } in listed {
            let parsed = name.rsplit('/').next().and_then(|last| last.parse::<BundleName>().ok());
            match parsed.filter(|it| Registry::bundle_object(&self.log.subject, it) == *name) {
                Some(bundle) if self.pushed.contains_key(&bundle) => {}
                Some(_) => {
                    unreferenced.bundles += 1;
                    unreferenced.bytes += size;
                }
                None => self.findings.unknown(self.registry.folder.url_of(name)),
            }
        }
        unreferenced
    }

    /// Reports objects of other names in the folder of the subject.
    fn other_objects(&mut self) -> Result<(), RegistryError> {
        let folder = format!("{SUBJECTS}/{}", self.log.subject);
        let (folders, objects) = self.registry.folder.entries(&folder, MAX_LISTED)?;
        let known = [LOG, BUNDLES, HEAD].map(|name| Registry::object(&self.log.subject, name));
        let is_own = |name: &String| name.rsplit('/').next().is_some_and(|last| last.starts_with('_'));
        let names = folders.into_iter().filter(is_own).chain(objects.into_iter().map(|object| object.name));
        for name in names.filter(|name| !known.contains(name)) {
            self.findings.unknown(self.registry.folder.url_of(&name));
        }
        Ok(())
    }
}
