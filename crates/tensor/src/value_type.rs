//! Types of values: what is known about a value before it exists.
//!
//! A [`ValueType`] is independent of the solve that proves it, and contains everything that consumers of a
//! solution need: the compiler, lowering, the runtime and the wire share it. ONNX's `TypeProto` is its file
//! format ([`ValueType::from_message`], [`ValueType::to_message`]); inside the process a value type is passed
//! as it is.
//!
//! | type | `node` | `element` | `shape` |
//! |---|---|---|---|
//! | `float[N, 3]` | `tensor.f32` | `Tensor(Some(F32))` | `[Symbol(N), Fixed(3)]` |
//! | a tensor of a registered leaf without a `Dtype` | that leaf | `Tensor(None)` | its shape |
//! | `sparse_tensor(float[9])` | none | `Sparse(Some(F32))` | `[Fixed(9)]` |
//! | a scalar | `scalar.f32` | `Scalar(Some(F32))` | none |
//! | `composite{a: T, b: U}` | `composite` | `Composite(a: T, b: U)` | none |
//! | a composite of unknown children | `composite` | `Opaque` | none |
//! | any other leaf, such as `peer_id` | the leaf | `Opaque` | none |
//! | `seq(T)`, `optional(T)`, `map(int64, T)` | none | `Sequence(T)`, `Optional(T)`, `Map(I64, T)` | none |
//! | a value below an abstract node | that node | as the node implies | none |
//! | an unknown type | none | `Opaque` | none |
//!
//! The lattice decides membership in the type tree ([`ValueType::is_under`]), and the variant of [`Element`]
//! is the kind of a value. Neither is derived from the text of an id.
//!
//! A shape is a shared list of [`Dim`]s. Symbols are names; two values of one solve that mention the same
//! symbol mean the same extent. Expressions are compiled when the type is made and evaluated without parsing
//! ([`Dim::evaluate`]).
//!
//! **Invariant:** clones share shapes, names and inner types; cloning allocates nothing.
//!
//! **Invariant:** `node` is the most specific known node. It is a leaf exactly if the type is known down to
//! it.
//!
//! Example of [`ValueType`]:
//!
//! ```
//! use typeloom_tensor::value_type::{Dim, ValueType};
//! use typeloom_types::dtype::Dtype;
//! use typeloom_types::tree::builtin::TYPE_TENSOR;
//!
//! let ty = ValueType::tensor(Dtype::F32, [Dim::Symbol("N".into()), Dim::Fixed(3)]);
//! assert_eq!(ty.to_string(), "float[N, 3]");
//! assert!(ty.is_under(&TYPE_TENSOR));
//! assert_eq!(ValueType::from_message(&ty.to_message()), ty);
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use typeloom_dim::{DimExpression, DimId, Dims};
use typeloom_onnx::text::child_name;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::Lattice;
use typeloom_types::lattice::elements::LeafElement;
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::{TYPE_COMPOSITE, TYPE_SCALAR, TYPE_TENSOR};

mod message;

/// The solved type of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueType {
    /// The most specific known node of the type tree; `None` for containers, sparse tensors and unknown
    /// types.
    pub node: Option<&'static TypeNode>,
    /// The kind of the value and the type of its elements.
    pub element: Element,
    /// The shape of a tensor; `None` while the rank is unknown.
    pub shape: Option<Arc<[Dim]>>,
}

/// The kind of a value and the type of its elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// A leaf that is neither a tensor nor a scalar, or an unknown type.
    #[default]
    Opaque,
    /// A dense tensor; `None` if the element type is unknown or has no `Dtype`.
    Tensor(Option<Dtype>),
    /// A sparse tensor.
    Sparse(Option<Dtype>),
    /// A single element.
    Scalar(Option<Dtype>),
    /// A sequence of values of one type.
    Sequence(Arc<ValueType>),
    /// A value that can be absent.
    Optional(Arc<ValueType>),
    /// A map from keys to values of one type.
    Map(Dtype, Arc<ValueType>),
    /// Named values.
    Composite(Arc<Composite<ValueType>>),
}

/// The children of a composite, each with a type of `T`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Composite<T> {
    /// The names and types of the children, sorted by name.
    pub children: Box<[(Arc<str>, T)]>,
    /// Whether the value can have further children. True for a value from outside of the program, whose known
    /// children are those that the program reads.
    pub is_open: bool,
}

impl<T> Composite<T> {
    /// A composite of unknown children.
    #[must_use]
    pub fn unknown() -> Self {
        Self { children: Box::default(), is_open: true }
    }

    /// The type of a child.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&T> {
        let at = self.children.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(&self.children[at].1)
    }

    /// The composite with another type for each child.
    #[must_use]
    pub fn map<U>(&self, mut change: impl FnMut(&T) -> U) -> Composite<U> {
        let children = self.children.iter().map(|(name, ty)| (Arc::clone(name), change(ty))).collect();
        Composite { children, is_open: self.is_open }
    }

    /// The composite as text, `composite{a: float, ..}`, with a text of each child.
    pub fn text<'c, D: std::fmt::Display>(&'c self, mut text: impl FnMut(&'c T) -> D) -> String {
        let mut all = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut all, |out, child| write!(out, "{}", text(child)));
        all
    }

    /// Writes the [text](Self::text) of the composite, each child with `write`.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write<'c, W: Write + ?Sized>(
        &'c self,
        out: &mut W,
        mut write: impl FnMut(&mut W, &'c T) -> std::fmt::Result,
    ) -> std::fmt::Result {
        out.write_str("composite{")?;
        let mut separator = "";
        for (name, child) in &self.children {
            write!(out, "{separator}{}: ", child_name(name))?;
            write(out, child)?;
            separator = ", ";
        }
        if self.is_open {
            write!(out, "{separator}..")?;
        }
        out.write_str("}")
    }
}

/// The size of one axis, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Dim {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A number.
    Fixed(usize),
    /// A symbol of the model.
    Symbol(Arc<str>),
    /// An expression over symbols of the model.
    Expression(Arc<DimExpression>),
}

impl Dim {
    /// Copies a dim out of its arena.
    #[must_use]
    pub fn of(dim: DimId, dims: &Dims) -> Self {
        if let Some(size) = dims.as_constant(dim) {
            return usize::try_from(size).map_or(Self::Unknown, Self::Fixed);
        }
        match dims.as_symbol(dim) {
            Some(name) => Self::Symbol(name.into()),
            None => dims.expression(dim).map_or(Self::Unknown, |it| Self::Expression(Arc::new(it))),
        }
    }

    /// Parses a dim as models write it. Placeholders such as `?` are unknown.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() || typeloom_dim::is_placeholder(text) {
            return Self::Unknown;
        }
        let mut dims = Dims::new();
        dims.declare(text).map_or_else(|_| Self::Symbol(text.into()), |dim| Self::of(dim, &dims))
    }

    /// The number, if the dim is one.
    #[must_use]
    pub fn fixed(&self) -> Option<usize> {
        if let Self::Fixed(size) = self { Some(*size) } else { None }
    }

    /// The symbol or expression as text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Unknown | Self::Fixed(_) => None,
            Self::Symbol(name) => Some(name),
            Self::Expression(expression) => Some(expression.as_str()),
        }
    }

    /// Returns the size for given values of symbols; `None` if it is unknown.
    #[must_use]
    pub fn evaluate(&self, value_of: impl Fn(&str) -> Option<usize>) -> Option<usize> {
        match self {
            Self::Unknown => None,
            Self::Fixed(size) => Some(*size),
            Self::Symbol(name) => value_of(name),
            Self::Expression(expression) => expression.evaluate(value_of),
        }
    }
}

impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("?"),
            Self::Fixed(size) => size.fmt(f),
            Self::Symbol(name) => f.write_str(name),
            Self::Expression(expression) => expression.fmt(f),
        }
    }
}

impl ValueType {
    /// A dense tensor of a known shape.
    #[must_use]
    pub fn tensor(dtype: Dtype, shape: impl IntoIterator<Item = Dim>) -> Self {
        Self {
            node: Some(dtype.type_node()),
            element: Element::Tensor(Some(dtype)),
            shape: Some(shape.into_iter().collect()),
        }
    }

    /// The type of values at or below a node of the type tree.
    #[must_use]
    pub fn of_node(node: &'static TypeNode) -> Self {
        let dtype = || Dtype::from_node_id(node.id);
        let element = if node.is_subtype_of(&TYPE_TENSOR) {
            Element::Tensor(dtype())
        } else if node.is_subtype_of(&TYPE_SCALAR) {
            Element::Scalar(dtype())
        } else {
            Element::Opaque
        };
        Self { node: Some(node), element, shape: None }
    }

    /// A composite of these children; an open one can have further children. The later one of two children of
    /// one name counts.
    ///
    /// ```
    /// use typeloom_tensor::value_type::ValueType;
    /// use typeloom_types::dtype::Dtype;
    /// use typeloom_types::tree::builtin::TYPE_SCALAR_I32;
    ///
    /// let children = [("b", ValueType::of_node(&TYPE_SCALAR_I32)), ("a", ValueType::tensor(Dtype::F32, []))];
    /// let ty = ValueType::composite(children, false);
    /// assert_eq!(ty.to_string(), "composite{a: float, b: scalar.i32}");
    /// assert_eq!(ValueType::from_message(&ty.to_message()), ty);
    /// ```
    #[must_use]
    pub fn composite<N: Into<Arc<str>>>(
        children: impl IntoIterator<Item = (N, Self)>,
        is_open: bool,
    ) -> Self {
        let children: BTreeMap<Arc<str>, Self> =
            children.into_iter().map(|(name, child)| (name.into(), child)).collect();
        if children.is_empty() && is_open {
            return Self::of_node(&TYPE_COMPOSITE);
        }
        let element =
            Element::Composite(Arc::new(Composite { children: children.into_iter().collect(), is_open }));
        Self { node: Some(&TYPE_COMPOSITE), element, shape: None }
    }

    /// The leaf of the type tree, if the type is known down to one.
    #[must_use]
    pub fn leaf(&self) -> Option<&'static TypeNode> {
        self.node.filter(|node| node.is_concrete())
    }

    /// Whether the type is known down to one leaf; its shape may be unknown.
    #[must_use]
    pub fn is_concrete(&self) -> bool {
        let mut ty = self;
        loop {
            match &ty.element {
                Element::Sequence(inner) | Element::Optional(inner) | Element::Map(_, inner) => ty = inner,
                Element::Sparse(dtype) => return dtype.is_some(),
                // Types are nested by a bounded number of levels.
                Element::Composite(composite) => {
                    return composite.children.iter().all(|(_, child)| child.is_concrete());
                }
                Element::Opaque | Element::Tensor(_) | Element::Scalar(_) => return ty.leaf().is_some(),
            }
        }
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.node.is_none() && self.element == Element::Opaque
    }

    /// Whether the type is at or below a node of the type tree; `false` for containers and unknown types.
    #[must_use]
    pub fn is_under(&self, node: &TypeNode) -> bool {
        self.node.is_some_and(|own| own.is_subtype_of(node))
    }

    /// Whether the value is a dense tensor.
    #[must_use]
    pub fn is_tensor(&self) -> bool {
        matches!(self.element, Element::Tensor(_))
    }

    /// The element type of a dense tensor.
    #[must_use]
    pub fn dtype(&self) -> Option<Dtype> {
        if let Element::Tensor(dtype) = self.element { dtype } else { None }
    }

    /// The type with a shape of numbers only: symbols and expressions become unknown.
    #[must_use]
    pub fn without_symbols(&self) -> Self {
        let fixed = |dim: &Dim| dim.fixed().map_or(Dim::Unknown, Dim::Fixed);
        let element = match &self.element {
            Element::Composite(composite) => {
                Element::Composite(Arc::new(composite.map(Self::without_symbols)))
            }
            other => other.clone(),
        };
        let shape = self.shape.as_ref().map(|shape| shape.iter().map(fixed).collect());
        Self { node: self.node, element, shape }
    }
}

/// As ONNX's textual syntax: `float` is of rank 0. `float[...]` is of unknown rank. Leaves are printed as
/// their ids.
impl std::fmt::Display for ValueType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.element {
            // Types are nested by a bounded number of levels.
            Element::Sequence(inner) => write!(f, "seq({inner})"),
            Element::Optional(inner) => write!(f, "optional({inner})"),
            Element::Map(key, inner) => write!(f, "map({}, {inner})", key.onnx_name()),
            Element::Sparse(dtype) => {
                f.write_str("sparse_tensor(")?;
                self.tensor_fmt(*dtype, f)?;
                f.write_str(")")
            }
            Element::Tensor(dtype) => self.tensor_fmt(*dtype, f),
            Element::Composite(composite) => f.write_str(&composite.text(|child| child)),
            Element::Scalar(_) | Element::Opaque => f.write_str(self.node.map_or("?", |node| node.id)),
        }
    }
}

impl ValueType {
    fn tensor_fmt(&self, dtype: Option<Dtype>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match (dtype, self.node) {
            (Some(dtype), _) => dtype.onnx_name(),
            (None, Some(node)) if node.is_concrete() => {
                let lattice = Lattice::try_get().ok();
                let element = lattice.and_then(|lattice| lattice.element_of(lattice.number_of(node)?));
                element.map_or(node.id, LeafElement::name)
            }
            (None, Some(node)) if self.shape.is_none() => return f.write_str(node.id),
            (None, node) => node.map_or("tensor", |node| node.id),
        };
        f.write_str(name)?;
        write_shape(f, self.shape.as_ref().map(|shape| shape.iter()))
    }
}

/// The shape of a tensor as text. As in ONNX's textual syntax, rank 0 has no brackets. An unknown rank is
/// `[...]`, because ONNX's `[]` reads as a scalar.
///
/// # Errors
/// Those of the writer.
pub fn write_shape(
    out: &mut (impl Write + ?Sized),
    shape: Option<impl Iterator<Item = impl std::fmt::Display>>,
) -> std::fmt::Result {
    let Some(shape) = shape else { return out.write_str("[...]") };
    let mut separator = "[";
    for dim in shape {
        write!(out, "{separator}{dim}")?;
        separator = ", ";
    }
    out.write_str(if separator == "[" { "" } else { "]" })
}
