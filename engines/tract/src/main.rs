//! Executable that `typeloom run --backend tract` starts.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::ensure;

fn main() -> ExitCode {
    typeloom_cli::engine::command("tract", |library| {
        ensure!(library.is_none(), "tract is built in, it is in no library");
        Ok(Arc::new(typeloom_tract::Tract))
    })
}
