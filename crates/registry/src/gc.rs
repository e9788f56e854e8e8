//! Collection of bundles that no entry refers to.
//!
//! A push that was interrupted, rejected late, or that lost a race to an equal one leaves a bundle. A
//! collection first appends a `sweep` entry with the names of such bundles, and then deletes them. The entry
//! is created like every other one, so no entry with a reference to one of the names can come between the
//! last entry that the collection read and the sweep. A push whose bundle was swept reads the sweep when its
//! own entry loses the race, and uploads the bundle again under a new name.
//!
//! The grace period is not needed for that. It avoids that pushes in progress upload their bundles twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::{BundleName, Change, MAX_SWEPT, State};
use crate::error::RegistryError;
use crate::log::{Appended, Draft, Located, Log};
use crate::names::Subject;
use crate::registry::{BUNDLES, HEAD, LOG, MARKER, MAX_LISTED, Registry, SUBJECTS};
use crate::time::Timestamp;

/// Parameters of a collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// The age in seconds from which objects are collected, by the clock of the store.
    pub grace: u32,
    /// The time.
    pub time: Timestamp,
    /// Whether objects are deleted.
    pub effect: Effect,
}

/// Default of [`Collection::grace`]: one hour.
pub const GRACE: u32 = 3600;

/// Effect of a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Objects are deleted.
    Delete,
    /// Objects are listed.
    DryRun,
}

/// The objects that a collection of one subject deleted, or would delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The subject.
    pub subject: Subject,
    /// The bundles.
    pub bundles: Vec<BundleName>,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files of interrupted writes in a local folder.
    pub interrupted: Vec<String>,
}

/// The names that a log refers to, up to an entry.
#[derive(Default)]
struct Names {
    pushed: BTreeSet<BundleName>,
    swept: BTreeSet<BundleName>,
}

impl Names {
    fn add(&mut self, located: &Located) {
        match &located.entry.change {
            Change::Push(version) => drop(self.pushed.insert(version.bundle.clone())),
            Change::Sweep { bundles } => self.swept.extend(bundles.iter().cloned()),
            Change::Set {} => {}
        }
    }
}

impl Registry {
    /// Collects the subject, or all subjects. Files of interrupted writes in the root folder are removed too.
    ///
    /// # Errors
    /// An object is corrupt, or cannot be read or deleted. Collections of earlier subjects are complete then.
    pub fn gc(
        &self,
        subject: Option<&Subject>,
        collection: Collection,
    ) -> Result<Vec<Collected>, RegistryError> {
        self.check_format()?;
        let subjects = match subject {
            Some(subject) => vec![subject.clone()],
            None => self.subjects(None)?,
        };
        if collection.effect == Effect::Delete {
            self.ensure_format()?;
            let left = self.folder.interrupted("", before(collection), |name| name == MARKER)?;
            self.folder.remove_interrupted("", &left)?;
        }
        subjects.iter().map(|subject| self.collect(subject, collection)).collect()
    }

    fn collect(&self, subject: &Subject, collection: Collection) -> Result<Collected, RegistryError> {
        let log = Log::new(self, subject);
        let mut head = log.head()?;
        let mut names = Names::default();
        let mut next = head.clone();
        while let Some(located) = next {
            names.add(&located);
            next = log.previous(&located)?;
        }
        let listed = self.folder.list(&Self::object(subject, BUNDLES), None, MAX_LISTED)?;
        let mut collected =
            Collected { subject: subject.clone(), bundles: Vec::new(), bytes: 0, interrupted: Vec::new() };
        let (mut fresh, mut dead) = (BTreeSet::new(), BTreeSet::new());
        for object in &listed {
            // Other objects are not ours to delete; `verify` reports them.
            let name = object.name.rsplit('/').next().and_then(|name| name.parse::<BundleName>().ok());
            let Some(name) = name.filter(|name| !names.pushed.contains(name)) else { continue };
            if names.swept.contains(&name) {
                dead.insert(name);
            } else if object.modified <= before(collection) {
                fresh.insert(name);
            } else {
                continue;
            }
            collected.bytes += object.size;
        }
        let left = self.interrupted(subject, collection)?;
        for (folder, files) in &left {
            collected.interrupted.extend(files.iter().map(|file| format!("{folder}/{file}")));
        }
        if collection.effect == Effect::DryRun {
            collected.bundles = fresh.into_iter().chain(dead).collect();
            return Ok(collected);
        }
        let mut lost = 0;
        while !fresh.is_empty() {
            if lost == self.contention.attempts {
                return Err(RegistryError::Contended { subject: subject.clone(), attempts: lost });
            }
            self.pause(lost)?;
            let bundles: Vec<BundleName> = fresh.iter().take(MAX_SWEPT).cloned().collect();
            let state = head.as_ref().map_or_else(State::default, |head| head.entry.state.clone());
            let change = Change::Sweep { bundles: bundles.clone() };
            match log.append(head.as_ref(), Draft { change, state, time: collection.time })? {
                Appended::Head(new) => {
                    head = Some(new);
                    fresh.retain(|name| bundles.binary_search(name).is_err());
                    dead.extend(bundles);
                }
                Appended::Lost(entries) => {
                    lost += 1;
                    entries.iter().for_each(|located| names.add(located));
                    fresh.retain(|name| !names.pushed.contains(name));
                    let swept: Vec<BundleName> = fresh.intersection(&names.swept).cloned().collect();
                    fresh.retain(|name| !names.swept.contains(name));
                    dead.extend(swept);
                    head = entries.last().map(Arc::clone).or(head);
                }
            }
        }
        for name in &dead {
            self.folder.delete(&Self::bundle_object(subject, name))?;
        }
        collected.bundles = dead.into_iter().collect();
        for (folder, names) in &left {
            self.folder.remove_interrupted(folder, names)?;
        }
        Ok(collected)
    }

    /// The files that interrupted writes left in the folders of a subject.
    fn interrupted(
        &self,
        subject: &Subject,
        collection: Collection,
    ) -> Result<Vec<(String, Vec<String>)>, RegistryError> {
        let folder = format!("{SUBJECTS}/{subject}");
        let is_entry =
            |name: &str| name.strip_suffix(".json").is_some_and(|number| number.parse::<u64>().is_ok());
        let is_bundle = |name: &str| name.parse::<BundleName>().is_ok();
        let before = before(collection);
        let head = self.folder.interrupted(&folder, before, &|name: &str| name == HEAD)?;
        let (log, bundles) = (format!("{folder}/{LOG}"), format!("{folder}/{BUNDLES}"));
        let entries = self.folder.interrupted(&log, before, &is_entry)?;
        let unused = self.folder.interrupted(&bundles, before, &is_bundle)?;
        Ok(vec![(folder, head), (log, entries), (bundles, unused)])
    }
}

/// The time up to which objects are collected.
fn before(collection: Collection) -> i64 {
    collection.time.unix() - i64::from(collection.grace)
}
