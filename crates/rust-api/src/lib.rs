//! Rust's own types as terms: the public items of a crate, and the changes between two versions.
//!
//! rustdoc describes the public items of a crate as JSON. [`read()`] parses it, [`lower()`] converts every
//! public item to terms, [`bundle`] adds the signatures to a pool, and [`diff()`] compares two versions *as
//! types*. [`describe`] and [`compare`] do the same from the bytes of the JSON:
//!
//! ```no_run
//! use typeloom_rust_api::{Edition, compare, describe, print, signature};
//! use typeloom_term::Symbols;
//!
//! let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
//! let mut symbols = Symbols::new();
//! let edition = Edition::E2024;
//! let api = describe(&old, edition, &mut symbols)?;
//! for item in api.items_at("my_crate::find") {
//!     println!("{}", print::item(item, &mut symbols));
//!     // Each part of a signature is a term, and so is the whole signature.
//!     for part in &item.parts {
//!         println!("{}: {}", part.label, typeloom_term::print::rust(&part.ty, &symbols));
//!     }
//!     if let Some(whole) = signature(item, &mut symbols)? {
//!         println!("{}", typeloom_term::print::rust(&whole, &symbols));
//!     }
//! }
//!
//! let changes = compare(&old, &new, edition.into())?.changes;
//! assert!(changes.iter().all(|change| !change.breaking));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Terms of two crates are comparable if both crates were lowered with one table of names and the first crate
//! was passed as the argument `like` of [`lower()`] for the second.
//!
//! # Code map
//!
//! | module | content |
//! |---|---|
//! | `read` | parsing of rustdoc JSON; check of the format version |
//! | `lower` | conversion of the JSON to items: public paths, name resolution, elision, aliases |
//! | `item`, `predicate`, `terms` | the items; predicates as terms; helpers for terms |
//! | `futures` | the futures of `async fn`s |
//! | `edition` | the one edition-dependent rule |
//! | `std_facts` | variances, impls, aliases and supertraits of the standard library |
//! | `prove` | variances, impls, assumptions, associated types, and proofs of predicates |
//! | `compare` | comparison of two versions: pairing of items, substitutability, the first difference |
//! | `signature` | closed signatures and the bundle of all signatures |
//! | `print` | items in Rust syntax |

#![deny(missing_docs)]

mod compare;
mod edition;
mod futures;
pub mod item;
pub mod lower;
pub mod predicate;
pub mod print;
mod prove;
mod read;
mod signature;
mod std_facts;
mod terms;

pub use compare::{ItemChange, diff, self_check};
pub use edition::{Edition, Editions};
pub use futures::{AsyncFuture, futures};
pub use lower::{Api, Counts, LowerError, Unresolved, lower};
pub use read::{ReadError, read};
pub use signature::{BundleError, bundle, signature};

use typeloom_term::{Symbols, TermError};

/// Error of reading, lowering or comparing a crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not the JSON of a crate.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The crate cannot be converted to terms.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// An evaluated type exceeds the limits of terms.
    #[error("a type is too large after its aliases are evaluated: {0}")]
    Term(#[from] TermError),
}

/// Error of a comparison, with the version that causes it.
#[derive(Debug, thiserror::Error)]
#[error("the {version} version: {error}")]
pub struct CompareError {
    /// The version with the error.
    pub version: Version,
    /// The error of that version.
    pub error: Error,
}

/// Reads a crate and lowers it.
///
/// # Errors
/// [`Error`] if the bytes are not the JSON of a crate, or the crate exceeds a limit.
pub fn describe(json: &[u8], edition: Edition, symbols: &mut Symbols) -> Result<Api, Error> {
    Ok(lower(&read(json)?, edition, symbols, None)?)
}

/// Result of [`compare`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiDiff {
    /// Every item that differs.
    pub changes: Vec<ItemChange>,
    /// Whether the captures of some `impl Trait` depend on the edition. Only then can other editions yield
    /// other changes.
    pub by_edition: bool,
}

/// Compares two versions of a crate.
///
/// # Errors
/// [`CompareError`] if the JSON of one version is unusable.
pub fn compare(old: &[u8], new: &[u8], editions: Editions) -> Result<ApiDiff, CompareError> {
    let mut symbols = Symbols::new();
    let of_new = |error: Error| CompareError { version: Version::New, error };
    let old = describe(old, editions.old, &mut symbols)
        .map_err(|error| CompareError { version: Version::Old, error })?;
    let new = read(new).map_err(|error| of_new(error.into()))?;
    let new = lower(&new, editions.new, &mut symbols, Some(&old)).map_err(|error| of_new(error.into()))?;
    let changes = diff(&old, &new, &mut symbols).map_err(|error| of_new(error.into()))?;
    Ok(ApiDiff { changes, by_edition: old.by_edition || new.by_edition })
}

/// One of two compared versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// The old version.
    Old,
    /// The new version.
    New,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Old => "old",
            Self::New => "new",
        })
    }
}
