//! `typeloom._core`: the extension module behind the Python package `typeloom`.
//!
//! The package has two layers. This module converts arguments and results, releases the interpreter during
//! work, and lets an interrupt end a long call. The Python sources in `python/typeloom` are the public
//! interface: classes, docstrings, models of other libraries.
//!
//! | module | serves |
//! |---|---|
//! | [`model`] | models from paths and bytes, and the text form of models |
//! | [`settings`], [`operators`] | options of checks, operators and their rules |
//! | [`report`] | `check`, `explain` |
//! | [`reference`] | the drop-in replacements of the reference's modules |
//! | [`rewrite`] | `annotate`, `strip`, `specialize`, `fix`, `convert`, `compile` |
//! | [`cost`] | `cost` |
//! | [`link`] | `link` |
//! | [`interface`] | `describe`, `diff` |
//! | [`view`] | `view` |
//! | [`session`], [`array`] | `Session`, tensors |
//! | [`dim`], [`types`] | `Dim`, `Type`, the type tree |
//! | [`pool`], [`descriptor`] | pools and bundles |
//! | [`term`], [`infer`] | terms, and inference of them |
//! | [`fleet`] | models in object stores, for `typeloom.fleet` |
//! | [`registry`] | registries of interfaces, for `typeloom.registry` |
//! | [`command`] | the command line |
//!
//! **Invariant:** no object here refers to a mapped file after the call that opened it: another program may
//! truncate the file, and reading a truncated map ends the process.
//!
//! **Invariant:** errors are Python exceptions. A panic in Rust arrives as `pyo3_runtime.PanicException`, and
//! is a defect.

mod array;
mod command;
mod convert;
mod cost;
mod descriptor;
mod dim;
mod error;
mod fleet;
mod infer;
mod interface;
mod interrupt;
mod link;
mod model;
mod operators;
mod pool;
mod reference;
mod registry;
mod report;
mod rewrite;
mod session;
mod settings;
mod term;
mod types;
mod view;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    /// Whether this build has object stores.
    #[pymodule_export]
    const HAS_STORES: bool = cfg!(feature = "cloud");

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::array::Tensor;
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::convert::suggestion;
    #[pymodule_export]
    use crate::cost::cost;
    #[pymodule_export]
    use crate::dim::{dim_binary, dim_compare, dim_parse, dim_substitute};
    #[pymodule_export]
    use crate::error::TypeloomError;
    #[pymodule_export]
    use crate::fleet::Fleet;
    #[pymodule_export]
    use crate::infer::InferenceTable;
    #[pymodule_export]
    use crate::interface::{Interface, describe, import_interfaces, read_contract};
    #[pymodule_export]
    use crate::link::link;
    #[pymodule_export]
    use crate::model::{model_from_text, model_to_text};
    #[pymodule_export]
    use crate::operators::Operators;
    #[pymodule_export]
    use crate::pool::{Idx, Pool, bundle_from_json, bundle_to_json};
    #[pymodule_export]
    use crate::reference::{infer_function, infer_node, infer_shapes, validate};
    #[pymodule_export]
    use crate::registry::{Registry, models_in, registry_content, registry_digest, registry_reference};
    #[pymodule_export]
    use crate::report::{Report, check, explain, explain_code};
    #[pymodule_export]
    use crate::rewrite::{annotate, compile, convert, fix, specialize, strip};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::settings::{Settings, target, targets};
    #[pymodule_export]
    use crate::term::{Symbols, Ty, parse_term};
    #[pymodule_export]
    use crate::types::{parse_type, tree_extend, tree_nodes};
    #[pymodule_export]
    use crate::view::view;
}
