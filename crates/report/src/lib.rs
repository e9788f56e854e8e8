//! Renders the results of the solver for people, programs and code hosts.
//!
//! | module | for |
//! |---|---|
//! | [`human`] | people: the printed node, labels under it, notes, help |
//! | [`concise`] | people with many files, and editors: one line a problem |
//! | [`json`] | programs: one JSON object a problem |
//! | [`sarif`] | code scanning: one SARIF 2.1.0 document a run |
//! | [`github`] | GitHub's log: one workflow command a problem |
//! | [`table`] | people: all values with their types |
//! | [`c_header`](mod@c_header) | C and C++ programs: the type tree and the ports of a program as a header |
//! | [`infer`] | programs: the types of all values as JSON |
//! | [`interface`] | people and programs: interfaces, and the differences of two |
//! | [`repair`] | people and programs: the changes of a repair |
//! | `rust` | people and programs: the API of Rust crates and its changes; needs the feature `rust` |
//!
//! **Invariant:** every renderer returns a `String` or a JSON value. Nothing here prints, reads a terminal or
//! reads the clock; colour is a parameter, and lines are not cut to a width.
//!
//! **Invariant:** text of the model reaches no output unescaped: not as a line break in a line format,
//! not as a command, not as an escape sequence.

pub mod c_header;
pub mod concise;
pub mod github;
pub mod human;
pub mod infer;
pub mod interface;
pub mod json;
pub mod repair;
#[cfg(feature = "rust")]
pub mod rust;
pub mod sarif;
pub mod table;
