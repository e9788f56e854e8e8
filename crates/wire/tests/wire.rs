//! The wire: what arrives is what was sent, once, or a typed error says why not.

#[path = "wire/envelopes.rs"]
mod envelopes;
#[path = "wire/peers.rs"]
mod peers;
#[path = "wire/ports.rs"]
mod ports;
#[path = "wire/storms.rs"]
mod storms;
