//! The result of a solve, as plain data: a type for every value, and undecided conditions.
//!
//! These types refer to the dim arena and the type tree of their solve.
//! [`ValueType`](typeloom_tensor::value_type::ValueType) is the form that is independent of it, see [`convert`].

pub mod convert;
mod difference;

pub(crate) use difference::Difference;

use std::fmt::Write;

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
        std::fmt::from_fn(move |f| self.write(universe, &mut Text { out: f, dims }))
    }

    /// Writes the type in the order of its text.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write<W: TypeWriter>(&self, universe: &Universe, out: &mut W) -> std::fmt::Result {
        Printer { universe, out }.ty(self)
    }
}

/// Receives a type in the order of its text, with shapes as data.
pub trait TypeWriter: Write {
    /// Receives the shape of a tensor; `None` while the rank is unknown.
    ///
    /// # Errors
    /// If the shape cannot be written.
    fn shape(&mut self, shape: Option<&[DimId]>) -> std::fmt::Result;

    /// Receives a shape that depends on the case: for each axis its extents in all cases, each once.
    ///
    /// # Errors
    /// If the shape cannot be written.
    fn cases(&mut self, axes: &[Vec<DimId>]) -> std::fmt::Result;
}

/// A type as text.
pub(crate) struct Text<'t, W: ?Sized> {
    pub(crate) out: &'t mut W,
    pub(crate) dims: &'t Dims,
}

impl<W: Write + ?Sized> Write for Text<'_, W> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.out.write_str(text)
    }
}

impl<W: Write + ?Sized> TypeWriter for Text<'_, W> {
    fn shape(&mut self, shape: Option<&[DimId]>) -> std::fmt::Result {
        let Self { out, dims } = self;
        write_shape(*out, shape.map(|shape| shape.iter().map(|dim| dims.display(*dim))))
    }

    fn cases(&mut self, axes: &[Vec<DimId>]) -> std::fmt::Result {
        let texts = axes.iter().map(|cases| {
            let texts: Vec<String> = cases.iter().map(|dim| self.dims.display(*dim).to_string()).collect();
            texts.join("|")
        });
        write_shape(self.out, Some(texts.collect::<Vec<_>>().into_iter()))
    }
}

/// Writes the element types of a tensor or scalar.
pub(crate) fn write_elems(out: &mut impl Write, universe: &Universe, set: ElemSet) -> std::fmt::Result {
    match set.single() {
        Some(elem) => out.write_str(universe.elem_name(elem)),
        None if set.len() > 6 => out.write_str("?"),
        None => {
            for (at, elem) in set.iter().enumerate() {
                out.write_str(if at == 0 { "" } else { "|" })?;
                out.write_str(universe.elem_name(elem))?;
            }
            Ok(())
        }
    }
}

struct Printer<'t, W> {
    universe: &'t Universe,
    out: &'t mut W,
}

impl<W: TypeWriter> Printer<'_, W> {
    /// Whether a scalar can have every element type of scalars.
    fn is_any_scalar(&self, set: ElemSet) -> bool {
        let any = self.universe.scalar_node().and_then(|node| self.universe.scalar_elems(node));
        set.len() > 1 && any == Some(set)
    }

    fn scalar(&mut self, set: ElemSet) -> std::fmt::Result {
        let leaf = set.single().and_then(|elem| self.universe.scalar_leaf(elem));
        match leaf.and_then(|leaf| self.universe.lattice().node(leaf)) {
            Some(leaf) => self.out.write_str(leaf.id),
            None => {
                self.out.write_str("scalar.")?;
                write_elems(self.out, self.universe, set)
            }
        }
    }

    fn tensor(&mut self, tensor: &TensorType) -> std::fmt::Result {
        write_elems(self.out, self.universe, tensor.elem)?;
        self.out.shape(tensor.shape.as_deref())
    }

    fn ty(&mut self, ty: &Type) -> std::fmt::Result {
        let universe = self.universe;
        let node = |node: NodeNo| universe.lattice().node(node).map_or("?", |node| node.id);
        let (constructors, inner) = ty.split();
        for constructor in &constructors {
            self.out.write_str(&constructor.opening(universe))?;
        }
        match inner {
            Type::Unknown(None) | Type::Container(..) => self.out.write_str("?")?,
            Type::Unknown(Some(bound)) => self.out.write_str(node(*bound))?,
            Type::Tensor(tensor) => self.tensor(tensor)?,
            Type::Sparse(tensor) => {
                self.out.write_str("sparse_tensor(")?;
                self.tensor(tensor)?;
                self.out.write_str(")")?;
            }
            Type::Scalar(set) if self.is_any_scalar(*set) => self.out.write_str("scalar")?,
            Type::Scalar(set) => self.scalar(*set)?,
            Type::Leaf(leaf) => self.out.write_str(node(*leaf))?,
            Type::Composite(composite) => {
                // Types are nested by a bounded number of levels.
                composite.write(self.out, |out, child| child.write(universe, out))?;
            }
            Type::Error => self.out.write_str("error")?,
        }
        constructors.iter().try_for_each(|_| self.out.write_str(")"))
    }
}
