//! The subcommands, one file each.

#[cfg(not(all(
    feature = "compile",
    feature = "registry",
    feature = "run",
    feature = "rust",
    feature = "view"
)))]
mod absent;
pub(crate) mod annotate;
pub(crate) mod check;
#[cfg(feature = "compile")]
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod describe;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod fix;
#[cfg(feature = "view")]
pub(crate) mod graph;
pub(crate) mod header;
pub(crate) mod infer;
pub(crate) mod link;
pub(crate) mod man;
pub(crate) mod ops;
#[cfg(feature = "registry")]
pub(crate) mod registry;
#[cfg(feature = "run")]
pub(crate) mod run;
#[cfg(feature = "rust")]
pub(crate) mod rust;
pub(crate) mod targets;
#[cfg(feature = "view")]
pub(crate) mod view;

#[cfg(not(feature = "compile"))]
pub(crate) use absent::compile;
#[cfg(not(all(feature = "registry", feature = "view")))]
pub(crate) use absent::error as absent;
#[cfg(not(feature = "registry"))]
pub(crate) use absent::registry;
#[cfg(not(feature = "run"))]
pub(crate) use absent::run;
#[cfg(not(feature = "rust"))]
pub(crate) use absent::rust;
#[cfg(not(feature = "view"))]
pub(crate) use absent::{graph, view};
