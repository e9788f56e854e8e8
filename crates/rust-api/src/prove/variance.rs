//! Variances of the types of a crate: the greatest fixpoint over their fields.
//!
//! Every parameter starts as bivariant. Each occurrence in a field meets this variance with the variance of
//! its position; types of the crate have their current variances. Variances only decrease, so the iteration
//! terminates.
//!
//! The JSON omits private fields, unless rustdoc documents private items. Such a field can use a parameter in
//! any way, but the auto traits of the type restrict it. A type whose fields are `UnwindSafe`,
//! `RefUnwindSafe` and `Freeze` contains no `&mut`, no cell and no trait object; if it is also `Sync`, it
//! contains no pointer. Most invariance is due to these, and rarely to locks and function pointers, which
//! auto traits do not reveal. Without `&mut`, cells and trait objects, lifetimes count as covariant. Other
//! parameters count as covariant only if the type is `Sync`, because pointers to them are common. All
//! remaining parameters count as invariant. This can report a harmless change but hides no break.

use std::collections::{BTreeMap, HashMap};

use typeloom_term::{
    AliasTy, ApplicationTy, ConstData, DynTy, FnTy, GenericArg, Name, Symbol, Symbols, TyData, Variance,
};

use crate::item::{Arg, ParamKind, Type};
use crate::lower::{AdtDef, HiddenFields};
use crate::std_facts::std_facts;
use crate::terms::param;

/// The initial variances, before the known fields are visited. Constants are invariant.
fn starting(adt: &AdtDef) -> Vec<Variance> {
    let of = |kind: &ParamKind| match (kind, adt.hidden) {
        (ParamKind::Const(_), _) | (_, Some(HiddenFields::Unknown)) => Variance::Invariant,
        (_, None) => Variance::Bivariant,
        (_, Some(HiddenFields::Plain)) | (ParamKind::Region, Some(HiddenFields::Pointers)) => {
            Variance::Covariant
        }
        (ParamKind::Type, Some(HiddenFields::Pointers)) => Variance::Invariant,
    };
    adt.params.iter().map(|(_, kind)| of(kind)).collect()
}

/// The variances of the parameters of types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variances {
    known: HashMap<Symbol, Vec<Variance>>,
}

impl Variances {
    /// Computes the variances of all types of a crate.
    pub(crate) fn of(adts: &BTreeMap<Symbol, AdtDef>, symbols: &Symbols) -> Self {
        let mut known = HashMap::new();
        for (name, adt) in adts {
            known.insert(*name, starting(adt));
        }
        let mut this = Self { known };
        loop {
            let mut changed = false;
            for (name, adt) in adts {
                let mut found = starting(adt);
                for field in &adt.fields {
                    this.walk(field, adt, symbols, &mut found);
                }
                if let Some(own) = this.known.get_mut(name)
                    && *own != found
                {
                    *own = found;
                    changed = true;
                }
            }
            if !changed {
                return this;
            }
        }
    }

    /// The variance of argument `index` of a name.
    pub(crate) fn get(&self, symbols: &Symbols, name: Name, index: usize) -> Variance {
        if let Some(variance) = name.builtin_variance(index) {
            return variance;
        }
        let Name::Adt(symbol) = name else { return Variance::Invariant };
        if let Some(list) = self.known.get(&symbol) {
            return list.get(index).copied().unwrap_or(Variance::Invariant);
        }
        std_facts().variance(symbols.resolve(symbol), index)
    }

    /// The variances of a type of the crate.
    pub(crate) fn list(&self, name: Symbol) -> Option<&[Variance]> {
        self.known.get(&name).map(Vec::as_slice)
    }

    /// Meets the variances of the parameters with their uses in a type.
    fn walk(&self, ty: &Type, adt: &AdtDef, symbols: &Symbols, found: &mut [Variance]) {
        let mut stack: Vec<(Arg, Variance)> = vec![(ty.clone().into(), Variance::Covariant)];
        let invariant = |arg: &Arg| (arg.clone(), Variance::Invariant);
        while let Some((arg, variance)) = stack.pop() {
            if let Some(symbol) = param(&arg) {
                let variance = if arg.as_const().is_some() { Variance::Invariant } else { variance };
                let uses = adt.params.iter().zip(found.iter_mut()).filter(|((own, _), _)| *own == symbol);
                uses.for_each(|(_, found)| *found = found.meet(variance));
                continue;
            }
            let ty = match arg {
                GenericArg::Region(_) => continue,
                GenericArg::Const(constant) => {
                    if let ConstData::Expr(_, args) | ConstData::Alias(_, args) = constant.data() {
                        stack.extend(args.iter().map(invariant));
                    }
                    continue;
                }
                GenericArg::Ty(ty) => ty,
            };
            match ty.data() {
                TyData::Apply(ApplicationTy { name, args }) => {
                    for (index, arg) in args.iter().enumerate() {
                        let inner = self.get(symbols, name, index);
                        stack.push((arg.clone(), variance.compose(inner)));
                    }
                }
                TyData::Fn(FnTy { name: _, arity: _, signature }) => {
                    let last = signature.len().saturating_sub(1);
                    for (index, arg) in signature.iter().enumerate() {
                        let inner = if index < last { Variance::Contravariant } else { Variance::Covariant };
                        stack.push((arg.clone(), variance.compose(inner)));
                    }
                }
                TyData::Dyn(DynTy { bounds, region }) => {
                    stack.push((region.into(), variance));
                    for bound in bounds {
                        stack.extend(bound.args.iter().map(invariant));
                    }
                }
                TyData::Alias(AliasTy { name: _, args }) => stack.extend(args.iter().map(invariant)),
                TyData::GeneratorWitness(witness) => {
                    stack.extend(witness.types.iter().map(|arg| (arg.clone(), variance)));
                }
                TyData::Placeholder(_)
                | TyData::InferenceVar(_)
                | TyData::BoundVariable(_)
                | TyData::Error(_) => {}
            }
        }
    }
}
