//! Files and messages: textual syntax, protobuf, rewriting, linking, the wire format.

use std::hint::black_box;

use bytes::Bytes;
use typeloom_bench_families::models;
use typeloom_link::{Connection, LinkOptions, Part, link};
use typeloom_onnx::messages::{ModelProto, read};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{PrintOptions, model_bytes, parse_model, print_model};
use typeloom_ops::check::{STANDARD, check};
use typeloom_pool::Digest;
use typeloom_rewrite::annotate::{AnnotationForm, annotate, strip};
use typeloom_rewrite::coerce::{Policy, repair};
use typeloom_solver::model::Options;
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_wire::envelope::{Envelope, MessageId, PortId, RunId, TypeTag};
use typeloom_wire::limits::MessageLimits;

use super::{Family, Work, linear, model};

const MODEL: &str = "the model is valid";

pub(super) const FAMILIES: &[Family] = &[
    linear("text/print", "nodes", 200, print),
    linear("text/parse", "nodes", 200, parse),
    linear("protobuf/read", "nodes", 200, |size| {
        let bytes = Bytes::from(model(models::CHAIN, size));
        Box::new(move || drop(black_box(read::<ModelProto>(bytes.clone()).expect(MODEL))))
    }),
    linear("rewrite/annotate", "nodes", 200, |size| {
        let bytes = model(models::CHAIN, size);
        Box::new(move || drop(black_box(annotated(&bytes))))
    }),
    linear("rewrite/strip", "nodes", 200, |size| {
        let bytes = annotated(&model(models::CHAIN, size));
        Box::new(move || drop(black_box(strip(&bytes).expect(MODEL).file.to_vec())))
    }),
    linear("rewrite/fix types", "conversions", 30, |size| repaired(&mixed(size))),
    linear("rewrite/fix order", "nodes", 100, |size| repaired(&reversed(size))),
    linear("link", "nodes of each model", 100, linked),
    linear("wire/encode", "values", 100, |size| {
        let message = message(size);
        Box::new(move || drop(black_box(encoded(&message))))
    }),
    linear("wire/decode", "values", 100, |size| {
        let bytes = encoded(&message(size));
        let decode = move || Envelope::from_bytes(black_box(&bytes), &MessageLimits::default());
        Box::new(move || drop(black_box(decode().expect("the message is valid"))))
    }),
];

fn owned(size: usize) -> ModelProto {
    read(Bytes::from(model(models::CHAIN, size))).expect(MODEL)
}

fn print(size: usize) -> Work {
    let model = owned(size);
    Box::new(move || drop(black_box(print_model(&model, &PrintOptions::round_trip()))))
}

fn parse(size: usize) -> Work {
    let text = print_model(&owned(size), &PrintOptions::round_trip()).text;
    Box::new(move || drop(black_box(parse_model(&text).expect(MODEL))))
}

fn annotated(bytes: &[u8]) -> Vec<u8> {
    let mut checked = check(black_box(bytes), &Options::default()).expect(MODEL);
    annotate(&mut checked, AnnotationForm::Tagged).expect("types can be written").file.to_vec()
}

/// Additions of floats and integers in alternation, which need conversions.
fn mixed(size: usize) -> Vec<u8> {
    let nodes: String =
        (0..size).map(|at| format!("v{} = Add(v{at}, {})\n", at + 1, ["x", "i"][at % 2])).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] v0, float[N] x, int64[N] i) => (float[N] v{size}) {{ {nodes} }}"
    );
    model_bytes(&text).expect("the text is a model")
}

/// A chain with its last node first.
fn reversed(size: usize) -> Vec<u8> {
    let mut model = owned(size);
    model.graph.as_mut().expect("a model has a graph").node.reverse();
    model.encode_to_vec()
}

fn repaired(bytes: &[u8]) -> Work {
    let bytes = bytes.to_vec();
    Box::new(move || {
        let repair = repair(
            black_box(&bytes),
            &STANDARD,
            Universe::standard(),
            &Options::default(),
            Policy::default(),
        );
        let repair = repair.expect("the model is readable");
        assert!(repair.is_ok, "the model can be repaired");
        black_box(repair);
    })
}

fn linked(size: usize) -> Work {
    let chain = Bytes::from(model(models::CHAIN, size));
    let options =
        LinkOptions { map: vec![Connection::new(format!("v{size}"), "v0")], ..LinkOptions::default() };
    Box::new(move || {
        let parts = ["first", "second"].map(|name| Part { name, bytes: &chain });
        let linked = link(&parts, &STANDARD, Universe::standard(), &options).expect("the types are equal");
        black_box(linked.to_vec([&chain, &chain]));
    })
}

/// A message with a sequence of tensors of ten elements.
fn message(size: usize) -> Envelope {
    let tensor =
        Datum::Tensor(AnyTensor::from_vec(&[10], vec![1.0_f32; 10]).expect("the elements fill the shape"));
    Envelope {
        id: MessageId { incarnation: 1, number: 1 },
        floor: 1,
        run: RunId(1),
        sender: PeerId(b"sender".to_vec()),
        addresses: Vec::new(),
        port: PortId { program: "m".to_owned(), peer_class: "p".to_owned(), wire: "w".to_owned() },
        ty: TypeTag { digest: Digest([0; 32]), node: 0 },
        value: Datum::Sequence(vec![tensor; size]),
    }
}

fn encoded(message: &Envelope) -> Vec<u8> {
    black_box(message).to_bytes(&MessageLimits::default()).expect("the message is within the limits")
}
