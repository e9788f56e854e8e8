//! Public and private functions of programs.

use typeloom_compiler::artifact::{Artifact, LoadError};
use typeloom_compiler::compiler::Compiler;
use typeloom_interface::recorded::{FUNCTION, Recorded};
use typeloom_module::bindings::Bindings;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::module::Module;
use typeloom_module::module::imports::Imported;
use typeloom_onnx::messages::{ModelProto, StringStringEntryProto};
use typeloom_onnx::prost::Message as _;

use super::components::{F32, F64, Of};

/// `rescale` runs on a slot that only it uses, and has a type that no other function has.
fn rescale() -> Of<impl Fn(&mut Graph)> {
    Of("rescale", |g: &mut Graph| {
        let x = g.input("x").of("float[N, 7]");
        g.output("y", g.backend("side").neg(&x));
    })
}

fn clamp() -> Of<impl Fn(&mut Graph)> {
    Of("clamp", |g: &mut Graph| {
        let x = g.input("x");
        g.output("y", x.relu());
    })
}

/// `main` calls `clamp`, and `rescale` is public or not part of the program.
fn program(is_public: bool) -> Of<impl Fn(&mut Graph)> {
    Of("main", move |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        g.output("y", g.call(&clamp(), &[&g.backend("compute").abs(&x)]).remove(0));
        if is_public {
            g.export(&rescale());
        }
    })
}

fn components() -> Bindings {
    Bindings::new().bind_backend::<F32>("compute").bind_backend::<F32>("side")
}

fn compiled() -> Artifact {
    Compiler::new().with_bindings(components()).compile(program(true)).expect("it compiles")
}

fn exports(artifact: &Artifact) -> Vec<&str> {
    artifact.interface.exports.keys().map(String::as_str).collect()
}

#[test]
fn the_export_has_the_public_functions_and_omits_the_private_ones() {
    let only_main =
        Compiler::new().bind_backend::<F32>("compute").compile(program(false)).expect("it compiles");
    assert_eq!(exports(&only_main), ["main", "slot:compute"]);
    let artifact = compiled();
    assert_eq!(exports(&artifact), ["main", "rescale", "slot:compute"]);
    let imported = Imported::new(&artifact.interface).expect("it can be imported");
    assert_eq!(imported.functions().collect::<Vec<_>>(), ["main", "rescale"]);
    // The dim 7 occurs only in `rescale`.
    let describes_seven =
        |artifact: &Artifact| format!("{:?}", artifact.interface.type_descriptors).contains("Int(7)");
    assert!(describes_seven(&artifact) && !describes_seven(&only_main));
    assert_eq!(exports(&artifact.functions["rescale"]), ["rescale", "slot:side"]);
}

#[test]
fn a_private_function_cannot_be_imported() {
    let imported = Imported::new(&compiled().interface).expect("it can be imported");
    let caller = |name: &'static str| {
        let imported = imported.clone();
        Of("caller", move |g: &mut Graph| {
            let x = g.input("x").of("float[2, 7]");
            let called = g.call_import(&imported, name, &[&x]);
            g.output("y", called.first().unwrap_or(&x));
        })
    };
    assert!(Compiler::new().compile(caller("rescale")).is_ok());
    let error = Compiler::new().compile(caller("clamp")).expect_err("it is private").to_string();
    assert!(error.contains("exports no `clamp`; it exports main, rescale"), "{error}");
    assert!(error.contains("other functions are private"), "{error}");
}

#[test]
fn public_functions_are_saved_and_loaded() {
    let artifact = compiled();
    let bytes = artifact.to_bytes().expect("it can be written");
    let loaded = Artifact::load(&bytes, &components()).expect("it loads");
    assert_eq!(loaded.interface, artifact.interface);
    assert_eq!(loaded.model(), artifact.model());
    assert_eq!(loaded.functions["rescale"].model(), artifact.functions["rescale"].model());
    let recorded = Recorded::read(&bytes).expect("it is valid").expect("it is compiled");
    assert_eq!(recorded.main.label, "main");
    assert_eq!(recorded.functions.iter().map(|it| it.label.as_str()).collect::<Vec<_>>(), ["rescale"]);

    let other = components().of_slots(|slot| slot == "compute").bind_backend::<F64>("side");
    let error = Artifact::load(&bytes, &other).expect_err("the function needs floats");
    assert!(matches!(&error, LoadError::Component { slot, .. } if slot == "side"), "{error}");
}

#[test]
fn a_file_whose_functions_differ_from_its_exports_is_rejected() {
    let bytes = compiled().to_bytes().expect("it can be written");
    let altered = |alter: &dyn Fn(&mut Vec<StringStringEntryProto>)| {
        let mut model = ModelProto::decode(&bytes[..]).expect("it is a model");
        alter(&mut model.metadata_props);
        Artifact::load(&model.encode_to_vec(), &components()).expect_err("it was altered").to_string()
    };
    let is_function = |entry: &StringStringEntryProto| entry.key().starts_with(FUNCTION);
    let without = altered(&|entries| entries.retain(|entry| !is_function(entry)));
    assert!(without.contains("rescale"), "{without}");
    let key = |name: &str| format!("{}{name}", FUNCTION);
    let renamed = altered(&|entries| {
        entries
            .iter_mut()
            .filter(|entry| is_function(entry))
            .for_each(|entry| entry.key = key("main").into());
    });
    assert!(renamed.contains("function `main`"), "{renamed}");
    let twice = altered(&|entries| {
        let again: Vec<_> = entries.iter().filter(|entry| is_function(entry)).cloned().collect();
        entries.extend(again);
    });
    assert!(twice.contains("second program"), "{twice}");
    let damaged = altered(&|entries| {
        entries.iter_mut().filter(|entry| is_function(entry)).for_each(|entry| entry.value = "00".into());
    });
    assert!(!damaged.is_empty());
}

struct Recursive;

impl Module for Recursive {
    fn name(&self) -> &str {
        "recursive"
    }

    fn body(&self, g: &mut Graph) {
        let x = g.input("x").of("float[N]");
        g.export(&Self);
        g.output("y", x.relu());
    }
}

#[test]
fn wrong_exports_are_authoring_errors() {
    let error = Compiler::new().compile(Recursive).expect_err("it exports itself").to_string();
    assert!(error.contains("module `recursive` calls itself"), "{error}");
    let conflict = Of("main", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        g.export(&Of("same", |g: &mut Graph| g.output("y", g.input("x").of("float[N]").relu())));
        g.export(&Of("same", |g: &mut Graph| g.output("y", g.input("x").of("float[N]").abs())));
        g.output("y", x.relu());
    });
    let error = Compiler::new().compile(conflict).expect_err("two functions").to_string();
    assert!(error.contains("two modules are called `same`"), "{error}");
}
