//! Pool types into terms.

use std::collections::{HashMap, HashSet};

use typeloom_term::meta::MAX_DEPTH;
use typeloom_term::ty::{DynBoundKind, WitnessTy};
use typeloom_term::{
    Arity, BoundVar, Const, ConstData, ConstOp, ConstValue, DynBound, DynTy, GenericArg, Name, Region,
    Symbols, TermError, Ty, TyData, TypeFamily,
};

use super::encode::op_word;
use super::{ConvertError, names};
use crate::descriptor::{ConstDescriptor, Descriptor, Variable};
use crate::pool::{Idx, Pool};
use crate::tag::{Class, Sort, Tag};

/// The kind of type that only pools have and that a term carries under this name.
pub(super) fn foreign_tag(path: &str) -> Option<Tag> {
    if path.starts_with("{opaque} ") {
        return Some(Tag::Opaque);
    }
    let inner = path.strip_prefix('{')?.strip_suffix('}')?;
    Tag::ALL.iter().copied().find(|tag| tag.name() == inner && is_foreign(*tag))
}

fn is_foreign(tag: Tag) -> bool {
    match tag.class() {
        Class::Primitive => names::of_primitive(tag).is_none(),
        Class::Container | Class::TwoChild => true,
        Class::Constructor | Class::Region | Class::Const => false,
    }
}

/// Whether a type is what a binder belongs to: a function, or an application that stands for one.
pub(super) fn binds(pool: &Pool, ty: Idx) -> bool {
    match pool.tag(ty) {
        Tag::Function => true,
        Tag::Applied => match pool.get(ty) {
            Descriptor::Applied { name, args: _ } => {
                ["{fn:", "{~", "{+"].iter().any(|start| name.starts_with(start))
            }
            _ => false,
        },
        _ => false,
    }
}

pub(super) struct Decoder<'p, F: TypeFamily<Name = Name>> {
    pool: &'p Pool,
    cx: &'p F,
    symbols: &'p mut Symbols,
    /// The binders of the term; of those that are schemes, which variable of its own sort each place is.
    levels: Vec<Option<Vec<u32>>>,
    context: u32,
    contexts: u32,
    seen: HashMap<(Idx, u32), Ty<F>>,
    /// The types that are being worked on: who meets one of them again is recursive.
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
            open: HashSet::new(),
        }
    }

    pub(super) fn ty(&mut self, ty: Idx) -> Result<Ty<F>, ConvertError> {
        let context = if self.pool.is_open(ty) { self.context } else { 0 };
        if let Some(known) = self.seen.get(&(ty, context)) {
            return Ok(known.clone());
        }
        if self.open.len() >= usize::from(MAX_DEPTH) {
            return Err(TermError::TooDeep.into());
        }
        if !self.open.insert(ty) {
            return Err(ConvertError::NoTerm(self.pool.tag(ty)));
        }
        let built = self.build(ty);
        self.open.remove(&ty);
        let built = built?;
        self.seen.insert((ty, context), built.clone());
        Ok(built)
    }

    fn build(&mut self, ty: Idx) -> Result<Ty<F>, ConvertError> {
        let tag = self.pool.tag(ty);
        match self.pool.get(ty) {
            Descriptor::Primitive(tag) => match names::of_primitive(tag) {
                Some(name) => Ok(Ty::apply(self.cx, name, &[])?),
                None => self.foreign(tag, &[]),
            },
            Descriptor::Container { tag, child } => self.foreign(tag, &[child]),
            Descriptor::TwoChild { tag, child1, child2 } => self.foreign(tag, &[child1, child2]),
            Descriptor::Borrowed { inner, lifetime } => {
                let args = [self.region(lifetime)?.into(), self.ty(inner)?.into()];
                Ok(Ty::apply(self.cx, Name::Ref(typeloom_term::name::Mutability::Shared), &args)?)
            }
            Descriptor::Function { .. } => self.under(None, Arity::NONE, ty),
            Descriptor::Tuple { elements } => {
                let args = self.args(&elements)?;
                Ok(Ty::apply(self.cx, Name::Tuple, &args)?)
            }
            Descriptor::Applied { name, args } => {
                if binds(self.pool, ty) {
                    return self.under(None, Arity::NONE, ty);
                }
                self.applied(&name, &args)
            }
            Descriptor::Opaque { name } => {
                let name = Name::Adt(self.symbols.intern(&format!("{{opaque}} {name}")));
                Ok(Ty::apply(self.cx, name, &[])?)
            }
            Descriptor::Named { name } => Ok(Ty::param(self.cx, Name::Param(self.symbols.intern(&name)))?),
            Descriptor::Scheme { vars, body } => {
                let mut arity = Arity::NONE;
                let mut places = Vec::with_capacity(vars.len());
                for sort in &vars {
                    let count = match sort {
                        Sort::Region => &mut arity.regions,
                        Sort::Type => &mut arity.types,
                        Sort::Const => &mut arity.consts,
                    };
                    places.push(u32::from(*count));
                    *count = count.checked_add(1).ok_or(TermError::TooMany)?;
                }
                self.under(Some(places), arity, body)
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

    fn foreign(&mut self, tag: Tag, children: &[Idx]) -> Result<Ty<F>, ConvertError> {
        let name = Name::Adt(self.symbols.intern(&format!("{{{}}}", tag.name())));
        let args = self.args(children)?;
        Ok(Ty::apply(self.cx, name, &args)?)
    }

    /// What stands under a binder: `body` is what binds, or else what a scheme of its own is about.
    fn under(&mut self, places: Option<Vec<u32>>, arity: Arity, body: Idx) -> Result<Ty<F>, ConvertError> {
        self.levels.push(places);
        self.contexts += 1;
        let outer = std::mem::replace(&mut self.context, self.contexts);
        let built = self.binding(arity, body);
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
                let inner = inner(&name)?;
                let list = self.args(&args)?;
                if let Some(text) = inner.strip_prefix("fn:") {
                    let name = self.name(text)?;
                    return Ok(Ty::function(self.cx, name, arity, &list)?);
                }
                if let Some(text) = inner.strip_prefix('~') {
                    let name = self.name(text)?;
                    let witness = WitnessTy { name, arity, types: &list };
                    return Ok(Ty::new(self.cx, TyData::GeneratorWitness(witness))?);
                }
                Err(ConvertError::UnknownName(name))
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
        let inner = inner(text)?;
        if inner == "dyn" {
            return self.dynamic(text, list);
        }
        if let Some(name) = inner.strip_prefix('?') {
            return Ok(Ty::param(self.cx, Name::Param(self.symbols.intern(name)))?);
        }
        let args = self.args(list)?;
        match inner.strip_prefix('=') {
            Some(name) => Ok(Ty::alias(self.cx, self.name(name)?, &args)?),
            None => Ok(Ty::apply(self.cx, self.name(inner)?, &args)?),
        }
    }

    fn dynamic(&mut self, text: &str, list: &[Idx]) -> Result<Ty<F>, ConvertError> {
        let unknown = || ConvertError::UnknownName(text.to_owned());
        let (region, list) = list.split_first().ok_or_else(unknown)?;
        let region = self.region(*region)?;
        let mut bounds = Vec::with_capacity(list.len());
        for bound in list {
            let (places, arity, body) = match self.pool.get(*bound) {
                Descriptor::Scheme { vars, body } => {
                    let count = |sort: Sort| vars.iter().filter(|own| **own == sort).count();
                    let narrow = |count: usize| u16::try_from(count).map_err(|_| TermError::TooMany);
                    let arity = Arity {
                        regions: narrow(count(Sort::Region))?,
                        types: narrow(count(Sort::Type))?,
                        consts: narrow(count(Sort::Const))?,
                    };
                    let place = |(at, sort): (usize, &Sort)| {
                        u32::try_from(vars[..at].iter().filter(|own| *own == sort).count())
                            .unwrap_or(u32::MAX)
                    };
                    (Some(vars.iter().enumerate().map(place).collect()), arity, body)
                }
                _ => (None, Arity::NONE, *bound),
            };
            let Descriptor::Applied { name, args } = self.pool.get(body) else { return Err(unknown()) };
            let inner = inner(&name)?;
            let (kind, name) =
                inner.strip_prefix('+').and_then(|rest| rest.split_once(' ')).ok_or_else(unknown)?;
            let kind = match kind {
                "trait" => DynBoundKind::Trait,
                "item" => DynBoundKind::Projection,
                "auto" => DynBoundKind::AutoTrait,
                _ => return Err(unknown()),
            };
            self.levels.push(places);
            self.contexts += 1;
            let outer = std::mem::replace(&mut self.context, self.contexts);
            let args = self.args(&args);
            self.context = outer;
            self.levels.pop();
            let args = self.cx.intern_args(&args?);
            bounds.push(DynBound { arity, kind, name: self.name(name)?, args });
        }
        Ok(Ty::new(self.cx, TyData::Dyn(DynTy { bounds: &bounds, region }))?)
    }

    fn name(&mut self, text: &str) -> Result<Name, ConvertError> {
        names::parse(text, self.symbols).ok_or_else(|| ConvertError::UnknownName(text.to_owned()))
    }

    fn var(&self, depth: u32, index: u32) -> BoundVar {
        let mut left = depth;
        for (out, level) in self.levels.iter().rev().enumerate() {
            let Some(places) = level else { continue };
            if left == 0 {
                let index = places.get(index as usize).copied().unwrap_or(index);
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
            Sort::Const => Ok(self.constant(arg)?.into()),
            Sort::Type => match self.pool.get(arg) {
                Descriptor::Applied { name, args } if name.starts_with("{#") => {
                    Ok(self.applied_constant(&name, &args)?.into())
                }
                _ => Ok(self.ty(arg)?.into()),
            },
        }
    }

    fn args(&mut self, args: &[Idx]) -> Result<Vec<GenericArg<F>>, ConvertError> {
        args.iter().map(|arg| self.arg(*arg)).collect()
    }

    fn applied_constant(&mut self, text: &str, list: &[Idx]) -> Result<Const<F>, ConvertError> {
        let unknown = || ConvertError::UnknownName(text.to_owned());
        let inner = inner(text)?.strip_prefix('#').ok_or_else(unknown)?;
        if let Some(name) = inner.strip_prefix('=') {
            let args = self.args(list)?;
            return Ok(Const::new(self.cx, ConstData::Alias(self.name(name)?, &args))?);
        }
        let (kind, value) = inner.split_once(' ').ok_or_else(unknown)?;
        let value = match kind {
            "int" => ConstValue::Int(value.parse().map_err(|_| unknown())?),
            "bool" => ConstValue::Bool(value.parse().map_err(|_| unknown())?),
            "char" => {
                let code: u32 = value.parse().map_err(|_| unknown())?;
                ConstValue::Char(char::from_u32(code).ok_or_else(unknown)?)
            }
            "op" => {
                let op = OPS.iter().copied().find(|op| op_word(*op) == value).ok_or_else(unknown)?;
                let args = self.args(list)?;
                return Ok(Const::expr(self.cx, op, &args)?);
            }
            _ => return Err(unknown()),
        };
        Ok(Const::new(self.cx, ConstData::Value(value))?)
    }

    /// A constant of a pool: an integer, a symbol, or a polynomial written out.
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
                let mut sum = None;
                for (coefficient, monomial) in terms {
                    let mut term = self.constant(monomial)?;
                    if coefficient != 1 {
                        let factor = Const::int(self.cx, coefficient.into());
                        term = Const::expr(self.cx, ConstOp::Mul, &[factor.into(), term.into()])?;
                    }
                    sum = Some(self.joined(ConstOp::Add, sum, term)?);
                }
                if constant != 0 || sum.is_none() {
                    let int = Const::int(self.cx, constant.into());
                    sum = Some(self.joined(ConstOp::Add, sum, int)?);
                }
                sum.ok_or(ConvertError::NoTerm(Tag::DimSum))
            }
            ConstDescriptor::Product(factors) => {
                let mut product = None;
                for factor in factors {
                    let factor = self.constant(factor)?;
                    product = Some(self.joined(ConstOp::Mul, product, factor)?);
                }
                product.ok_or(ConvertError::NoTerm(Tag::DimProduct))
            }
            ConstDescriptor::FloorDiv(a, b) => self.operation("{floor_div}", &[a, b]),
            ConstDescriptor::Mod(a, b) => self.operation("{mod}", &[a, b]),
            ConstDescriptor::Min(list) => self.operation("{min}", &list),
            ConstDescriptor::Max(list) => self.operation("{max}", &list),
            ConstDescriptor::Unknown => self.operation("{unknown}", &[]),
        }
    }

    fn joined(&self, op: ConstOp, left: Option<Const<F>>, right: Const<F>) -> Result<Const<F>, ConvertError> {
        match left {
            None => Ok(right),
            Some(left) => Ok(Const::expr(self.cx, op, &[left.into(), right.into()])?),
        }
    }

    /// An operation that terms do not have, by name.
    fn operation(&mut self, name: &str, operands: &[Idx]) -> Result<Const<F>, ConvertError> {
        let args = self.args(operands)?;
        let name = Name::ConstItem(self.symbols.intern(name));
        Ok(Const::new(self.cx, ConstData::Alias(name, &args))?)
    }

    fn tensor(&mut self, element: Idx, dims: Option<&[Idx]>) -> Result<Ty<F>, ConvertError> {
        let symbol = match self.pool.get(element) {
            Descriptor::Primitive(tag) => self.symbols.intern(tag.name()),
            Descriptor::Named { name } => self.symbols.intern(&name),
            _ => return Err(ConvertError::NoTerm(self.pool.tag(element))),
        };
        match dims {
            None => Ok(Ty::apply(self.cx, Name::TensorAnyRank(symbol), &[])?),
            Some(dims) => {
                let dims = self.args(dims)?;
                Ok(Ty::apply(self.cx, Name::Tensor(symbol), &dims)?)
            }
        }
    }
}

const OPS: [ConstOp; 12] = [
    ConstOp::Add,
    ConstOp::Sub,
    ConstOp::Mul,
    ConstOp::Div,
    ConstOp::Rem,
    ConstOp::Shl,
    ConstOp::Shr,
    ConstOp::BitAnd,
    ConstOp::BitOr,
    ConstOp::BitXor,
    ConstOp::Neg,
    ConstOp::Not,
];

/// What stands between the braces.
fn inner(text: &str) -> Result<&str, ConvertError> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.ok_or_else(|| ConvertError::UnknownName(text.to_owned()))
}
