//! One module, three backends: `cargo run --example backend_slots`.
//!
//! The module declares no types. The component bound to its slot `compute` determines them: `[f32]`, `[f64]`,
//! or a leaf that this example adds to the type tree.

use std::error::Error;

use typeloom as bb;
use typeloom::module::{Backend, Compiler, Graph, Module, OperatorMethods};
use typeloom::run::values::{DatumElement, FromDatum, IntoDatum};
use typeloom::run::{Components, Executor, Verify};
use typeloom::types::{ElementStorage, Storage};

/// `scores = relu(query x weights)`, on the backend bound to `compute`.
struct Scorer;

impl Module for Scorer {
    fn name(&self) -> &str {
        "scorer"
    }

    fn body(&self, g: &mut Graph) {
        let query = g.input("query");
        let weights = g.input("weights");
        let compute = g.backend("compute");
        let product = compute.matmul(&query, &weights);
        g.output("scores", &compute.relu(&product));
    }
}

/// A custom element type, a number of eighths, with its node in the type tree.
#[derive(Clone, Copy, Debug)]
struct Posit16(u16);

static TYPE_TENSOR_POSIT16: bb::TypeNode = bb::TypeNode {
    id: "tensor.posit16",
    parent: Some("tensor"),
    kind: bb::TypeKind::Concrete,
    ffi_name: "example_tensor_posit16_t",
    wire_hash: 0,
    denotation: "org.example.tensor.posit16",
};
bb::register_type_node!(TYPE_TENSOR_POSIT16);

impl ElementStorage for Posit16 {
    const SLICE: &'static bb::TypeNode = &TYPE_TENSOR_POSIT16;
}

/// The byte encoding, so that the type flows through modules and messages.
impl DatumElement for Posit16 {
    const BYTES: usize = 2;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.0.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self(u16::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// The arithmetic that the engine needs.
trait Number: Copy + Send + Sync + 'static {
    fn to_f64(self) -> f64;
    fn from_f64(number: f64) -> Self;
}

impl Number for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[expect(clippy::cast_possible_truncation, reason = "an f32 has 32 bits")]
    fn from_f64(number: f64) -> Self {
        number as f32
    }
}

impl Number for f64 {
    fn to_f64(self) -> f64 {
        self
    }

    fn from_f64(number: f64) -> Self {
        number
    }
}

impl Number for Posit16 {
    fn to_f64(self) -> f64 {
        f64::from(self.0) / 8.0
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "values out of range saturate"
    )]
    fn from_f64(number: f64) -> Self {
        Self((number * 8.0) as u16)
    }
}

/// A backend with an engine for vectors of `T`, limited to the operations of this module.
struct Engine<T>(std::marker::PhantomData<fn() -> T>);

impl<T: Number> Backend for Engine<T>
where
    Vec<T>: Storage,
{
    type Tensor = Vec<T>;
    type Error = std::fmt::Error;

    fn execute(
        &self,
        graph: &bb::GraphProto,
        inputs: Vec<Vec<T>>,
        _: &[bb::AttributeProto],
    ) -> Result<Vec<Vec<T>>, std::fmt::Error> {
        let op = graph.node.first().map(bb::NodeProto::op_type).unwrap_or_default();
        match (op, &inputs[..]) {
            ("MatMul", [a, b]) => {
                let products = a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64());
                Ok(vec![vec![T::from_f64(products.sum())]])
            }
            ("Relu", [a]) => Ok(vec![a.iter().map(|a| T::from_f64(a.to_f64().max(0.0))).collect()]),
            _ => Err(std::fmt::Error),
        }
    }

    // `Relu` is not a primitive. This engine implements it. Otherwise it would be expanded into primitives,
    // which needs constants, and a leaf unknown to ONNX has none.
    fn extension_opsets() -> &'static [bb::AtomicOpsetDecl] {
        std::slice::from_ref(&ALSO)
    }
}

/// Operators of the engine in addition to the primitives.
static ALSO: bb::AtomicOpsetDecl = bb::AtomicOpsetDecl {
    domain: "ai.onnx",
    version: 14,
    ops: &[bb::AtomicOpDecl {
        name: "Relu",
        inputs: &[bb::PortDecl::required("X", &bb::TYPE_TENSOR)],
        outputs: &[bb::PortDecl::required("Y", &bb::TYPE_TENSOR)],
        kind: bb::AtomicOpKind::Pure,
        type_relations: bb::ELEMENTWISE,
    }],
};

/// Compiles and runs the module with each binding.
pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let bound: [(&str, Compiler); 3] = [
        ("[f32]", Compiler::new().bind_backend::<Engine<f32>>("compute")),
        ("[f64]", Compiler::new().bind_backend::<Engine<f64>>("compute")),
        ("[Posit16]", Compiler::new().bind_backend::<Engine<Posit16>>("compute")),
    ];
    let mut lines = Vec::new();
    for (storage, compiler) in bound {
        let artifact = compiler.compile(Scorer)?;
        let of = |value| artifact.type_of(value).unwrap_or("?");
        lines.push(format!(
            "compute stores {storage}: query {}, weights {}, scores {}",
            of("query"),
            of("weights"),
            of("scores")
        ));
    }
    // A leaf unknown to ONNX runs like any other.
    let components = Components::new().backend("compute", Engine::<Posit16>(std::marker::PhantomData));
    let artifact = components.compiler().compile(Scorer)?;
    let inputs = [
        ("query", vec![Posit16(4), Posit16(8)].to_datum(None)),
        ("weights", vec![Posit16(16), Posit16(24)].to_datum(None)),
    ];
    let outcome = Executor::new(&artifact, &components)?.run(inputs, Verify::EveryValue)?;
    let scores = outcome.get("scores").ok_or("the module has an output `scores`")?;
    lines.push(format!("on Posit16, 1/2 * 2 + 1 * 3 is {:?} eighths", Vec::<Posit16>::from_datum(scores)));
    // Without a component for the slot, the module does not compile.
    let unbound = Compiler::new().compile(Scorer).err().ok_or("a slot without a component compiled")?;
    let text = unbound.to_string();
    lines.push(text.split(" (at").next().unwrap_or_default().to_owned());
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
