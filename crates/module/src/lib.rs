//! The library for authors of modules: bodies that are recorded as graphs, slots, and the components bound to
//! slots.
//!
//! | module | contents |
//! |---|---|
//! | [`module`] | the trait of modules, recording, calls of other modules |
//! | [`graph`] | graphs, values and operators in the body of a module |
//! | [`authoring`], [`location`] | errors of a recording, with source locations |
//! | [`bindings`] | the Rust component of each slot |
//! | [`program`] | programs that can be compiled |
//! | [`dispatch`] | the component and the method that run a node |
//! | [`registry`] | all operators of a program |
//! | [`operators`] | operator sets of contracts, the wire, types and bundles |
//! | [`names`] | names of attributes and methods |

pub mod authoring;
pub mod bindings;
pub mod dispatch;
pub mod graph;
pub mod location;
pub mod module;
pub mod names;
pub mod operators;
pub mod program;
pub mod registry;

/// A hash map for lookups. Its order must not affect results.
pub type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// A hash set for lookups. Its order must not affect results.
pub type Set<K> = std::collections::HashSet<K, foldhash::fast::RandomState>;
