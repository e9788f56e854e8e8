//! Location of the shared library of ONNX Runtime: `ORT_DYLIB_PATH`, or the pinned wheel in the environment
//! of Python that the benchmarks share.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Prints the path of the library.
const PROGRAM: &str = "
import importlib.util, pathlib
package = pathlib.Path(importlib.util.find_spec('onnxruntime').origin).parent
print(next(package.glob('capi/libonnxruntime.*')), end='')
";

/// Path of the shared library.
pub fn find() -> Result<PathBuf> {
    if let Some(path) = env::var_os("ORT_DYLIB_PATH") {
        return Ok(path.into());
    }
    let python =
        env::var_os("TYPELOOM_PYTHON").context("neither ORT_DYLIB_PATH nor TYPELOOM_PYTHON is set")?;
    let found = Command::new(python).args(["-c", PROGRAM]).output().context("cannot run Python")?;
    ensure!(found.status.success(), "Python has no `onnxruntime`");
    Ok(String::from_utf8(found.stdout)?.into())
}
