//! Products and convolutions with an activation, a scale or transposed operands.

use typeloom_tensor::any_tensor::AnyTensor;

use super::part;
use crate::attributes::{Attribute, Attributes};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, build_over, of_f64s, on_floats};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{self, Matrix};
use crate::ops::layout::permute;
use crate::ops::{CONTRIB_DOMAIN, Operator, native, widened};
use crate::shape::{broadcast, broadcast_strides, count, each_index, offset};

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("FusedConv", conv).of(CONTRIB_DOMAIN),
    native("FusedGemm", gemm).of(CONTRIB_DOMAIN),
    widened("FusedMatMul", matmul).of(CONTRIB_DOMAIN),
    widened("TransposeMatMul", matmul).of(CONTRIB_DOMAIN),
];

/// Applies an activation with up to two parameters, by the name of its operator.
fn activate(x: AnyTensor, name: &str, parameters: &[f32]) -> Result<AnyTensor, KernelErrorKind> {
    let at = |index: usize, default: f32| parameters.get(index).copied().unwrap_or(default);
    let with = |pairs: [(&str, f32); 2]| {
        let [(first, a), (second, b)] = pairs;
        Attributes::default().with(first, Attribute::Float(a)).with(second, Attribute::Float(b))
    };
    match name {
        "" => Ok(x),
        "Relu" => part("Relu", &Attributes::default(), [Some(x)]),
        "Tanh" => part("Tanh", &Attributes::default(), [Some(x)]),
        "Sigmoid" => part("Sigmoid", &Attributes::default(), [Some(x)]),
        "Softplus" => part("Softplus", &Attributes::default(), [Some(x)]),
        "Softsign" => part("Softsign", &Attributes::default(), [Some(x)]),
        "LeakyRelu" => {
            let attributes = Attributes::default().with("alpha", Attribute::Float(at(0, 0.01)));
            part("LeakyRelu", &attributes, [Some(x)])
        }
        "Elu" => part("Elu", &Attributes::default().with("alpha", Attribute::Float(at(0, 1.0))), [Some(x)]),
        "ThresholdedRelu" => {
            let attributes = Attributes::default().with("alpha", Attribute::Float(at(0, 1.0)));
            part("ThresholdedRelu", &attributes, [Some(x)])
        }
        "HardSigmoid" => part("HardSigmoid", &with([("alpha", at(0, 0.2)), ("beta", at(1, 0.5))]), [Some(x)]),
        "Selu" => {
            let attributes = with([("alpha", at(0, 1.673_263_2)), ("gamma", at(1, 1.050_701))]);
            part("Selu", &attributes, [Some(x)])
        }
        "Clip" => {
            let bound = |value: f32| of_f64s(x.dtype(), &[], &[f64::from(value)]).map(Some);
            let (low, high) = (bound(at(0, f32::MIN))?, bound(at(1, f32::MAX))?);
            part("Clip", &Attributes::default(), [Some(x), low, high])
        }
        other => Err(KernelErrorKind::Unsupported(format!("activation `{other}`"))),
    }
}

/// `activation(Conv(x, w, b) + z)`.
fn conv(call: &mut Call<'_>) -> Outcome {
    let activation = call.text("activation", "")?;
    let parameters = call.attributes.floats("activation_params")?.unwrap_or_default();
    let (x, w) = (call.tensor(0)?.clone(), call.tensor(1)?.clone());
    let (bias, addend) = (call.optional(2)?.cloned(), call.optional(3)?.cloned());
    let mut y = part("Conv", call.attributes, [Some(x), Some(w), bias])?;
    if let Some(addend) = addend {
        if addend.shape() != y.shape() {
            return invalid(format!("{:?} is added to {:?}", addend.shape(), y.shape()));
        }
        y = part("Add", &Attributes::default(), [Some(y), Some(addend)])?;
    }
    one(activate(y, activation, parameters)?)
}

fn gemm(call: &mut Call<'_>) -> Outcome {
    let activation = call.text("activation", "")?;
    let mut parameters = Vec::new();
    for name in ["activation_alpha", "activation_beta", "activation_gamma"] {
        parameters.extend(call.attributes.float(name)?);
    }
    let inputs = [Some(call.tensor(0)?.clone()), Some(call.tensor(1)?.clone()), call.optional(2)?.cloned()];
    one(activate(part("Gemm", call.attributes, inputs)?, activation, &parameters)?)
}

/// Moves the first axis before the last one.
fn batch_transposed(x: &AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
    let order: Vec<usize> = (1..x.rank() - 1).chain([0, x.rank() - 1]).collect();
    permute(x, &order)
}

/// An operand of a product: batch axes, and a matrix that may be transposed.
struct Operand {
    tensor: AnyTensor,
    is_transposed: bool,
}

impl Operand {
    fn of(x: &AnyTensor, transpose: bool, of_batch: bool) -> Result<Self, KernelErrorKind> {
        if x.rank() < 2 {
            return invalid(format!("a tensor of rank {} is not a matrix", x.rank()));
        }
        let tensor = if of_batch && x.rank() > 2 { batch_transposed(x)? } else { x.clone() };
        Ok(Self { tensor, is_transposed: transpose })
    }

    fn batch(&self) -> &[usize] {
        &self.tensor.shape()[..self.tensor.rank() - 2]
    }

    /// Numbers of rows and columns.
    fn size(&self) -> (usize, usize) {
        let [.., rows, columns] = *self.tensor.shape() else { return (0, 0) };
        if self.is_transposed { (columns, rows) } else { (rows, columns) }
    }

    fn matrix<'a, T>(&self, data: &'a [T], index: usize) -> Matrix<'a, T> {
        let (rows, columns) = self.size();
        let data = &data[index * rows * columns..(index + 1) * rows * columns];
        if self.is_transposed {
            Matrix::transposed(data, rows, columns)
        } else {
            Matrix::new(data, rows, columns)
        }
    }
}

/// `alpha * a * b`, where each operand may be transposed. A vector is a row or a column, as in `MatMul`.
fn matmul(call: &mut Call<'_>) -> Outcome {
    let alpha = f64::from(call.float("alpha", 1.0)?);
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    if a.rank() < 2 || b.rank() < 2 {
        let product = crate::ops::matmul::multiply(a, b)?;
        return one(crate::ops::unary::map_floats(product, |x| alpha * x)?);
    }
    let left = Operand::of(a, call.flag("transA", false)?, call.flag("transBatchA", false)?)?;
    let right = Operand::of(b, call.flag("transB", false)?, call.flag("transBatchB", false)?)?;
    let ((m, k), (inner, n)) = (left.size(), right.size());
    if k != inner {
        return invalid(format!("the inner extents of {:?} and {:?} differ", a.shape(), b.shape()));
    }
    let outer = broadcast(&[left.batch(), right.batch()])?;
    let shape = [&outer[..], &[m, n]].concat();
    let (sa, sb) = (broadcast_strides(left.batch(), &outer), broadcast_strides(right.batch(), &outer));
    // One large product if all batches share the right side.
    let is_joined = right.batch().is_empty() && !left.is_transposed;
    let mut outcome = Ok(());
    let y = on_floats!(a.dtype(), T => {
        let (x, w) = (left.tensor.as_slice::<T>()?, right.tensor.as_slice::<T>()?);
        let alpha = T::from_f64(alpha);
        build_over::<T>(&shape, |out| {
            if out.is_empty() {
                return;
            }
            if is_joined {
                let rows = Matrix::new(x, count(&outer) * m, k);
                outcome = product::multiply(rows, right.matrix(w, 0), out, alpha, None);
                return;
            }
            each_index(&outer, |flat, index| {
                let (a, b) = (left.matrix(x, offset(index, &sa)), right.matrix(w, offset(index, &sb)));
                let result = product::multiply(a, b, &mut out[flat * m * n..][..m * n], alpha, None);
                if outcome.is_ok() {
                    outcome = result;
                }
            });
        })
    })?;
    outcome?;
    one(y)
}
