//! Renders what the solver found: for people, for machines, for code hosts. Everything is a `String`
//! or a JSON value; nothing here prints.

pub mod infer;
