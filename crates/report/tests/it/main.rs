//! Rendered reports, for every code and in every format.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests panic and print as tests do")]

mod hostile;
mod pages;
mod rendered;
mod support;
