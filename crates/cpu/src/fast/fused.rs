//! Fused kernels: convolutions and products with constant weights, and the nodes that follow them.
//!
//! Weights are packed once, when a model is prepared, and the nodes that follow are applied to each sum
//! before it is written, so that no intermediate tensor is stored:
//!
//! - Float convolutions absorb batch normalisation, bias, the addition of another tensor, and clamping
//!   (`convolution`).
//! - Products and convolutions of 8-bit integers absorb the conversion to floats, scales, bias, clamping and
//!   quantisation (`integer`). They include float nodes between dequantisation and quantisation.
//! - Elementwise nodes, and nodes that only move elements, between dequantisation and quantisation run on
//!   8-bit integers (`elementwise`).
//! - Float convolutions whose results are concatenated along the channels write to one tensor (`joined`).
//!
//! Plain form: the nodes one by one (`link`). `tests/fused.rs` and `tests/fused_integers.rs` of the runtime
//! compare both.
//!
//! This module has no access to the graph. The caller passes a node, then the only consumer of its result,
//! and so on, as long as nodes are [absorbed](Fused::absorb).

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use crate::attributes::Attributes;
use crate::error::KernelError;
use crate::ops::{Operator, spend_reading};

mod convolution;
mod elementwise;
mod integer;
mod joined;
mod link;
mod nodes;

use convolution::Convolution;
use elementwise::Elementwise;
use integer::Integer;
use joined::Joined;

/// A `DequantizeLinear` node with constant parameters and scales along at most one axis.
#[derive(Clone, Debug)]
pub struct Dequantised {
    /// The integers, if they are constant.
    pub x: Option<AnyTensor>,
    /// Scale or scales.
    pub scale: AnyTensor,
    /// Zero point or points.
    pub zero: Option<AnyTensor>,
    /// Axis of several scales.
    pub axis: i64,
}

/// An input of a node, as known at preparation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Omitted.
    Absent,
    /// Unknown until run time.
    Unknown,
    /// Always this tensor.
    Constant(&'a AnyTensor),
    /// Floats of dequantised integers. A kernel reads the integers of all inputs of this kind of its first
    /// node.
    Dequantised(&'a Dequantised),
    /// The result of the kernel that may absorb the node.
    Result,
}

impl<'a> Operand<'a> {
    fn constant(list: &[Self], index: usize) -> Option<&'a AnyTensor> {
        match list.get(index) {
            Some(Self::Constant(tensor)) => Some(tensor),
            Some(Self::Absent | Self::Unknown | Self::Dequantised(_) | Self::Result) | None => None,
        }
    }

    fn dequantised(list: &[Self], index: usize) -> Option<&'a Dequantised> {
        match list.get(index) {
            Some(Self::Dequantised(given)) => Some(given),
            Some(Self::Absent | Self::Unknown | Self::Constant(_) | Self::Result) | None => None,
        }
    }

    /// A constant, or `None` inside if it is omitted.
    fn optional(list: &[Self], index: usize) -> Option<Option<&'a AnyTensor>> {
        match Self::constant(list, index) {
            Some(tensor) => Some(Some(tensor)),
            None => Self::is_absent(list, index).then_some(None),
        }
    }

    fn is_absent(list: &[Self], index: usize) -> bool {
        matches!(list.get(index), None | Some(Self::Absent))
    }
}

/// A node at preparation, before its inputs are computed.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Operator of the node.
    pub operator: &'static Operator,
    /// Opset version.
    pub version: i64,
    /// Attributes of the node.
    pub attributes: &'a Attributes,
    /// Inputs in order.
    pub inputs: &'a [Operand<'a>],
    /// Number of listed outputs.
    pub outputs: usize,
}

/// Result of [`Fused::absorb`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absorbed {
    /// Not absorbed; the node runs separately.
    No,
    /// Absorbed.
    Whole,
    /// Absorbed; the kernel needs the node's input of this index as an additional input.
    WithInput(usize),
}

/// Error of one node of a fused kernel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct FusedError {
    /// Index of the node, in order of absorption.
    pub node: usize,
    /// Error of the node's kernel.
    #[source]
    pub error: KernelError,
}

/// A kernel for several nodes.
#[derive(Clone, Debug)]
pub struct Fused(Kernel);

#[derive(Clone, Debug)]
enum Kernel {
    Convolution(Box<Convolution>),
    Integer(Box<Integer>),
    Elementwise(Box<Elementwise>),
    Joined(Box<Joined>),
}

impl Fused {
    /// Whether a kernel can begin with this operator if the first input is not dequantised.
    #[must_use]
    pub fn begins_with(operator: &Operator) -> bool {
        Convolution::begins_with(operator) || Integer::begins_with(operator)
    }

    /// Whether no kernel begins with this operator on floats, so that floats need not be computed to offer
    /// them.
    #[must_use]
    pub fn needs_integers(operator: &Operator) -> bool {
        matches!(operator.name(), "MatMul" | "Gemm") || !Self::begins_with(operator)
    }

    /// Creates a kernel for a node with constant weights; `None` if the fused kernel would not be faster.
    #[must_use]
    pub fn prepare(node: &Node<'_>) -> Option<Self> {
        let integer = || Integer::prepare(node).map(|kernel| Self(Kernel::Integer(Box::new(kernel))));
        let convolution =
            || Convolution::prepare(node).map(|kernel| Self(Kernel::Convolution(Box::new(kernel))));
        let elementwise =
            || Elementwise::prepare(node).map(|kernel| Self(Kernel::Elementwise(Box::new(kernel))));
        integer().or_else(convolution).or_else(elementwise)
    }

    /// Whether the kernel can run; otherwise it must absorb further nodes.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match &self.0 {
            Kernel::Convolution(_) | Kernel::Integer(_) | Kernel::Joined(_) => true,
            Kernel::Elementwise(kernel) => kernel.is_complete(),
        }
    }

    /// Indices of the inputs of the first node that a run reads, in the order in which [`Fused::run`] takes
    /// them.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        match &self.0 {
            Kernel::Convolution(_) | Kernel::Joined(_) => &[0],
            Kernel::Integer(kernel) => kernel.inputs(),
            Kernel::Elementwise(kernel) => kernel.inputs(),
        }
    }

    /// Absorbs the only consumer of the kernel's result, if supported.
    pub fn absorb(&mut self, node: &Node<'_>) -> Absorbed {
        match &mut self.0 {
            Kernel::Convolution(kernel) => kernel.absorb(node),
            Kernel::Integer(kernel) => kernel.absorb(node),
            Kernel::Elementwise(kernel) => kernel.absorb(node),
            Kernel::Joined(_) => Absorbed::No,
        }
    }

    /// Whether [`Fused::join`] makes one kernel of these kernels and of the node, which reads their results
    /// in order.
    #[must_use]
    pub fn can_join(parts: &[&Self], node: &Node<'_>) -> bool {
        let parts = parts.iter().map(|part| match &part.0 {
            Kernel::Convolution(kernel) => Some(&**kernel),
            Kernel::Integer(_) | Kernel::Elementwise(_) | Kernel::Joined(_) => None,
        });
        parts.collect::<Option<Vec<_>>>().is_some_and(|parts| Joined::fits(&parts, node))
    }

    /// One kernel that computes several and concatenates their results. It takes the inputs of all, in order,
    /// and its nodes are numbered in the same order; the concatenation is the last.
    #[must_use]
    pub fn join(parts: Vec<Self>) -> Option<Self> {
        let parts = parts.into_iter().map(|part| match part.0 {
            Kernel::Convolution(kernel) => Some(*kernel),
            Kernel::Integer(_) | Kernel::Elementwise(_) | Kernel::Joined(_) => None,
        });
        Some(Self(Kernel::Joined(Box::new(Joined::new(parts.collect::<Option<_>>()?)))))
    }

    /// Runs the kernel on the [inputs](Fused::inputs) of the first node and the additional inputs of absorbed
    /// nodes.
    ///
    /// # Errors
    /// [`FusedError`] with the node that failed.
    pub fn run(&self, inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, FusedError> {
        spend_reading(&inputs).map_err(|kind| {
            let op = match &self.0 {
                Kernel::Convolution(_) | Kernel::Joined(_) => "Conv",
                Kernel::Integer(kernel) => kernel.operator.name(),
                Kernel::Elementwise(kernel) => kernel.operator.name(),
            };
            FusedError { node: 0, error: KernelError { op: op.to_owned(), kind } }
        })?;
        match &self.0 {
            Kernel::Convolution(kernel) => kernel.run(inputs),
            Kernel::Integer(kernel) => kernel.run(inputs),
            Kernel::Elementwise(kernel) => kernel.run(inputs),
            Kernel::Joined(kernel) => kernel.run(inputs),
        }
    }
}
