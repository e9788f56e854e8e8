//! Terms into pool types.

use std::collections::HashMap;

use typeloom_term::ty::{DynBoundKind, PlaceholderId, WitnessTy};
use typeloom_term::{
    AliasTy, ApplicationTy, Arity, BoundVar, Const, ConstData, ConstOp, ConstValue, DynBound, DynTy, FnTy,
    GenericArg, Name, Placeholder, Region, Symbols, Ty, TyData, TypeFamily, Universe,
};

use super::{ConvertError, names};
use crate::descriptor::{ConstDescriptor, Descriptor};
use crate::pool::{Idx, Pool};
use crate::tag::Sort;

/// What binds variables around the current place.
pub(super) struct Encoder<'p, F: TypeFamily<Name = Name>> {
    pool: &'p mut Pool,
    symbols: &'p Symbols,
    /// The binders of the term; those without variables are none in the pool.
    levels: Vec<Arity>,
    /// Which binder is being worked under; 0 stands for none. A type with free variables means something under one only.
    context: u32,
    contexts: u32,
    /// Types that were met before, by context. They are kept alive for as long as their addresses are used.
    seen: HashMap<(usize, u32), (Ty<F>, Idx)>,
}

impl<'p, F: TypeFamily<Name = Name>> Encoder<'p, F> {
    pub(super) fn new(pool: &'p mut Pool, symbols: &'p Symbols) -> Self {
        Self { pool, symbols, levels: Vec::new(), context: 0, contexts: 0, seen: HashMap::new() }
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
                    return self.applied(format!("{{?{name}}}"), Vec::new());
                }
                Ok(self.pool.intern(&Descriptor::Named { name: name.to_owned() })?)
            }
            TyData::InferenceVar(_) => Err(ConvertError::Inference),
            TyData::Dyn(DynTy { bounds, region }) => {
                let mut args = vec![self.region(region)?];
                for bound in bounds {
                    args.push(self.bound(bound)?);
                }
                self.applied("{dyn}".to_owned(), args)
            }
            TyData::Fn(function) => self.function(function),
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                let text = format!("{{~{}}}", names::text(name, self.symbols));
                self.under(arity, |this| {
                    let types = this.args(types)?;
                    this.applied(text, types)
                })
            }
            TyData::Alias(AliasTy { name, args }) => {
                let text = format!("{{={}}}", names::text(name, self.symbols));
                let args = self.args(args)?;
                self.applied(text, args)
            }
            TyData::BoundVariable(var) => self.variable(var, Sort::Type),
            TyData::Error(_) => Err(ConvertError::Error),
        }
    }

    fn applied(&mut self, name: String, args: Vec<Idx>) -> Result<Idx, ConvertError> {
        Ok(self.pool.intern(&Descriptor::Applied { name, args })?)
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
            (
                Name::Ref(typeloom_term::name::Mutability::Shared),
                [GenericArg::Region(_), GenericArg::Ty(_)],
            ) => Ok(self.pool.borrowed(args[1], args[0])?),
            (Name::Adt(path), _) => {
                let path = self.symbols.resolve(path);
                // A kind of type that pools have and terms do not.
                if let Some(tag) = super::decode::foreign_tag(path) {
                    return self.foreign(tag, path, &args);
                }
                let text = if path.starts_with('{') { format!("{{adt {path}}}") } else { path.to_owned() };
                self.applied(text, args)
            }
            _ => {
                let text = format!("{{{}}}", names::text(name, self.symbols));
                self.applied(text, args)
            }
        }
    }

    /// A type of a kind that only pools have.
    fn foreign(&mut self, tag: crate::tag::Tag, path: &str, args: &[Idx]) -> Result<Idx, ConvertError> {
        use crate::tag::Class;
        Ok(match (tag.class(), args) {
            (Class::Primitive, []) => self.pool.primitive(tag)?,
            (Class::Container, [child]) => self.pool.container(tag, *child)?,
            (Class::TwoChild, [child1, child2]) => {
                self.pool.intern(&Descriptor::TwoChild { tag, child1: *child1, child2: *child2 })?
            }
            (Class::Constructor, []) if tag == crate::tag::Tag::Opaque => {
                let name = path.strip_prefix("{opaque} ").unwrap_or(path).to_owned();
                self.pool.intern(&Descriptor::Opaque { name })?
            }
            _ => return self.applied(format!("{{adt {path}}}"), args.to_vec()),
        })
    }

    /// A tensor, if its dims are constants that a pool can calculate with.
    fn tensor(
        &mut self,
        name: Name,
        element: &str,
        dims: &[GenericArg<F>],
    ) -> Result<Option<Idx>, ConvertError> {
        let mut list = Vec::with_capacity(dims.len());
        for dim in dims {
            let Some(dim) = dim.as_const() else { return Ok(None) };
            match self.dim(dim)? {
                Some(dim) => list.push(dim),
                None => return Ok(None),
            }
        }
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

    /// An extent, if it is a polynomial of integers and symbols, or one of the operations that pools have.
    fn dim(&mut self, constant: &Const<F>) -> Result<Option<Idx>, ConvertError> {
        let (op, operands) = match constant.data() {
            ConstData::Value(ConstValue::Int(value)) => {
                return match i64::try_from(value) {
                    Ok(value) => Ok(Some(self.pool.dim_const(value)?)),
                    Err(_) => Ok(None),
                };
            }
            ConstData::Value(ConstValue::Bool(_) | ConstValue::Char(_)) => return Ok(None),
            ConstData::Placeholder(placeholder) => {
                let name = param(&placeholder, self.symbols)?;
                return Ok(Some(self.pool.dim_symbol(name)?));
            }
            ConstData::Bound(var) => return self.variable(var, Sort::Const).map(Some),
            ConstData::Infer(_) => return Err(ConvertError::Inference),
            ConstData::Error(_) => return Err(ConvertError::Error),
            ConstData::Expr(op, operands) => (Some(op), operands),
            ConstData::Alias(_, operands) => (None, operands),
        };
        let mut list = Vec::with_capacity(operands.len());
        for operand in operands {
            let Some(operand) = operand.as_const() else { return Ok(None) };
            match self.dim(operand)? {
                Some(operand) => list.push(operand),
                None => return Ok(None),
            }
        }
        let dim = match (op, &list[..]) {
            (Some(ConstOp::Add), _) => self.pool.dim_add(&list)?,
            (Some(ConstOp::Mul), _) => self.pool.dim_mul(&list)?,
            (Some(ConstOp::Sub), [a, b]) => {
                let minus = self.negative(*b)?;
                self.pool.dim_add(&[*a, minus])?
            }
            (Some(ConstOp::Neg), [a]) => self.negative(*a)?,
            (Some(_), _) => return Ok(None),
            (None, _) => {
                let ConstData::Alias(Name::ConstItem(item), _) = constant.data() else { return Ok(None) };
                match (self.symbols.resolve(item), &list[..]) {
                    ("{floor_div}", [a, b]) => self.pool.dim_floor_div(*a, *b)?,
                    ("{mod}", [a, b]) => self.pool.dim_mod(*a, *b)?,
                    ("{min}", _) if !list.is_empty() => self.pool.dim_min(&list)?,
                    ("{max}", _) if !list.is_empty() => self.pool.dim_max(&list)?,
                    ("{unknown}", []) => self.pool.dim_unknown()?,
                    _ => return Ok(None),
                }
            }
        };
        Ok(Some(dim))
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
            if name == Name::Forall && args.is_empty() && !arity.is_empty() && !this.binds(returns) {
                return Ok(returns);
            }
            args.push(returns);
            let text = format!("{{fn:{}}}", names::text(name, this.symbols));
            this.applied(text, args)
        })
    }

    /// Whether a scheme around this type would be read as the type's own binder.
    fn binds(&self, ty: Idx) -> bool {
        super::decode::binds(self.pool, ty)
    }

    fn bound(&mut self, bound: &DynBound<F>) -> Result<Idx, ConvertError> {
        let DynBound { arity, kind, name, args } = bound;
        let word = match kind {
            DynBoundKind::Trait => "trait",
            DynBoundKind::Projection => "item",
            DynBoundKind::AutoTrait => "auto",
        };
        let text = format!("{{+{word} {}}}", names::text(*name, self.symbols));
        self.under(*arity, |this| {
            let args = this.args(args)?;
            this.applied(text, args)
        })
    }

    /// Builds something under a binder, and the scheme around it.
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
        match constant.data() {
            ConstData::Value(ConstValue::Int(value)) => match i64::try_from(value) {
                Ok(value) => Ok(self.pool.dim_const(value)?),
                Err(_) => self.applied(format!("{{#int {value}}}"), Vec::new()),
            },
            ConstData::Value(ConstValue::Bool(value)) => {
                self.applied(format!("{{#bool {value}}}"), Vec::new())
            }
            ConstData::Value(ConstValue::Char(value)) => {
                self.applied(format!("{{#char {}}}", u32::from(value)), Vec::new())
            }
            ConstData::Placeholder(placeholder) => {
                let name = param(&placeholder, self.symbols)?;
                Ok(self.pool.intern(&Descriptor::Const(ConstDescriptor::Symbol(name.to_owned())))?)
            }
            ConstData::Infer(_) => Err(ConvertError::Inference),
            ConstData::Bound(var) => self.variable(var, Sort::Const),
            ConstData::Expr(op, args) => {
                let args = self.args(args)?;
                self.applied(format!("{{#op {}}}", op_word(op)), args)
            }
            ConstData::Alias(name, args) => {
                let text = format!("{{#={}}}", names::text(name, self.symbols));
                let args = self.args(args)?;
                self.applied(text, args)
            }
            ConstData::Error(_) => Err(ConvertError::Error),
        }
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

/// The word for an operator.
pub(super) fn op_word(op: ConstOp) -> &'static str {
    match op {
        ConstOp::Add => "add",
        ConstOp::Sub => "sub",
        ConstOp::Mul => "mul",
        ConstOp::Div => "div",
        ConstOp::Rem => "rem",
        ConstOp::Shl => "shl",
        ConstOp::Shr => "shr",
        ConstOp::BitAnd => "and",
        ConstOp::BitOr => "or",
        ConstOp::BitXor => "xor",
        ConstOp::Neg => "neg",
        ConstOp::Not => "not",
    }
}

/// The name of a parameter.
fn param<'s>(placeholder: &Placeholder<Name>, symbols: &'s Symbols) -> Result<&'s str, ConvertError> {
    match placeholder.id {
        _ if placeholder.universe != Universe::ROOT => Err(ConvertError::Inference),
        PlaceholderId::Fresh(_) => Err(ConvertError::Inference),
        PlaceholderId::Named(Name::Param(symbol)) => Ok(symbols.resolve(symbol)),
        PlaceholderId::Named(_) => Err(ConvertError::Parameter),
    }
}
