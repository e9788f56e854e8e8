//! Rust's own types as terms: what the public items of a crate are, and what changed between two versions.
//!
//! rustdoc writes what a crate offers as JSON. [`read()`] reads it, [`lower()`] turns every public item into terms,
//! [`bundle`] puts their signatures into a pool, and [`diff()`] compares two versions *as types*.
//! [`describe`] and [`compare`] do so from the bytes of the JSON:
//!
//! ```no_run
//! use typeloom_rust_api::{Edition, compare, describe, print, report, signature};
//! use typeloom_term::Symbols;
//!
//! let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
//! let mut symbols = Symbols::new();
//! let edition = Edition::E2024;
//! let api = describe(&old, edition, &mut symbols)?;
//! for item in api.items_at("my_crate::find") {
//!     println!("{}", print::item(item, &mut symbols));
//!     // Each part of a signature is a term, and so is the whole of it.
//!     for part in &item.parts {
//!         println!("{}: {}", part.label, typeloom_term::print::rust(&part.ty, &symbols));
//!     }
//!     if let Some(whole) = signature(item, &mut symbols)? {
//!         println!("{}", typeloom_term::print::rust(&whole, &symbols));
//!     }
//! }
//!
//! let found = compare(&old, &new, edition.into())
//!     .map_err(|(version, error)| format!("the {version} version: {error}"))?;
//! let changes = found.changes;
//! print!("{}", report::changes_text(&changes));
//! assert!(changes.iter().all(|change| !change.breaking));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Terms of two crates are comparable if both were lowered with one table of names, the second one *like* the first: that
//! is the third argument of [`lower()`].
//!
//! # Code map
//!
//! | module | content |
//! |---|---|
//! | `read` | parsing of rustdoc JSON; check of the format version |
//! | `lower` | conversion of the JSON to items: public paths, name resolution, elision, aliases |
//! | `item`, `predicate` | the items; predicates as terms |
//! | `edition` | the one edition-dependent rule |
//! | `std_facts` | variances, impls, aliases and supertraits of the standard library |
//! | `prove` | variances, impls, assumptions, associated types, and proofs of predicates |
//! | `compare` | comparison of two versions: pairing of items, substitutability, the first difference |
//! | `signature` | closed signatures and the bundle of all signatures |
//! | `print`, `report` | items in Rust syntax; descriptions and changes as text and JSON |

#![deny(missing_docs)]

mod compare;
mod edition;
pub mod item;
pub mod lower;
pub mod predicate;
pub mod print;
mod prove;
mod read;
pub mod report;
mod signature;
mod std_facts;

pub use compare::{Change, ChangeKind, diff, self_check};
pub use edition::{Edition, Editions};
pub use lower::{Api, Counts, LowerError, lower};
pub use read::{ReadError, read};
pub use signature::{BundleError, bundle, signature};

use typeloom_term::{Symbols, TermError};

/// Why a crate could not be described or compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not the JSON of a crate.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The crate could not be turned into terms.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A type grew too large when it was evaluated.
    #[error("a type is too large once its aliases are evaluated: {0}")]
    Term(#[from] TermError),
}

/// Reads a crate and lowers it.
///
/// # Errors
/// [`Error`], where the bytes are not usable.
pub fn describe(json: &[u8], edition: Edition, symbols: &mut Symbols) -> Result<Api, Error> {
    Ok(lower(&read(json)?, edition, symbols, None)?)
}

/// What [`compare`] finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Every item that is not equal.
    pub changes: Vec<Change>,
    /// Whether what some `impl Trait` borrows from is decided by the editions: only then can other editions give other
    /// changes.
    pub by_edition: bool,
}

/// Compares two versions of a crate.
///
/// # Errors
/// [`Error`], where the bytes of one are not usable, and which.
pub fn compare(old: &[u8], new: &[u8], editions: Editions) -> Result<Comparison, (Version, Error)> {
    let mut symbols = Symbols::new();
    let of_old = |error: Error| (Version::Old, error);
    let of_new = |error: Error| (Version::New, error);
    let old = describe(old, editions.old, &mut symbols).map_err(of_old)?;
    let new = read(new).map_err(|error| of_new(error.into()))?;
    let new = lower(&new, editions.new, &mut symbols, Some(&old)).map_err(|error| of_new(error.into()))?;
    let changes = diff(&old, &new, &mut symbols).map_err(|error| of_new(error.into()))?;
    Ok(Comparison { changes, by_edition: old.by_edition || new.by_edition })
}

/// Which of two versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// The one before.
    Old,
    /// The one after.
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
