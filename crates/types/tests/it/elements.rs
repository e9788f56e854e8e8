use typeloom_types::lattice::Lattice;
use typeloom_types::lattice::build::{LatticeBuilder, NodeSpec};

/// The names of the element types of leaves that are added to the registered nodes.
fn names(leaves: &[(&str, &str)]) -> Vec<String> {
    let builder = Lattice::builder().with_registered();
    let specs = leaves.iter().map(|(id, parent)| NodeSpec::concrete(id.to_string(), parent.to_string()));
    let lattice = specs.fold(builder, LatticeBuilder::with_spec).build().unwrap();
    let name = |id| lattice.element_of(lattice.number_of(id)?).map(|element| element.name().to_owned());
    leaves.iter().filter_map(|(id, _)| name(*id)).collect()
}

#[test]
fn the_element_type_of_a_leaf_is_named_by_its_id() {
    assert_eq!(names(&[("tensor.lns", "tensor"), ("scalar.lns", "scalar")]), ["lns", "lns"]);
    assert_eq!(names(&[("org.example.lns", "tensor")]), ["org.example.lns"]);
    assert_eq!(names(&[("handle", "any")]), <[&str; 0]>::default());
    let registered = Lattice::get();
    let name = |id: &str| Some(registered.element_of(registered.number_of(id)?)?.name());
    assert_eq!(["tensor.f32", "scalar.f32", "tensor"].map(name), [Some("float"), Some("float"), None]);
}

#[test]
fn leaves_of_one_kind_have_different_element_types() {
    // Siblings are ordered by id.
    assert_eq!(names(&[("tensor.x", "tensor"), ("x", "tensor")]), ["x", "tensor.x"]);
    assert_eq!(names(&[("a", "tensor"), ("tensor.a", "tensor")]), ["a", "tensor.a"]);
    let nested = [("tensor.tensor.x", "tensor"), ("tensor.x", "tensor"), ("x", "tensor")];
    assert_eq!(names(&nested), ["tensor.x", "x", "tensor.tensor.x"]);
    // Names of element types of ONNX belong to their leaves.
    assert_eq!(names(&[("tensor.float", "tensor"), ("float", "scalar")]), ["tensor.float", "scalar.float"]);
}
