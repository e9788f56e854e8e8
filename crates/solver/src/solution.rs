//! The result of a solve, as plain data: a type for every value, and undecided conditions.
//!
//! These types refer to the dim arena and the type tree of their solve.
//! [`ValueType`](typeloom_tensor::value_type::ValueType) is the form that is independent of it, see [`convert`].

pub mod convert;
mod difference;

pub(crate) use difference::Difference;

use typeloom_dim::{Condition, DimId, Dims, Relation};
use typeloom_tensor::value_type::{Composite, write_shape};
use typeloom_types::lattice::NodeNo;

use crate::elem::ElemSet;
use crate::program::id::{StepId, ValueId};
use crate::rule::port::{Extent, ExtentRelation};
use crate::ty::Constructor;
use crate::universe::Universe;

/// The type of a value, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Unknown, or known to be below a node of the type tree.
    Unknown(Option<NodeNo>),
    /// A dense tensor.
    Tensor(TensorType),
    /// A sparse tensor.
    Sparse(TensorType),
    /// A scalar of one of these element types.
    Scalar(ElemSet),
    /// A container of the inner type.
    Container(Constructor, Box<Type>),
    /// Named values.
    Composite(Composite<Type>),
    /// A concrete leaf of the tree that is neither a tensor nor a scalar.
    Leaf(NodeNo),
    /// A type error, which a diagnostic reports.
    Error,
}

/// A tensor's element type and shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Possible element types; a single one when the type is solved.
    pub elem: ElemSet,
    /// The dims; `None` while the rank is unknown.
    pub shape: Option<Box<[DimId]>>,
}

/// A relation between two dims that an operator requires and the solve did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equation {
    pub left: DimId,
    pub right: DimId,
    pub need: Relation,
    /// The node that requires it.
    pub step: StepId,
    /// The rule that requires it; empty for a declaration.
    pub rule: &'static str,
    /// The origin of the two sides.
    pub source: EquationSource,
}

impl Equation {
    pub(crate) fn condition(&self) -> Condition {
        Condition::new(self.need, self.left, self.right)
    }
}

/// A condition that the graph places on the symbols of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The condition; simplified if it is decided.
    pub condition: Condition,
    /// The equation that implies it.
    pub equation: Equation,
    /// Whether a binding is known to violate it. Otherwise it may always hold, but no proof was found.
    pub is_decided: bool,
}

/// The origin of the two sides of an [`Equation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquationSource {
    /// Ports of the node.
    Ports { left: Extent, right: Extent, relation: ExtentRelation },
    /// A node in the function that the node calls.
    Call,
    /// An axis of a value of the node: inferred on the left, declared on the right.
    Declared(ValueId),
}

impl Type {
    /// Splits a type into its constructors, the outermost first, and the type inside.
    #[must_use]
    pub fn split(&self) -> (Vec<Constructor>, &Self) {
        let (mut constructors, mut ty) = (Vec::new(), self);
        while let Self::Container(constructor, inner) = ty {
            constructors.push(*constructor);
            ty = inner;
        }
        (constructors, ty)
    }

    /// Puts a type into constructors, of which the last one is the innermost.
    #[must_use]
    #[inline]
    pub fn within(constructors: Vec<Constructor>, inner: Self) -> Self {
        constructors
            .into_iter()
            .rev()
            .fold(inner, |ty, constructor| Self::Container(constructor, Box::new(ty)))
    }

    /// The type inside all constructors.
    fn innermost(&self) -> &Self {
        let mut ty = self;
        while let Self::Container(_, inner) = ty {
            ty = inner;
        }
        ty
    }

    /// Whether the type is known down to one concrete leaf. Its shape may be unknown.
    #[must_use]
    pub fn is_concrete(&self) -> bool {
        match self.innermost() {
            Self::Tensor(tensor) | Self::Sparse(tensor) => tensor.elem.len() == 1,
            Self::Scalar(elem) => elem.len() == 1,
            Self::Leaf(_) => true,
            Self::Composite(composite) => composite.children.iter().all(|(_, child)| child.is_concrete()),
            Self::Unknown(_) | Self::Error | Self::Container(..) => false,
        }
    }

    /// All tensors in the type: at most one outside of composites.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorType> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            loop {
                match open.pop()?.innermost() {
                    Self::Tensor(tensor) | Self::Sparse(tensor) => return Some(tensor),
                    Self::Composite(composite) => {
                        open.extend(composite.children.iter().rev().map(|(_, child)| child));
                    }
                    Self::Scalar(_)
                    | Self::Leaf(_)
                    | Self::Unknown(_)
                    | Self::Error
                    | Self::Container(..) => {}
                }
            }
        })
    }

    /// Returns the tensor inside all constructors.
    #[must_use]
    pub fn tensor(&self) -> Option<&TensorType> {
        match self.innermost() {
            Self::Tensor(tensor) | Self::Sparse(tensor) => Some(tensor),
            Self::Scalar(_)
            | Self::Composite(_)
            | Self::Leaf(_)
            | Self::Unknown(_)
            | Self::Error
            | Self::Container(..) => None,
        }
    }

    /// Prints the type in ONNX's textual syntax: `float[batch, 3, 224, 224]`, `seq(int64)`, `?`.
    #[must_use]
    pub fn display<'t>(&'t self, universe: &'t Universe, dims: &'t Dims) -> impl std::fmt::Display + 't {
        DisplayType { ty: self, universe, dims }
    }
}

struct DisplayType<'t> {
    ty: &'t Type,
    universe: &'t Universe,
    dims: &'t Dims,
}

impl DisplayType<'_> {
    /// Whether a scalar can have every element type of scalars.
    fn is_any_scalar(&self, set: ElemSet) -> bool {
        let any = self.universe.scalar_node().and_then(|node| self.universe.scalar_elems(node));
        set.len() > 1 && any == Some(set)
    }

    fn scalar(&self, f: &mut std::fmt::Formatter<'_>, set: ElemSet) -> std::fmt::Result {
        let leaf = set.single().and_then(|elem| self.universe.scalar_leaf(elem));
        match leaf.and_then(|leaf| self.universe.lattice().node(leaf)) {
            Some(leaf) => f.write_str(leaf.id),
            None => {
                f.write_str("scalar.")?;
                self.elems(f, set)
            }
        }
    }

    fn elems(&self, f: &mut std::fmt::Formatter<'_>, set: ElemSet) -> std::fmt::Result {
        match set.single() {
            Some(elem) => f.write_str(self.universe.elem_name(elem)),
            None if set.len() > 6 => f.write_str("?"),
            None => {
                for (at, elem) in set.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "|" })?;
                    f.write_str(self.universe.elem_name(elem))?;
                }
                Ok(())
            }
        }
    }

    fn tensor(&self, f: &mut std::fmt::Formatter<'_>, tensor: &TensorType) -> std::fmt::Result {
        self.elems(f, tensor.elem)?;
        write_shape(f, tensor.shape.as_deref().map(|shape| shape.iter().map(|dim| self.dims.display(*dim))))
    }
}

impl std::fmt::Display for DisplayType<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let node = |node: NodeNo| self.universe.lattice().node(node).map_or("?", |node| node.id);
        let (constructors, inner) = self.ty.split();
        for constructor in &constructors {
            f.write_str(&constructor.opening(self.universe))?;
        }
        match inner {
            Type::Unknown(None) | Type::Container(..) => f.write_str("?")?,
            Type::Unknown(Some(bound)) => f.write_str(node(*bound))?,
            Type::Tensor(tensor) => self.tensor(f, tensor)?,
            Type::Sparse(tensor) => {
                f.write_str("sparse_tensor(")?;
                self.tensor(f, tensor)?;
                f.write_str(")")?;
            }
            Type::Scalar(set) if self.is_any_scalar(*set) => f.write_str("scalar")?,
            Type::Scalar(set) => self.scalar(f, *set)?,
            Type::Leaf(leaf) => f.write_str(node(*leaf))?,
            Type::Composite(composite) => {
                f.write_str(&composite.text(|child| child.display(self.universe, self.dims)))?;
            }
            Type::Error => f.write_str("error")?,
        }
        constructors.iter().try_for_each(|_| f.write_str(")"))
    }
}
