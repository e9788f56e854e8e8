//! Components for the tests. Only their storage types matter.

use std::marker::PhantomData;

use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::codec::Codec;
use typeloom_contracts::index::Index;
use typeloom_module::graph::Graph;
use typeloom_module::module::Module;
use typeloom_onnx::messages::{AttributeProto, GraphProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::ELEMENTWISE;
use typeloom_types::storage::{ElementStorage, Storage};
use typeloom_types::tree::builtin::TYPE_ANY;
use typeloom_types::tree::{TypeKind, TypeNode};

/// A module from a closure.
pub(super) struct Of<F>(pub(super) &'static str, pub(super) F);

impl<F: Fn(&mut Graph)> Module for Of<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn body(&self, g: &mut Graph) {
        (self.1)(g);
    }
}

#[derive(Debug)]
pub(super) struct Never;

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this backend computes nothing")
    }
}

impl std::error::Error for Never {}

/// A backend with the storage type `T`.
pub(super) struct Stores<T>(PhantomData<fn() -> T>);

impl<T: Storage + Clone> GraphExecutor for Stores<T> {
    type Tensor = T;
    type Error = Never;

    fn execute(&self, _: &GraphProto, _: Vec<T>, _: &[AttributeProto]) -> Result<Vec<T>, Never> {
        Err(Never)
    }
}

pub(super) type F32 = ByExecution<Stores<Vec<f32>>>;
pub(super) type F64 = ByExecution<Stores<Vec<f64>>>;
pub(super) type Any = ByExecution<Stores<AnyTensor>>;
pub(super) type Posits = ByExecution<Stores<Vec<Posit16>>>;

/// A custom element type.
#[derive(Clone, Copy)]
pub(super) struct Posit16(#[expect(dead_code, reason = "only the type matters here")] u16);

pub(super) static TYPE_TENSOR_POSIT16: TypeNode = TypeNode {
    id: "tensor.test_posit16",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.test.tensor.posit16",
};
typeloom_types::register_type_node!(TYPE_TENSOR_POSIT16);

impl ElementStorage for Posit16 {
    const SLICE: &'static TypeNode = &TYPE_TENSOR_POSIT16;
}

/// A backend that computes `Gelu`.
pub(super) struct WithGelu;

static GELU: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "ai.onnx",
    version: 20,
    ops: &[AtomicOpDecl {
        name: "Gelu",
        inputs: &[PortDecl::required("X", &TYPE_ANY)],
        outputs: &[PortDecl::required("Y", &TYPE_ANY)],
        kind: AtomicOpKind::Pure,
        type_relations: ELEMENTWISE,
    }],
};

impl GraphExecutor for WithGelu {
    type Tensor = Vec<f32>;
    type Error = Never;

    fn execute(
        &self,
        _: &GraphProto,
        _: Vec<Vec<f32>>,
        _: &[AttributeProto],
    ) -> Result<Vec<Vec<f32>>, Never> {
        Err(Never)
    }

    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        std::slice::from_ref(&GELU)
    }
}

/// An index with the storage type `V`.
pub(super) struct Flat<V: ?Sized>(PhantomData<fn() -> Box<V>>);

impl<V: ?Sized + Storage> Index for Flat<V> {
    type Vector = V;
    type Error = Never;

    fn add(&mut self, _: u64, _: &V) -> Result<(), Never> {
        Err(Never)
    }

    fn search(&self, _: &V, _: usize) -> Result<Vec<(u64, f32)>, Never> {
        Err(Never)
    }

    fn remove(&mut self, _: u64) -> Result<bool, Never> {
        Err(Never)
    }

    fn train(&mut self, _: &[&V]) -> Result<(), Never> {
        Err(Never)
    }
}

/// A codec from floats to bytes.
pub(super) struct Quantizer;

impl Codec for Quantizer {
    type In = [f32];
    type Out = [u8];
    type Error = Never;

    fn train(&mut self, _: &[&[f32]]) -> Result<(), Never> {
        Err(Never)
    }

    fn encode(&self, _: &[f32]) -> Result<Box<[u8]>, Never> {
        Err(Never)
    }

    fn decode(&self, _: &[u8]) -> Result<Box<[f32]>, Never> {
        Err(Never)
    }
}
