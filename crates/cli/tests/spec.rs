//! The reference manual holds: every fence of `spec/**/*.md` is a test. See `spec/README.md`.
//!
//! `TYPELOOM_BLESS=1 cargo test -p typeloom-cli --test spec` writes what is true into the documents.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    typeloom_spec::Suite::new(repository, env!("CARGO_BIN_EXE_typeloom")).main()
}
