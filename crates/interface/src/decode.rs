//! Decoding of interfaces from types of a pool.
//!
//! [`Interface::from_pool`] is the inverse of [`Interface::to_pool`]. A bundle from another process contains
//! types; [`compare`](crate::compare()) needs the dims and element types of the solver:
//!
//! ```text
//! forall A. (struct inputs { x: Tensor<f32, [A, 2*A]> }) -> struct outputs { y: Tensor<f32, [A]> }
//! (x: float[A, 2*A]) -> (y: float[A])
//! ```
//!
//! A pool type has no names of symbols. Without names from a bundle ([`Interface::from_pool_named`]), variable 0
//! of the scheme is `A`, variable 1 is `B`, and so on. The encoding loses other facts, too: [`Parameter::assumed`] is `false`, and a set of several element types is
//! the set of all. Each unknown extent of the pool becomes an extent of its own.
//!
//! **Invariant:** decoding the type of an interface and encoding the result gives the same type. The names of
//! the structs and constructors are the constants of `encode`.
//!
//! **Limits:** a bundle is not trusted. A type of another form is [`NotAnInterface`]. Shared parts can make a
//! type of `n` nodes unfold to `2^n` parts, so at most [`MAX_PARTS`] extents, operands of extents and
//! children of composites are decoded for one interface. The time is linear in their number. Constructors
//! nest by at most [`MAX_DEPTH`] levels, and so do expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_dim::{Condition, DimId, Dims, Relation};
use typeloom_pool::{Descriptor, Idx, Pool, Tag};
use typeloom_solver::elem::ElemSet;
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::ty::Constructor;
use typeloom_solver::universe::Universe;
use typeloom_tensor::value_type::Composite;

use crate::dims::{DecodeError, MAX_DEPTH, Variables, decode};
use crate::encode::{COMPOSITE, CONDITIONS, DEFAULT, ELEMENTS, INPUTS, OPEN_COMPOSITE, OUTPUTS, SPARSE};
use crate::{Interface, Parameter, extents};

/// The maximum number of parts of extents. A shared expression can unfold to more than fits in memory.
const MAX_PARTS: usize = 1 << 20;

/// Error of [`Interface::from_pool`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnInterface {
    /// The type is not a function from one struct to another.
    #[error("the type is not a function from inputs to outputs")]
    NotAFunction,
    /// The type of a parameter is not a type of models.
    #[error("the type of `{parameter}` is not a type of values in models")]
    Parameter {
        /// The name of the parameter.
        parameter: String,
    },
    /// A condition is not a known relation between two extents.
    #[error("a condition is not a known relation between two extents")]
    Condition,
    /// The type of a parameter exceeds the limits of models.
    #[error("the type of `{parameter}` is too large")]
    TooLarge {
        /// The name of the parameter.
        parameter: String,
    },
}

struct Decoder<'p> {
    pool: &'p Pool,
    dims: Dims,
    variables: Variables<'p>,
    universe: Arc<Universe>,
    parts: usize,
}

impl Interface {
    /// Decodes an interface. Types of a pool have no names of symbols, so these are `A`, `B`, ...
    ///
    /// # Errors
    /// [`NotAnInterface`].
    pub fn from_pool(pool: &Pool, ty: Idx, universe: &Arc<Universe>) -> Result<Self, NotAnInterface> {
        Self::from_pool_named(pool, ty, &[], universe)
    }

    /// Decodes an interface with the names of its type's variables, as an imported bundle has them. A variable
    /// with an empty name is an unnamed extent; no names at all are `A`, `B`, ...
    ///
    /// # Errors
    /// [`NotAnInterface`].
    pub fn from_pool_named(
        pool: &Pool,
        ty: Idx,
        names: &[String],
        universe: &Arc<Universe>,
    ) -> Result<Self, NotAnInterface> {
        let (variables, universe) = (Variables::named(names), Arc::clone(universe));
        let mut decoder = Decoder { pool, dims: Dims::new(), variables, universe, parts: MAX_PARTS };
        let function = match pool.get(ty) {
            Descriptor::Scheme { body, .. } => body,
            _ => ty,
        };
        let Descriptor::Function { params, returns } = pool.get(function) else {
            return Err(NotAnInterface::NotAFunction);
        };
        let (params, conditions) = match params[..] {
            [params] => (params, None),
            [params, conditions] => (params, Some(conditions)),
            _ => return Err(NotAnInterface::NotAFunction),
        };
        let inputs = decoder.list(INPUTS, params)?;
        let outputs = decoder.list(OUTPUTS, returns)?;
        if outputs.iter().any(|output| output.optional) {
            return Err(NotAnInterface::NotAFunction);
        }
        let conditions = match conditions {
            Some(conditions) => decoder.conditions(conditions)?,
            None => Vec::new(),
        };
        let Decoder { dims, universe, .. } = decoder;
        Ok(Self { inputs, outputs, conditions, dims, universe })
    }
}

impl Decoder<'_> {
    fn list(&mut self, wanted: &str, list: Idx) -> Result<Vec<Parameter>, NotAnInterface> {
        let Descriptor::Struct { name, field_names, field_types } = self.pool.get(list) else {
            return Err(NotAnInterface::NotAFunction);
        };
        if name != wanted || field_names.len() != field_types.len() {
            return Err(NotAnInterface::NotAFunction);
        }
        let mut parameters = Vec::with_capacity(field_names.len());
        for (name, ty) in field_names.into_iter().zip(field_types) {
            let (ty, optional) = match self.pool.get(ty) {
                Descriptor::Applied { name, args } if name == DEFAULT && args.len() == 1 => (args[0], true),
                _ => (ty, false),
            };
            match self.ty(ty) {
                Ok(ty) => parameters.push(Parameter { name, ty, optional, assumed: false }),
                Err(DecodeError::Kind) => return Err(NotAnInterface::Parameter { parameter: name }),
                Err(DecodeError::Size) => return Err(NotAnInterface::TooLarge { parameter: name }),
            }
        }
        Ok(parameters)
    }

    fn conditions(&mut self, list: Idx) -> Result<Vec<Condition>, NotAnInterface> {
        let Descriptor::Struct { name, field_types, .. } = self.pool.get(list) else {
            return Err(NotAnInterface::NotAFunction);
        };
        if name != CONDITIONS {
            return Err(NotAnInterface::NotAFunction);
        }
        let mut conditions = Vec::with_capacity(field_types.len());
        for field in field_types {
            let Descriptor::Applied { name, args } = self.pool.get(field) else {
                return Err(NotAnInterface::Condition);
            };
            let relation = Relation::ALL.into_iter().find(|relation| relation.name() == name);
            let [sides] = args[..] else { return Err(NotAnInterface::Condition) };
            let sides = self.ty(sides).map_err(|_| NotAnInterface::Condition)?;
            let sides: Vec<DimId> = extents(&sides).copied().collect();
            let (Some(relation), &[left, right]) = (relation, &sides[..]) else {
                return Err(NotAnInterface::Condition);
            };
            conditions.push(Condition { relation, left, right });
        }
        Ok(conditions)
    }

    fn ty(&mut self, ty: Idx) -> Result<Type, DecodeError> {
        self.ty_at(ty, 0)
    }

    /// `depth` is the number of levels around the type.
    fn ty_at(&mut self, ty: Idx, depth: usize) -> Result<Type, DecodeError> {
        let mut constructors: Vec<Constructor> = Vec::new();
        let mut at = ty;
        let decoded = loop {
            if constructors.len() + depth > MAX_DEPTH {
                return Err(DecodeError::Size);
            }
            match self.pool.get(at) {
                Descriptor::Container { tag: Tag::List, child } => {
                    constructors.push(Constructor::Sequence);
                    at = child;
                }
                Descriptor::Container { tag: Tag::Option, child } => {
                    constructors.push(Constructor::Optional);
                    at = child;
                }
                Descriptor::TwoChild { tag: Tag::Map, child1, child2 } => {
                    let key = self.element(child1).and_then(ElemSet::single).ok_or(DecodeError::Kind)?;
                    constructors.push(Constructor::Map(key));
                    at = child2;
                }
                Descriptor::Tensor { element, dims } => break Type::Tensor(self.tensor(element, dims)?),
                Descriptor::Applied { name, args } if name == SPARSE && args.len() == 1 => {
                    let Descriptor::Tensor { element, dims } = self.pool.get(args[0]) else {
                        return Err(DecodeError::Kind);
                    };
                    break Type::Sparse(self.tensor(element, dims)?);
                }
                Descriptor::Primitive(Tag::Any) => break Type::Unknown(None),
                Descriptor::Primitive(_) => break Type::Scalar(self.element(at).ok_or(DecodeError::Kind)?),
                Descriptor::Struct { name, field_names, field_types } => {
                    let is_open = name == OPEN_COMPOSITE;
                    if !is_open && name != COMPOSITE {
                        return Err(DecodeError::Kind);
                    }
                    let mut children = BTreeMap::new();
                    for (name, ty) in field_names.into_iter().zip(field_types) {
                        // A shared part of a type can unfold to more than fits in memory.
                        self.parts = self.parts.checked_sub(1).ok_or(DecodeError::Size)?;
                        let child = self.ty_at(ty, depth + constructors.len() + 1)?;
                        children.insert(Arc::<str>::from(name), child);
                    }
                    break Type::Composite(Composite { children: children.into_iter().collect(), is_open });
                }
                Descriptor::Opaque { name } if name == COMPOSITE => {
                    break Type::Composite(Composite::unknown());
                }
                Descriptor::Opaque { name } => {
                    let node = self.universe.lattice().lookup(&name).map(|node| node.no);
                    break Type::Leaf(node.ok_or(DecodeError::Kind)?);
                }
                _ => return Err(DecodeError::Kind),
            }
        };
        Ok(Type::within(constructors, decoded))
    }

    fn element(&self, element: Idx) -> Option<ElemSet> {
        match self.pool.get(element) {
            Descriptor::Primitive(Tag::Any) => Some(ElemSet::ALL),
            Descriptor::Primitive(tag) => {
                ELEMENTS.iter().find(|(_, known)| *known == tag).map(|(elem, _)| ElemSet::of(*elem))
            }
            Descriptor::Opaque { name } => self.universe.elem_named(&name).map(ElemSet::of),
            _ => None,
        }
    }

    fn tensor(&mut self, element: Idx, dims: Option<Vec<Idx>>) -> Result<TensorType, DecodeError> {
        let elem = self.element(element).ok_or(DecodeError::Kind)?;
        let shape = match dims {
            None => None,
            Some(dims) => {
                let dims: Result<Vec<DimId>, _> = dims.into_iter().map(|dim| self.dim(dim)).collect();
                Some(dims?.into())
            }
        };
        Ok(TensorType { elem, shape })
    }

    fn dim(&mut self, dim: Idx) -> Result<DimId, DecodeError> {
        decode(self.pool, dim, 0, &mut self.dims, &mut self.variables, &mut self.parts)
    }
}
