//! Integration tests of the wire: a message is delivered exactly once, or a typed error states the reason.

#[path = "wire/bounds.rs"]
mod bounds;
#[path = "wire/envelopes.rs"]
mod envelopes;
#[path = "wire/failures.rs"]
mod failures;
#[path = "wire/peers.rs"]
mod peers;
#[path = "wire/ports.rs"]
mod ports;
