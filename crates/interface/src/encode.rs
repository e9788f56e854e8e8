//! Encoding of interfaces as types of a pool.
//!
//! [`Interface::to_pool`] gives the portable form of a model's interface, which bundles and the registry
//! store and compare. Two models with equal interfaces have one type and so one digest, also if their symbols
//! have different names:
//!
//! ```text
//! (x: float[batch, 8], w?: double[8]) -> (y: float[batch, 8]) where batch <= 64
//!
//! forall A. (struct inputs { x: Tensor<f32, [A, 8]>, w: default<Tensor<f64, [8]>> },
//!            struct conditions { 0: at-most<Tensor<bool, [A, 64]>> })
//!           -> struct outputs { y: Tensor<f32, [A, 8]> }
//! ```
//!
//! The encoding is one traversal. The first use of a symbol gives it the next variable of the scheme. Before
//! the traversal, [`Leaves`] decides which symbols are related to no other extent; these become unknown
//! extents. Pools have no conditions on symbols. So a condition is encoded as a relation that is applied to a
//! tensor type, with both sides as extents, which the pool normalizes as all extents. The [crate
//! documentation](crate) states the form of the whole type.
//!
//! The names of symbols are not part of the type. [`Interface::to_pool_named`] returns them with it, for
//! bundles, which have [names of variables](typeloom_pool::Pool::export_named) as hints.
//!
//! **Invariant:** the result is closed. It depends only on the names and the order of parameters, on their
//! types and on the conditions.
//!
//! **Limits:** a set of several element types becomes `any`, and so does a type that is unknown or in error.
//! Two parameters with one name, and names and expressions beyond the limits of pools, are an
//! [`EncodeError`].

use std::collections::HashMap;
use std::sync::Arc;

use typeloom_dim::{Condition, DimId, Dims};
use typeloom_pool::{Idx, Pool, PoolError, Sort, Tag, check_variable_name};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::ty::Constructor;
use typeloom_solver::universe::Universe;
use typeloom_tensor::value_type::Composite;
use typeloom_types::dtypes;

use crate::leaves::Leaves;
use crate::{Interface, Parameter, dims};

/// The name of the struct of inputs.
pub(crate) const INPUTS: &str = "inputs";
/// The name of the struct of outputs.
pub(crate) const OUTPUTS: &str = "outputs";
/// The name of the struct of conditions.
pub(crate) const CONDITIONS: &str = "conditions";
/// The constructor around the type of an optional input.
pub(crate) const DEFAULT: &str = "default";
/// The name of the struct of a composite, and of the leaf of a composite of unknown children.
pub(crate) const COMPOSITE: &str = "composite";
/// The name of the struct of a composite that can have further children.
pub(crate) const OPEN_COMPOSITE: &str = "open composite";
/// The constructor around a sparse tensor.
pub(crate) const SPARSE: &str = "sparse";

macro_rules! elements {
    ($($(#[$doc:meta])* $dtype:ident / $elem:ident / $tag:ident $facts:tt)*) => {
        /// The element types with a primitive type in pools.
        pub(crate) const ELEMENTS: [(Elem, Tag); 28] = [$((Elem::$elem, Tag::$tag)),*];
    };
}
dtypes!(elements);

/// Error of [`Interface::to_pool`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The pool rejects an input or output.
    #[error("`{parameter}` has no portable type: {error}")]
    Parameter {
        /// The name of the input or output.
        parameter: String,
        /// The error of the pool.
        error: PoolError,
    },
    /// The pool rejects the type as a whole.
    #[error("the interface has no portable type: {0}")]
    Whole(#[from] PoolError),
}

struct Encoder<'i, 'p> {
    interface: &'i Interface,
    pool: &'p mut Pool,
    leaves: Leaves,
    /// The index of each symbol and variable in the scheme.
    variables: HashMap<DimId, u32>,
}

impl Interface {
    /// Encodes the interface as a closed type of a pool.
    ///
    /// # Errors
    /// [`EncodeError`] for a name that pools reject, for two parameters with one name, and for extents beyond
    /// the limits of pools.
    pub fn to_pool(&self, pool: &mut Pool) -> Result<Idx, EncodeError> {
        let (encoder, function) = self.function(pool)?;
        encoder.closed(function)
    }

    /// Encodes the interface, and returns the names of the type's variables: empty for an unnamed extent. The
    /// list is empty if decoding invents the same names, and if bundles cannot contain one of them.
    ///
    /// # Errors
    /// As [`Self::to_pool`].
    pub fn to_pool_named(&self, pool: &mut Pool) -> Result<(Idx, Vec<String>), EncodeError> {
        let (encoder, function) = self.function(pool)?;
        let names = encoder.names(function)?;
        Ok((encoder.closed(function)?, names))
    }

    /// Encodes the interface as a function with free variables.
    fn function<'i, 'p>(&'i self, pool: &'p mut Pool) -> Result<(Encoder<'i, 'p>, Idx), EncodeError> {
        let mut encoder = Encoder::new(self, pool);
        let inputs = encoder.list(INPUTS, &self.inputs)?;
        let outputs = encoder.list(OUTPUTS, &self.outputs)?;
        let conditions = encoder.conditions(&self.conditions)?;
        let mut parameters = vec![inputs];
        if !conditions.is_empty() {
            let name = encoder.pool.name(CONDITIONS)?;
            parameters.push(encoder.pool.structure(name, &conditions)?);
        }
        let function = encoder.pool.function(&parameters, outputs)?;
        Ok((encoder, function))
    }
}

/// Encodes the type of one value as a closed type of a pool. Its symbols become variables, as in an
/// interface.
///
/// # Errors
/// As [`Interface::to_pool`].
pub fn value_to_pool(
    pool: &mut Pool,
    ty: Type,
    dims: Dims,
    universe: Arc<Universe>,
) -> Result<Idx, EncodeError> {
    let value = Parameter { name: "value".to_owned(), ty, optional: false, assumed: false };
    let interface =
        Interface { inputs: Vec::new(), outputs: vec![value], conditions: Vec::new(), dims, universe };
    let mut encoder = Encoder::new(&interface, pool);
    let value = encoder.ty(&interface.outputs[0].ty)?;
    encoder.closed(value)
}

impl<'i, 'p> Encoder<'i, 'p> {
    fn new(interface: &'i Interface, pool: &'p mut Pool) -> Self {
        Self { interface, pool, leaves: Leaves::of(interface), variables: HashMap::new() }
    }

    /// Binds the variables of a type in a scheme.
    fn closed(self, ty: Idx) -> Result<Idx, EncodeError> {
        let variables = vec![Sort::Const; self.variables.len()];
        Ok(if variables.is_empty() { ty } else { self.pool.scheme(&variables, ty)? })
    }

    /// The names of the variables in the order of the scheme of a type.
    fn names(&self, ty: Idx) -> Result<Vec<String>, EncodeError> {
        let mut of_leaves = vec![""; self.variables.len()];
        for (leaf, index) in &self.variables {
            if let (Some(name), Some(place)) =
                (self.interface.dims.as_symbol(*leaf), of_leaves.get_mut(*index as usize))
            {
                *place = name;
            }
        }
        let order = self.pool.scheme_order(ty)?;
        let name = |index: u32| of_leaves.get(index as usize).copied().unwrap_or_default().to_owned();
        let names: Vec<String> = order.into_iter().map(name).collect();
        let is_invented = (0..).zip(&names).all(|(index, name)| *name == dims::letter(index));
        let is_usable = names.iter().all(|name| check_variable_name(name).is_ok());
        Ok(if is_usable && !is_invented { names } else { Vec::new() })
    }

    fn list(&mut self, name: &str, parameters: &[Parameter]) -> Result<Idx, EncodeError> {
        let mut fields = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let field = self.parameter(parameter);
            let named = |error| EncodeError::Parameter { parameter: parameter.name.clone(), error };
            fields.push(field.map_err(named)?);
        }
        let name = self.pool.name(name)?;
        Ok(self.pool.structure(name, &fields)?)
    }

    fn parameter(&mut self, parameter: &Parameter) -> Result<(typeloom_pool::NameId, Idx), PoolError> {
        let mut ty = self.ty(&parameter.ty)?;
        if parameter.optional {
            let default = self.pool.name(DEFAULT)?;
            ty = self.pool.applied(default, &[ty])?;
        }
        Ok((self.pool.name(&parameter.name)?, ty))
    }

    /// Encodes each condition as a field named by its number: the relation applied to a tensor type with both
    /// sides as extents.
    fn conditions(
        &mut self,
        conditions: &[Condition],
    ) -> Result<Vec<(typeloom_pool::NameId, Idx)>, PoolError> {
        let mut fields = Vec::with_capacity(conditions.len());
        for (at, Condition { relation, left, right }) in conditions.iter().enumerate() {
            let sides = [self.dim(*left)?, self.dim(*right)?];
            let boolean = self.pool.primitive(Tag::Bool)?;
            let sides = self.pool.tensor(boolean, &sides)?;
            let relation = self.pool.name(relation.name())?;
            let condition = self.pool.applied(relation, &[sides])?;
            fields.push((self.pool.name(&at.to_string())?, condition));
        }
        Ok(fields)
    }

    fn ty(&mut self, ty: &Type) -> Result<Idx, PoolError> {
        let (constructors, inner) = ty.split();
        let mut encoded = match inner {
            Type::Tensor(tensor) => self.tensor(tensor)?,
            Type::Sparse(tensor) => {
                let tensor = self.tensor(tensor)?;
                let sparse = self.pool.name(SPARSE)?;
                self.pool.applied(sparse, &[tensor])?
            }
            Type::Scalar(elem) => self.element(*elem)?,
            Type::Leaf(node) => {
                let id = self.interface.universe.lattice().node(*node).map_or("?", |node| node.id);
                let name = self.pool.name(id)?;
                self.pool.opaque(name)?
            }
            Type::Composite(composite) => self.composite(composite)?,
            Type::Unknown(_) | Type::Error | Type::Container(..) => self.pool.primitive(Tag::Any)?,
        };
        for constructor in constructors.into_iter().rev() {
            encoded = match constructor {
                Constructor::Sequence => self.pool.list(encoded)?,
                Constructor::Map(key) => {
                    let key = self.element(ElemSet::of(key))?;
                    self.pool.map(key, encoded)?
                }
                Constructor::Optional => self.pool.option(encoded)?,
            };
        }
        Ok(encoded)
    }

    /// A composite is a struct of its children; one of unknown children is a leaf. Types nest by a bounded
    /// number of levels.
    fn composite(&mut self, composite: &Composite<Type>) -> Result<Idx, PoolError> {
        let Composite { children, is_open } = composite;
        if children.is_empty() && *is_open {
            let name = self.pool.name(COMPOSITE)?;
            return self.pool.opaque(name);
        }
        let mut fields = Vec::with_capacity(children.len());
        for (name, child) in children {
            let child = self.ty(child)?;
            fields.push((self.pool.name(name)?, child));
        }
        let name = self.pool.name(if *is_open { OPEN_COMPOSITE } else { COMPOSITE })?;
        self.pool.structure(name, &fields)
    }

    fn element(&mut self, set: ElemSet) -> Result<Idx, PoolError> {
        let Some(elem) = set.single() else { return self.pool.primitive(Tag::Any) };
        match ELEMENTS.iter().find(|(known, _)| *known == elem) {
            Some((_, tag)) => self.pool.primitive(*tag),
            None => {
                let name = self.pool.name(self.interface.universe.elem_name(elem))?;
                self.pool.opaque(name)
            }
        }
    }

    fn tensor(&mut self, tensor: &TensorType) -> Result<Idx, PoolError> {
        let element = self.element(tensor.elem)?;
        match &tensor.shape {
            None => self.pool.tensor_unranked(element),
            Some(shape) => {
                let dims = self.dims(shape)?;
                self.pool.tensor(element, &dims)
            }
        }
    }

    fn dims(&mut self, dims: &[DimId]) -> Result<Vec<Idx>, PoolError> {
        dims.iter().map(|dim| self.dim(*dim)).collect()
    }

    fn dim(&mut self, dim: DimId) -> Result<Idx, PoolError> {
        let Self { interface, pool, leaves, variables } = self;
        dims::encode(&interface.dims, dim, pool, &mut |pool, leaf| {
            if leaves.is_idle(leaf) {
                return pool.dim_unknown();
            }
            let next = u32::try_from(variables.len()).expect("there are fewer than 2^32 dims");
            let index = *variables.entry(leaf).or_insert(next);
            pool.bound(0, index, Sort::Const)
        })
    }
}
