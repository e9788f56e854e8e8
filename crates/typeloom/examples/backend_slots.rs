//! One module, three backends: `cargo run --example backend_slots`.
//!
//! The module says nothing about types. What is bound to its slot `compute` does: `[f32]`, `[f64]`, or a leaf that this
//! example adds to the type tree.

use std::error::Error;

use typeloom as bb;
use typeloom::{
    ByExecution, Compiler, ElementStorage, Graph, GraphExecutor, Module, OperatorMethods, Storage,
};

/// `scores = relu(query x weights)`, on whatever is bound to `compute`.
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

/// An element type of our own, and its place in the tree.
#[derive(Clone, Copy)]
struct Posit16(#[expect(dead_code, reason = "only its type matters here")] u16);

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

/// A backend that would hand graphs to an engine for tensors of `T`. Compiling asks for its types only.
struct Engine<T>(std::marker::PhantomData<fn() -> T>);

impl<T: Clone + Send + Sync + 'static> GraphExecutor for Engine<T>
where
    Vec<T>: Storage,
{
    type Tensor = Vec<T>;
    type Error = std::fmt::Error;

    fn execute(
        &self,
        _: &bb::GraphProto,
        _: Vec<Vec<T>>,
        _: &[bb::AttributeProto],
    ) -> Result<Vec<Vec<T>>, std::fmt::Error> {
        Err(std::fmt::Error)
    }

    // `Relu` is no primitive. This engine has it; without this line it would be written in primitives, which needs
    // constants, and there are none of a leaf that ONNX does not know.
    fn extension_opsets() -> &'static [bb::AtomicOpsetDecl] {
        std::slice::from_ref(&ALSO)
    }
}

/// What the engine computes beside the primitives.
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

/// What each binding makes of the module.
pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let bound: [(&str, Compiler); 3] = [
        ("[f32]", Compiler::new().bind_backend::<ByExecution<Engine<f32>>>("compute")),
        ("[f64]", Compiler::new().bind_backend::<ByExecution<Engine<f64>>>("compute")),
        ("[Posit16]", Compiler::new().bind_backend::<ByExecution<Engine<Posit16>>>("compute")),
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
    // Bound to nothing, the module does not compile.
    let unbound = Compiler::new().compile(Scorer).err().ok_or("a slot without a component compiled")?;
    let text = unbound.to_string();
    lines.push(text.split(" (at").next().unwrap_or_default().to_owned());
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
