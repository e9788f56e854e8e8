//! The crates below the facade that faces need: readers of files, renderers, catalogues, messages.
//!
//! The facade promises stability, so it names few items. A face prints more than that: each change of a
//! repair, each operator, each difference. It takes those items from here. Its manifest then names two crates
//! of the workspace, and this list is all that faces see of the others.

#[cfg(feature = "run")]
pub use typeloom_components as components;
pub use typeloom_cost as cost;
#[cfg(feature = "run")]
pub use typeloom_cpu as cpu;
#[cfg(feature = "types")]
pub use typeloom_dim as dim;
#[cfg(feature = "interfaces")]
pub use typeloom_interface as interface;
pub use typeloom_io as io;
#[cfg(feature = "interfaces")]
pub use typeloom_link as link;
pub use typeloom_onnx as onnx;
pub use typeloom_ops as ops;
#[cfg(feature = "interfaces")]
pub use typeloom_pool as pool;
#[cfg(feature = "registry")]
pub use typeloom_registry as registry;
pub use typeloom_report as report;
pub use typeloom_rewrite as rewrite;
#[cfg(feature = "run")]
pub use typeloom_runtime as runtime;
#[cfg(feature = "rust")]
pub use typeloom_rust_api as rust_api;
#[cfg(feature = "interfaces")]
pub use typeloom_serving as serving;
pub use typeloom_settings as settings;
pub use typeloom_solver as solver;
pub use typeloom_targets as targets;
#[cfg(feature = "run")]
pub use typeloom_tensor as tensor;
#[cfg(any(feature = "rust", feature = "types"))]
pub use typeloom_term as term;
pub use typeloom_types as types;
#[cfg(feature = "view")]
pub use typeloom_view as view;
