//! The subcommands, one file each.

#[cfg(not(all(
    feature = "compile",
    feature = "interfaces",
    feature = "registry",
    feature = "run",
    feature = "rust",
    feature = "shell",
    feature = "view"
)))]
mod absent;
pub(crate) mod annotate;
pub(crate) mod check;
#[cfg(feature = "compile")]
pub(crate) mod compile;
#[cfg(feature = "shell")]
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod cost;
#[cfg(feature = "interfaces")]
pub(crate) mod describe;
#[cfg(feature = "interfaces")]
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod fix;
pub(crate) mod infer;
#[cfg(feature = "interfaces")]
pub(crate) mod link;
#[cfg(feature = "shell")]
pub(crate) mod man;
pub(crate) mod ops;
#[cfg(feature = "registry")]
pub(crate) mod registry;
#[cfg(feature = "run")]
pub(crate) mod run;
#[cfg(feature = "rust")]
pub(crate) mod rust;
pub(crate) mod specialize;
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
pub(crate) use absent::view;
#[cfg(not(feature = "shell"))]
pub(crate) use absent::{completions, man};
#[cfg(not(feature = "interfaces"))]
pub(crate) use absent::{describe, diff, link};
