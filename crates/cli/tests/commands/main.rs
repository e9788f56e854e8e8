//! Commands for users at a terminal: completions, manual pages, selected values, pictures, written inputs,
//! comparisons, operator files.

use super::ci::support;

mod compare;
mod convert;
mod fix;
mod graph;
mod infer;
mod inputs;
mod operators;
mod shell;
mod specialize;
mod view;
