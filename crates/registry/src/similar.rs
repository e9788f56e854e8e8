//! Names that a misspelt name of a subject, or of an alias, could mean.
//!
//! A search of subjects follows the segments of the name: at each level, the folder of that name, or else the
//! nearest ones. A name that is the beginning of others leads to those.
//!
//! **Cost:** at most [`MAX_LISTINGS`] folders are listed, each for at most [`PATIENCE`], however many subjects there
//! are. A listing that takes longer, or an error of the store, ends the search without a result: the error that
//! the names explain is more important.

use std::time::Duration;

use typeloom_types::suggest::nearest;

use crate::entry::State;
use crate::names::{Alias, Subject};
use crate::registry::{LOG, Registry, SUBJECTS};

/// Maximum number of folders that a search lists.
const MAX_LISTINGS: usize = 12;
/// Maximum time of one listing.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of subjects.
const MAX_SIMILAR: usize = 3;

impl Registry {
    /// The subjects that a name could mean, at most three.
    pub(crate) fn similar_subjects(&self, subject: &Subject) -> Vec<String> {
        let mut left = MAX_LISTINGS;
        let mut list = |folder: &str| -> Option<Vec<String>> {
            left = left.checked_sub(1)?;
            self.folder.folders_within(folder, PATIENCE)
        };
        let mut open = vec![SUBJECTS.to_owned()];
        for segment in subject.as_str().split('/') {
            let mut next = Vec::new();
            for folder in &open {
                let Some(names) = list(folder) else { return Vec::new() };
                let names = names.iter().map(String::as_str).filter(|name| Subject::is_segment(name));
                let found = match names.clone().find(|name| *name == segment) {
                    Some(same) => vec![same.to_owned()],
                    None => nearest(segment, names),
                };
                next.extend(found.into_iter().map(|name| format!("{folder}/{name}")));
            }
            next.truncate(MAX_SIMILAR);
            open = next;
        }
        // The folders at the end are subjects, or contain some.
        let mut found = Vec::new();
        open.reverse();
        while let Some(folder) = open.pop()
            && found.len() < MAX_SIMILAR
        {
            let Some(names) = list(&folder) else { break };
            if names.iter().any(|name| name == LOG) {
                found.extend(
                    folder.strip_prefix(SUBJECTS).map(|name| name.trim_start_matches('/').to_owned()),
                );
            }
            let below = names.iter().filter(|name| Subject::is_segment(name)).take(MAX_SIMILAR);
            let below: Vec<String> = below.map(|name| format!("{folder}/{name}")).collect();
            open.extend(below.into_iter().rev());
        }
        found.retain(|name| name != subject.as_str());
        found
    }
}

/// The aliases, versions and `latest` that an unknown alias could mean.
pub(crate) fn similar_selectors(alias: &Alias, state: &State, versions: u64) -> Vec<String> {
    let number = alias.as_str().strip_prefix(['v', 'V']).and_then(|rest| rest.parse::<u64>().ok());
    if let Some(number) = number.filter(|number| (1..=versions).contains(number)) {
        return vec![number.to_string()];
    }
    let names = state.aliases.keys().map(Alias::as_str).chain([crate::names::LATEST]);
    nearest(alias.as_str(), names)
}
