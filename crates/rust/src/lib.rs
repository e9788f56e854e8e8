//! Rust's own types as terms: what the public items of a crate are, and what changed between two versions.
//!
//! rustdoc writes what a crate offers as JSON. [`read()`] reads it, [`lower()`] turns every public item into terms,
//! [`bundle`] puts their signatures into a pool, and [`diff()`] compares two versions *as types*.
//!
//! # Code map
//!
//! | module | what it holds |
//! |---|---|
//! | `read` | bytes to JSON, with its version checked |
//! | `paths` | what can be reached from outside, and what it is called |
//! | `lower` | JSON to items: names resolved, elision undone, aliases expanded |
//! | `item`, `predicate` | the items; predicates as terms |
//! | `facts` | what is known about the standard library |
//! | `variance`, `world`, `assume`, `prove` | variances; impls and assumptions; proofs from them |
//! | `compare`, `locate`, `diff` | one item in place of another; where two types differ; two versions |
//! | `upgrade` | old items in terms of definitions that gained parameters |
//! | `text` | items in Rust's syntax |

mod assume;
mod compare;
mod diff;
mod facts;
pub mod item;
mod locate;
pub mod lower;
mod paths;
pub mod predicate;
mod prove;
mod read;
pub mod text;
mod upgrade;
mod variance;
mod world;

pub use diff::{Change, ChangeKind, diff};
pub use lower::{Api, Counts, LowerError, lower};
pub use read::{ReadError, read};
