//! The programs of `docs/modules.md`, which the published package does not contain.

#![doc = include_str!("../../../../docs/modules.md")]
