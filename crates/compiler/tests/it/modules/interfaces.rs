//! Artifacts in files, and what they are loaded against.

use typeloom_compiler::artifact::{Artifact, LoadError};
use typeloom_compiler::bindings::Bindings;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::graph::Graph;
use typeloom_compiler::graph::operators::OperatorMethods;
use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::prost::Message as _;

use super::components::{F32, F64, Flat, Of};

fn scores() -> Of<impl Fn(&mut Graph)> {
    Of("scores", |g: &mut Graph| {
        let query = g.input("query").of("float[N, 8]");
        let weights = g.input("weights").of("float[8, M]");
        let compute = g.backend("compute");
        let scores = compute.matmul(&query, &weights);
        let (ids, _) = g.index("near").search(&scores, 5);
        g.output("scores", &compute.relu(&scores));
        g.output("ids", &ids);
    })
}

fn components() -> Bindings {
    Bindings::new().bind_backend::<F32>("compute").bind_index::<Flat<[f32]>>("near")
}

fn file() -> Vec<u8> {
    let artifact = Compiler::new().with_bindings(components()).compile(scores()).expect("it compiles");
    artifact.to_bytes().expect("it can be written")
}

#[test]
fn an_artifact_is_loaded_as_it_was_saved() {
    let artifact = Compiler::new().with_bindings(components()).compile(scores()).expect("it compiles");
    let loaded =
        Artifact::load(&artifact.to_bytes().expect("it can be written"), &components()).expect("it loads");
    assert_eq!(loaded.model, artifact.model);
    assert_eq!(loaded.dispatch, artifact.dispatch);
    assert_eq!(loaded.interface, artifact.interface);
    assert_eq!(loaded.type_of("scores"), Some("tensor.f32"));
}

#[test]
fn components_that_store_something_else_are_refused_with_the_path() {
    let other = Bindings::new().bind_backend::<F64>("compute").bind_index::<Flat<[f32]>>("near");
    let error = Artifact::load(&file(), &other).err().expect("another storage");
    let LoadError::Component { slot, differences, .. } = &error else { panic!("{error}") };
    assert_eq!(slot, "compute");
    assert_eq!(differences.len(), 1);
    let text = error.to_string();
    assert!(text.contains("Tensor") && text.contains("tensor.f32") && text.contains("tensor.f64"), "{text}");
}

#[test]
fn a_component_of_another_role_or_none_is_refused() {
    let other = Bindings::new().bind_index::<Flat<[f32]>>("compute").bind_index::<Flat<[f32]>>("near");
    assert!(matches!(Artifact::load(&file(), &other), Err(LoadError::Component { .. })));
    let none = Bindings::new().bind_backend::<F32>("compute");
    let error = Artifact::load(&file(), &none).err().expect("an index is missing");
    assert!(error.to_string().contains("`near`") && error.to_string().contains("nothing"), "{error}");
}

#[test]
fn a_program_that_is_not_what_it_says_is_refused() {
    let mut model = ModelProto::decode(&file()[..]).expect("it is a model");
    let graph = model.graph.as_mut().expect("it has a graph");
    graph.output.pop();
    let error = Artifact::load(&model.encode_to_vec(), &components()).err().expect("an output is missing");
    assert!(
        matches!(&error, LoadError::InterfaceDiffers { differences } if differences.contains("ids")),
        "{error}"
    );
    let mut model = ModelProto::decode(&file()[..]).expect("it is a model");
    model.metadata_props.clear();
    let error = Artifact::load(&model.encode_to_vec(), &components()).err();
    assert!(matches!(error, Some(LoadError::NotAnArtifact { .. })));
}

#[test]
fn broken_files_are_errors() {
    let file = file();
    for at in (0..file.len()).step_by(97) {
        let mut broken = file.clone();
        broken[at] ^= 0x55;
        // Whatever comes out, it comes out.
        let _ = Artifact::load(&broken, &components());
        let _ = Artifact::load(&file[..at], &components());
    }
}

#[test]
fn the_interface_does_not_depend_on_names_inside() {
    let module = |extra: bool| {
        Of("m", move |g: &mut Graph| {
            let x = g.input("x").of("float[N]");
            let y = if extra { x.relu().identity().identity() } else { x.relu() };
            g.output("y", &y);
        })
    };
    let of = |extra| Compiler::new().compile(module(extra)).expect("it compiles").interface;
    assert_eq!(of(false), of(true));
}
