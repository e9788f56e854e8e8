//! Changes of the state of a subject: the mode, the identity of ports, and aliases.
//!
//! A change does not compare existing versions: it concerns later pushes.
//! [`Registry::check`](crate::Registry::check) compares.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::entry::{Change, MAX_ALIASES, Ports, State};
use crate::error::RegistryError;
use crate::log::{Appended, Draft, Located, Log, no_alias, resolve};
use crate::mode::Mode;
use crate::names::{Alias, Selector, Subject};
use crate::registry::Registry;
use crate::time::Timestamp;

/// Changes of a state. Absent parts stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The compatibility mode.
    pub mode: Option<Mode>,
    /// The identity of ports.
    pub ports: Option<Ports>,
    /// The aliases to set, with the versions that they refer to from now on.
    pub aliases: BTreeMap<Alias, Selector>,
    /// The aliases to remove. Each has to exist.
    pub removed: BTreeSet<Alias>,
}

impl Settings {
    /// The state after the changes, for a subject with `versions` versions.
    pub(crate) fn apply(
        &self,
        subject: &Subject,
        old: &State,
        versions: u64,
    ) -> Result<State, RegistryError> {
        let Self { mode, ports, aliases, removed } = self;
        let mut state = old.clone();
        state.mode = mode.unwrap_or(state.mode);
        state.ports = ports.unwrap_or(state.ports);
        for alias in removed {
            if state.aliases.remove(alias).is_none() {
                return Err(no_alias(subject, alias, old, versions));
            }
        }
        for (alias, selector) in aliases {
            state.aliases.insert(alias.clone(), resolve(subject, old, versions, selector)?);
        }
        if state.aliases.len() > MAX_ALIASES {
            return Err(RegistryError::Limit { what: "the number of aliases", limit: MAX_ALIASES as u64 });
        }
        Ok(state)
    }
}

/// The state of a subject after an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The subject.
    pub subject: Subject,
    /// The last entry.
    pub head: Located,
}

impl Registry {
    /// Changes the state of a subject. Without a difference, nothing is written.
    ///
    /// # Errors
    /// [`RegistryError::NoSubject`] for an unknown subject, or a version or alias does not exist.
    pub fn set(
        &self,
        subject: &Subject,
        settings: &Settings,
        time: Timestamp,
    ) -> Result<Current, RegistryError> {
        self.check_format()?;
        self.ensure_format()?;
        let log = Log::new(self, subject);
        let mut head = log.head()?;
        for lost in 0..self.contention.attempts {
            self.pause(lost)?;
            let Some(last) = head.take().filter(|head| !is_unborn(head)) else {
                return Err(self.no_subject(subject));
            };
            let state = settings.apply(subject, &last.entry.state, last.entry.versions)?;
            if state == last.entry.state {
                return Ok(Current { subject: subject.clone(), head: Located::clone(&last) });
            }
            let draft = Draft { change: Change::Set {}, state, time };
            match log.append(Some(&last), draft)? {
                Appended::Head(head) => {
                    return Ok(Current { subject: subject.clone(), head: Located::clone(&head) });
                }
                Appended::Lost(entries) => head = entries.last().map(Arc::clone).or(Some(last)),
            }
        }
        Err(RegistryError::Contended { subject: subject.clone(), attempts: self.contention.attempts })
    }
}

/// Whether a log contains sweeps only: pushes of the subject never completed.
pub(crate) fn is_unborn(head: &Located) -> bool {
    head.entry.versions == 0 && head.entry.state == State::default()
}
