//! The documents' main example: a backend of the thirty methods over tensors of `f32`. Masks are 1 and 0 in its
//! storage, and indices are whole numbers.

use std::borrow::Cow;

use typeloom as bb;
use typeloom::module::{Compiler, OperatorMethods as _, Primitives};
use typeloom::onnx::TensorProto;
use typeloom::run::engine::ByPrimitives;
use typeloom::run::values::{FromDatum, IntoDatum};
use typeloom::run::{Components, Cpu, Datum, Executor, Verify};
use typeloom::types::{AnyTensor, Dtype};

use super::support::{Body, Failed, Outcome, named};

#[derive(Clone)]
struct CpuTensor {
    shape: Vec<usize>,
    numbers: Vec<f32>,
}

impl bb::Storage for CpuTensor {
    const TYPE: &'static bb::TypeNode = &bb::TYPE_TENSOR_F32;
}

impl FromDatum for CpuTensor {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        let tensor = datum.as_tensor()?;
        Some(Cow::Owned(Self { shape: tensor.shape().to_vec(), numbers: tensor.to_vec().ok()? }))
    }
}

impl IntoDatum for CpuTensor {
    const KNOWS_SHAPE: bool = true;

    fn to_datum(&self, _: Option<&[Option<usize>]>) -> Datum {
        self.any().into()
    }
}

impl CpuTensor {
    fn any(&self) -> AnyTensor {
        AnyTensor::from_slice(&self.shape, &self.numbers).expect("as many numbers as the shape has")
    }

    fn map(&self, f: impl Fn(f32) -> f32) -> Self {
        Self { shape: self.shape.clone(), numbers: self.numbers.iter().map(|number| f(*number)).collect() }
    }

    /// The numbers at the positions of another tensor of the same shape, or its only number.
    fn zip(&self, other: &Self, f: impl Fn(f32, f32) -> f32) -> Result<Self, Failed> {
        let (long, short) =
            if self.numbers.len() < other.numbers.len() { (other, self) } else { (self, other) };
        if short.numbers.len() != 1 && short.shape != long.shape {
            return Err(Failed(format!("{:?} and {:?} do not broadcast here", self.shape, other.shape)));
        }
        let at = |tensor: &Self, at: usize| tensor.numbers[if tensor.numbers.len() == 1 { 0 } else { at }];
        let numbers = (0..long.numbers.len()).map(|place| f(at(self, place), at(other, place))).collect();
        Ok(Self { shape: long.shape.clone(), numbers })
    }
}

/// A method that moves or reduces elements, by the embedded backend.
fn moved(result: Result<AnyTensor, <Cpu as Primitives>::Error>) -> Result<CpuTensor, Failed> {
    let tensor = result.map_err(|error| Failed(error.to_string()))?;
    let numbers = tensor.to_vec().map_err(|error| Failed(error.to_string()))?;
    Ok(CpuTensor { shape: tensor.shape().to_vec(), numbers })
}

struct Thirty;

macro_rules! by_embedded {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(fn $name(&self, a: &CpuTensor, $($arg: $ty),*) -> Result<CpuTensor, Failed> {
            moved(Primitives::$name(&Cpu, &a.any(), $($arg),*))
        })*
    };
}

macro_rules! elementwise {
    ($($name:ident = $f:expr;)*) => {
        $(fn $name(&self, a: &CpuTensor) -> Result<CpuTensor, Failed> {
            Ok(a.map($f))
        })*
    };
}

macro_rules! binary {
    ($($name:ident = $f:expr;)*) => {
        $(fn $name(&self, a: &CpuTensor, b: &CpuTensor) -> Result<CpuTensor, Failed> {
            a.zip(b, $f)
        })*
    };
}

fn mask(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}

impl Primitives for Thirty {
    type Tensor = CpuTensor;
    type Error = Failed;

    elementwise! {
        neg = |a| -a;
        abs = f32::abs;
        sqrt = f32::sqrt;
        exp = f32::exp;
        log = f32::ln;
        identity = |a| a;
    }

    binary! {
        add = |a, b| a + b;
        sub = |a, b| a - b;
        mul = |a, b| a * b;
        div = |a, b| a / b;
        pow = f32::powf;
        equal = |a, b| mask(a == b);
        greater = |a, b| mask(a > b);
        less = |a, b| mask(a < b);
    }

    by_embedded! {
        reduce_sum(axes: Option<&[i64]>, keepdims: bool);
        reduce_mean(axes: Option<&[i64]>, keepdims: bool);
        reduce_max(axes: Option<&[i64]>, keepdims: bool);
        reduce_min(axes: Option<&[i64]>, keepdims: bool);
        reshape(shape: &[i64]);
        transpose(perm: &[i64]);
        slice(starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]);
        squeeze(axes: Option<&[i64]>);
        unsqueeze(axes: &[i64]);
    }

    fn matmul(&self, a: &CpuTensor, b: &CpuTensor) -> Result<CpuTensor, Failed> {
        moved(Primitives::matmul(&Cpu, &a.any(), &b.any()))
    }

    fn concat(&self, parts: &[&CpuTensor], axis: i64) -> Result<CpuTensor, Failed> {
        let parts: Vec<AnyTensor> = parts.iter().map(|part| part.any()).collect();
        moved(Primitives::concat(&Cpu, &parts.iter().collect::<Vec<_>>(), axis))
    }

    fn split(&self, a: &CpuTensor, sizes: &[i64], axis: i64) -> Result<Vec<CpuTensor>, Failed> {
        let parts =
            Primitives::split(&Cpu, &a.any(), sizes, axis).map_err(|error| Failed(error.to_string()))?;
        parts.into_iter().map(|part| moved(Ok(part))).collect()
    }

    fn cast(&self, a: &CpuTensor, dtype: Dtype) -> Result<CpuTensor, Failed> {
        Ok(match dtype {
            Dtype::F32 => a.clone(),
            Dtype::Bool => a.map(|a| mask(a != 0.0)),
            Dtype::I64 | Dtype::I32 => a.map(f32::trunc),
            other => return Err(Failed(format!("{other} is not supported"))),
        })
    }

    fn where_(&self, condition: &CpuTensor, a: &CpuTensor, b: &CpuTensor) -> Result<CpuTensor, Failed> {
        let truth: Vec<bool> = condition.numbers.iter().map(|number| *number != 0.0).collect();
        let condition = AnyTensor::from_slice(&condition.shape, &truth);
        let condition = condition.map_err(|error| Failed(error.to_string()))?;
        moved(Primitives::where_(&Cpu, &condition, &a.any(), &b.any()))
    }

    fn constant(&self, value: &TensorProto) -> Result<CpuTensor, Failed> {
        moved(Primitives::constant(&Cpu, value))
    }

    fn gather(&self, data: &CpuTensor, indices: &CpuTensor, axis: i64) -> Result<CpuTensor, Failed> {
        let positions: Vec<i64> = indices.numbers.iter().map(|number| *number as i64).collect();
        let positions = AnyTensor::from_slice(&indices.shape, &positions);
        let positions = positions.map_err(|error| Failed(error.to_string()))?;
        moved(Primitives::gather(&Cpu, &data.any(), &positions, axis))
    }
}

/// Every operator of the example that computes with masks, indices or casts.
const PROGRAM: Body = Body("masks", |g| {
    let (x, at) = (g.input("x").of("float[2, 3]"), g.input("at").of("int64[2]"));
    let c = g.backend("compute");
    let half = g.constant(&AnyTensor::from([0.5_f32]));
    let less = c.less(&x, &half);
    g.output("relu", c.relu(&x));
    g.output("leaky", c.leaky_relu(&x, Default::default()));
    g.output("tanh", c.tanh(&x));
    g.output("softplus", c.softplus(&x));
    g.output("sign", c.sign(&x));
    g.output("max", c.max(&[&x, &half]));
    g.output("floor", c.floor(&x));
    g.output("chosen", c.where_(&c.greater(&x, &half), &x, &c.neg(&x)));
    g.output("rows", c.gather(&x, &at, Default::default()));
    g.output("less", &less);
    g.output("where", c.where_(&less, &x, &c.abs(&x)));
    g.output("whole", c.cast(&x, Dtype::I64, Default::default()));
    g.output("truth", c.cast(&x, Dtype::Bool, Default::default()));
});

#[test]
fn a_backend_of_thirty_methods_over_f32_runs_masks_indices_and_casts() -> Outcome {
    let x = AnyTensor::from_slice(&[2, 3], &[-2.0_f32, -0.25, 0.0, 0.5, 1.75, 3.0])?;
    let inputs = || named([("x", x.clone().into()), ("at", AnyTensor::from([1_i64, -2]).into())]);
    let run = |components: Components, compiler: Compiler| -> Result<_, Box<dyn std::error::Error>> {
        let artifact = compiler.with_bindings(components.bindings().clone()).compile(PROGRAM)?;
        Ok(Executor::new(&artifact, &components)?.run(inputs(), Verify::EveryValue)?.outputs)
    };
    let expected = run(Components::new().backend("compute", Cpu), Compiler::new())?;
    let found = run(Components::new().backend("compute", ByPrimitives(Thirty)), Compiler::new())?;
    for ((name, found), (_, expected)) in found.iter().zip(&expected) {
        let (Some(found), Some(expected)) = (found.as_tensor(), expected.as_tensor()) else {
            return Err(format!("{name} is no tensor").into());
        };
        match (found.to_vec::<f32>(), expected.to_vec::<f32>()) {
            (Ok(a), Ok(b)) => {
                let is_near = a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-6);
                assert!(found.shape() == expected.shape() && is_near, "{name}: {found:?} {expected:?}");
            }
            _ => assert_eq!(found, expected, "{name}"),
        }
    }
    Ok(())
}
