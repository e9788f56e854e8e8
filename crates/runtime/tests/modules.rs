//! Runs of compiled modules, by contract.

#[path = "modules/altered.rs"]
mod altered;
#[path = "modules/backends.rs"]
mod backends;
#[path = "modules/composites.rs"]
mod composites;
#[path = "modules/failures.rs"]
mod failures;
#[path = "modules/hostile.rs"]
mod hostile;
#[path = "modules/linking.rs"]
mod linking;
#[path = "modules/operators.rs"]
mod operators;
#[path = "modules/peers.rs"]
mod peers;
#[path = "modules/roles.rs"]
mod roles;
#[path = "modules/structure.rs"]
mod structure;
#[path = "modules/support.rs"]
pub(crate) mod support;
