//! Location of the shared library of ONNX Runtime: `ORT_DYLIB_PATH`, or the pinned wheel in an environment
//! next to the sources, which is created on first use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};

/// Creates the environment, unless it exists or is not needed.
pub fn prepare() -> Result<()> {
    if find().is_ok() {
        return Ok(());
    }
    eprintln!("making bench/runtime/.venv with the pinned wheel of ONNX Runtime");
    run(Command::new("python3").args(["-m", "venv", ".venv"]))?;
    run(Command::new(here().join(".venv/bin/pip")).args(["install", "--quiet", "-r", "requirements.txt"]))
}

/// Path of the shared library.
pub fn find() -> Result<PathBuf> {
    if let Some(path) = env::var_os("ORT_DYLIB_PATH") {
        return Ok(path.into());
    }
    let libraries = fs::read_dir(here().join(".venv/lib")).context("there is no .venv")?;
    for python in libraries {
        let folder = python?.path().join("site-packages/onnxruntime/capi");
        for file in fs::read_dir(folder).into_iter().flatten() {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("libonnxruntime.") {
                return Ok(path);
            }
        }
    }
    anyhow::bail!("the wheel has no shared library")
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.current_dir(here()).status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
