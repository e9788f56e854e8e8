//! Interfaces of models: description, comparison, bundles.

use std::hint::black_box;

use typeloom_interface::bundle::{Exported, export_interfaces, import_interfaces};
use typeloom_interface::{Interface, PortIdentity, compare};
use typeloom_onnx::text::model_bytes;
use typeloom_pool::compat::Direction;

use super::{Family, Work, linear};

pub(super) const FAMILIES: &[Family] = &[
    linear("interface/describe", "inputs", 100, |size| {
        let model = model(size, "M");
        Box::new(move || drop(black_box(Interface::of(black_box(&model)).expect("the model is valid"))))
    }),
    linear("interface/diff, equal", "inputs", 100, |size| compared(size, "M")),
    linear("interface/diff", "inputs", 20, |size| compared(size, "4")),
    linear("interface/encode", "inputs", 100, |size| {
        let interface = interface(size, "M");
        Box::new(move || drop(black_box(encoded(&interface))))
    }),
    linear("interface/decode", "inputs", 100, |size| {
        let bytes = encoded(&interface(size, "M"));
        Box::new(move || drop(black_box(import_interfaces(black_box(&bytes)).expect("the bundle is valid"))))
    }),
];

/// A model with inputs of different shapes: `last` is the last extent of all.
pub(super) fn model(size: usize, last: &str) -> Vec<u8> {
    let inputs: Vec<String> = (0..size).map(|at| format!("float[N{}, {last}] x{at}", at % 10)).collect();
    let outputs: Vec<String> = (0..size).map(|at| format!("y{at}")).collect();
    let nodes: String = (0..size).map(|at| format!("y{at} = Relu(x{at})\n")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]> g ({}) => ({}) {{ {nodes} }}",
        inputs.join(", "),
        outputs.join(", ")
    );
    model_bytes(&text).expect("the text is a model")
}

fn interface(size: usize, last: &str) -> Interface {
    Interface::of(&model(size, last)).expect("the model is valid")
}

fn compared(size: usize, last: &str) -> Work {
    let (old, new) = (interface(size, "M"), interface(size, last));
    Box::new(move || {
        let comparison =
            compare(black_box(&old), black_box(&new), Direction::Backward, PortIdentity::NameAndPosition);
        drop(black_box(comparison.to_string()));
    })
}

pub(super) fn encoded(interface: &Interface) -> Vec<u8> {
    let exported = Exported::new("main", interface.clone()).expect("the interface is portable");
    export_interfaces(&[exported]).expect("the interface is portable").into_bytes()
}
