//! The subcommands, one file each.

pub(crate) mod annotate;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod describe;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod fix;
pub(crate) mod graph;
pub(crate) mod header;
pub(crate) mod infer;
pub(crate) mod link;
pub(crate) mod man;
pub(crate) mod ops;
pub(crate) mod registry;
pub(crate) mod run;
pub(crate) mod rust;
pub(crate) mod targets;
pub(crate) mod view;
