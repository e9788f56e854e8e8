//! Conversion of terms to pool types.
//!
//! [`Encoder`] interns a term in normal form, so that it gets a digest and can be exported. Types, lifetimes
//! and constants that the pool has become these; every other term becomes an application of a name in braces,
//! and [`Pool::intern_term`] lists the names:
//!
//! ```text
//! &'a (u8, Tensor<f32, [N + 1]>)    borrowed, tuple, primitive, tensor: kinds of the pool
//! *const u8                         applied `{ptr}`: a name in braces
//! Vec<u8>                           applied `Vec`
//! ```
//!
//! A name of a term that itself begins with a brace is encoded in braces, so no two terms have one encoding.
//!
//! Dims of tensors become polynomials of the pool, which normalizes them further than the normal form of
//! terms does. If one dim of a tensor is no dim of the pool, the tensor is encoded as an application, with
//! its constants as they are ([`Encoder::tensor`]).
//!
//! **Invariant:** the term is in normal form, which [`Pool::intern_term`] ensures. Then equal terms get one
//! id.
//!
//! **Invariant:** a binder without variables has no scheme. [`Encoder::variable`] counts schemes, and
//! `decode` does the inverse.
//!
//! **Cost:** a closed type or constant is encoded once, and an open one once under each binder.
//!
//! **Limits:** inference variables, placeholders of inner universes and error terms are a [`ConvertError`].
//! The caller reverts the pool then.

use std::collections::HashMap;

use typeloom_term::name::Mutability;
use typeloom_term::ty::{PlaceholderId, WitnessTy};
use typeloom_term::{
    AliasTy, ApplicationTy, Arity, BoundVar, Const, ConstData, ConstOp, ConstValue, DynBound, DynTy, FnTy,
    GenericArg, Name, Placeholder, Region, Symbols, Ty, TyData, TypeFamily, Universe,
};

use super::names::{DimOperation, EncodedConst, EncodedName, PoolOnly};
use super::{ConvertError, names};
use crate::descriptor::Descriptor;
use crate::pool::{Idx, Pool};
use crate::tag::{Sort, TagClass};

/// Encoder with the binders around the current term.
pub(super) struct Encoder<'p, F: TypeFamily<Name = Name>> {
    pool: &'p mut Pool,
    symbols: &'p Symbols,
    /// Binders around the current term; those without variables do not exist in the pool.
    levels: Vec<Arity>,
    /// Number of the innermost binder, 0 for none. Types with free variables are cached separately for each
    /// binder.
    context: u32,
    contexts: u32,
    /// Encoded types by address and context. The handles keep the addresses valid.
    seen: HashMap<(usize, u32), (Ty<F>, Idx)>,
    seen_consts: HashMap<(usize, u32), (Const<F>, Idx)>,
    /// Encoded dims; `None` for a constant that is no dim of the pool.
    seen_dims: HashMap<(usize, u32), (Const<F>, Option<Idx>)>,
}

impl<'p, F: TypeFamily<Name = Name>> Encoder<'p, F> {
    pub(super) fn new(pool: &'p mut Pool, symbols: &'p Symbols) -> Self {
        Self {
            pool,
            symbols,
            levels: Vec::new(),
            context: 0,
            contexts: 0,
            seen: HashMap::new(),
            seen_consts: HashMap::new(),
            seen_dims: HashMap::new(),
        }
    }

    pub(super) fn ty(&mut self, ty: &Ty<F>) -> Result<Idx, ConvertError> {
        let key = (ty.address(), if ty.meta().is_closed() { 0 } else { self.context });
        if let Some((_, known)) = self.seen.get(&key) {
            return Ok(*known);
        }
        let id = self.build(ty)?;
        self.seen.insert(key, (ty.clone(), id));
        Ok(id)
    }

    fn build(&mut self, ty: &Ty<F>) -> Result<Idx, ConvertError> {
        match ty.data() {
            TyData::Apply(ApplicationTy { name, args }) => self.apply(name, args),
            TyData::Placeholder(placeholder) => {
                let name = param(&placeholder, self.symbols)?;
                if name.starts_with('{') {
                    return self.encoded(EncodedName::Param(name), Vec::new());
                }
                Ok(self.pool.intern(&Descriptor::Rigid { name: name.to_owned() })?)
            }
            TyData::InferenceVar(_) => Err(ConvertError::Inference),
            TyData::Dyn(DynTy { bounds, region }) => {
                let mut args = vec![self.region(region)?];
                for bound in bounds {
                    args.push(self.bound(bound)?);
                }
                self.encoded(EncodedName::Dyn, args)
            }
            TyData::Fn(function) => self.function(function),
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => self.under(arity, |this| {
                let types = this.args(types)?;
                this.encoded(EncodedName::Witness(name), types)
            }),
            TyData::Alias(AliasTy { name, args }) => {
                let args = self.args(args)?;
                self.encoded(EncodedName::Alias(name), args)
            }
            TyData::BoundVariable(var) => self.variable(var, Sort::Type),
            TyData::Error(_) => Err(ConvertError::Error),
        }
    }

    fn applied(&mut self, name: String, args: Vec<Idx>) -> Result<Idx, ConvertError> {
        Ok(self.pool.intern(&Descriptor::Applied { name, args })?)
    }

    fn encoded(&mut self, name: EncodedName<'_>, args: Vec<Idx>) -> Result<Idx, ConvertError> {
        self.applied(name.text(self.symbols), args)
    }

    fn apply(&mut self, name: Name, list: &[GenericArg<F>]) -> Result<Idx, ConvertError> {
        if let (Some(tag), []) = (names::primitive(name), list) {
            return Ok(self.pool.primitive(tag)?);
        }
        if let Name::Tensor(element) | Name::TensorAnyRank(element) = name {
            let element = self.symbols.resolve(element);
            if let Some(tensor) = self.tensor(name, element, list)? {
                return Ok(tensor);
            }
        }
        self.plain(name, list)
    }

    fn plain(&mut self, name: Name, list: &[GenericArg<F>]) -> Result<Idx, ConvertError> {
        let types_only = list.iter().all(|arg| arg.as_ty().is_some());
        let args = self.args(list)?;
        match (name, list) {
            (Name::Tuple, _) if types_only => Ok(self.pool.tuple(&args)?),
            (Name::Ref(Mutability::Shared), [GenericArg::Region(_), GenericArg::Ty(_)]) => {
                Ok(self.pool.borrowed(args[1], args[0])?)
            }
            (Name::Adt(path), _) => {
                let path = self.symbols.resolve(path);
                match PoolOnly::of_path(path) {
                    Some(kind) => self.pool_only(kind, name, &args),
                    None if path.starts_with('{') => self.encoded(EncodedName::Apply(name), args),
                    None => self.applied(path.to_owned(), args),
                }
            }
            _ => self.encoded(EncodedName::Apply(name), args),
        }
    }

    /// Encodes a type of a kind that exists only in pools.
    fn pool_only(&mut self, kind: PoolOnly<'_>, name: Name, args: &[Idx]) -> Result<Idx, ConvertError> {
        let tag = match (kind, args) {
            (PoolOnly::Opaque(name), []) => {
                return Ok(self.pool.intern(&Descriptor::Opaque { name: name.to_owned() })?);
            }
            (PoolOnly::Named(name), []) => {
                return Ok(self.pool.intern(&Descriptor::Named { name: name.to_owned() })?);
            }
            (PoolOnly::Opaque(_) | PoolOnly::Named(_), _) => {
                return self.encoded(EncodedName::Apply(name), args.to_vec());
            }
            (PoolOnly::Tag(tag), _) => tag,
        };
        Ok(match (tag.class(), args) {
            (TagClass::Primitive, []) => self.pool.primitive(tag)?,
            (TagClass::Container, [child]) => self.pool.container(tag, *child)?,
            (TagClass::TwoChild, [child1, child2]) => {
                self.pool.intern(&Descriptor::TwoChild { tag, child1: *child1, child2: *child2 })?
            }
            _ => self.encoded(EncodedName::Apply(name), args.to_vec())?,
        })
    }

    /// Encodes a tensor, if its dims are constants that the pool can normalize.
    fn tensor(
        &mut self,
        name: Name,
        element: &str,
        dims: &[GenericArg<F>],
    ) -> Result<Option<Idx>, ConvertError> {
        let Some(list) = self.dims(dims)? else { return Ok(None) };
        let element = match names::element(element) {
            Some(tag) => self.pool.primitive(tag)?,
            None => self.pool.intern(&Descriptor::Named { name: element.to_owned() })?,
        };
        match name {
            Name::TensorAnyRank(_) if dims.is_empty() => Ok(Some(self.pool.tensor_unranked(element)?)),
            Name::Tensor(_) => Ok(Some(self.pool.tensor(element, &list)?)),
            _ => Ok(None),
        }
    }

    /// Encodes a constant that has no operands and an equivalent in the pool: an integer of 64 bits, a
    /// symbol, or a variable.
    fn simple_constant(&mut self, constant: &Const<F>) -> Result<Option<Idx>, ConvertError> {
        Ok(match constant.data() {
            ConstData::Value(ConstValue::Int(value)) => match i64::try_from(value) {
                Ok(value) => Some(self.pool.dim_const(value)?),
                Err(_) => None,
            },
            ConstData::Placeholder(placeholder) => {
                Some(self.pool.dim_symbol(param(&placeholder, self.symbols)?)?)
            }
            ConstData::Bound(var) => Some(self.variable(var, Sort::Const)?),
            ConstData::Infer(_) => return Err(ConvertError::Inference),
            ConstData::Error(_) => return Err(ConvertError::Error),
            ConstData::Value(_) | ConstData::Expr(..) | ConstData::Alias(..) => None,
        })
    }

    /// Encodes a dim, if it is a polynomial over integers and symbols or one of the pool's operations.
    fn dim(&mut self, constant: &Const<F>) -> Result<Option<Idx>, ConvertError> {
        let (ConstData::Expr(_, operands) | ConstData::Alias(_, operands)) = constant.data() else {
            return self.simple_constant(constant);
        };
        let key = self.const_key(constant);
        if let Some((_, known)) = self.seen_dims.get(&key) {
            return Ok(*known);
        }
        let dim = match (self.dims(operands)?, constant.data()) {
            (Some(list), ConstData::Expr(op, _)) => self.dim_expression(op, &list)?,
            (Some(list), ConstData::Alias(name, _)) => {
                self.dim_operation(DimOperation::of_alias(name, self.symbols), &list)?
            }
            (_, _) => None,
        };
        self.seen_dims.insert(key, (constant.clone(), dim));
        Ok(dim)
    }

    fn const_key(&self, constant: &Const<F>) -> (usize, u32) {
        (constant.address(), if constant.meta().is_closed() { 0 } else { self.context })
    }

    /// Encodes a list of dims; `None` if an argument is not such a dim.
    fn dims(&mut self, list: &[GenericArg<F>]) -> Result<Option<Vec<Idx>>, ConvertError> {
        list.iter().map(|dim| dim.as_const().map_or(Ok(None), |dim| self.dim(dim))).collect()
    }

    fn dim_expression(&mut self, op: ConstOp, operands: &[Idx]) -> Result<Option<Idx>, ConvertError> {
        Ok(Some(match (op, operands) {
            (ConstOp::Add, _) => self.pool.dim_add(operands)?,
            (ConstOp::Mul, _) => self.pool.dim_mul(operands)?,
            (ConstOp::Sub, [a, b]) => {
                let minus = self.negative(*b)?;
                self.pool.dim_add(&[*a, minus])?
            }
            (ConstOp::Neg, [a]) => self.negative(*a)?,
            _ => return Ok(None),
        }))
    }

    fn dim_operation(
        &mut self,
        operation: Option<DimOperation>,
        operands: &[Idx],
    ) -> Result<Option<Idx>, ConvertError> {
        Ok(Some(match (operation, operands) {
            (Some(DimOperation::FloorDiv), [a, b]) => self.pool.dim_floor_div(*a, *b)?,
            (Some(DimOperation::Mod), [a, b]) => self.pool.dim_mod(*a, *b)?,
            (Some(DimOperation::Min), [_, ..]) => self.pool.dim_min(operands)?,
            (Some(DimOperation::Max), [_, ..]) => self.pool.dim_max(operands)?,
            (Some(DimOperation::Unknown), []) => self.pool.dim_unknown()?,
            _ => return Ok(None),
        }))
    }

    fn negative(&mut self, dim: Idx) -> Result<Idx, ConvertError> {
        let minus = self.pool.dim_const(-1)?;
        Ok(self.pool.dim_mul(&[minus, dim])?)
    }

    fn function(&mut self, function: FnTy<'_, F>) -> Result<Idx, ConvertError> {
        let FnTy { name, arity, signature } = function;
        self.under(arity, |this| {
            let mut args = this.args(signature)?;
            let Some(returns) = args.pop() else {
                return Err(typeloom_term::TermError::NotASignature.into());
            };
            if name == Name::FN {
                return Ok(this.pool.function(&args, returns)?);
            }
            if name == Name::Forall
                && args.is_empty()
                && !arity.is_empty()
                && !super::decode::binds(this.pool, returns)
            {
                return Ok(returns);
            }
            args.push(returns);
            this.encoded(EncodedName::Function(name), args)
        })
    }

    fn bound(&mut self, bound: &DynBound<F>) -> Result<Idx, ConvertError> {
        let DynBound { arity, kind, name, args } = bound;
        self.under(*arity, |this| {
            let args = this.args(args)?;
            this.encoded(EncodedName::Bound(*kind, *name), args)
        })
    }

    /// Encodes a body under a binder, and the scheme around it.
    fn under(
        &mut self,
        arity: Arity,
        build: impl FnOnce(&mut Self) -> Result<Idx, ConvertError>,
    ) -> Result<Idx, ConvertError> {
        self.levels.push(arity);
        self.contexts += 1;
        let outer = std::mem::replace(&mut self.context, self.contexts);
        let body = build(self);
        self.context = outer;
        self.levels.pop();
        let body = body?;
        if arity.is_empty() {
            return Ok(body);
        }
        let Arity { regions, types, consts } = arity;
        let sorts = [(Sort::Region, regions), (Sort::Type, types), (Sort::Const, consts)];
        let vars: Vec<Sort> =
            sorts.iter().flat_map(|(sort, count)| vec![*sort; usize::from(*count)]).collect();
        Ok(self.pool.scheme(&vars, body)?)
    }

    fn variable(&mut self, var: BoundVar, sort: Sort) -> Result<Idx, ConvertError> {
        let depth = var.depth.0 as usize;
        let inner = depth.min(self.levels.len());
        let schemes = self.levels.iter().rev().take(inner).filter(|arity| !arity.is_empty()).count();
        let arity = self.levels.len().checked_sub(depth + 1).and_then(|at| self.levels.get(at));
        let before = match (arity, sort) {
            (None, _) | (Some(_), Sort::Region) => 0,
            (Some(arity), Sort::Type) => u32::from(arity.regions),
            (Some(arity), Sort::Const) => u32::from(arity.regions) + u32::from(arity.types),
        };
        let depth = u32::try_from(schemes + (depth - inner)).unwrap_or(u32::MAX);
        Ok(self.pool.bound(depth, var.index + before, sort)?)
    }

    fn region(&mut self, region: Region<F>) -> Result<Idx, ConvertError> {
        match region {
            Region::Static => Ok(self.pool.lifetime("static")?),
            Region::Erased => Ok(self.pool.lifetime("_")?),
            Region::Placeholder(placeholder) => {
                let name = param(&placeholder, self.symbols)?;
                match name.strip_prefix('\'') {
                    Some(short) if !matches!(short, "static" | "_") && !short.starts_with('{') => {
                        Ok(self.pool.lifetime(short)?)
                    }
                    _ => Ok(self.pool.lifetime(&format!("{{{name}}}"))?),
                }
            }
            Region::Infer(_) => Err(ConvertError::Inference),
            Region::Bound(var) => self.variable(var, Sort::Region),
            Region::Error(_) => Err(ConvertError::Error),
        }
    }

    fn constant(&mut self, constant: &Const<F>) -> Result<Idx, ConvertError> {
        if let Some(simple) = self.simple_constant(constant)? {
            return Ok(simple);
        }
        let key = self.const_key(constant);
        if let Some((_, known)) = self.seen_consts.get(&key) {
            return Ok(*known);
        }
        let (encoded, args) = match constant.data() {
            ConstData::Value(value) => (EncodedConst::Value(value), &[][..]),
            ConstData::Expr(op, args) => (EncodedConst::Operator(op), args),
            ConstData::Alias(name, args) => (EncodedConst::Alias(name), args),
            ConstData::Placeholder(_) | ConstData::Infer(_) | ConstData::Bound(_) | ConstData::Error(_) => {
                return Err(ConvertError::Error);
            }
        };
        let args = self.args(args)?;
        let id = self.encoded(EncodedName::Const(encoded), args)?;
        self.seen_consts.insert(key, (constant.clone(), id));
        Ok(id)
    }

    fn args(&mut self, args: &[GenericArg<F>]) -> Result<Vec<Idx>, ConvertError> {
        args.iter()
            .map(|arg| match arg {
                GenericArg::Ty(ty) => self.ty(ty),
                GenericArg::Region(region) => self.region(*region),
                GenericArg::Const(constant) => self.constant(constant),
            })
            .collect()
    }
}

/// Returns the name of a parameter.
fn param<'s>(placeholder: &Placeholder<Name>, symbols: &'s Symbols) -> Result<&'s str, ConvertError> {
    match placeholder.id {
        _ if placeholder.universe != Universe::ROOT => Err(ConvertError::Inference),
        PlaceholderId::Fresh(_) => Err(ConvertError::Inference),
        PlaceholderId::Named(Name::Param(symbol)) => Ok(symbols.resolve(symbol)),
        PlaceholderId::Named(_) => Err(ConvertError::Parameter),
    }
}
