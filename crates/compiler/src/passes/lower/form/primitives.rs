//! The primitives as methods of operands, with the shapes of their results.
//!
//! A rule of `lower` writes the formula of an operator. Each method here adds the node of one primitive to
//! the form, and computes the shape of its result as far as it is known. Some primitives differ between
//! versions of ONNX. A method writes the one of the version that the program imports:
//!
//! ```text
//! x.reduce("ReduceSum", &[1], true), x: float[2, 3], result: float[2, 1]
//!   imports 11    ReduceSum <axes = [1], keepdims = 1> (x)
//!   imports 13    ReduceSum <keepdims = 1> (x, axes), with the initializer axes = [1]
//! ```
//!
//! The form records the element types that the backend has to store, and the oldest version that has the
//! operators. If one of these requirements is not met, the complete form is refused.
//!
//! **Invariant:** an operation without effect adds no node: a cast to the type of the operand, a reduction
//! over no axes, a transposition that keeps the order, an expansion to the extents that the operand has.
//!
//! Limits:
//!
//! - Shapes follow from local rules. An extent that a rule cannot compute is [`Dim::Unknown`], and an
//!   operator may be refused because of it.
//! - `Expand` is no primitive. [`Operand::expand`] gathers index 0 as often as necessary. So an extent that
//!   grows has to be a number, and its indices are a constant, whose size [`bounded`] limits.
//! - [`Operand::reshape_to`] accepts one unknown extent, in addition to those that stay at their position.

use typeloom_onnx::messages::AttributeProto;
use typeloom_onnx::messages::IntoAttribute;
use typeloom_tensor::value_type::Dim;
use typeloom_types::dtype::Dtype;

use super::operand::{IntoOperand, ValueRef};
use super::{Lowered, Operand, Shape, bounded, fixed, known_total, number_of, refuse, total};

/// Methods named after primitives.
macro_rules! primitives {
    (functions: $($method:ident $op:literal),*; comparisons: $($compare:ident $compare_op:literal),*;) => {
        $(
            pub(in super::super) fn $method(self) -> Self {
                self.unary($op)
            }
        )*
        $(
            pub(in super::super) fn $compare(self, other: impl IntoOperand<'f>) -> Self {
                let Self { form, value } = self.binary($compare_op, other);
                Self { form, value: ValueRef { dtype: Dtype::Bool, ..value } }
            }
        )*
    };
}

impl<'f> Operand<'f> {
    primitives! {
        functions: abs "Abs", exp "Exp", log "Log", sqrt "Sqrt";
        comparisons: equal "Equal", greater "Greater", less "Less";
    }

    /// A node whose result has the element type of this operand, which the backend has to store.
    fn apply(self, op: &str, others: &[Self], attributes: Vec<AttributeProto>, shape: Shape) -> Self {
        self.form.needs_operator(op, self.dtype());
        self.form.make(op, &[&[self], others].concat(), attributes, self.dtype(), shape)
    }

    pub(super) fn unary(self, op: &str) -> Self {
        self.apply(op, &[], Vec::new(), self.shape())
    }

    pub(super) fn binary(self, op: &str, other: impl IntoOperand<'f>) -> Self {
        let other = other.operand(self.form, self.dtype());
        self.form.needs_operator(op, self.dtype());
        self.form.needs_storage(other.dtype());
        let shape = broadcast(self.shape(), other.shape());
        self.form.make(op, &[self, other], Vec::new(), self.dtype(), shape)
    }

    pub(in super::super) fn pow(self, exponent: impl IntoOperand<'f>) -> Self {
        self.binary("Pow", exponent)
    }

    /// `a` where this condition is true, else `b`.
    pub(in super::super) fn select(self, a: impl IntoOperand<'f>, b: impl IntoOperand<'f>) -> Self {
        let dtype = a.own_dtype().or(b.own_dtype()).unwrap_or(self.dtype());
        let (a, b) = (a.operand(self.form, dtype), b.operand(self.form, dtype));
        self.form.needs_storage(a.dtype());
        self.form.needs_storage(b.dtype());
        self.form.needs_version(9);
        let shape = broadcast(self.shape(), broadcast(a.shape(), b.shape()));
        self.form.make("Where", &[self, a, b], Vec::new(), a.dtype(), shape)
    }

    pub(in super::super) fn cast(self, to: Dtype) -> Self {
        if self.dtype() == to {
            return self;
        }
        self.form.needs_version(6);
        self.cast_with(to, Vec::new())
    }

    /// A cast with the rounding attributes of the node.
    pub(in super::super) fn cast_with_rounding(self, to: Dtype) -> Self {
        let rounding = ["saturate", "round_mode"];
        self.form.ignore_attributes(&rounding);
        let attributes = self.form.node.attributes.iter();
        self.cast_with(to, attributes.filter(|it| rounding.contains(&it.name())).cloned().collect())
    }

    fn cast_with(self, to: Dtype, mut attributes: Vec<AttributeProto>) -> Self {
        self.form.needs_storage(self.dtype());
        attributes.insert(0, to.into_attribute("to"));
        self.form.make("Cast", &[self], attributes, to, self.shape())
    }

    pub(in super::super) fn matmul(self, other: Self) -> Self {
        let shape = self.shape().zip(other.shape()).and_then(|(left, right)| {
            let ([left @ .., rows, _], [right @ .., _, columns]) = (&left[..], &right[..]) else {
                return None;
            };
            let outer = broadcast(Some(left.into()), Some(right.into()))?;
            Some([&outer[..], &[rows.clone(), columns.clone()]].concat().into())
        });
        self.apply("MatMul", &[other], Vec::new(), shape)
    }

    /// A reduction over these axes.
    pub(in super::super) fn reduce(self, op: &str, axes: &[usize], keep: bool) -> Self {
        self.form.needs_storage(self.dtype());
        if axes.is_empty() {
            return self;
        }
        let shape = self.shape().map(|shape| {
            let kept = shape.iter().enumerate().filter_map(|(axis, dim)| match axes.contains(&axis) {
                true => keep.then_some(Dim::Fixed(1)),
                false => Some(dim.clone()),
            });
            kept.collect()
        });
        let since = if op == "ReduceSum" { 13 } else { 18 };
        self.apply_on_axes(op, axes, since, vec![i64::from(keep).into_attribute("keepdims")], shape)
    }

    /// A node whose axes are an attribute before version `since`, and an input from then on.
    fn apply_on_axes(
        self,
        op: &str,
        axes: &[usize],
        since: i64,
        mut attributes: Vec<AttributeProto>,
        shape: Shape,
    ) -> Self {
        let axes = integers(axes);
        if self.form.version >= since {
            return self.apply(op, &[self.form.list(&axes)], attributes, shape);
        }
        attributes.push(axes.into_attribute("axes"));
        self.apply(op, &[], attributes, shape)
    }

    /// A sum over axes that are known only at run time.
    pub(in super::super) fn sum_over(self, axes: Self, keep: bool) -> Self {
        self.apply("ReduceSum", &[axes], vec![i64::from(keep).into_attribute("keepdims")], None)
    }

    /// The same elements in another shape, with 0 and -1 as in `Reshape`.
    pub(in super::super) fn reshape(self, target: &[i64]) -> Self {
        let own = self.shape();
        let dim = |(axis, extent): (usize, &i64)| match extent {
            0 => own.as_ref().and_then(|shape| shape.get(axis)).cloned().unwrap_or_default(),
            -1 => {
                let all = own.as_ref().and_then(|shape| known_total(shape));
                let others = total(target.iter().copied().filter(|extent| *extent != -1)).unwrap_or(0);
                all.filter(|_| others > 0).map_or(Dim::Unknown, |all| fixed(all / others))
            }
            extent => fixed(*extent),
        };
        let shape = target.iter().enumerate().map(dim).collect();
        self.apply("Reshape", &[self.form.list(target)], Vec::new(), Some(shape))
    }

    /// Reshapes to dims that may be unknown. An unknown dim becomes 0, which keeps the operand's extent, if
    /// both shapes are equal up to it. At most one other unknown dim becomes -1.
    pub(in super::super) fn reshape_to(self, wanted: &[Dim]) -> Lowered<'f> {
        let own = self.shape().unwrap_or_default();
        let mut target = Vec::with_capacity(wanted.len());
        for (axis, dim) in wanted.iter().enumerate() {
            target.push(match number_of(dim) {
                Some(0) => return refuse("a reshape of a tensor without elements"),
                Some(extent) => extent,
                // Rules keep an unknown extent that stays at its position.
                None if own.get(..=axis) == Some(&wanted[..=axis]) => 0,
                None => -1,
            });
        }
        if target.iter().filter(|extent| **extent == -1).count() > 1 {
            return refuse("more than one extent of a reshape is not a number");
        }
        Ok(self.reshape(&target))
    }

    pub(in super::super) fn transpose(self, perm: &[usize]) -> Self {
        self.form.needs_storage(self.dtype());
        if perm.iter().enumerate().all(|(at, axis)| at == *axis) {
            return self;
        }
        let shape = self.shape().map(|shape| perm.iter().map(|axis| shape[*axis].clone()).collect());
        self.apply("Transpose", &[], vec![integers(perm).into_attribute("perm")], shape)
    }

    /// This operand and others, joined along an axis.
    pub(in super::super) fn concat(self, others: &[Self], axis: usize) -> Self {
        let extents = std::iter::once(&self).chain(others).map(|part| number_of(part.shape()?.get(axis)?));
        let sum = extents.sum::<Option<i64>>();
        let shape = self.with_dim(axis, sum.map_or(Dim::Unknown, fixed));
        self.apply("Concat", others, vec![(axis as i64).into_attribute("axis")], shape)
    }

    /// The shape with another dim at an axis.
    fn with_dim(self, axis: usize, dim: Dim) -> Shape {
        self.shape().map(|shape| [&shape[..axis], &[dim], &shape[axis + 1..]].concat().into())
    }

    /// The positions `from..to` of one axis.
    pub(in super::super) fn slice(self, axis: usize, from: i64, to: i64) -> Self {
        let shape = self.with_dim(axis, fixed(to - from));
        let bounds = [("starts", from), ("ends", to), ("axes", axis as i64)];
        if self.form.version < 10 {
            let attributes = bounds.map(|(name, bound)| vec![bound].into_attribute(name));
            return self.apply("Slice", &[], attributes.into(), shape);
        }
        let bounds = bounds.map(|(_, bound)| self.form.list(&[bound]));
        self.apply("Slice", &bounds, Vec::new(), shape)
    }

    /// Inserts axes of extent 1 at these positions of the result.
    pub(in super::super) fn unsqueeze(self, axes: &[usize]) -> Self {
        let shape = self.shape().map(|shape| {
            let mut rest = shape.iter();
            (0..shape.len() + axes.len())
                .filter_map(|at| if axes.contains(&at) { Some(Dim::Fixed(1)) } else { rest.next().cloned() })
                .collect()
        });
        self.apply_on_axes("Unsqueeze", axes, 13, Vec::new(), shape)
    }

    /// The entries along an axis at constant indices.
    pub(in super::super) fn gather(self, axis: usize, dims: &[i64], indices: &[i64]) -> Self {
        self.form.needs_positions(indices.iter().copied().max().unwrap_or(0));
        self.gather_at(axis, self.form.whole(dims, indices))
    }

    /// The entries along an axis at computed indices.
    pub(in super::super) fn gather_at(self, axis: usize, indices: Self) -> Self {
        if let Ok(extent) = self.extent(axis) {
            self.form.needs_positions(extent - 1);
        }
        let shape = self.shape().zip(indices.shape());
        let shape = shape.map(|(shape, dims)| [&shape[..axis], &dims, &shape[axis + 1..]].concat().into());
        self.apply("Gather", &[indices], vec![(axis as i64).into_attribute("axis")], shape)
    }

    /// Broadcasts a value to the target shape.
    pub(in super::super) fn expand(self, target: &[Dim]) -> Lowered<'f> {
        let rank = self.rank()?;
        let mut x = self;
        if rank < target.len() {
            let axes: Vec<usize> = (0..target.len() - rank).collect();
            x = x.unsqueeze(&axes);
        }
        let own = x.shape().unwrap_or_default();
        for (axis, wanted) in target.iter().enumerate() {
            match (number_of(&own[axis]), number_of(wanted)) {
                (Some(own), Some(wanted)) if own == wanted => {}
                (Some(1), Some(wanted)) => x = x.gather(axis, &[wanted], &vec![0; bounded(wanted)?]),
                (Some(own), _) if own != 1 => {}
                (_, Some(1)) => {}
                (_, _) => return refuse(format!("extent {axis} of the result is not a number")),
            }
        }
        Ok(x)
    }
}

fn integers(axes: &[usize]) -> Vec<i64> {
    axes.iter().map(|axis| *axis as i64).collect()
}

/// The shape of two broadcast operands.
fn broadcast(a: Shape, b: Shape) -> Shape {
    let (a, b) = (a?, b?);
    let rank = a.len().max(b.len());
    let at = |shape: &[Dim], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(own) => shape[own].clone(),
        None => Dim::Fixed(1),
    };
    let both = (0..rank).map(|axis| match (at(&a, axis), at(&b, axis)) {
        (Dim::Fixed(1), other) | (other, Dim::Fixed(1)) => other,
        (known @ Dim::Fixed(_), _) | (_, known @ Dim::Fixed(_)) => known,
        (a, b) if a == b => a,
        (_, _) => Dim::Unknown,
    });
    Some(both.collect())
}
