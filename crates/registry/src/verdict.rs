//! Comparison of new content with earlier versions of a subject.
//!
//! A push and a check ask whether new content may become the next version. The mode of the subject gives a
//! direction and a reach: `backward` compares with the latest version, `backward_transitive` with all
//! versions. With versions 1 to 5, of which the content breaks users of 4 and 5,
//!
//! ```text
//! backward               compares with 5, which is violated; then searches 4 and 3
//!                        1 of 1 version violated, nearest compatible version 3
//! backward_transitive    compares with 5, 4, 3, 2 and 1
//!                        2 of 5 versions violated, nearest compatible version 3
//! ```
//!
//! The versions are visited from the latest down. If some are violated and none is compatible, the search for
//! the nearest compatible version continues below them.
//!
//! **Invariant:** a comparison depends on the version, on the identity of ports and on the direction only,
//! because versions do not change. So a push that is repeated after another writer was first compares only
//! with the new versions (`Comparer`).
//!
//! **Invariant:** a version whose content cannot be compared with the new one counts as violated.
//!
//! **Cost:** for each visited version a search in the log, a read of its content, and a comparison.
//!
//! **Limits:** the differences of at most [`MAX_LISTED`] violated versions are kept, and the search below the
//! compared versions visits at most [`MAX_SEARCHED`] of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::fmt;
use std::sync::Arc;

use typeloom_interface::PortIdentity;
use typeloom_interface::exports::{Content, ExportsComparison, Incomparable};
use typeloom_pool::compat::Direction;
use typeloom_report::finding::Difference;

use crate::entry::{Ports, State};
use crate::error::RegistryError;
use crate::log::{Located, Log};
use crate::mode::{Mode, Reach};
use crate::names::{Reference, Subject};

/// Maximum number of violated versions whose differences are listed.
pub const MAX_LISTED: usize = 3;
/// Maximum number of versions among which the nearest compatible one is searched.
pub const MAX_SEARCHED: u64 = 100;

/// Result of comparing content with earlier versions.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The subject.
    pub subject: Subject,
    /// The mode that was applied.
    pub mode: Mode,
    /// The identity of ports.
    pub ports: Ports,
    /// The number of the last entry of the log that was considered; 0 if there was none.
    pub entry: u64,
    /// The number of versions that were compared.
    pub compared: u64,
    /// The number of versions that violate the mode.
    pub violated: u64,
    /// The comparisons with the violated versions, the latest first, at most [`MAX_LISTED`]; without
    /// violations, with the latest version that was compared.
    pub versions: Vec<Compared>,
    /// The nearest compatible version, if there are violations.
    pub nearest: Nearest,
}

/// The comparison with one version.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The number of the version.
    pub version: u64,
    /// The comparison from that version to the new content, or the reason why there is none, which is a
    /// violation.
    pub outcome: Result<ExportsComparison, Incomparable>,
}

impl Compared {
    /// Whether the content fulfils the mode with respect to the version.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.outcome.as_ref().is_ok_and(ExportsComparison::is_compatible)
    }
}

/// The latest version that the content is compatible with, among the compared ones and those before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// There are no violations.
    NotNeeded,
    /// The number of the version.
    Version(u64),
    /// None of the latest versions, whose number is given, is compatible.
    NoneOf(u64),
}

impl Verdict {
    /// Whether the content fulfils the mode.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.violated == 0
    }

    /// The differences from all listed versions as findings; each message names its version.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        for Compared { version, outcome } in &self.versions {
            let of = format!("compared with {}@{version}", self.subject);
            match outcome {
                Ok(comparison) => {
                    let differences = typeloom_report::exports::differences(comparison).into_iter();
                    found.extend(differences.map(|mut difference| {
                        difference.message = format!("{}, {of}", difference.message);
                        difference
                    }));
                }
                Err(error) => found.push(Difference {
                    export: String::new(),
                    path: String::new(),
                    code: "content-changed",
                    message: format!("{error}, {of}"),
                    breaks_backward: true,
                    breaks_forward: true,
                    breaking: true,
                }),
            }
        }
        found
    }

    /// The result of a comparison with `reference` as a clause:
    /// `not backward compatible with vision/resnet@production`.
    #[must_use]
    pub fn clause(&self, reference: &Reference) -> String {
        let mode = self.mode;
        let nearest = match self.nearest {
            Nearest::Version(version) => format!(" (nearest compatible version: {version})"),
            Nearest::NotNeeded | Nearest::NoneOf(_) => String::new(),
        };
        match (self.compared, self.is_compatible()) {
            (0, _) => format!("not compared with {reference} ({mode})"),
            (_, true) => format!("{mode} compatible with {reference}"),
            (_, false) => format!("not {mode} compatible with {reference}{nearest}"),
        }
    }
}

/// Formats the verdict with the path of each difference that breaks the mode.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, mode, ports: _, entry: _, compared, violated, versions, nearest } = self;
        if self.is_compatible() {
            let noun = if *compared == 1 { "version" } else { "versions" };
            return write!(f, "`{subject}`: compatible ({mode}) with {compared} {noun}");
        }
        write!(f, "`{subject}` has mode {mode}, which the new version violates")?;
        for Compared { version, outcome } in versions {
            match outcome {
                Ok(comparison) => {
                    let differences = typeloom_report::exports::differences(comparison);
                    for difference in differences.iter().filter(|it| it.breaking) {
                        let finding = typeloom_report::finding::Finding::Difference(difference);
                        write!(f, "\n  version {version}: {}: {}", finding.at(), difference.message)?;
                    }
                }
                Err(error) => write!(f, "\n  version {version}: {error}")?,
            }
        }
        let listed = versions.len() as u64;
        if *violated > listed {
            let others = violated - listed;
            write!(f, "\n  and {others} other version{}", if others == 1 { "" } else { "s" })?;
        }
        match nearest {
            Nearest::Version(version) => write!(f, "\n  the nearest compatible version is {version}"),
            Nearest::NoneOf(1) => f.write_str("\n  the latest version is not compatible"),
            Nearest::NoneOf(searched) => {
                write!(f, "\n  none of the latest {searched} versions is compatible")
            }
            Nearest::NotNeeded => Ok(()),
        }
    }
}

/// Comparisons of one content, kept for the attempts of a push. Versions never change, so results stay valid.
pub(crate) struct Comparer<'a> {
    content: &'a Content,
    known: HashMap<(u64, Ports, Direction), Compared>,
}

impl<'a> Comparer<'a> {
    pub(crate) fn new(content: &'a Content) -> Self {
        Self { content, known: HashMap::new() }
    }

    /// Compares with the version that `located` created.
    fn one(
        &mut self,
        log: &Log<'_>,
        located: &Located,
        ports: Ports,
        direction: Direction,
    ) -> Result<&Compared, RegistryError> {
        let version = located.entry.versions;
        Ok(match self.known.entry((version, ports, direction)) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(unknown) => {
                let (_, old) = log.content(located)?;
                let outcome = old.compare(self.content, direction, PortIdentity::from(ports));
                unknown.insert(Compared { version, outcome })
            }
        })
    }

    /// The verdict for a new version after `head`, under a state.
    pub(crate) fn verdict(
        &mut self,
        log: &Log<'_>,
        head: Option<&Arc<Located>>,
        state: &State,
    ) -> Result<Verdict, RegistryError> {
        let mut verdict = empty(log, head.map_or(0, |head| head.entry.entry), state);
        let (Some(head), Some((direction, reach))) = (head, state.mode.comparison()) else {
            return Ok(verdict);
        };
        let versions = head.entry.versions;
        if versions == 0 {
            return Ok(verdict);
        }
        let lowest = match reach {
            Reach::Latest => versions,
            Reach::All => 1,
        };
        self.extend(log, head, versions, lowest, direction, &mut verdict)?;
        Ok(verdict)
    }

    /// The verdict for one version, in the direction of the state.
    pub(crate) fn verdict_with(
        &mut self,
        log: &Log<'_>,
        head: &Arc<Located>,
        version: u64,
        state: &State,
    ) -> Result<Verdict, RegistryError> {
        let mut verdict = empty(log, head.entry.entry, state);
        if let Some((direction, _)) = state.mode.comparison() {
            self.extend(log, head, version, version, direction, &mut verdict)?;
        }
        Ok(verdict)
    }

    /// Compares with the versions from `highest` down to `lowest`, and searches the nearest compatible one.
    fn extend(
        &mut self,
        log: &Log<'_>,
        head: &Arc<Located>,
        highest: u64,
        lowest: u64,
        direction: Direction,
        verdict: &mut Verdict,
    ) -> Result<(), RegistryError> {
        let ports = verdict.ports;
        let (mut from, mut nearest) = (Arc::clone(head), None);
        let mut first = None;
        for version in (lowest..=highest).rev() {
            from = log.seek_version(from, version)?;
            let compared = self.one(log, &from, ports, direction)?;
            verdict.compared += 1;
            if compared.is_compatible() {
                nearest = nearest.or(Some(version));
                first = first.or_else(|| Some(compared.clone()));
            } else {
                verdict.violated += 1;
                if verdict.versions.len() < MAX_LISTED {
                    verdict.versions.push(compared.clone());
                }
            }
        }
        if verdict.violated == 0 {
            verdict.versions.extend(first);
            return Ok(());
        }
        let end = lowest.saturating_sub(MAX_SEARCHED).max(1);
        for version in (end..lowest).rev() {
            if nearest.is_some() {
                break;
            }
            from = log.seek_version(from, version)?;
            nearest = self.one(log, &from, ports, direction)?.is_compatible().then_some(version);
        }
        verdict.nearest = nearest.map_or(Nearest::NoneOf(highest - end + 1), Nearest::Version);
        Ok(())
    }
}

fn empty(log: &Log<'_>, entry: u64, state: &State) -> Verdict {
    Verdict {
        subject: log.subject.clone(),
        mode: state.mode,
        ports: state.ports,
        entry,
        compared: 0,
        violated: 0,
        versions: Vec::new(),
        nearest: Nearest::NotNeeded,
    }
}
