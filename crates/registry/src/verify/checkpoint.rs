//! Heads of logs, to be kept outside of the store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::entry::{Hash, Link, canonical, parse};
use crate::error::Problem;
use crate::names::Subject;

/// The heads of subjects at one time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    format: String,
    /// The heads.
    pub subjects: BTreeMap<Subject, Head>,
    version: u64,
}

/// The head of a subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The hash of the entry.
    pub digest: Hash,
    /// Its number.
    pub entry: u64,
}

const FORMAT: &str = "typeloom-checkpoint";
const VERSION: u64 = 1;

/// Error of bytes that are not a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the checkpoint {0}")]
pub struct CheckpointError(Problem);

impl Checkpoint {
    pub(super) fn new(heads: impl IntoIterator<Item = (Subject, Link)>) -> Self {
        let head = |link: Link| Head { digest: link.digest, entry: link.entry };
        let subjects = heads.into_iter().map(|(subject, link)| (subject, head(link))).collect();
        Self { format: FORMAT.to_owned(), subjects, version: VERSION }
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// Never, for a checkpoint of a [`Report`](super::Report).
    pub fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        canonical(self).map_err(CheckpointError)
    }

    /// The checkpoint in bytes. A line break at the end is accepted.
    ///
    /// # Errors
    /// The bytes are not a checkpoint, or one of an unknown format.
    pub fn decode(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let checkpoint: Self = parse(bytes.trim_ascii_end()).map_err(CheckpointError)?;
        Problem::unless_equal("format", &FORMAT.to_owned(), &checkpoint.format).map_err(CheckpointError)?;
        Problem::unless_equal("format version", &VERSION, &checkpoint.version).map_err(CheckpointError)?;
        Ok(checkpoint)
    }
}
