//! Conversion of pool types to terms.
//!
//! [`Decoder`] reads a type of the pool as a term of any [`TypeFamily`], so that the relations on terms apply
//! to types from a bundle. It inverts `encode`:
//!
//! ```text
//! forall 'x. (&'x str, Vec<{ptr}<u8>>) -> &'x str       pool: scheme, function, applied, borrowed
//! for<'a> fn(&'a str, Vec<*const u8>) -> &'a str        term
//! ```
//!
//! An application of a name in braces encodes a term without an equivalent in the pool (`names`); an
//! application of another name is a nominal type.
//!
//! The two representations number variables differently. A scheme of the pool has one list of variables of
//! all sorts; a binder of a term numbers regions, types and constants separately ([`indices`]). A function is
//! a binder of the term even if it binds nothing, and the pool has a scheme only around variables. So
//! `levels` contains all binders of the term, and [`Decoder::var`] counts only those that are schemes.
//!
//! **Invariant:** a closed type or constant is decoded once, and an open one once under each binder, so
//! shared types and dims are not unfolded.
//!
//! **Limits:** types with a definition (structs, enums, declarations, instances and recursive types) have no
//! term. Types and constants together nest by at most [`MAX_DEPTH`] levels, which bounds the recursion.

use std::collections::{HashMap, HashSet};

use typeloom_term::meta::MAX_DEPTH;
use typeloom_term::name::Mutability;
use typeloom_term::ty::WitnessTy;
use typeloom_term::{
    Arity, BoundVar, Const, ConstData, ConstOp, DynBound, DynTy, GenericArg, Name, Region, Symbols,
    TermError, Ty, TyData, TypeFamily,
};

use super::names::{DimOperation, EncodedConst, EncodedName, PoolOnly};
use super::{ConvertError, names};
use crate::descriptor::{ConstDescriptor, Descriptor, Variable};
use crate::pool::{Idx, Pool};
use crate::tag::{Sort, Tag};

/// Whether a type owns the binder around it: a function, or an application that encodes one.
pub(super) fn binds(pool: &Pool, ty: Idx) -> bool {
    match pool.tag(ty) {
        Tag::Function => true,
        Tag::Applied => match pool.get(ty) {
            Descriptor::Applied { name, .. } => names::is_binding(&name),
            _ => false,
        },
        _ => false,
    }
}

/// Returns the index of each variable among those of its sort, and their numbers.
fn indices(vars: &[Sort]) -> Result<(Vec<u32>, Arity), TermError> {
    let mut arity = Arity::NONE;
    let mut indices = Vec::with_capacity(vars.len());
    for sort in vars {
        let count = match sort {
            Sort::Region => &mut arity.regions,
            Sort::Type => &mut arity.types,
            Sort::Const => &mut arity.consts,
        };
        indices.push(u32::from(*count));
        *count = count.checked_add(1).ok_or(TermError::TooMany)?;
    }
    Ok((indices, arity))
}

pub(super) struct Decoder<'p, F: TypeFamily<Name = Name>> {
    pool: &'p Pool,
    cx: &'p F,
    symbols: &'p mut Symbols,
    /// Binders of the term. For schemes, the index of each variable among those of its sort.
    levels: Vec<Option<Vec<u32>>>,
    context: u32,
    contexts: u32,
    seen: HashMap<(Idx, u32), Ty<F>>,
    seen_consts: HashMap<(Idx, u32), Const<F>>,
    /// Number of constants being decoded, each a part of the one before.
    open_consts: usize,
    /// Types being decoded; visiting one of them again means that the type is recursive.
    open: HashSet<Idx>,
}

impl<'p, F: TypeFamily<Name = Name>> Decoder<'p, F> {
    pub(super) fn new(pool: &'p Pool, cx: &'p F, symbols: &'p mut Symbols) -> Self {
        Self {
            pool,
            cx,
            symbols,
            levels: Vec::new(),
            context: 0,
            contexts: 0,
            seen: HashMap::new(),
            seen_consts: HashMap::new(),
            open_consts: 0,
            open: HashSet::new(),
        }
    }

    pub(super) fn ty(&mut self, ty: Idx) -> Result<Ty<F>, ConvertError> {
        let context = self.context_of(ty);
        if let Some(known) = self.seen.get(&(ty, context)) {
            return Ok(known.clone());
        }
        self.check_depth()?;
        if !self.open.insert(ty) {
            return Err(ConvertError::NoTerm(self.pool.tag(ty)));
        }
        let built = self.build(ty);
        self.open.remove(&ty);
        let built = built?;
        self.seen.insert((ty, context), built.clone());
        Ok(built)
    }

    /// Decodes a constant with `build`, unless it was decoded before under this binder.
    fn shared(
        &mut self,
        constant: Idx,
        build: impl FnOnce(&mut Self) -> Result<Const<F>, ConvertError>,
    ) -> Result<Const<F>, ConvertError> {
        let context = self.context_of(constant);
        if let Some(known) = self.seen_consts.get(&(constant, context)) {
            return Ok(known.clone());
        }
        self.check_depth()?;
        self.open_consts += 1;
        let built = build(self);
        self.open_consts -= 1;
        let built = built?;
        self.seen_consts.insert((constant, context), built.clone());
        Ok(built)
    }

    /// The binder on which the term of a type or constant depends; 0 for none.
    fn context_of(&self, part: Idx) -> u32 {
        if self.pool.is_open(part) { self.context } else { 0 }
    }

    fn check_depth(&self) -> Result<(), TermError> {
        let is_deep = self.open.len() + self.open_consts >= usize::from(MAX_DEPTH);
        if is_deep { Err(TermError::TooDeep) } else { Ok(()) }
    }

    fn build(&mut self, ty: Idx) -> Result<Ty<F>, ConvertError> {
        let tag = self.pool.tag(ty);
        match self.pool.get(ty) {
            Descriptor::Primitive(tag) => match names::of_primitive(tag) {
                Some(name) => self.apply(name, &[]),
                None => self.pool_only(tag, &[]),
            },
            Descriptor::Container { tag, child } => self.pool_only(tag, &[child]),
            Descriptor::TwoChild { tag, child1, child2 } => self.pool_only(tag, &[child1, child2]),
            Descriptor::Borrowed { inner, lifetime } => {
                let args = [self.region(lifetime)?.into(), self.ty(inner)?.into()];
                Ok(Ty::apply(self.cx, Name::Ref(Mutability::Shared), &args)?)
            }
            Descriptor::Function { .. } => self.under(None, |this| this.binding(Arity::NONE, ty)),
            Descriptor::Tuple { elements } => self.apply(Name::Tuple, &elements),
            Descriptor::Applied { name, args } => {
                if binds(self.pool, ty) {
                    return self.under(None, |this| this.binding(Arity::NONE, ty));
                }
                self.applied(&name, &args)
            }
            Descriptor::Opaque { name } => {
                let name = Name::Adt(self.symbols.intern(&PoolOnly::Opaque(&name).path()));
                self.apply(name, &[])
            }
            Descriptor::Named { name } => {
                let name = Name::Adt(self.symbols.intern(&PoolOnly::Named(&name).path()));
                self.apply(name, &[])
            }
            Descriptor::Rigid { name } => Ok(Ty::param(self.cx, Name::Param(self.symbols.intern(&name)))?),
            Descriptor::Scheme { vars, body } => {
                let (indices, arity) = indices(&vars)?;
                self.under(Some(indices), |this| this.binding(arity, body))
            }
            Descriptor::Variable(variable) => self.variable(variable),
            Descriptor::Tensor { element, dims } => self.tensor(element, dims.as_deref()),
            Descriptor::Struct { .. }
            | Descriptor::Enum { .. }
            | Descriptor::Declared { .. }
            | Descriptor::Instance { .. }
            | Descriptor::Lifetime { .. }
            | Descriptor::Const(_)
            | Descriptor::Recursive { .. } => Err(ConvertError::NoTerm(tag)),
        }
    }

    fn pool_only(&mut self, tag: Tag, children: &[Idx]) -> Result<Ty<F>, ConvertError> {
        let name = Name::Adt(self.symbols.intern(&PoolOnly::Tag(tag).path()));
        self.apply(name, children)
    }

    fn apply(&mut self, name: Name, args: &[Idx]) -> Result<Ty<F>, ConvertError> {
        let args = self.args(args)?;
        Ok(Ty::apply(self.cx, name, &args)?)
    }

    /// Decodes a body under a binder.
    fn under<T>(
        &mut self,
        indices: Option<Vec<u32>>,
        body: impl FnOnce(&mut Self) -> Result<T, ConvertError>,
    ) -> Result<T, ConvertError> {
        self.levels.push(indices);
        self.contexts += 1;
        let outer = std::mem::replace(&mut self.context, self.contexts);
        let built = body(self);
        self.context = outer;
        self.levels.pop();
        built
    }

    fn binding(&mut self, arity: Arity, body: Idx) -> Result<Ty<F>, ConvertError> {
        match self.pool.get(body) {
            Descriptor::Function { params, returns } => {
                let mut signature = self.args(&params)?;
                signature.push(self.ty(returns)?.into());
                Ok(Ty::function(self.cx, Name::FN, arity, &signature)?)
            }
            Descriptor::Applied { name, args } if binds(self.pool, body) => {
                let list = self.args(&args)?;
                match self.encoded(&name)? {
                    EncodedName::Function(name) => Ok(Ty::function(self.cx, name, arity, &list)?),
                    EncodedName::Witness(name) => {
                        let witness = WitnessTy { name, arity, types: &list };
                        Ok(Ty::new(self.cx, TyData::GeneratorWitness(witness))?)
                    }
                    _ => Err(ConvertError::UnknownName(name)),
                }
            }
            _ => {
                let body = self.ty(body)?;
                Ok(Ty::function(self.cx, Name::Forall, arity, &[body.into()])?)
            }
        }
    }

    fn applied(&mut self, text: &str, list: &[Idx]) -> Result<Ty<F>, ConvertError> {
        if !text.starts_with('{') {
            let args = self.args(list)?;
            return Ok(Ty::apply(self.cx, Name::Adt(self.symbols.intern(text)), &args)?);
        }
        match self.encoded(text)? {
            EncodedName::Dyn => self.dynamic(text, list),
            EncodedName::Param(name) => Ok(Ty::param(self.cx, Name::Param(self.symbols.intern(name)))?),
            EncodedName::Alias(name) => {
                let args = self.args(list)?;
                Ok(Ty::alias(self.cx, name, &args)?)
            }
            EncodedName::Apply(name) => self.apply(name, list),
            EncodedName::Bound(..)
            | EncodedName::Function(_)
            | EncodedName::Witness(_)
            | EncodedName::Const(_) => Err(ConvertError::UnknownName(text.to_owned())),
        }
    }

    fn dynamic(&mut self, text: &str, list: &[Idx]) -> Result<Ty<F>, ConvertError> {
        let unknown = || ConvertError::UnknownName(text.to_owned());
        let (region, list) = list.split_first().ok_or_else(unknown)?;
        let region = self.region(*region)?;
        let mut bounds = Vec::with_capacity(list.len());
        for bound in list {
            let (indices, arity, body) = match self.pool.get(*bound) {
                Descriptor::Scheme { vars, body } => {
                    let (indices, arity) = indices(&vars)?;
                    (Some(indices), arity, body)
                }
                _ => (None, Arity::NONE, *bound),
            };
            let Descriptor::Applied { name, args } = self.pool.get(body) else { return Err(unknown()) };
            let EncodedName::Bound(kind, name) = self.encoded(&name)? else { return Err(unknown()) };
            let args = self.under(indices, |this| this.args(&args))?;
            let args = self.cx.intern_args(&args);
            bounds.push(DynBound { arity, kind, name, args });
        }
        Ok(Ty::new(self.cx, TyData::Dyn(DynTy { bounds: &bounds, region }))?)
    }

    fn encoded<'a>(&mut self, text: &'a str) -> Result<EncodedName<'a>, ConvertError> {
        EncodedName::parse(text, self.symbols).ok_or_else(|| ConvertError::UnknownName(text.to_owned()))
    }

    fn var(&self, depth: u32, index: u32) -> BoundVar {
        let mut left = depth;
        for (out, level) in self.levels.iter().rev().enumerate() {
            let Some(indices) = level else { continue };
            if left == 0 {
                let index = indices.get(index as usize).copied().unwrap_or(index);
                return BoundVar::new(u32::try_from(out).unwrap_or(u32::MAX), index);
            }
            left -= 1;
        }
        let out = u32::try_from(self.levels.len()).unwrap_or(u32::MAX).saturating_add(left);
        BoundVar::new(out, index)
    }

    fn variable(&mut self, variable: Variable) -> Result<Ty<F>, ConvertError> {
        match variable {
            Variable::Bound { depth, index, sort: _ } => {
                Ok(Ty::new(self.cx, TyData::BoundVariable(self.var(depth, index)))?)
            }
            Variable::Infer { .. } => Err(ConvertError::Inference),
        }
    }

    fn region(&mut self, region: Idx) -> Result<Region<F>, ConvertError> {
        match self.pool.get(region) {
            Descriptor::Lifetime { name } => Ok(match name.as_str() {
                "static" => Region::Static,
                "_" => Region::Erased,
                name => {
                    let own = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                    let text = own.map_or_else(|| format!("'{name}"), str::to_owned);
                    Region::param(Name::Param(self.symbols.intern(&text)))
                }
            }),
            Descriptor::Variable(Variable::Bound { depth, index, sort: _ }) => {
                Ok(Region::Bound(self.var(depth, index)))
            }
            Descriptor::Variable(Variable::Infer { .. }) => Err(ConvertError::Inference),
            _ => Err(ConvertError::NoTerm(self.pool.tag(region))),
        }
    }

    fn arg(&mut self, arg: Idx) -> Result<GenericArg<F>, ConvertError> {
        match self.pool.sort(arg) {
            Sort::Region => Ok(self.region(arg)?.into()),
            Sort::Const => Ok(self.shared(arg, |this| this.constant(arg))?.into()),
            Sort::Type => match self.pool.get(arg) {
                Descriptor::Applied { name, args } if names::is_const(&name) => {
                    Ok(self.shared(arg, |this| this.applied_constant(&name, &args))?.into())
                }
                _ => Ok(self.ty(arg)?.into()),
            },
        }
    }

    fn args(&mut self, args: &[Idx]) -> Result<Vec<GenericArg<F>>, ConvertError> {
        args.iter().map(|arg| self.arg(*arg)).collect()
    }

    fn applied_constant(&mut self, text: &str, list: &[Idx]) -> Result<Const<F>, ConvertError> {
        let EncodedName::Const(constant) = self.encoded(text)? else {
            return Err(ConvertError::UnknownName(text.to_owned()));
        };
        Ok(match constant {
            EncodedConst::Value(value) => Const::new(self.cx, ConstData::Value(value))?,
            EncodedConst::Operator(op) => Const::expr(self.cx, op, &self.args(list)?)?,
            EncodedConst::Alias(name) => Const::new(self.cx, ConstData::Alias(name, &self.args(list)?))?,
        })
    }

    /// Decodes a constant of the pool: an integer, a symbol, or an expanded polynomial.
    fn constant(&mut self, constant: Idx) -> Result<Const<F>, ConvertError> {
        let constant = match self.pool.get(constant) {
            Descriptor::Const(constant) => constant,
            Descriptor::Variable(Variable::Bound { depth, index, sort: _ }) => {
                return Ok(Const::new(self.cx, ConstData::Bound(self.var(depth, index)))?);
            }
            Descriptor::Variable(Variable::Infer { .. }) => return Err(ConvertError::Inference),
            _ => return Err(ConvertError::NoTerm(self.pool.tag(constant))),
        };
        match constant {
            ConstDescriptor::Int(value) => Ok(Const::int(self.cx, value.into())),
            ConstDescriptor::Symbol(name) => {
                Ok(Const::param(self.cx, Name::Param(self.symbols.intern(&name)))?)
            }
            ConstDescriptor::Sum { constant, terms } => {
                let mut operands = Vec::with_capacity(terms.len() + 1);
                for (coefficient, monomial) in terms {
                    let term = self.shared(monomial, |this| this.constant(monomial))?;
                    operands.push(if coefficient == 1 {
                        term
                    } else {
                        let factor = Const::int(self.cx, coefficient.into());
                        Const::expr(self.cx, ConstOp::Mul, &[factor.into(), term.into()])?
                    });
                }
                if constant != 0 || operands.is_empty() {
                    operands.push(Const::int(self.cx, constant.into()));
                }
                self.joined(ConstOp::Add, operands, Tag::DimSum)
            }
            ConstDescriptor::Product(factors) => {
                let factors =
                    factors.into_iter().map(|factor| self.shared(factor, |this| this.constant(factor)));
                let factors = factors.collect::<Result<Vec<_>, _>>()?;
                self.joined(ConstOp::Mul, factors, Tag::DimProduct)
            }
            ConstDescriptor::FloorDiv(a, b) => self.operation(DimOperation::FloorDiv, &[a, b]),
            ConstDescriptor::Mod(a, b) => self.operation(DimOperation::Mod, &[a, b]),
            ConstDescriptor::Min(list) => self.operation(DimOperation::Min, &list),
            ConstDescriptor::Max(list) => self.operation(DimOperation::Max, &list),
            ConstDescriptor::Unknown => self.operation(DimOperation::Unknown, &[]),
        }
    }

    /// Applies an operator from the left.
    fn joined(&self, op: ConstOp, operands: Vec<Const<F>>, tag: Tag) -> Result<Const<F>, ConvertError> {
        let mut operands = operands.into_iter();
        let first = operands.next().ok_or(ConvertError::NoTerm(tag))?;
        operands.try_fold(first, |left, right| Ok(Const::expr(self.cx, op, &[left.into(), right.into()])?))
    }

    /// Decodes an operation that terms do not have, as an alias.
    fn operation(&mut self, operation: DimOperation, operands: &[Idx]) -> Result<Const<F>, ConvertError> {
        let args = self.args(operands)?;
        let name = Name::ConstItem(self.symbols.intern(operation.text()));
        Ok(Const::new(self.cx, ConstData::Alias(name, &args))?)
    }

    fn tensor(&mut self, element: Idx, dims: Option<&[Idx]>) -> Result<Ty<F>, ConvertError> {
        let symbol = match self.pool.get(element) {
            Descriptor::Primitive(tag) => self.symbols.intern(tag.name()),
            Descriptor::Named { name } => self.symbols.intern(&name),
            _ => return Err(ConvertError::NoTerm(self.pool.tag(element))),
        };
        match dims {
            None => self.apply(Name::TensorAnyRank(symbol), &[]),
            Some(dims) => self.apply(Name::Tensor(symbol), dims),
        }
    }
}
