//! Tests of interfaces, on small models, on those in `models/` and on the recorded cases.

mod dims;
mod enumeration;
mod interface;
#[path = "../../../rewrite/tests/it/support.rs"]
mod support;
