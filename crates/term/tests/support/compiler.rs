//! Runs the compiler found on the path.

use std::process::Command;

/// An error: the lines that it refers to, and its code if it has one.
pub(crate) struct CompilerError {
    pub(crate) lines: Vec<u64>,
    #[allow(dead_code, reason = "one of the tests uses only the lines")]
    pub(crate) code: Option<String>,
}

/// Errors of compiling a source. `None` without a compiler.
pub(crate) fn compile_errors(name: &str, source: &str) -> Option<Vec<CompilerError>> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.rs"));
    std::fs::write(&path, source).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .args(["--edition=2021", "--crate-type=lib", "--emit=metadata", "--error-format=json", "--out-dir"])
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .arg(&path)
        .output()
        .ok()?;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        if message["level"] == "error" {
            let spans = message["spans"].as_array().unwrap();
            found.push(CompilerError {
                lines: spans.iter().map(|span| span["line_start"].as_u64().unwrap()).collect(),
                code: message["code"]["code"].as_str().map(str::to_owned),
            });
        }
    }
    Some(found)
}
