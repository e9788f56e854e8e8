//! The declarations in the header are those of the crate.
//!
//! `TYPELOOM_BLESS=1 cargo test -p typeloom-ffi --test it header` generates the declarations again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, EnumConfig, ExportConfig, Language, RenameRule, Style};
use typeloom::interface::{Recorded, c_header};
use typeloom::module::{Compiler, Graph, Module};
use typeloom::types::Lattice;

/// The text that `typeloom header` includes.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src/c_header/abi.h")
}

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

fn generated() -> String {
    let rename: HashMap<String, String> =
        NAMES.iter().map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned())).collect();
    // These are behind `void` pointers of values.
    let include = ["Tensor", "Bytes", "List", "Fields"].map(str::to_owned).to_vec();
    let config = Config {
        language: Language::C,
        style: Style::Type,
        no_includes: true,
        usize_is_size_t: true,
        documentation_style: cbindgen::DocumentationStyle::C,
        enumeration: EnumConfig {
            prefix_with_name: true,
            rename_variants: RenameRule::ScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export: ExportConfig { rename, include, ..ExportConfig::default() },
        ..Config::default()
    };
    let bindings = Builder::new()
        .with_config(config)
        .with_src(source("status.rs"))
        .with_src(source("layout.rs"))
        .with_src(source("abi.rs"))
        .generate()
        .expect("the sources can be parsed");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).expect("the sources are UTF-8")
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file)
}

#[test]
fn the_declarations_are_those_of_the_crate() {
    let generated = generated();
    if std::env::var_os("TYPELOOM_BLESS").is_some() {
        std::fs::write(recorded(), &generated).expect("the repository is writable");
        return;
    }
    let recorded = std::fs::read_to_string(recorded()).expect("the declarations are recorded");
    assert_eq!(recorded, generated, "record the declarations with TYPELOOM_BLESS=1");
}

/// The functions that the crate exports, by a search of its sources, and not by the parser of the generator.
fn exported() -> Vec<String> {
    let text = std::fs::read_to_string(source("abi.rs")).expect("the source exists");
    let mut names = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "#[unsafe(no_mangle)]" {
            let declaration = lines.next().expect("a function follows the attribute");
            let (_, rest) = declaration.split_once("fn ").expect("a function follows the attribute");
            names.push(rest.split('(').next().unwrap_or_default().to_owned());
        }
    }
    names
}

#[test]
fn every_exported_function_is_declared_and_documented() {
    let header = c_header("", &[]).expect("the built-in leaves have valid names");
    let names = exported();
    assert!(names.len() > 10, "{names:?}");
    for name in &names {
        let declared = header.matches(&format!("{name}(")).count();
        assert_eq!(declared, 1, "`{name}`");
    }
    let declared = header.lines().filter(|line| line.contains("typeloom_") && line.contains('(')).count();
    assert_eq!(declared, names.len(), "the header declares other functions");
}

struct Remote;

impl Module for Remote {
    fn name(&self) -> &str {
        "remote sum"
    }

    fn body(&self, g: &mut Graph) {
        let (x, workers) = (g.input("x").of("float[2]"), g.input("workers").of("peer_id_vec"));
        let (sent, _) = g.send(&x, &workers);
        let (received, _) = g.receive(&sent);
        g.output("y", &received.relu());
    }
}

#[test]
fn every_function_of_an_artifact_has_constants() {
    let artifact = Compiler::new().compile(Remote).expect("the module compiles");
    let file = artifact.to_bytes().expect("its types can be encoded");
    let recorded = Recorded::read(&file).expect("the interface is valid").expect("the file was compiled");
    let mut functions = vec![recorded.main];
    functions.extend(recorded.parts);
    let named: Vec<_> = functions.iter().map(|it| (it.label.as_str(), &it.interface)).collect();
    let header = c_header("remote sum", &named).expect("the built-in leaves have valid names");
    for function in &functions {
        assert!(header.contains(&format!("_DIGEST \"{}\"\n", function.digest)), "{}", function.label);
    }
    for line in [
        "#ifndef TYPELOOM_PROGRAM_REMOTE_SUM_H",
        "/* Function `remote sum`: (x: float[2], workers: peer_id_vec) -> (y: float[2]) */",
        "#define REMOTE_SUM_INPUT_COUNT 2",
        "#define REMOTE_SUM_INPUT_X 0 /* `x`: float[2], bb_tensor_f32_t */",
        "#define REMOTE_SUM_INPUT_WORKERS 1 /* `workers`: peer_id_vec, bb_peer_id_vec_t */",
        "#define REMOTE_SUM_OUTPUT_Y 0 /* `y`: float[2], bb_tensor_f32_t */",
        "#define REMOTE_SUM_PART_WORKERS_OUTPUT_Y 0 /* `y`: float[2], bb_tensor_f32_t */",
    ] {
        assert!(
            header.lines().any(|it| it == line),
            "`{line}` is missing:\n{}",
            header.split("Program").last().unwrap_or("")
        );
    }
}

#[test]
fn every_leaf_has_its_type_and_constants() {
    let header = c_header("", &[]).expect("the built-in leaves have valid names");
    let lattice = Lattice::get();
    let mut leaves = 0;
    for leaf in lattice.nodes().filter(|node| !node.is_abstract()) {
        let stem = leaf.ffi_name.strip_suffix("_t").expect("the names of built-in leaves end in `_t`");
        let stem = stem.to_ascii_uppercase();
        for line in [
            format!("#define {stem}_ID \"{}\"\n", leaf.id),
            format!("#define {stem}_WIRE_HASH UINT64_C({:#x})\n", leaf.wire_tag),
            format!("#define {stem}_DENOTATION \"{}\"\n", leaf.denotation),
            format!(" {};\n", leaf.ffi_name),
        ] {
            assert!(header.contains(&line), "{}: {line}", leaf.id);
        }
        leaves += 1;
    }
    assert!(leaves >= 27, "only {leaves} leaves");
}
