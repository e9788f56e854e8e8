//! Runs every fence of `spec/**/*.md` as a test. See `spec/README.md`.
//!
//! `TYPELOOM_BLESS=1 cargo test -p typeloom-cli --test spec` writes the actual results into the documents.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    typeloom_testing::spec::Suite::new(repository, env!("CARGO_BIN_EXE_typeloom")).main()
}
