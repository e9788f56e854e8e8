//! Operator kernels: one file per family, one function per operator.
//!
//! Each family lists its operators in a table that also states their domain and the treatment of 16-bit
//! floats: most operators run in `f32` and round the result. [`find`] searches all tables.
//!
//! | domain | families |
//! |---|---|
//! | ONNX's default domain | the modules of this folder |
//! | [`ML_DOMAIN`] | `ml` |
//! | [`CONTRIB_DOMAIN`] | `contrib` |

use std::collections::HashMap;
use std::sync::OnceLock;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::{Number, check_extents, is_half, narrow, widen};
use crate::error::{KernelError, KernelErrorKind};
use crate::memory;
use crate::work;
use typeloom_onnx::domain::canonical;

mod activation;
mod attention;
mod binary;
mod bitwise;
pub mod cast;
mod compare;
mod contrib;
pub(crate) mod conv;
mod einsum;
pub(crate) mod filter;
mod gather;
pub mod generate;
#[cfg(feature = "images")]
mod image;
mod layout;
mod loss;
pub(crate) mod matmul;
mod ml;
mod normalize;
mod pad;
mod pool;
pub(crate) mod quantize;
mod recurrent;
pub(crate) mod reduce;
mod resize;
mod scatter;
mod select;
mod sequence;
mod shaping;
pub(crate) mod slice;
pub(crate) mod sliding;
mod spectral;
mod text;
mod transposed;
mod unary;
mod vision;

/// The domain of classical machine learning.
pub const ML_DOMAIN: &str = "ai.onnx.ml";

/// The domain of ONNX Runtime's own operators.
pub const CONTRIB_DOMAIN: &str = "com.microsoft";

/// An executable operator.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Empty for ONNX's default domain.
    domain: &'static str,
    name: &'static str,
    /// Bit set of the outputs that are rounded back if inputs of 16-bit floats are widened to `f32`. If
    /// `None`, the kernel handles or rejects 16-bit floats itself.
    widened: Option<u32>,
    kernel: Kernel,
}

/// Opset version of operators that run as a part of another one.
const NESTED_VERSION: i64 = 21;

type Kernel = fn(&mut Call<'_>) -> Result<Vec<Datum>, KernelErrorKind>;

/// Table entry of an operator whose kernel reads the inputs unchanged.
const fn native(name: &'static str, kernel: Kernel) -> Operator {
    Operator { domain: "", name, widened: None, kernel }
}

/// Table entry of an operator that computes 16-bit floats in `f32`.
const fn widened(name: &'static str, kernel: Kernel) -> Operator {
    widened_to(name, u32::MAX, kernel)
}

/// Table entry of an operator that computes 16-bit floats in `f32` and rounds only these outputs back.
const fn widened_to(name: &'static str, outputs: u32, kernel: Kernel) -> Operator {
    Operator { domain: "", name, widened: Some(outputs), kernel }
}

/// Runs an operator of the default domain as a part of another one.
pub(crate) fn run_nested(
    name: &'static str,
    attributes: &Attributes,
    inputs: Vec<Option<Datum>>,
) -> Result<Vec<Datum>, KernelErrorKind> {
    let Some(operator) = find("", name) else { return Err(KernelErrorKind::Unsupported(name.to_owned())) };
    let mut call = Call { version: NESTED_VERSION, attributes, inputs, outputs: 1 };
    operator.run_in(&mut call).map_err(|error| error.kind)
}

/// Units of work for each combination of the other extents of an input with an extent of 0.
const WORK_WITHOUT_ELEMENTS: u64 = 32;

/// Requests the work of a call and of reading its inputs. Extents next to a 0 count, and so do all pairs of
/// axes: kernels iterate over them.
pub(crate) fn spend_reading(inputs: &[Option<Datum>]) -> Result<(), KernelErrorKind> {
    let mut rest: Vec<&Datum> = Vec::new();
    let mut units = work::CALL;
    for input in inputs.iter().flatten() {
        rest.push(input);
        while let Some(value) = rest.pop() {
            units = units.saturating_add(match value {
                Datum::Tensor(tensor) => {
                    let elements = check_extents(tensor.shape())?;
                    let elements = match elements {
                        elements if tensor.is_empty() => elements as u64 * WORK_WITHOUT_ELEMENTS,
                        elements => elements.max(tensor.bytes().len() / 4) as u64 / 2,
                    };
                    elements.saturating_add(work::times(&[tensor.rank(), tensor.rank()]))
                }
                Datum::Sequence(values) => {
                    rest.extend(values);
                    values.len() as u64
                }
                Datum::Optional(value) => {
                    rest.extend(value.as_deref());
                    0
                }
                Datum::Map(map) => map.byte_len() as u64,
                _ => 0,
            });
        }
    }
    work::spend(units)
}

/// Clamps elements to bounds. NaN is preserved.
pub(crate) fn clamp<T: Number>(tensor: AnyTensor, low: T, high: T) -> Result<AnyTensor, KernelErrorKind> {
    unary::map_into(tensor, |x: T| {
        let raised = if x < low { low } else { x };
        if raised > high { high } else { raised }
    })
}

#[cfg(test)]
pub(crate) use unary::erf as exact_erf;

/// All families, in file order.
const FAMILIES: &[&[Operator]] = &[
    binary::OPERATORS,
    unary::OPERATORS,
    activation::OPERATORS,
    compare::OPERATORS,
    bitwise::OPERATORS,
    cast::OPERATORS,
    reduce::OPERATORS,
    shaping::OPERATORS,
    layout::OPERATORS,
    slice::OPERATORS,
    pad::OPERATORS,
    gather::OPERATORS,
    scatter::OPERATORS,
    select::OPERATORS,
    generate::OPERATORS,
    matmul::OPERATORS,
    einsum::OPERATORS,
    conv::OPERATORS,
    transposed::OPERATORS,
    pool::OPERATORS,
    normalize::OPERATORS,
    quantize::OPERATORS,
    sequence::OPERATORS,
    loss::OPERATORS,
    text::OPERATORS,
    spectral::OPERATORS,
    attention::OPERATORS,
    resize::OPERATORS,
    recurrent::OPERATORS,
    vision::OPERATORS,
    #[cfg(feature = "images")]
    image::OPERATORS,
    ml::feature::OPERATORS,
    ml::encode::OPERATORS,
    ml::linear::OPERATORS,
    ml::map::OPERATORS,
    ml::svm::OPERATORS,
    ml::trees::OPERATORS,
    contrib::fused::OPERATORS,
    contrib::gelu::OPERATORS,
    contrib::normalize::OPERATORS,
    contrib::rotary::OPERATORS,
    contrib::quantized::OPERATORS,
    contrib::integer::OPERATORS,
    contrib::weights::OPERATORS,
    contrib::attention::OPERATORS,
    contrib::decoder::OPERATORS,
    contrib::grouped::OPERATORS,
    contrib::lstm::OPERATORS,
    contrib::general::OPERATORS,
];

/// Finds an operator by domain and name, if it is implemented.
#[must_use]
pub fn find(domain: &str, name: &str) -> Option<&'static Operator> {
    static TABLE: OnceLock<HashMap<(&'static str, &'static str), &'static Operator>> = OnceLock::new();
    let table = TABLE.get_or_init(|| all().map(|op| ((op.domain, op.name), op)).collect());
    table.get(&(canonical(domain), name)).copied()
}

/// All operators, grouped by family.
pub fn all() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

impl Operator {
    /// Moves a table entry to another domain.
    const fn of(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }

    /// Domain of the operator; empty for ONNX's default domain.
    #[must_use]
    pub fn domain(&self) -> &'static str {
        self.domain
    }

    /// Name of the operator in ONNX.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the same inputs always give the same outputs.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        // Operators that draw random numbers, always or in training mode.
        !matches!(
            self.name,
            "Bernoulli"
                | "Dropout"
                | "Multinomial"
                | "RandomNormal"
                | "RandomNormalLike"
                | "RandomUniform"
                | "RandomUniformLike"
        )
    }

    /// Runs the operator. The result can have more outputs than requested, or fewer if the missing outputs
    /// are optional.
    ///
    /// # Errors
    /// [`KernelError`] if the operator does not support the call or the call is invalid.
    pub fn run(&self, mut call: Call<'_>) -> Result<Vec<Datum>, KernelError> {
        self.run_in(&mut call)
    }

    /// Like [`Operator::run`], but borrows the call and drains its inputs, so that the caller can reuse their
    /// vector.
    ///
    /// # Errors
    /// As [`Operator::run`].
    pub fn run_in(&self, call: &mut Call<'_>) -> Result<Vec<Datum>, KernelError> {
        let outcome = spend_reading(&call.inputs).and_then(|()| match self.widened {
            None => (self.kernel)(call),
            Some(outputs) => self.run_widened(call, outputs),
        });
        memory::recycle_all(&mut call.inputs);
        outcome.map_err(|kind| KernelError { op: self.name.to_owned(), kind })
    }

    fn run_widened(&self, call: &mut Call<'_>, outputs: u32) -> Result<Vec<Datum>, KernelErrorKind> {
        let tensors = call.inputs.iter().flatten().filter_map(Datum::as_tensor);
        let Some(half) = tensors.map(AnyTensor::dtype).find(|it| is_half(*it)) else {
            return (self.kernel)(call);
        };
        for input in call.inputs.iter_mut().flatten() {
            if let Datum::Tensor(tensor) = input {
                *tensor = widen(tensor.clone())?;
            }
        }
        let mut results = (self.kernel)(call)?;
        for (index, result) in results.iter_mut().enumerate().filter(|(index, _)| *index < 32) {
            if let Datum::Tensor(tensor) = result
                && outputs >> index & 1 == 1
            {
                *tensor = narrow(tensor.clone(), half)?;
            }
        }
        Ok(results)
    }
}
