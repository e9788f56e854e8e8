//! Rust's own types as terms: what the public items of a crate are, and what changed between two versions.
//!
//! rustdoc writes what a crate offers as JSON. [`read()`] reads it, [`lower()`] turns every public item into terms,
//! [`bundle`] puts their signatures into a pool, and [`diff()`] compares two versions *as types*.
//! [`describe`] and [`compare`] do so from the bytes of the JSON:
//!
//! ```no_run
//! use typeloom_rust::{Edition, compare, describe, report, signature, text};
//! use typeloom_term::{Symbols, print};
//!
//! let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
//! let mut symbols = Symbols::new();
//! let edition = Edition::E2024;
//! let api = describe(&old, edition, &mut symbols)?;
//! for item in api.items_at("my_crate::find") {
//!     println!("{}", text::item(item, &mut symbols));
//!     // Each part of a signature is a term, and so is the whole of it.
//!     for part in &item.parts {
//!         println!("{}: {}", part.label, print::rust(&part.ty, &symbols));
//!     }
//!     if let Some(whole) = signature(item, &mut symbols)? {
//!         println!("{}", print::rust(&whole, &symbols));
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
//! | module | what it holds |
//! |---|---|
//! | `read` | bytes to JSON, with its version checked |
//! | `paths` | what can be reached from outside, and what it is called |
//! | `lower` | JSON to items: names resolved, elision undone, aliases expanded |
//! | `item`, `predicate` | the items; predicates as terms |
//! | `edition` | what a type means in which edition |
//! | `facts` | what is known about the standard library; what it implements is in `facts/std.txt` |
//! | `variance`, `world`, `assume`, `prove` | variances; impls and assumptions; proofs from them |
//! | `evaluate` | associated types by rule: of trait objects, iterators, functions, numbers |
//! | `compare`, `locate`, `diff` | one item in place of another; where two types differ; two versions |
//! | `blanket` | impls that leave no room for those of others |
//! | `upgrade` | old items in terms of definitions that gained parameters |
//! | `written` | arguments of the standard library's types that one of two items leaves out |
//! | `bundle` | signatures in a pool |
//! | `text`, `report` | items in Rust's syntax; descriptions and changes as text and JSON |

#![deny(missing_docs)]

mod assume;
mod blanket;
mod bundle;
mod compare;
mod diff;
mod edition;
mod evaluate;
mod facts;
pub mod item;
mod locate;
pub mod lower;
mod paths;
pub mod predicate;
mod prove;
mod read;
pub mod report;
mod rewrite;
pub mod text;
mod upgrade;
mod variance;
mod world;
mod written;

pub use bundle::{BundleError, bundle, signature};
pub use diff::{Change, ChangeKind, diff, self_check};
pub use edition::{Edition, Editions};
pub use lower::{Api, Counts, LowerError, lower};
pub use read::{ReadError, read};

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
