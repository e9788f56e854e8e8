//! The public types of Rust crates: describe a crate, compare two versions.
//!
//! The input is the JSON that `cargo rustdoc -- -Z unstable-options --output-format json` writes.
//!
//! ```no_run
//! use typeloom::rust::{Edition, compare};
//!
//! let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
//! for change in compare(&old, &new, Edition::E2024.into())?.changes.iter().filter(|change| change.breaking) {
//!     println!("{change:?}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use typeloom_rust_api::{
    Api, ApiDiff, BundleError, CompareError, Edition, Editions, Error, ItemChange, Version, bundle, compare,
    describe,
};
