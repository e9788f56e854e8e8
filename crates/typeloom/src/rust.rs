//! The public types of Rust crates: describe a crate, compare two versions.
//!
//! The input is the JSON that `cargo rustdoc -- -Z unstable-options --output-format json` writes.
//!
//! ```no_run
//! use typeloom::rust::{Edition, compare};
//!
//! let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
//! let comparison = compare(&old, &new, Edition::E2024.into()).map_err(|(version, error)| format!("{version}: {error}"))?;
//! for change in comparison.changes.iter().filter(|change| change.breaking) {
//!     println!("{change:?}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use typeloom_rust_api::{
    Api, BundleError, Change, ChangeKind, Comparison, Edition, Editions, Error, Version, bundle, compare,
    describe,
};
