//! Random questions about the types of crates, decided here and by rustc.
//!
//! | module | question | decided here by |
//! |---|---|---|
//! | `objects` | which traits a trait object implements; which trait objects are equal | a comparison of two versions |
//! | `futures` | whether the future of an `async fn` is `Send`, `Sync` or `Unpin` | the witness of the future |
//! | `overlap` | whether a new impl conflicts with an impl of another crate | a comparison of two versions |
//! | `inference` | whether impls determine a parameter of a function | a comparison of two versions |
//! | `higher_ranked` | subtypes and equal types among aliases under binders | a comparison of two versions |
//! | `lifetimes` | which types outlive a lifetime; impls for some lifetimes | a comparison of two versions |
//! | `unresolved` | which items contain a name that is not resolved | the errors of the items |
//!
//! A question is a statement on one line: a function, or a module. rustc compiles many at once, and the lines
//! of its errors identify the statements that it rejects. Every disagreement is an error of this crate, so a
//! test fails at the first one. `TYPELOOM_RUSTC_SEEDS` selects the seeds.

#![allow(clippy::print_stdout, reason = "results are printed")]

#[path = "pair/compare.rs"]
mod compare;
#[path = "rustc_agreement/futures.rs"]
mod futures;
#[path = "rustc_agreement/higher_ranked.rs"]
mod higher_ranked;
#[path = "rustc_agreement/inference.rs"]
mod inference;
#[path = "pair/json.rs"]
mod json;
#[path = "rustc_agreement/lifetimes.rs"]
mod lifetimes;
#[path = "rustc_agreement/objects.rs"]
mod objects;
#[path = "rustc_agreement/overlap.rs"]
mod overlap;
#[path = "rustc_agreement/probe.rs"]
mod probe;
#[path = "rustc_agreement/unresolved.rs"]
mod unresolved;
