//! Renders the results of the solver for people, programs and code hosts.
//!
//! | module | for |
//! |---|---|
//! | [`human`] | people: the printed node, labels under it, notes, help |
//! | [`concise`] | users with many files, and editors: one line for each problem |
//! | [`json`] | programs: one JSON object for each file or problem |
//! | [`sarif`] | code scanning: one SARIF 2.1.0 document for each run |
//! | [`github`] | GitHub's log: one workflow command for each problem |
//! | [`gitlab`] | GitLab: a Code Quality report |
//! | [`junit`] | CI systems: test cases in JUnit XML |
//! | [`markdown`] | summaries of jobs: a table of problems |
//! | [`list`] | commands: the report of a run in any of these formats, file by file |
//! | [`finding`] | problems and differences, as these formats need them |
//! | [`table`] | people: all values with their types |
//! | [`selection`] | some of the values of a model, for [`table`] and [`infer`] |
//! | [`c_header`](mod@c_header) | C and C++ programs: the type tree and the ports of a program as a header |
//! | [`infer`] | programs: the types of all values as JSON |
//! | [`cost`] | people and programs: memory and arithmetic of a model |
//! | [`interface`] | people and programs: interfaces and their differences |
//! | [`exports`] | people and programs: differences of bundles |
//! | [`link`] | people and programs: linked models, and the reasons why two models do not fit |
//! | [`convert`] | people and programs: a conversion to another precision |
//! | [`repair`] | people and programs: the changes of a repair |
//! | [`specialize`] | people and programs: a model for given sizes |
//! | `rust` | people and programs: the API of Rust crates and its changes; needs the feature `rust` |
//!
//! Without the feature `lists`, the crate has [`human`] only.
//!
//! **Invariant:** every renderer returns a `String` or a JSON value. The crate does not print, read a
//! terminal or read a clock; colour is a parameter.
//!
//! **Invariant:** text of the model is escaped in every output: it cannot become a line break of a line
//! format, a command or an escape sequence.

#[cfg(feature = "interfaces")]
pub mod c_header;
#[cfg(feature = "lists")]
pub mod concise;
#[cfg(feature = "lists")]
pub mod convert;
#[cfg(feature = "lists")]
pub mod cost;
#[cfg(feature = "interfaces")]
pub mod exports;
#[cfg(feature = "lists")]
pub mod finding;
#[cfg(feature = "lists")]
pub mod github;
#[cfg(feature = "lists")]
pub mod gitlab;
pub mod human;
#[cfg(feature = "lists")]
pub mod infer;
#[cfg(feature = "interfaces")]
pub mod interface;
#[cfg(feature = "lists")]
pub mod json;
#[cfg(feature = "lists")]
pub mod junit;
#[cfg(feature = "interfaces")]
pub mod link;
#[cfg(feature = "lists")]
pub mod list;
#[cfg(feature = "lists")]
pub mod markdown;
#[cfg(feature = "lists")]
pub mod repair;
#[cfg(feature = "rust")]
pub mod rust;
#[cfg(feature = "lists")]
pub mod sarif;
#[cfg(feature = "lists")]
pub mod selection;
#[cfg(feature = "lists")]
pub mod specialize;
#[cfg(feature = "lists")]
pub mod table;
