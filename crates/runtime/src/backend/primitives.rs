//! Primitives of the embedded backend: calls of kernels with the semantics of operator set 18.
//!
//! The kernels are looked up once. Inputs are clones that share the elements; they are collected in a
//! thread-local buffer.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;

use typeloom_contracts::backend::by_execution::Operand;
use typeloom_contracts::backend::{Backend, Primitives};
use typeloom_contracts::operands;
use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::decode;
use typeloom_cpu::ops::{self, Operator};
use typeloom_onnx::messages::{AttributeProto, GraphProto, TensorProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::primitives;

use super::{Cpu, CpuError, VERSION, expect_tensor};

static NONE: LazyLock<Attributes> = LazyLock::new(Attributes::default);
static KEEP: LazyLock<Attributes> = LazyLock::new(|| int("keepdims", 1));
static DROP: LazyLock<Attributes> = LazyLock::new(|| int("keepdims", 0));

fn int(name: &str, value: i64) -> Attributes {
    Attributes::default().with(name, Attribute::Int(value))
}

/// An argument that is an attribute of the node.
trait AsAttribute {
    fn attributes(&self, name: &str) -> Cow<'static, Attributes>;
}

/// `keepdims` is the only boolean attribute.
impl AsAttribute for bool {
    fn attributes(&self, _name: &str) -> Cow<'static, Attributes> {
        Cow::Borrowed(if *self { &KEEP } else { &DROP })
    }
}

impl AsAttribute for i64 {
    fn attributes(&self, name: &str) -> Cow<'static, Attributes> {
        Cow::Owned(int(name, *self))
    }
}

impl AsAttribute for [i64] {
    fn attributes(&self, name: &str) -> Cow<'static, Attributes> {
        Cow::Owned(Attributes::default().with(name, Attribute::Ints(self.to_vec())))
    }
}

impl AsAttribute for Dtype {
    fn attributes(&self, name: &str) -> Cow<'static, Attributes> {
        i64::from(self.onnx_number()).attributes(name)
    }
}

fn value(operand: Operand<'_, AnyTensor>) -> Option<Datum> {
    match operand {
        Operand::Tensor(tensor) | Operand::Constant(tensor) => Some(Datum::Tensor(tensor.into_owned())),
        Operand::Absent => None,
    }
}

thread_local! {
    /// Buffer for the inputs of the next kernel on this thread.
    static BUFFER: Cell<Vec<Option<Datum>>> = const { Cell::new(Vec::new()) };
}

fn run<'a>(
    kernel: &Operator,
    attributes: &Attributes,
    operands: impl IntoIterator<Item = Operand<'a, AnyTensor>>,
    outputs: usize,
) -> Result<Vec<Datum>, CpuError> {
    let mut inputs = BUFFER.take();
    inputs.extend(operands.into_iter().map(value));
    let mut call = Call { version: VERSION, attributes, inputs, outputs };
    let results = kernel.run_in(&mut call);
    // A panicking kernel drops the buffer; the next call allocates a new one.
    BUFFER.set(call.inputs);
    Ok(results?)
}

/// Calls the kernel of a primitive by its form as a node.
macro_rules! call {
    (identity $op:literal ([$a:ident])) => { Ok($a.clone()) };
    (constant $op:literal ([]; value: $value:ident)) => { Ok(decode::tensor($value)?) };
    ($name:ident $op:literal ($operands:tt $(; $attribute:ident: $value:ident)?)) => {{
        // A kernel can return more results than were requested.
        let first = call!($op $operands [$($attribute: $value)?] 1)?.into_iter().next();
        expect_tensor($op, first.ok_or_else(|| CpuError::NoTensor($op.to_owned()))?)
    }};
    ($name:ident $op:literal ($operands:tt; $attribute:ident: $value:ident; $sizes:ident)) => {{
        let results = call!($op $operands [$attribute: $value] $sizes.len())?;
        results.into_iter().map(|result| expect_tensor($op, result)).collect()
    }};
    ($op:literal $operands:tt [$($attribute:ident: $value:ident)?] $outputs:expr) => {{
        static KERNEL: LazyLock<&Operator> =
            LazyLock::new(|| ops::find("", $op).expect("every primitive has a kernel"));
        run(&KERNEL, attributes!($($attribute: $value)?), operands!($operands), $outputs)
    }};
}

macro_rules! attributes {
    () => {
        &NONE
    };
    ($attribute:ident: $value:ident) => {
        &$value.attributes(stringify!($attribute))
    };
}

macro_rules! as_kernels {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt $ports:tt;)*) => {
        /// The methods are also inherent, so that a call is not ambiguous where both traits are in scope.
        impl Cpu {
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// The kernel cannot compute the operator on these arguments.
                pub fn $name(&self, $($arg: $ty),*) -> Result<$out, CpuError> {
                    call!($name $op $form)
                }
            )*
        }

        impl Primitives for Cpu {
            type Tensor = AnyTensor;
            type Error = CpuError;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, CpuError> {
                    Self::$name(self, $($arg),*)
                }
            )*
        }

        impl Backend for Cpu {
            type Tensor = AnyTensor;
            type Error = CpuError;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, CpuError> {
                    Self::$name(self, $($arg),*)
                }
            )*

            fn execute(
                &self,
                graph: &GraphProto,
                inputs: Vec<AnyTensor>,
                attrs: &[AttributeProto],
            ) -> Result<Vec<AnyTensor>, CpuError> {
                Self::execute(self, graph, inputs, attrs)
            }

            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                Self::extension_opsets()
            }
        }
    };
}

primitives!(as_kernels, AnyTensor);
