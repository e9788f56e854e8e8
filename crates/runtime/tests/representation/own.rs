//! Backends whose storage has one element type, as other crates write them. The methods convert masks and
//! indices themselves, and compute with the embedded backend.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::LazyLock;

use typeloom_compiler::compiler::Compiler;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::backend::{Backend, GraphExecutor, Primitives};
use typeloom_onnx::messages::{AttributeProto, GraphProto, TensorProto};
use typeloom_runtime::backend::by_primitives::ByPrimitives;
use typeloom_runtime::backend::{Cpu, CpuError};
use typeloom_runtime::components::Components;
use typeloom_runtime::convert::{ExpectedShape, FromDatum, IntoDatum};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;
use typeloom_types::op::{AtomicOpDecl, AtomicOpsetDecl};
use typeloom_types::primitives;
use typeloom_types::storage::Storage;
use typeloom_types::tree::TypeNode;

/// A tensor whose elements are of type `T`, and of no other.
#[derive(Clone)]
pub(crate) struct Own<T>(AnyTensor, PhantomData<fn() -> T>);

impl<T: Element> Own<T> {
    pub(crate) fn new(tensor: AnyTensor) -> Self {
        assert_eq!(tensor.dtype(), T::DTYPE, "a tensor of another element type reaches the storage");
        Self(tensor, PhantomData)
    }

    /// A result of any type in the storage.
    fn of(tensor: &AnyTensor) -> Result<Self, CpuError> {
        Backend::cast(&Cpu, tensor, T::DTYPE).map(Self::new)
    }

    fn to(&self, dtype: Dtype) -> Result<AnyTensor, CpuError> {
        Backend::cast(&Cpu, &self.0, dtype)
    }
}

impl<T: Element> Storage for Own<T> {
    const TYPE: &'static TypeNode = T::SLICE;
}

impl<T: Element> FromDatum for Own<T> {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        let tensor = datum.as_tensor().filter(|tensor| tensor.dtype() == T::DTYPE);
        tensor.map(|tensor| Cow::Owned(Self::new(tensor.clone())))
    }
}

impl<T: Element> IntoDatum for Own<T> {
    const KNOWS_SHAPE: bool = true;

    fn to_datum(&self, _shape: ExpectedShape<'_>) -> Datum {
        self.0.clone().into()
    }
}

/// The thirty methods.
pub(crate) struct Thirty<T> {
    /// Whether `cast` returns its argument, and `less` the difference.
    is_naive: bool,
    of: PhantomData<fn() -> T>,
}

macro_rules! computed {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            fn $name(&self, a: &Own<T>, $($arg: $ty),*) -> Result<Own<T>, CpuError> {
                Backend::$name(&Cpu, &a.0, $(Lend::lend(&$arg)),*).map(Own::new)
            }
        )*
    };
}

/// An argument as one of the embedded backend.
trait Lend<'a, To> {
    fn lend(&'a self) -> To;
}

impl<'a, T> Lend<'a, &'a AnyTensor> for &Own<T> {
    fn lend(&'a self) -> &'a AnyTensor {
        &self.0
    }
}

impl<'a, T: Copy> Lend<'a, T> for T {
    fn lend(&'a self) -> T {
        *self
    }
}

impl<T> Thirty<T> {
    pub(crate) fn new() -> Self {
        Self { is_naive: false, of: PhantomData }
    }

    pub(crate) fn naive() -> Self {
        Self { is_naive: true, ..Self::new() }
    }
}

impl<T: Element> Primitives for Thirty<T> {
    type Tensor = Own<T>;
    type Error = CpuError;

    computed! {
        add(b: &Own<T>);
        sub(b: &Own<T>);
        mul(b: &Own<T>);
        div(b: &Own<T>);
        neg();
        abs();
        sqrt();
        pow(b: &Own<T>);
        exp();
        log();
        matmul(b: &Own<T>);
        reduce_sum(axes: Option<&[i64]>, keepdims: bool);
        reduce_mean(axes: Option<&[i64]>, keepdims: bool);
        reduce_max(axes: Option<&[i64]>, keepdims: bool);
        reduce_min(axes: Option<&[i64]>, keepdims: bool);
        reshape(shape: &[i64]);
        transpose(perm: &[i64]);
        slice(starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]);
        squeeze(axes: Option<&[i64]>);
        unsqueeze(axes: &[i64]);
        identity();
    }

    fn concat(&self, parts: &[&Own<T>], axis: i64) -> Result<Own<T>, CpuError> {
        let parts: Vec<&AnyTensor> = parts.iter().map(|part| &part.0).collect();
        Backend::concat(&Cpu, &parts, axis).map(Own::new)
    }

    fn split(&self, a: &Own<T>, sizes: &[i64], axis: i64) -> Result<Vec<Own<T>>, CpuError> {
        let parts = Backend::split(&Cpu, &a.0, sizes, axis)?;
        Ok(parts.into_iter().map(Own::new).collect())
    }

    fn cast(&self, a: &Own<T>, dtype: Dtype) -> Result<Own<T>, CpuError> {
        if self.is_naive { Ok(a.clone()) } else { Own::of(&a.to(dtype)?) }
    }

    fn equal(&self, a: &Own<T>, b: &Own<T>) -> Result<Own<T>, CpuError> {
        Own::of(&Backend::equal(&Cpu, &a.0, &b.0)?)
    }

    fn greater(&self, a: &Own<T>, b: &Own<T>) -> Result<Own<T>, CpuError> {
        Own::of(&Backend::greater(&Cpu, &a.0, &b.0)?)
    }

    fn less(&self, a: &Own<T>, b: &Own<T>) -> Result<Own<T>, CpuError> {
        let mask =
            if self.is_naive { Backend::sub(&Cpu, &b.0, &a.0)? } else { Backend::less(&Cpu, &a.0, &b.0)? };
        Own::of(&mask)
    }

    fn where_(&self, condition: &Own<T>, a: &Own<T>, b: &Own<T>) -> Result<Own<T>, CpuError> {
        Backend::where_(&Cpu, &condition.to(Dtype::Bool)?, &a.0, &b.0).map(Own::new)
    }

    fn constant(&self, value: &TensorProto) -> Result<Own<T>, CpuError> {
        Backend::constant(&Cpu, value).map(Own::new)
    }

    fn gather(&self, data: &Own<T>, indices: &Own<T>, axis: i64) -> Result<Own<T>, CpuError> {
        Backend::gather(&Cpu, &data.0, &indices.to(Dtype::I64)?, axis).map(Own::new)
    }
}

/// Whole graphs, with inputs and results in the storage.
pub(crate) struct Graphs<T>(PhantomData<fn() -> T>);

impl<T: Element> GraphExecutor for Graphs<T> {
    type Tensor = Own<T>;
    type Error = CpuError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<Own<T>>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<Own<T>>, CpuError> {
        let inputs = inputs.into_iter().map(|input| input.0).collect();
        let results = GraphExecutor::execute(&Cpu, graph, inputs, attrs)?;
        Ok(results.into_iter().map(Own::new).collect())
    }
}

/// The thirty methods, and by `execute` each `STEP`th of the other operators of the embedded backend.
pub(crate) struct Native<T, const STEP: usize>(PhantomData<fn() -> T>);

/// Every second operator of the embedded backend.
static EVERY_SECOND: LazyLock<[AtomicOpsetDecl; 1]> = LazyLock::new(|| {
    let all = <Cpu as GraphExecutor>::extension_opsets()[0];
    let ops: Vec<AtomicOpDecl> = all.ops.iter().step_by(2).copied().collect();
    [AtomicOpsetDecl { ops: ops.leak(), ..all }]
});

macro_rules! native {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt $ports:tt;)*) => {
        impl<T: Element, const STEP: usize> Backend for Native<T, STEP> {
            type Tensor = Own<T>;
            type Error = CpuError;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, CpuError> {
                    Primitives::$name(&Thirty::new(), $($arg),*)
                }
            )*

            fn execute(
                &self,
                graph: &GraphProto,
                inputs: Vec<Own<T>>,
                attrs: &[AttributeProto],
            ) -> Result<Vec<Own<T>>, CpuError> {
                let inputs = inputs.into_iter().map(|input| input.0).collect();
                GraphExecutor::execute(&Cpu, graph, inputs, attrs)?.iter().map(Own::of).collect()
            }

            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                if STEP == 1 { <Cpu as GraphExecutor>::extension_opsets() } else { &*EVERY_SECOND }
            }
        }
    };
}
primitives!(native);

/// The parts of the contract that a backend has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parts {
    /// The thirty methods only.
    Methods,
    /// `execute` only.
    Graphs,
    /// Both, and some operators beyond the primitives.
    Some,
    /// Both, and all operators.
    Both,
}

impl Parts {
    pub(crate) const ALL: [Self; 4] = [Self::Methods, Self::Graphs, Self::Some, Self::Both];
}

/// The element types of storages.
pub(crate) const DTYPES: [Dtype; 13] = [
    Dtype::F32,
    Dtype::F64,
    Dtype::F16,
    Dtype::BF16,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::Bool,
];

/// A backend of an element type on the slot `compute`, and a compiler that assigns a whole model to it.
pub(crate) fn backend(dtype: Dtype, parts: Parts) -> (Components, Compiler) {
    fn of<T: Element>(parts: Parts) -> (Components, Compiler) {
        fn with<B: Backend<Tensor: FromDatum + IntoDatum + Clone>>(backend: B) -> (Components, Compiler) {
            let components = Components::new().backend("compute", backend);
            (components, Compiler::new().run_on_backend::<B>("compute"))
        }
        match parts {
            Parts::Methods => with(ByPrimitives(Thirty::<T>::new())),
            Parts::Graphs => with(ByExecution(Graphs::<T>(PhantomData))),
            Parts::Some => with(Native::<T, 2>(PhantomData)),
            Parts::Both => with(Native::<T, 1>(PhantomData)),
        }
    }
    match dtype {
        Dtype::F32 => of::<f32>(parts),
        Dtype::F64 => of::<f64>(parts),
        Dtype::F16 => of::<half::f16>(parts),
        Dtype::BF16 => of::<half::bf16>(parts),
        Dtype::U8 => of::<u8>(parts),
        Dtype::U16 => of::<u16>(parts),
        Dtype::U32 => of::<u32>(parts),
        Dtype::U64 => of::<u64>(parts),
        Dtype::I8 => of::<i8>(parts),
        Dtype::I16 => of::<i16>(parts),
        Dtype::I32 => of::<i32>(parts),
        Dtype::I64 => of::<i64>(parts),
        Dtype::Bool => of::<bool>(parts),
        other => panic!("{other} has no Rust type"),
    }
}
