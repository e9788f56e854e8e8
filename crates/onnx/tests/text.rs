//! The textual syntax: parser, printer and their agreement.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests panic and print as tests do")]

#[path = "text/errors.rs"]
mod errors;
#[path = "text/hostile.rs"]
mod hostile;
#[path = "text/normal.rs"]
mod normal;
#[path = "text/printing.rs"]
mod printing;
#[path = "text/random.rs"]
mod random;
#[path = "text/reading.rs"]
mod reading;
#[path = "text/reference.rs"]
mod reference;
#[path = "text/round_trip.rs"]
mod round_trip;
