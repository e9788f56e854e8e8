//! Types of ports: what a value on the wire is declared as, its identity, and values held against it.

use std::collections::BTreeSet;
use std::sync::Arc;

use typeloom_interface::{EncodeError, value_to_pool};
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{TensorShapeProto, TypeProto, type_proto};
use typeloom_pool::{Digest, NotPortable, Pool};
use typeloom_solver::dim::{DimId, Dims};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::universe::{TooManyElements, Universe};
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::NodeNo;
use typeloom_types::tree::{TypeKind, TypeNode};

use super::envelope::TypeTag;
use super::limits::MAX_DEPTH;
use super::value::tag_of;
use crate::datum::Datum;
use crate::stamp::{Stamp, Symbols};

/// The type of a value on the wire, as both ends declare it.
///
/// Two ends mean the same type exactly if the digests are equal. Symbols are variables of the type: their names do not
/// count. A receiver can admit further types that it knows to be as good, see [`PortType::admit`].
#[derive(Clone, Debug)]
pub struct PortType {
    digest: Digest,
    text: String,
    shape: Shape,
    admitted: BTreeSet<Digest>,
}

/// What values are held against.
#[derive(Clone, Debug)]
enum Shape {
    /// A leaf that is no tensor of ONNX.
    Leaf(&'static TypeNode),
    /// Tensors, and what is made of them.
    Stamp(Stamp),
}

/// Why a type is not one that a value on the wire can have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PortTypeError {
    /// It is not known down to a leaf.
    #[error("a value on the wire needs a concrete type, and this one is {found}")]
    NotConcrete {
        /// What is known of it.
        found: String,
    },
    /// Sparse tensors and maps have no values here.
    #[error("{found} values cannot be sent")]
    NoValues {
        /// What it is.
        found: &'static str,
    },
    /// Constructors nest too deeply.
    #[error("a value on the wire has at most {MAX_DEPTH} levels")]
    TooDeep,
    /// A denotation that no type has.
    #[error("`{denotation}` is the denotation of no type that this program registered")]
    UnknownDenotation {
        /// It.
        denotation: String,
    },
    /// The tree has too many element types.
    #[error(transparent)]
    TooManyElements(#[from] TooManyElements),
    /// The pool refuses it.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// It has no digest.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
}

impl PortType {
    /// The type that a value of the IR is stamped with.
    ///
    /// # Errors
    /// [`PortTypeError`].
    pub fn of(ty: &TypeProto) -> Result<Self, PortTypeError> {
        let universe = Universe::of_default_lattice()?;
        let mut dims = Dims::new();
        let solved = read(ty, &universe, &mut dims, 0)?;
        let text = solved.display(&universe, &dims).to_string();
        if !solved.is_concrete() {
            return Err(PortTypeError::NotConcrete { found: text });
        }
        let shape = match &solved {
            Type::Leaf(node) => leaf(&universe, *node),
            Type::Scalar(elem) => {
                let node = elem.single().and_then(|elem| universe.scalar_leaf(elem));
                node.and_then(|node| leaf(&universe, node))
            }
            Type::Tensor(tensor)
                if tensor.elem.single().is_some_and(|elem| elem.number() > Elem::LAST_ONNX) =>
            {
                let node = tensor.elem.single().and_then(|elem| universe.tensor_leaf(elem));
                node.and_then(|node| leaf(&universe, node))
            }
            Type::Tensor(tensor) => Some(Shape::Stamp(match Stamp::of(ty) {
                Stamp::Open => {
                    let number = tensor.elem.single().map(|elem| i32::from(elem.number()));
                    Stamp::Tensor { dtype: number.and_then(Dtype::from_onnx_number), shape: None }
                }
                stamp => stamp,
            })),
            Type::Sequence(_) | Type::Optional(_) => Some(Shape::Stamp(Stamp::of(ty))),
            Type::Sparse(_) | Type::Map(..) | Type::Unknown(_) | Type::Error => None,
        };
        let Some(shape) = shape else { return Err(PortTypeError::NotConcrete { found: text }) };
        let text = match &shape {
            Shape::Leaf(node) => node.id.to_owned(),
            Shape::Stamp(stamp) => stamp.to_string(),
        };
        let mut pool = Pool::new();
        let ty = value_to_pool(&mut pool, solved, dims, universe)?;
        Ok(Self { digest: pool.digest(ty)?, text, shape, admitted: BTreeSet::new() })
    }

    /// The type of a leaf, by its node.
    ///
    /// # Errors
    /// [`PortTypeError`].
    pub fn of_node(node: &TypeNode) -> Result<Self, PortTypeError> {
        Self::of(&TypeProto { denotation: Some(node.denotation.into()), ..TypeProto::default() })
    }

    /// The digest of the type.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Takes values that are declared as another type too, whose digest is given: one that the caller has compared and
    /// found compatible. Values are still held against this type.
    #[must_use]
    pub fn admit(mut self, other: Digest) -> Self {
        self.admitted.insert(other);
        self
    }

    /// Whether values that are declared as the type with this digest are taken.
    #[must_use]
    pub fn admits(&self, declared: Digest) -> bool {
        declared == self.digest || self.admitted.contains(&declared)
    }

    /// The tag of a value that is declared as this type.
    #[must_use]
    pub fn tag(&self, value: &Datum) -> TypeTag {
        TypeTag { digest: self.digest, node: tag_of(value) }
    }

    /// Whether a value is of the type.
    #[must_use]
    pub fn fits(&self, value: &Datum) -> bool {
        match &self.shape {
            Shape::Leaf(node) => value.type_node().is_some_and(|own| own.id == node.id),
            // Clones share their bytes.
            Shape::Stamp(stamp) => {
                value.clone().into_value().is_ok_and(|value| Symbols::default().check(&value, stamp).is_ok())
            }
        }
    }
}

impl std::fmt::Display for PortType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn leaf(universe: &Universe, node: NodeNo) -> Option<Shape> {
    universe.lattice().node(node)?.as_static().map(Shape::Leaf)
}

/// Recursion ends at [`MAX_DEPTH`].
fn read(
    ty: &TypeProto,
    universe: &Arc<Universe>,
    dims: &mut Dims,
    depth: usize,
) -> Result<Type, PortTypeError> {
    if depth > MAX_DEPTH {
        return Err(PortTypeError::TooDeep);
    }
    let mut inner = |ty: &Option<Box<TypeProto>>| match ty {
        Some(ty) => read(ty, universe, dims, depth + 1).map(Box::new),
        None => Ok(Box::new(Type::Unknown(None))),
    };
    match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => {
            let shape = tensor.shape.as_ref().map(|shape| extents(shape, dims));
            let Some(elem) = tensor.elem_type.and_then(Elem::from_onnx) else {
                return denoted(ty, universe, shape);
            };
            Ok(Type::Tensor(TensorType { elem: ElemSet::of(elem), shape }))
        }
        Some(type_proto::Value::SequenceType(sequence)) => Ok(Type::Sequence(inner(&sequence.elem_type)?)),
        Some(type_proto::Value::OptionalType(optional)) => Ok(Type::Optional(inner(&optional.elem_type)?)),
        Some(type_proto::Value::MapType(_)) => Err(PortTypeError::NoValues { found: "map" }),
        Some(type_proto::Value::SparseTensorType(_)) => {
            Err(PortTypeError::NoValues { found: "sparse tensor" })
        }
        Some(type_proto::Value::OpaqueType(_)) | None => denoted(ty, universe, None),
    }
}

/// The type that a denotation says.
fn denoted(ty: &TypeProto, universe: &Universe, shape: Option<Box<[DimId]>>) -> Result<Type, PortTypeError> {
    let Some(denotation) = ty.denotation.as_deref().filter(|denotation| !denotation.is_empty()) else {
        return Ok(Type::Unknown(None));
    };
    let Some(node) = universe.lattice().lookup_denotation(denotation) else {
        return Err(PortTypeError::UnknownDenotation { denotation: denotation.to_owned() });
    };
    Ok(if node.kind == TypeKind::Abstract {
        Type::Unknown(Some(node.no))
    } else if let Some(elem) = universe.tensor_elems(node.no) {
        Type::Tensor(TensorType { elem, shape })
    } else if let Some(elem) = universe.scalar_elems(node.no) {
        Type::Scalar(elem)
    } else {
        Type::Leaf(node.no)
    })
}

fn extents(shape: &TensorShapeProto, dims: &mut Dims) -> Box<[DimId]> {
    let extent = |dim: &Option<dimension::Value>, dims: &mut Dims| match dim {
        Some(dimension::Value::DimValue(value)) if *value >= 0 => dims.constant(*value),
        Some(dimension::Value::DimParam(text)) if !text.trim().is_empty() => {
            dims.declare(text).unwrap_or_else(|_| dims.symbol(text))
        }
        Some(dimension::Value::DimValue(_) | dimension::Value::DimParam(_)) | None => dims.fresh(),
    };
    shape.dim.iter().map(|dim| extent(&dim.value, dims)).collect()
}
