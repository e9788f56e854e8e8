//! Errors of a registry.

use std::fmt;

use typeloom_interface::bundle::BundleError;
use typeloom_io::stores::StoreError;
use typeloom_solver::diagnostic::text::suggestion;

use crate::names::{Alias, NameError, Selector, Subject};
use crate::verdict::Verdict;

/// Error of an operation. A failed operation changed nothing, except [`Self::Unconfirmed`].
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The store cannot be accessed.
    #[error(transparent)]
    Store(StoreError),
    /// A name is malformed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The store contains no registry. The first push creates it.
    #[error("`{0}` contains no registry; the first push creates it")]
    NoRegistry(String),
    /// The registry has a format that this version does not know.
    #[error("`{object}` has the format version {found}, and this version of typeloom reads {known}")]
    UnknownFormat {
        /// The object that states the version.
        object: String,
        /// The version.
        found: u64,
        /// The version of this crate.
        known: u64,
    },
    /// The store replaces objects although the request requires that they do not exist.
    #[error("`{0}` does not support conditional writes, which concurrent pushes need")]
    NoConditionalWrites(String),
    /// The subject has no entries.
    #[error("there is no subject `{subject}`{}", suggestion(similar))]
    NoSubject {
        /// The name.
        subject: Subject,
        /// Names of subjects that could be meant.
        similar: Vec<String>,
    },
    /// The subject has no such version.
    #[error("`{subject}` has no version `{selector}`{}", Versions(*.versions))]
    NoVersion {
        /// The subject.
        subject: Subject,
        /// The version or alias.
        selector: Selector,
        /// The number of versions.
        versions: u64,
    },
    /// The subject has no such alias.
    #[error("`{subject}` has no alias `{alias}` ({}){}", Aliases(aliases), suggestion(similar))]
    NoAlias {
        /// The subject.
        subject: Subject,
        /// The alias.
        alias: Alias,
        /// The aliases of the subject.
        aliases: Vec<Alias>,
        /// The aliases or versions that could be meant.
        similar: Vec<String>,
    },
    /// The object in the store is not as it was written, or something else wrote it.
    #[error(transparent)]
    Corrupt(#[from] Box<Corruption>),
    /// The new version violates the compatibility mode.
    #[error("{0}")]
    Rejected(Box<Verdict>),
    /// The pushed bytes are not a bundle.
    #[error("the pushed content is not a bundle: {0}")]
    NotABundle(BundleError),
    /// An argument exceeds a limit.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// The argument.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Other writers were faster in every attempt.
    #[error("`{subject}` was changed by others during {attempts} attempts")]
    Contended {
        /// The subject.
        subject: Subject,
        /// The number of attempts.
        attempts: u32,
    },
    /// The request to create an entry ended with an error, and the entry is not there. It may still appear,
    /// if the request is on its way.
    #[error("it is unknown whether `{object}` is written: {error}")]
    Unconfirmed {
        /// The entry.
        object: String,
        /// The error of the request.
        error: StoreError,
    },
    /// The operating system provides no random numbers.
    #[error("no random numbers: {0}")]
    Random(String),
}

/// The number of versions of a subject, as a clause.
struct Versions(u64);

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("; it has no versions"),
            versions => write!(f, "; the latest one is {versions}"),
        }
    }
}

/// Maximum number of aliases in a message.
const MAX_SHOWN: usize = 10;

/// The aliases of a subject, as a clause.
struct Aliases<'a>(&'a [Alias]);

impl fmt::Display for Aliases<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else { return f.write_str("it has no aliases") };
        write!(f, "its aliases: `{first}`")?;
        rest.iter().take(MAX_SHOWN - 1).try_for_each(|alias| write!(f, ", `{alias}`"))?;
        match self.0.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            hidden => write!(f, " and {hidden} more"),
        }
    }
}

impl RegistryError {
    /// The wrong object, if that is the error.
    #[must_use]
    pub fn corruption(&self) -> Option<&Corruption> {
        if let Self::Corrupt(corruption) = self { Some(corruption) } else { None }
    }
}

impl From<StoreError> for RegistryError {
    /// An object that is larger than its format allows is corrupt.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooLarge(object, size, max) => {
                Corruption { object, problem: Problem::TooLarge { size, max } }.into()
            }
            other => Self::Store(other),
        }
    }
}

impl From<Corruption> for RegistryError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(Box::new(corruption))
    }
}

/// An object that differs from what the registry wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{object}` {problem}")]
pub struct Corruption {
    /// The URL or path of the object.
    pub object: String,
    /// The problem.
    pub problem: Problem,
}

/// The problem of an object, as a clause that follows its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It does not exist, although another object refers to it.
    #[error("is missing: {0}")]
    Missing(String),
    /// It has more bytes than its format allows.
    #[error("has {size} bytes, more than {max}")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        max: u64,
    },
    /// It does not have its format.
    #[error("is malformed: {0}")]
    Malformed(String),
    /// It is the same JSON in another notation.
    #[error("is not in canonical notation")]
    NotCanonical,
    /// A part has another value.
    #[error("has another {what}: expected {expected}, found {found}")]
    Mismatch {
        /// The part.
        what: &'static str,
        /// The value that other objects imply.
        expected: String,
        /// The value.
        found: String,
    },
    /// It breaks a rule of the format.
    #[error("breaks a rule: {0}")]
    Rule(String),
}

impl Problem {
    /// A mismatch of two values.
    pub(crate) fn mismatch(what: &'static str, expected: &impl ToString, found: &impl ToString) -> Self {
        Self::Mismatch { what, expected: expected.to_string(), found: found.to_string() }
    }

    /// `Ok` if both values are equal.
    pub(crate) fn unless_equal<T: PartialEq + ToString>(
        what: &'static str,
        expected: &T,
        found: &T,
    ) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::mismatch(what, expected, found)) }
    }

    /// Names the object.
    pub(crate) fn at(self, object: String) -> Corruption {
        Corruption { object, problem: self }
    }
}
