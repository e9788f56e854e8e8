//! The header has the functions of the crate, and the constants of leaves and artifacts.
//!
//! `tools/c_header` generates the declarations; `.ci/run` compares them with the sources.

use std::path::{Path, PathBuf};

use typeloom::interface::{Recorded, c_header};
use typeloom::module::{Compiler, Graph, Module};
use typeloom::types::Lattice;

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file)
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
