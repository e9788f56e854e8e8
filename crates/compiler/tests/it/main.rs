//! What the transformations promise, on small models, on those in `models/` and on the recorded cases.

mod annotate;
mod coerce;
mod interface;
mod modules;
mod operators;
mod support;
