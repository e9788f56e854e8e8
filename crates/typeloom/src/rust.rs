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

/// [`render`] has an example.
#[doc(inline)]
pub use typeloom_report::rust::changes_text as render_changes;
/// Text of an API, one line per item, and of the changes between two versions.
///
/// ```no_run
/// use typeloom::rust::{Edition, compare, describe, render, render_changes};
/// use typeloom::term::Symbols;
///
/// let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
/// let mut symbols = Symbols::new();
/// let api = describe(&new, Edition::E2024, &mut symbols)?;
/// print!("{}", render(&api, &mut symbols));
/// print!("{}", render_changes(&compare(&old, &new, Edition::E2024.into())?.changes));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_report::rust::description as render;
/// Comparison of two versions of a crate.
///
/// ```no_run
/// use typeloom::rust::{ApiDiff, Edition, Editions, compare};
///
/// let (old, new) = (std::fs::read("old.json")?, std::fs::read("new.json")?);
/// let editions = Editions { old: Edition::E2021, new: Edition::E2024 };
/// let diff: ApiDiff = compare(&old, &new, editions)?;
/// let breaks = diff.changes.iter().filter(|change| change.breaking).count();
/// println!("{breaks} of {} changes are breaks", diff.changes.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_rust_api::compare;
/// Signatures of a crate as terms, and as a bundle.
///
/// ```
/// use typeloom::rust::{Api, Edition, Error, bundle, describe};
/// use typeloom::term::Symbols;
///
/// fn signatures(json: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
///     let mut symbols = Symbols::new();
///     let api: Api = describe(json, Edition::E2024, &mut symbols)?;
///     for item in &api.items {
///         println!("{} {}", item.kind.word(), item.path);
///     }
///     Ok(bundle(&api, &mut symbols)?.into_bytes())
/// }
///
/// let error = signatures(b"{}").unwrap_err();
/// assert!(error.is::<Error>());
/// ```
#[doc(inline)]
pub use typeloom_rust_api::describe;
/// [`describe`] has an example.
#[doc(inline)]
pub use typeloom_rust_api::{Api, Error, bundle};
/// [`compare`] has an example.
#[doc(inline)]
pub use typeloom_rust_api::{ApiDiff, Edition, Editions};
