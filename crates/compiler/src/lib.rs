//! What is done with a program once its types are known.
//!
//! | module | what it does |
//! |---|---|
//! | [`annotate`] | writes solved types into a model file, and takes them out again |
//! | [`interface`] | what callers of a program have to know, as a portable type; compatibility |
//!
//! **Invariant:** nothing that is not proved is written into a model.

pub mod annotate;

pub mod interface;

mod graphs;
