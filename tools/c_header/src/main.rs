//! Generates the C declarations of `crates/ffi` from its sources, and writes them to
//! `crates/report/src/c_header/abi.h`, which `typeloom describe --as c-abi` includes.
//!
//!     cargo run --manifest-path tools/c_header/Cargo.toml [-- --check]
//!
//! With `--check` the file is compared and not written; the exit code is 1 if it differs.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style};

/// The C names of types and constants.
const NAMES: &[(&str, &str)] = &[
    ("ABI_VERSION", "TYPELOOM_ABI_VERSION"),
    ("Status", "typeloom_status"),
    ("ProgramHandle", "typeloom_program"),
    ("ResultHandle", "typeloom_result"),
    ("Tensor", "typeloom_tensor"),
    ("Bytes", "typeloom_bytes"),
    ("List", "typeloom_list"),
    ("Value", "typeloom_value"),
    ("Field", "typeloom_field"),
    ("Fields", "typeloom_fields"),
    ("Limits", "typeloom_limits"),
    ("Port", "typeloom_port"),
];

/// Types that are behind `void` pointers of values, so no function mentions them.
const INCLUDED: [&str; 4] = ["Tensor", "Bytes", "List", "Fields"];

fn main() -> anyhow::Result<ExitCode> {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [option] if option == "--check" => true,
        other => bail!("unexpected arguments {other:?}; the only option is `--check`"),
    };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let generated = declarations(&crates.join("ffi/src"))?;
    let file = crates.join("report/src/c_header/abi.h");
    if !check {
        std::fs::write(&file, generated).with_context(|| format!("cannot write {}", file.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let recorded =
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    if recorded == generated {
        return Ok(ExitCode::SUCCESS);
    }
    let line = recorded.lines().zip(generated.lines()).take_while(|(old, new)| old == new).count() + 1;
    eprintln!(
        "{}:{line}: the declarations are not those of crates/ffi; run `cargo run --manifest-path tools/c_header/Cargo.toml`",
        file.display()
    );
    Ok(ExitCode::FAILURE)
}

fn declarations(sources: &Path) -> anyhow::Result<String> {
    let rename: HashMap<String, String> =
        NAMES.iter().map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned())).collect();
    let config = Config {
        language: Language::C,
        style: Style::Type,
        no_includes: true,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C,
        enumeration: EnumConfig {
            prefix_with_name: true,
            rename_variants: RenameRule::ScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export: ExportConfig {
            rename,
            include: INCLUDED.map(str::to_owned).to_vec(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let files = ["status.rs", "layout.rs", "abi.rs"];
    let builder = files
        .iter()
        .fold(Builder::new().with_config(config), |builder, file| builder.with_src(sources.join(file)));
    let mut text = Vec::new();
    builder.generate().context("the sources cannot be parsed")?.write(&mut text);
    Ok(String::from_utf8(text)?)
}
