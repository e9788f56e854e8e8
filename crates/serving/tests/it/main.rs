//! Contracts for serving.

mod golden;
mod round_trip;
mod support;
mod verdicts;
