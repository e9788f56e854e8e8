//! Port types: declared types of values in messages.
//!
//! Sender and receiver are compiled separately, perhaps from different versions of a module. The receiver
//! decides for each message whether its program can use the value, although the sender can be wrong. So that
//! no description of a type is sent and compared for each message, a port type has a digest:
//!
//! ```text
//! sender      float[N, 3]     digest d
//! receiver    float[M, 3]     digest d: symbols are bound variables, their names do not matter
//! message     d, value [2, 3] the digests are equal, the value fits, and M = 2 for the rest of the run
//! ```
//!
//! The digest is the one of the type in a pool (`typeloom-pool`), where equal types have equal digests on
//! every machine. A type with another digest is refused, unless a caller compared both and admitted it
//! ([`PortType::admit`]), or the port has a composite: then the children of the value are compared.
//!
//! **Invariant:** the digest decides whether types are equal, and [`PortType::fits`] whether a value has its
//! type. A message passes both checks; a composite with the digest of the port skips the second one, because
//! its sender has checked it, and readers check the children that they use.
//!
//! A digest is computed once for a port. A message costs the comparison of digests, and a check of the value
//! that is linear in its children.
//!
//! Limits: the type is known down to a leaf. Sparse tensors cannot be sent. Nesting is limited by
//! [`MAX_DEPTH`].

use std::collections::BTreeSet;
use std::sync::Arc;

use typeloom_dim::{DimId, Dims};
use typeloom_interface::{EncodeError, value_to_pool};
use typeloom_onnx::messages::TypeProto;
use typeloom_pool::{Digest, NotPortable, Pool};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::ty::Constructor;
use typeloom_solver::universe::{Universe, UniverseError};
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::{Mismatch, SymbolBindings, is_in_declared_form, with_symbols};
use typeloom_tensor::value_type::{Composite, Dim, Element, ValueType};
use typeloom_types::lattice::{NodeNo, lookup_denotation};
use typeloom_types::tree::TypeNode;

use crate::envelope::TypeTag;
use crate::limits::MAX_DEPTH;
use crate::value::tag_of;

#[cfg(test)]
thread_local! {
    /// Number of values that this thread compared with the types of ports.
    pub(crate) static CHECKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Declared type of a value in a message, common to sender and receiver.
///
/// Two port types are equal if and only if their digests are equal. Symbols are bound variables: their names
/// do not affect the digest. A receiver can admit further types that it knows to be compatible, see
/// [`PortType::admit`].
#[derive(Clone, Debug)]
pub struct PortType {
    digest: Digest,
    ty: ValueType,
    /// The part of a composite type that has symbols.
    symbolic: Option<ValueType>,
    admitted: BTreeSet<Digest>,
}

/// Error of a type that cannot be used for a port.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PortTypeError {
    /// The type is not known down to a leaf.
    #[error("a value on the wire needs a concrete type, but this type is {found}")]
    NotConcrete {
        /// The known part of the type.
        found: String,
    },
    /// Sparse tensors and maps have no values at run time.
    #[error("{found} values cannot be sent")]
    NoValues { found: &'static str },
    /// Constructors nest too deeply.
    #[error("a value on the wire is inside at most {MAX_DEPTH} sequences, optionals and composites")]
    TooDeep,
    /// No registered type has the denotation.
    #[error("no type that this program registered has the denotation `{denotation}`")]
    UnknownDenotation {
        /// Denotation of the message.
        denotation: String,
    },
    /// The tree has too many element types.
    #[error(transparent)]
    Universe(#[from] &'static UniverseError),
    /// The pool rejects the type.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The type has no digest.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
}

impl PortType {
    /// The port type of a solved type.
    ///
    /// # Errors
    /// [`PortTypeError`].
    pub fn of(ty: &ValueType) -> Result<Self, PortTypeError> {
        let universe = Universe::try_standard()?;
        let mut dims = Dims::new();
        let solved = to_solved(ty, universe, &mut dims, 0)?;
        if !solved.is_concrete() {
            let found = solved.display(universe, &dims).to_string();
            return Err(PortTypeError::NotConcrete { found });
        }
        let mut pool = Pool::new();
        let value = value_to_pool(&mut pool, solved, dims, Arc::clone(universe))?;
        let symbolic = Some(ty).filter(|ty| is_composite(ty)).and_then(with_symbols);
        Ok(Self { digest: pool.digest(value)?, ty: ty.clone(), symbolic, admitted: BTreeSet::new() })
    }

    /// The port type that a message of the IR declares.
    ///
    /// # Errors
    /// [`PortTypeError`]; in particular if no type has the denotation of a message without a type.
    pub fn of_message(message: &TypeProto) -> Result<Self, PortTypeError> {
        let ty = ValueType::from_message(message);
        match message.denotation.as_deref() {
            Some(denotation)
                if ty.is_unknown() && !denotation.is_empty() && lookup_denotation(denotation).is_none() =>
            {
                Err(PortTypeError::UnknownDenotation { denotation: denotation.to_owned() })
            }
            _ => Self::of(&ty),
        }
    }

    /// The port type of a leaf.
    ///
    /// # Errors
    /// [`PortTypeError`].
    pub fn of_node(node: &'static TypeNode) -> Result<Self, PortTypeError> {
        Self::of(&ValueType::of_node(node))
    }

    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Also accepts values that are declared as another type, given by its digest. The caller has compared
    /// the types and found them compatible; values are still checked against this type.
    #[must_use]
    pub fn admit(mut self, other: Digest) -> Self {
        self.admitted.insert(other);
        self
    }

    /// Whether values that are declared as the type with this digest are accepted.
    #[must_use]
    pub fn admits(&self, declared: Digest) -> bool {
        declared == self.digest || self.admitted.contains(&declared)
    }

    /// Whether values are composites of known children. Such a port compares the children of a value whose
    /// declared type has another digest.
    pub(crate) fn is_composite(&self) -> bool {
        is_composite(&self.ty)
    }

    /// Whether an endpoint accepts a value that its sender declares as the type with this digest.
    ///
    /// The sender of a composite has checked it against the declared type, so the children are checked only
    /// if the digests differ. A reader checks the children that it uses, since a sender can be wrong.
    pub(crate) fn accepts(&self, value: &Datum, declared: Digest) -> bool {
        match self.is_composite() && declared == self.digest {
            true => matches!(value, Datum::Composite(_)),
            false => self.fits(value),
        }
    }

    /// Binds the symbols of a received composite: visits the children whose types have symbols. Other values
    /// are checked against the type.
    ///
    /// # Errors
    /// [`Mismatch`].
    pub fn bind(&self, value: &Datum, symbols: &mut SymbolBindings) -> Result<(), Mismatch> {
        match (&self.symbolic, self.is_composite()) {
            (None, true) => Ok(()),
            (Some(symbolic), true) => symbols.check(value, symbolic),
            (_, false) => symbols.check(value, &self.ty),
        }
    }

    /// The tag of a value that is declared as this type.
    #[must_use]
    pub fn tag(&self, value: &Datum) -> TypeTag {
        TypeTag { digest: self.digest, node: tag_of(value) }
    }

    /// Whether a value is of the type. A scalar is sent as such, not as a tensor of rank 0.
    #[must_use]
    pub fn fits(&self, value: &Datum) -> bool {
        #[cfg(test)]
        CHECKS.with(|checks| checks.set(checks.get() + 1));
        is_in_declared_form(value, &self.ty) && SymbolBindings::default().check(value, &self.ty).is_ok()
    }
}

fn is_composite(ty: &ValueType) -> bool {
    matches!(ty.element, Element::Composite(_))
}

impl std::fmt::Display for PortType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ty.fmt(f)
    }
}

/// The type in the terms of the solver, which the pool encodes. Recursion ends at [`MAX_DEPTH`].
fn to_solved(
    ty: &ValueType,
    universe: &Universe,
    dims: &mut Dims,
    depth: usize,
) -> Result<Type, PortTypeError> {
    if depth > MAX_DEPTH {
        return Err(PortTypeError::TooDeep);
    }
    let node = ty.node.and_then(|node| universe.lattice().number_of(node));
    Ok(match &ty.element {
        Element::Tensor(dtype) => {
            let elem = dtype.map(|dtype| ElemSet::of(Elem::of(dtype)));
            let shape = ty.shape.as_deref().map(|shape| shape.iter().map(|dim| to_dim(dim, dims)).collect());
            match elem.or_else(|| universe.tensor_elems(node?)) {
                Some(elem) => Type::Tensor(TensorType { elem, shape }),
                None => Type::Unknown(node),
            }
        }
        Element::Scalar(_) => scalar(universe, node),
        Element::Composite(composite) => {
            let mut children = Vec::with_capacity(composite.children.len());
            for (name, child) in &composite.children {
                children.push((Arc::clone(name), to_solved(child, universe, dims, depth + 1)?));
            }
            Type::Composite(Composite { children: children.into(), is_open: composite.is_open })
        }
        Element::Opaque if node.is_some() && node == universe.composite_node() => {
            Type::Composite(Composite::unknown())
        }
        Element::Opaque if ty.leaf().is_some() => node.map_or(Type::Unknown(None), Type::Leaf),
        Element::Opaque => Type::Unknown(node),
        Element::Sequence(inner) => {
            let inner = to_solved(inner, universe, dims, depth + 1)?;
            Type::Container(Constructor::Sequence, Box::new(inner))
        }
        Element::Optional(inner) => {
            let inner = to_solved(inner, universe, dims, depth + 1)?;
            Type::Container(Constructor::Optional, Box::new(inner))
        }
        Element::Map(key, inner) => {
            // A message has the tensors of a map as parts of one value.
            let is_part = matches!(inner.element, Element::Tensor(_));
            let inner = to_solved(inner, universe, dims, depth + usize::from(!is_part))?;
            Type::Container(Constructor::Map(Elem::of(*key)), Box::new(inner))
        }
        Element::Sparse(_) => return Err(PortTypeError::NoValues { found: "sparse tensor" }),
    })
}

fn scalar(universe: &Universe, node: Option<NodeNo>) -> Type {
    match node.and_then(|node| universe.scalar_elems(node)) {
        Some(elems) => Type::Scalar(elems),
        None => Type::Unknown(node),
    }
}

fn to_dim(dim: &Dim, dims: &mut Dims) -> DimId {
    match dim {
        Dim::Fixed(size) => match i64::try_from(*size) {
            Ok(size) => dims.constant(size),
            Err(_) => dims.fresh(),
        },
        Dim::Unknown => dims.fresh(),
        Dim::Symbol(_) | Dim::Expression(_) => {
            let text = dim.as_text().unwrap_or_default();
            dims.declare(text).unwrap_or_else(|_| dims.symbol(text))
        }
    }
}
