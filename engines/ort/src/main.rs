//! Executable that `typeloom run --backend ort` starts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use typeloom_ort::Ort;
use typeloom_runtime::engine::Engine;

/// Environment variable with the path of the shared library, used without a path argument.
const VARIABLE: &str = "ORT_DYLIB_PATH";

fn main() -> ExitCode {
    typeloom_cli::engine::command("ort", |library| {
        let from_variable = || std::env::var_os(VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from);
        // A bare file name lets the system search for the library.
        let by_name = || {
            let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
            PathBuf::from(format!("{prefix}onnxruntime{suffix}"))
        };
        let library = library.map(Path::to_path_buf).or_else(from_variable).unwrap_or_else(by_name);
        let engine = Ort::load(&library).with_context(|| {
            format!(
                "cannot load ONNX Runtime; `--library` or {VARIABLE} gives its path \
                 (`pip install onnxruntime` has it as onnxruntime/capi/libonnxruntime.so.*)"
            )
        })?;
        Ok(Arc::new(engine) as Arc<dyn Engine>)
    })
}
