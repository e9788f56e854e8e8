//! Float convolutions and the nodes that follow them.
//!
//! Batch normalisation, bias, the addition of another tensor, and clamping are applied to each sum in a
//! register. The order is fixed: scale, add, clamp.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::{of_f64s, on_floats, to_f64s};
use crate::error::{KernelError, KernelErrorKind, invalid};
use crate::memory;
use crate::ops::filter::{Filter, Finishing};
use crate::ops::{Operator, find};

use super::{Absorbed, FusedError, Node, Operand};

/// A convolution and the epilogue applied to its sums.
#[derive(Clone, Debug)]
pub(super) struct Convolution {
    version: i64,
    attributes: Attributes,
    filter: Filter,
    scale: Option<Vec<f64>>,
    offset: Option<Vec<f64>>,
    /// `scale` and `offset` converted to the element type of the kernel.
    scale_tensor: Option<AnyTensor>,
    offset_tensor: Option<AnyTensor>,
    /// Index of the absorbed node that adds another tensor.
    adds: Option<usize>,
    bounds: Option<(f64, f64)>,
    nodes: usize,
}

impl Convolution {
    /// Whether a kernel can begin with this operator.
    pub(super) fn begins_with(operator: &Operator) -> bool {
        operator.name() == "Conv"
    }

    /// Creates a kernel for a node with constant weights; `None` if the fused kernel would not be faster.
    pub(super) fn prepare(node: &Node<'_>) -> Option<Self> {
        if !Self::begins_with(node.operator) {
            return None;
        }
        let weights = Operand::constant(node.inputs, 1)?;
        if !matches!(weights.dtype(), Dtype::F32 | Dtype::F64) || weights.is_empty() {
            return None;
        }
        let offset = match Operand::constant(node.inputs, 2) {
            Some(bias) if bias.dtype() == weights.dtype() && bias.len() == weights.shape()[0] => {
                Some(to_f64s(bias).ok()?)
            }
            None if Operand::is_absent(node.inputs, 2) => None,
            Some(_) | None => return None,
        };
        let filter = Filter::of(node.attributes, weights).ok()?;
        let mut kernel = Self {
            version: node.version,
            attributes: node.attributes.clone(),
            filter,
            scale: None,
            offset,
            scale_tensor: None,
            offset_tensor: None,
            adds: None,
            bounds: None,
            nodes: 1,
        };
        kernel.settle()?;
        Some(kernel)
    }

    /// Absorbs the only consumer of the kernel's result, if supported.
    pub(super) fn absorb(&mut self, node: &Node<'_>) -> Absorbed {
        let absorbed = self.absorbed(node).unwrap_or(Absorbed::No);
        if absorbed != Absorbed::No {
            if let Absorbed::WithInput(_) = absorbed {
                self.adds = Some(self.nodes);
            }
            self.nodes += 1;
        }
        absorbed
    }

    fn absorbed(&mut self, node: &Node<'_>) -> Option<Absorbed> {
        if self.bounds.is_some() || node.outputs != 1 {
            return None;
        }
        let result = node.inputs.iter().position(|input| matches!(input, Operand::Result))?;
        match node.operator.name() {
            "Relu" => self.bounds = Some((0.0, f64::INFINITY)),
            "Clip" if result == 0 => self.bounds = Some(self.clip(node)?),
            "Add" if node.version >= 7 && node.inputs.len() == 2 => {
                if let Some(other) = Operand::constant(node.inputs, 1 - result)
                    && let Some(list) = self.per_channel(other)
                    && self.adds.is_none()
                {
                    self.affine(None, Some(list))?;
                } else if self.adds.is_none() {
                    return Some(Absorbed::WithInput(1 - result));
                } else {
                    return None;
                }
            }
            "Mul" if node.version >= 7 && node.inputs.len() == 2 && self.adds.is_none() => {
                let list = self.per_channel(Operand::constant(node.inputs, 1 - result)?)?;
                self.affine(Some(list), None)?;
            }
            "BatchNormalization" if result == 0 && self.adds.is_none() => self.normalise(node)?,
            _ => return None,
        }
        Some(Absorbed::Whole)
    }

    /// Bounds of a `Clip`, if they are constant.
    fn clip(&self, node: &Node<'_>) -> Option<(f64, f64)> {
        let bound = |index: usize, name: &str, default: f64| -> Option<f64> {
            if let Some(tensor) = Operand::constant(node.inputs, index) {
                let values = to_f64s(tensor).ok().filter(|_| tensor.dtype() == self.filter.dtype())?;
                return <[f64; 1]>::try_from(values).ok().map(|[value]| value);
            }
            if !Operand::is_absent(node.inputs, index) {
                return None;
            }
            Some(node.attributes.float(name).ok()?.map_or(default, f64::from))
        };
        Some((bound(1, "min", f64::NEG_INFINITY)?, bound(2, "max", f64::INFINITY)?))
    }

    fn channels(&self) -> usize {
        self.filter.shape()[0]
    }

    /// The elements as one number per channel, if the tensor is constant along all other axes.
    fn per_channel(&self, tensor: &AnyTensor) -> Option<Vec<f64>> {
        let rank = self.filter.shape().len();
        let fits = tensor.dtype() == self.filter.dtype() && tensor.rank() <= rank;
        let values = to_f64s(tensor).ok().filter(|_| fits)?;
        if let [value] = values[..] {
            return Some(vec![value; self.channels()]);
        }
        let at = (tensor.rank() + 1).checked_sub(rank)?;
        let shape = tensor.shape();
        let others = shape.iter().enumerate().all(|(axis, extent)| axis == at || *extent == 1);
        (others && shape.get(at) == Some(&self.channels())).then_some(values)
    }

    /// Applies a scale and then an offset after the current ones.
    fn affine(&mut self, factor: Option<Vec<f64>>, term: Option<Vec<f64>>) -> Option<()> {
        let multiply = |list: Option<Vec<f64>>, factor: &[f64]| {
            list.map(|list| list.iter().zip(factor).map(|(a, b)| a * b).collect::<Vec<f64>>())
        };
        if let Some(factor) = factor {
            self.offset = multiply(self.offset.take(), &factor);
            self.scale = Some(multiply(self.scale.take(), &factor).unwrap_or(factor));
        }
        if let Some(term) = term {
            self.offset = Some(match self.offset.take() {
                Some(offset) => offset.iter().zip(&term).map(|(a, b)| a + b).collect(),
                None => term,
            });
        }
        self.settle()
    }

    fn normalise(&mut self, node: &Node<'_>) -> Option<()> {
        let training = node.attributes.int("training_mode").ok()?.unwrap_or(0) != 0;
        let spatial = node.version >= 9 || node.attributes.int("spatial").ok()?.unwrap_or(1) != 0;
        if node.version < 7 || training || !spatial {
            return None;
        }
        let epsilon = f64::from(node.attributes.float("epsilon").ok()?.unwrap_or(1e-5));
        let list = |index| {
            let tensor = Operand::constant(node.inputs, index)?;
            to_f64s(tensor).ok().filter(|list| list.len() == self.channels())
        };
        let (scale, bias, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
        let factor: Vec<f64> = scale
            .iter()
            .zip(&variance)
            .map(|(scale, variance)| scale / (variance + epsilon).sqrt())
            .collect();
        let term = bias.iter().zip(&mean).zip(&factor).map(|((bias, mean), factor)| bias - mean * factor);
        let term = term.collect();
        self.affine(Some(factor), Some(term))
    }

    fn settle(&mut self) -> Option<()> {
        let dtype = self.filter.dtype();
        let tensor = |list: &Option<Vec<f64>>| match list {
            Some(list) => of_f64s(dtype, &[list.len()], list).map(Some),
            None => Ok(None),
        };
        self.scale_tensor = tensor(&self.scale).ok()?;
        self.offset_tensor = tensor(&self.offset).ok()?;
        Some(())
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Whether the only input is that of the convolution.
    pub(super) fn is_alone(&self) -> bool {
        self.adds.is_none()
    }

    pub(super) fn call(&self, inputs: Vec<Option<Datum>>) -> Call<'_> {
        Call { version: self.version, attributes: &self.attributes, inputs, outputs: 1 }
    }

    /// The epilogue with a tensor that is added; without one, a kernel that adds a tensor has no bounds.
    pub(super) fn finishing<'a>(&'a self, addend: Option<&'a AnyTensor>) -> Finishing<'a> {
        Finishing {
            scale: self.scale_tensor.as_ref(),
            offset: self.offset_tensor.as_ref(),
            bounds: self.bounds.filter(|_| addend.is_some() == self.adds.is_some()),
            addend,
        }
    }

    /// Runs the kernel. The inputs are the convolution's input and, if a node adds another tensor, that
    /// tensor.
    ///
    /// # Errors
    /// [`FusedError`] with the node that failed.
    pub(super) fn run(&self, inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, FusedError> {
        let mut call = self.call(inputs);
        let at = |node: usize, op: &str| {
            let op = op.to_owned();
            move |kind: KernelErrorKind| FusedError { node, error: KernelError { op, kind } }
        };
        let x = call.take(0).map_err(at(0, "Conv"))?;
        let addend = match self.adds {
            Some(node) => Some((node, call.take(1).map_err(at(node, "Add"))?)),
            None => None,
        };
        let fits = match &addend {
            None => true,
            Some((_, addend)) => {
                let shape = self.filter.result_shape(&call, &x).map_err(at(0, "Conv"))?;
                addend.shape() == &shape[..] && addend.dtype() == self.filter.dtype()
            }
        };
        let finishing = self.finishing(addend.as_ref().filter(|_| fits).map(|(_, addend)| addend));
        let result = self.filter.apply(&call, &x, &finishing).map_err(at(0, "Conv"))?;
        memory::recycle_tensor(x);
        match addend {
            Some((node, addend)) if !fits => {
                let sum = added(self.version, result, addend).map_err(|error| FusedError { node, error })?;
                self.bounded(sum).map_err(at(node + 1, "Clip"))
            }
            Some((_, addend)) => {
                memory::recycle_tensor(addend);
                Ok(vec![result.into()])
            }
            None => Ok(vec![result.into()]),
        }
    }

    /// Clamps a sum that was computed outside the kernel.
    fn bounded(&self, sum: Vec<Datum>) -> Result<Vec<Datum>, KernelErrorKind> {
        let Some((low, high)) = self.bounds else { return Ok(sum) };
        let Some(Datum::Tensor(sum)) = sum.into_iter().next() else { return invalid("there is no sum") };
        let bounded = on_floats!(sum.dtype(), T => {
            let (low, high) = (low as T, high as T);
            crate::ops::clamp::<T>(sum, low, high)
        })?;
        Ok(vec![bounded.into()])
    }
}

/// Broadcast sum of two tensors.
fn added(version: i64, a: AnyTensor, b: AnyTensor) -> Result<Vec<Datum>, KernelError> {
    let attributes = Attributes::default();
    let inputs = vec![Some(a.into()), Some(b.into())];
    match find("", "Add") {
        Some(operator) => {
            operator.run(Call { version: version.max(14), attributes: &attributes, inputs, outputs: 1 })
        }
        None => Err(KernelError { op: "Add".to_owned(), kind: KernelErrorKind::MissingInput(0) }),
    }
}
