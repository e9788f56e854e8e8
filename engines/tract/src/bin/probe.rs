//! Loads models with tract alone, without typeloom: reads a path per line, and answers each with a line, `ok` or
//! the error. `tools/facts/tract_probes.py` measures single nodes with it.
//!
//! A model that exhausts the stack or hangs takes this process with it, so the script starts it again.

use std::any::Any;
use std::io::{self, BufRead as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tract_onnx::prelude::{Framework as _, InferenceModelExt as _, IntoRunnable as _, TractResult};

fn main() -> io::Result<()> {
    // A panic is an answer; its message is not needed a second time.
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = io::stdout().lock();
    for path in io::stdin().lock().lines() {
        let path = path?;
        let answer = match catch_unwind(AssertUnwindSafe(|| load(&path))) {
            Ok(Ok(())) => "ok".to_owned(),
            Ok(Err(error)) => format!("error: {error:#}"),
            Err(panic) => format!("panic: {}", message(&*panic)),
        };
        writeln!(out, "{}", answer.split_whitespace().collect::<Vec<_>>().join(" "))?;
        out.flush()?;
    }
    Ok(())
}

fn load(path: &str) -> TractResult<()> {
    tract_onnx::onnx().model_for_path(path)?.into_optimized()?.into_runnable()?;
    Ok(())
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
