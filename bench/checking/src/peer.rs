//! The interface of the bench to the Rust peer `onnx-runtime-shape-inference` and its loader.

use std::path::Path;

use anyhow::Result;

/// Name and version for the report.
pub const VERSION: &str = "onnx-runtime-shape-inference 0.1.0-dev.6";

/// Reads the model, builds the graph and infers shapes, as the loader does for a session. The time includes
/// dropping the graph.
pub fn load_file(path: &Path) -> Result<()> {
    onnx_runtime_loader::load_model(path)?;
    Ok(())
}
