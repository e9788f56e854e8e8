//! Primitives of the embedded backend: calls of kernels with the semantics of operator set 18.
//!
//! The kernels are looked up once. Inputs are clones that share the elements; they are collected in a
//! thread-local buffer.

use std::cell::Cell;
use std::sync::LazyLock;

use typeloom_contracts::backend::Primitives;
use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::decode;
use typeloom_cpu::ops::{self, Operator};
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::TensorProto;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{Cpu, CpuError, VERSION, expect_tensor};

macro_rules! kernels {
    ($($name:ident $op:literal;)*) => {
        /// The kernels of the primitives.
        struct Kernels {
            $($name: &'static Operator,)*
        }

        static KERNELS: LazyLock<Kernels> = LazyLock::new(|| Kernels {
            $($name: ops::find("", $op).expect("every primitive has a kernel"),)*
        });
    };
}

kernels! {
    add "Add"; sub "Sub"; mul "Mul"; div "Div"; neg "Neg"; abs "Abs"; sqrt "Sqrt"; pow "Pow"; exp "Exp"; log "Log";
    matmul "MatMul"; reduce_sum "ReduceSum"; reduce_mean "ReduceMean"; reduce_max "ReduceMax";
    reduce_min "ReduceMin"; reshape "Reshape"; transpose "Transpose"; concat "Concat"; slice "Slice"; split "Split";
    squeeze "Squeeze"; unsqueeze "Unsqueeze"; cast "Cast"; equal "Equal"; greater "Greater";
    less "Less"; where_ "Where"; gather "Gather";
}

static NONE: LazyLock<Attributes> = LazyLock::new(Attributes::default);
static KEEP: LazyLock<Attributes> = LazyLock::new(|| int("keepdims", 1));
static DROP: LazyLock<Attributes> = LazyLock::new(|| int("keepdims", 0));

fn int(name: &str, value: i64) -> Attributes {
    Attributes::default().with(name, Attribute::Int(value))
}

fn ints(values: &[i64]) -> Option<Value> {
    Some(Value::Tensor(AnyTensor::from(values)))
}

fn tensor(tensor: &AnyTensor) -> Option<Value> {
    Some(Value::Tensor(tensor.clone()))
}

thread_local! {
    /// Buffer for the inputs of the next kernel on this thread.
    static ROOM: Cell<Vec<Option<Value>>> = const { Cell::new(Vec::new()) };
}

fn run(
    kernel: &Operator,
    attributes: &Attributes,
    given: impl IntoIterator<Item = Option<Value>>,
    outputs: usize,
) -> Result<Vec<Value>, CpuError> {
    let mut inputs = ROOM.take();
    inputs.extend(given);
    let mut call = Call { version: VERSION, attributes, inputs, outputs };
    let results = kernel.run_in(&mut call);
    // A panicking kernel drops the buffer; the next call allocates a new one.
    ROOM.set(call.inputs);
    Ok(results?)
}

fn many(
    kernel: &Operator,
    attributes: &Attributes,
    given: impl IntoIterator<Item = Option<Value>>,
    outputs: usize,
) -> Result<Vec<AnyTensor>, CpuError> {
    let results = run(kernel, attributes, given, outputs)?;
    results.into_iter().map(|value| expect_tensor(kernel.name(), value)).collect()
}

fn one(
    kernel: &Operator,
    attributes: &Attributes,
    given: impl IntoIterator<Item = Option<Value>>,
) -> Result<AnyTensor, CpuError> {
    // A kernel can return more results than were requested.
    let first = run(kernel, attributes, given, 1)?.into_iter().next();
    expect_tensor(kernel.name(), first.ok_or_else(|| CpuError::NoTensor(kernel.name().to_owned()))?)
}

macro_rules! of_tensors {
    ($($name:ident($($arg:ident),*);)*) => {
        $(
            fn $name(&self, $($arg: &AnyTensor),*) -> Result<AnyTensor, CpuError> {
                one(KERNELS.$name, &NONE, [$(tensor($arg)),*])
            }
        )*
    };
}

macro_rules! reductions {
    ($($name:ident),*) => {
        $(
            fn $name(&self, a: &AnyTensor, axes: Option<&[i64]>, keepdims: bool) -> Result<AnyTensor, CpuError> {
                reduce(KERNELS.$name, a, axes, keepdims)
            }
        )*
    };
}

fn reduce(
    kernel: &Operator,
    a: &AnyTensor,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<AnyTensor, CpuError> {
    let attributes: &Attributes = if keepdims { &KEEP } else { &DROP };
    // At operator set 18 axes are an input of every reduction.
    one(kernel, attributes, [tensor(a), axes.and_then(ints)])
}

impl Primitives for Cpu {
    type Tensor = AnyTensor;
    type Error = CpuError;

    of_tensors! {
        add(a, b); sub(a, b); mul(a, b); div(a, b); pow(a, b); matmul(a, b); equal(a, b); greater(a, b); less(a, b);
        neg(a); abs(a); sqrt(a); exp(a); log(a); where_(condition, a, b);
    }

    reductions!(reduce_sum, reduce_mean, reduce_max, reduce_min);

    fn identity(&self, a: &AnyTensor) -> Result<AnyTensor, CpuError> {
        Ok(a.clone())
    }

    fn reshape(&self, a: &AnyTensor, shape: &[i64]) -> Result<AnyTensor, CpuError> {
        one(KERNELS.reshape, &NONE, [tensor(a), ints(shape)])
    }

    fn transpose(&self, a: &AnyTensor, perm: &[i64]) -> Result<AnyTensor, CpuError> {
        let attributes = Attributes::default().with("perm", Attribute::Ints(perm.to_vec()));
        one(KERNELS.transpose, &attributes, [tensor(a)])
    }

    fn concat(&self, parts: &[&AnyTensor], axis: i64) -> Result<AnyTensor, CpuError> {
        one(KERNELS.concat, &int("axis", axis), parts.iter().map(|part| tensor(part)))
    }

    fn slice(
        &self,
        a: &AnyTensor,
        starts: &[i64],
        ends: &[i64],
        axes: &[i64],
        steps: &[i64],
    ) -> Result<AnyTensor, CpuError> {
        one(KERNELS.slice, &NONE, [tensor(a), ints(starts), ints(ends), ints(axes), ints(steps)])
    }

    fn split(&self, a: &AnyTensor, sizes: &[i64], axis: i64) -> Result<Vec<AnyTensor>, CpuError> {
        many(KERNELS.split, &int("axis", axis), [tensor(a), ints(sizes)], sizes.len())
    }

    fn squeeze(&self, a: &AnyTensor, axes: Option<&[i64]>) -> Result<AnyTensor, CpuError> {
        one(KERNELS.squeeze, &NONE, [tensor(a), axes.and_then(ints)])
    }

    fn unsqueeze(&self, a: &AnyTensor, axes: &[i64]) -> Result<AnyTensor, CpuError> {
        one(KERNELS.unsqueeze, &NONE, [tensor(a), ints(axes)])
    }

    fn cast(&self, a: &AnyTensor, dtype: Dtype) -> Result<AnyTensor, CpuError> {
        one(KERNELS.cast, &int("to", i64::from(dtype.onnx_number())), [tensor(a)])
    }

    fn constant(&self, value: &TensorProto) -> Result<AnyTensor, CpuError> {
        Ok(decode::tensor(value)?)
    }

    fn gather(&self, data: &AnyTensor, indices: &AnyTensor, axis: i64) -> Result<AnyTensor, CpuError> {
        one(KERNELS.gather, &int("axis", axis), [tensor(data), tensor(indices)])
    }
}
