//! Products of 8-bit integers whose results are scaled.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::part;
use crate::attributes::Attributes;
use crate::call::{Call, Outcome, one};
use crate::element::{build_over, to_f64s, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::quantised::product::product;
use crate::ops::layout::permute;
use crate::ops::{CONTRIB_DOMAIN, Operator, native, run_nested};

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("MatMulIntegerToFloat", to_float).of(CONTRIB_DOMAIN),
    native("DynamicQuantizeMatMul", dynamic).of(CONTRIB_DOMAIN),
    native("MatMulInteger16", wide).of(CONTRIB_DOMAIN),
    native("QGemm", gemm).of(CONTRIB_DOMAIN),
];

/// Computes results from sums: the first column, the sums, and the results.
type Finish<'a> = dyn Fn(usize, &[i32], &mut [f32]) + Sync + 'a;

/// A product of quantised matrices.
pub(super) struct Product<'a> {
    pub(super) a: &'a AnyTensor,
    pub(super) a_zero: Option<&'a AnyTensor>,
    pub(super) b: &'a AnyTensor,
    pub(super) b_zero: Option<&'a AnyTensor>,
}

impl Product<'_> {
    /// Number of columns; a vector is one.
    fn columns(&self) -> usize {
        if self.b.rank() > 1 { self.b.shape().last().copied().unwrap_or(1) } else { 1 }
    }

    /// The product as 32-bit integers.
    fn whole(&self) -> Result<AnyTensor, KernelErrorKind> {
        let inputs = [Some(self.a), Some(self.b), self.a_zero, self.b_zero];
        part("MatMulInteger", &Attributes::default(), inputs.map(Option::<&AnyTensor>::cloned))
    }

    /// The product times a scale for each column, plus a bias for each column.
    pub(super) fn scaled(
        &self,
        a_scale: &AnyTensor,
        b_scale: &AnyTensor,
        bias: Option<&AnyTensor>,
    ) -> Result<AnyTensor, KernelErrorKind> {
        let columns = self.columns();
        let (&[a_scale], scales) = (&to_f64s(a_scale)?[..], to_f64s(b_scale)?) else {
            return Err(KernelErrorKind::Unsupported("more than one scale of the left side".to_owned()));
        };
        if !(scales.len() == 1 || (scales.len() == columns && columns > 0)) {
            return invalid(format!("{} for {}", counted(scales.len(), "scale"), counted(columns, "column")));
        }
        let scales: Vec<f32> = (0..columns).map(|at| (a_scale * scales[at % scales.len()]) as f32).collect();
        let bias = bias.map(AnyTensor::to_vec::<f32>).transpose()?;
        if bias.as_ref().is_some_and(|bias| bias.len() != columns) {
            return invalid(format!(
                "the bias has not one element for each of {}",
                counted(columns, "column")
            ));
        }
        self.mapped(&|first, sums, out| {
            widest(
                #[inline(always)]
                || {
                    for ((out, sum), scale) in out.iter_mut().zip(sums).zip(&scales[first..]) {
                        *out = *sum as f32 * scale;
                    }
                    if let Some(bias) = &bias {
                        out.iter_mut().zip(&bias[first..]).for_each(|(out, bias)| *out += bias);
                    }
                },
            );
        })
    }

    /// Applies a function to the sums.
    fn mapped(&self, each: &Finish<'_>) -> Result<AnyTensor, KernelErrorKind> {
        if self.a.rank() > 1 && self.b.rank() > 1 {
            let sink = |_: usize, first: usize, sums: &[i32], out: &mut [f32]| each(first, sums, out);
            if let Some(result) = product::<f32>((self.a, self.a_zero), (self.b, self.b_zero), &sink)? {
                return Ok(result);
            }
        }
        let whole = self.whole()?;
        let columns = self.columns().max(1);
        let data = whole.as_slice::<i32>()?;
        build_over::<f32>(whole.shape(), |out| {
            let rows = out.chunks_exact_mut(columns).zip(data.chunks_exact(columns));
            rows.for_each(|(out, row)| each(0, row, out));
        })
    }
}

fn to_float(call: &mut Call<'_>) -> Outcome {
    let product = Product {
        a: call.tensor(0)?,
        a_zero: call.optional(4)?,
        b: call.tensor(1)?,
        b_zero: call.optional(5)?,
    };
    one(product.scaled(call.tensor(2)?, call.tensor(3)?, call.optional(6)?)?)
}

/// A tensor of floats as `u8`, its scale and its zero point.
pub(super) fn quantized(x: &AnyTensor) -> Result<[AnyTensor; 3], KernelErrorKind> {
    let inputs = vec![Some(Datum::Tensor(x.clone()))];
    let results = run_nested("DynamicQuantizeLinear", &Attributes::default(), inputs)?;
    match <[Datum; 3]>::try_from(results) {
        Ok([Datum::Tensor(x), Datum::Tensor(scale), Datum::Tensor(zero)]) => Ok([x, scale, zero]),
        Ok(_) | Err(_) => invalid("the quantisation has not three results"),
    }
}

/// Quantises the left side, then multiplies integers.
fn dynamic(call: &mut Call<'_>) -> Outcome {
    let [a, a_scale, a_zero] = quantized(call.tensor(0)?)?;
    let product = Product { a: &a, a_zero: Some(&a_zero), b: call.tensor(1)?, b_zero: call.optional(3)? };
    one(product.scaled(&a_scale, call.tensor(2)?, call.optional(4)?)?)
}

fn wide(call: &mut Call<'_>) -> Outcome {
    let convert = |x: &AnyTensor| crate::ops::cast::convert(x, Dtype::I32);
    one(crate::ops::matmul::multiply(&convert(call.tensor(0)?)?, &convert(call.tensor(1)?)?)?)
}

/// `alpha * a * b + c` of quantised matrices; quantised if the scale of the result is given, otherwise `f32`.
fn gemm(call: &mut Call<'_>) -> Outcome {
    let alpha = call.float("alpha", 1.0)?;
    let operand = |index: usize, name: &str| -> Result<AnyTensor, KernelErrorKind> {
        let x = call.tensor(index)?;
        if x.rank() != 2 {
            return invalid(format!("input {index} has rank {}, not 2", x.rank()));
        }
        if call.flag(name, false)? { permute(x, &[1, 0]) } else { Ok(x.clone()) }
    };
    let (a, b) = (operand(0, "transA")?, operand(3, "transB")?);
    let product = Product { a: &a, a_zero: call.optional(2)?, b: &b, b_zero: call.optional(5)? };
    let (a_scale, b_scale) = (to_f64s(call.tensor(1)?)?, to_f64s(call.tensor(4)?)?);
    let columns = b.shape()[1];
    if a_scale.len() != 1 || b_scale.is_empty() || (b_scale.len() != 1 && b_scale.len() != columns) {
        return invalid(format!(
            "{} and {} for {}",
            a_scale.len(),
            counted(b_scale.len(), "scale"),
            counted(columns, "column")
        ));
    }
    let factor = |at: usize| f64::from(alpha) * a_scale[0] * b_scale[at % b_scale.len()];
    let factors: Vec<f64> = (0..columns).map(factor).collect();
    let scaled = |first: usize, sums: &[i32], addend: &[i32], out: &mut [f32]| {
        widest(
            #[inline(always)]
            || {
                let parts = sums.iter().zip(addend).zip(&factors[first..]);
                for (out, ((sum, addend), factor)) in out.iter_mut().zip(parts) {
                    *out = (f64::from(sum.wrapping_add(*addend)) * factor) as f32;
                }
            },
        );
    };
    let addend = call.optional(6)?;
    let y = match addend {
        Some(addend) if addend.shape() != [columns] && addend.shape() != [1, columns] => {
            let inputs = [Some(product.whole()?), Some(addend.clone())];
            let whole = part("Add", &Attributes::default(), inputs)?;
            let data = whole.as_slice::<i32>()?;
            let zeros = vec![0; columns];
            build_over::<f32>(whole.shape(), |out| {
                let rows = out.chunks_exact_mut(columns.max(1)).zip(data.chunks_exact(columns.max(1)));
                rows.for_each(|(out, row)| scaled(0, row, &zeros, out));
            })?
        }
        addend => {
            let addend = addend.map_or_else(|| Ok(vec![0; columns]), AnyTensor::to_vec::<i32>)?;
            product.mapped(&|first, sums, out| scaled(first, sums, &addend[first..], out))?
        }
    };
    let Some(scale) = call.optional(7)? else { return one(y) };
    let inputs = [Some(y), Some(scale.clone()), call.optional(8)?.cloned()];
    one(part("QuantizeLinear", &Attributes::default(), inputs)?)
}
