//! Tests of rewritten models, on small models, on those in `models/` and on the recorded cases.

mod advice;
mod annotate;
mod coerce;
mod convert;
mod detail;
mod retarget;
mod specialize;
mod support;
