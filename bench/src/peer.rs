//! The Rust peer `onnx-runtime-shape-inference`, behind its loader, as the bench calls it.

use std::path::Path;

use anyhow::Result;

/// What it calls itself.
pub const VERSION: &str = "onnx-runtime-shape-inference 0.1.0-dev.6";

/// Reads, builds and infers, as the loader does for a session; the graph is dropped within the time.
pub fn load_file(path: &Path) -> Result<()> {
    onnx_runtime_loader::load_model(path)?;
    Ok(())
}
