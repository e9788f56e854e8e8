//! Commands for users at a terminal: completions, manual pages, selected values, pictures, written inputs, comparisons, operator
//! files.

#[path = "../ci/support.rs"]
#[expect(dead_code, reason = "shared with the tests of continuous integration")]
mod support;

mod compare;
mod graph;
mod infer;
mod inputs;
mod operators;
mod shell;
mod view;
