//! Integer tensors whose extents are not constants, as affine functions of the positions of their elements.
//!
//! The elements of such a tensor cannot be listed. But exporters compute positions from ranges by linear
//! operations, so most elements have the form
//!
//! ```text
//! base + c1*v1 + c2*v2 + ...
//! ```
//!
//! with dims as coefficients, where each variable `v` takes values in `0..count`. This is the form of an
//! array access in the polyhedral model (Feautrier, *Dataflow analysis of array and scalar references*,
//! 1991). The least and the greatest element follow from the signs of the coefficients (interval analysis;
//! Moore, *Interval analysis*, 1966).
//!
//! Axes are counted from the last one, which is 0: broadcasting does not renumber them.
//!
//! **Invariant:** the variables of one form depend on different axes, and each takes the values 0 and
//! `count - 1`. So a tensor without empty axes has the least and the greatest element of its form, and not
//! only bounds of its elements.
//!
//! The crate of operators has the operations on forms. The number of parts, terms and axes is
//! limited; a tensor beyond a limit is not followed.

use smallvec::SmallVec;

use typeloom_dim::DimId;

/// An integer tensor as one part, or as parts that are joined along an axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Affine {
    /// The parts, in order. A tensor of one part has no other elements.
    pub parts: SmallVec<[Part; 1]>,
    /// The axis along which several parts are joined; `None` if their positions are unknown.
    pub axis: Option<usize>,
}

/// A part of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// The extent along the axis of the tensor's parts.
    pub length: DimId,
    /// The elements; `None` if they are unknown.
    pub form: Option<Form>,
}

/// The elements `base + Σ coefficient*variable`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// The element for variables of 0.
    pub base: DimId,
    /// The variables. Without any, all elements equal `base`.
    pub terms: SmallVec<[Term; 2]>,
}

/// A variable in a [`Form`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// The factor of the variable.
    pub coefficient: DimId,
    /// The variable takes values in `0..count`. Only in an empty tensor `count` may be 0 or negative.
    pub count: DimId,
    /// The axes on which the variable depends.
    pub variable: Variable,
}

/// The variable of a [`Term`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Variable {
    /// The position along an axis.
    Position(usize),
    /// A function of the positions along some axes, as bits. It takes the values 0 and `count - 1`.
    Function(u32),
}

impl Variable {
    /// The axes on which it depends, as bits.
    #[must_use]
    pub fn axes(self) -> u32 {
        match self {
            Self::Position(axis) => 1 << axis,
            Self::Function(axes) => axes,
        }
    }
}

impl Form {
    /// Elements that all equal `base`.
    #[must_use]
    pub fn equal(base: DimId) -> Self {
        Self { base, terms: SmallVec::new() }
    }

    /// The axes on which the elements depend, as bits.
    #[must_use]
    pub fn axes(&self) -> u32 {
        self.terms.iter().fold(0, |axes, term| axes | term.variable.axes())
    }
}

impl Affine {
    /// A tensor of one part.
    #[must_use]
    pub fn whole(form: Form) -> Self {
        Self { parts: smallvec::smallvec![Part { length: DimId::ONE, form: Some(form) }], axis: None }
    }

    /// The form of a tensor of one part.
    #[must_use]
    pub fn single(&self) -> Option<&Form> {
        let [Part { form, .. }] = &self.parts[..] else { return None };
        form.as_ref()
    }
}
