//! Variances of the types of a crate: the greatest fixpoint over their fields.
//!
//! Every parameter starts bivariant; every occurrence in a field meets it with the variance of its place, where the
//! types of the crate itself count with what is known of them so far. Variances only fall, so this ends.
//!
//! Fields that the JSON leaves out (private ones, unless rustdoc was asked for them) could use a parameter in any way.
//! What the compiler found out about auto traits says more: in a type that is `UnwindSafe`, `RefUnwindSafe` and `Freeze`
//! by what it consists of there is no `&mut`, no cell and no trait object, and if it is `Sync` no pointer either, which is
//! where invariance comes from (but for locks and function pointers that are hidden as well). The lifetimes of such a
//! type count as covariant; its other parameters do if it is `Sync`, since pointers to them are common. What has no such
//! evidence is invariant, which may report a harmless change and hides no break.

use std::collections::{BTreeMap, HashMap};

use typeloom_term::{
    AliasTy, ApplicationTy, Boxed, ConstData, DynTy, FnTy, GenericArg, Name, Region, Symbol, Symbols, TyData,
    Variance,
};

use crate::item::{ParamKind, Type};
use crate::lower::{AdtDef, Hidden};
use crate::std_facts::std_facts;

/// What is possible before any field that is known was looked at; constants are equal or not, and have no order.
fn starting(adt: &AdtDef) -> Vec<Variance> {
    let of = |kind: &ParamKind| match (kind, adt.hidden) {
        (ParamKind::Const(_), _) | (_, Some(Hidden::Unknown)) => Variance::Invariant,
        (_, None) => Variance::Bivariant,
        (_, Some(Hidden::Plain)) | (ParamKind::Region, Some(Hidden::Pointers)) => Variance::Covariant,
        (ParamKind::Type, Some(Hidden::Pointers)) => Variance::Invariant,
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
        let mut stack: Vec<(GenericArg<Boxed>, Variance)> = vec![(ty.clone().into(), Variance::Covariant)];
        let mut meet = |is: &dyn Fn(&ParamKind) -> bool, name: Name, variance: Variance| {
            for ((symbol, kind), found) in adt.params.iter().zip(found.iter_mut()) {
                if Name::Param(*symbol) == name && is(kind) {
                    *found = found.meet(variance);
                }
            }
        };
        while let Some((arg, variance)) = stack.pop() {
            let ty = match arg {
                GenericArg::Region(region) => {
                    if let Region::Placeholder(placeholder) = region
                        && let typeloom_term::ty::PlaceholderId::Named(name) = placeholder.id
                    {
                        meet(&|kind| *kind == ParamKind::Region, name, variance);
                    }
                    continue;
                }
                GenericArg::Const(constant) => {
                    match constant.data() {
                        ConstData::Placeholder(placeholder) => {
                            if let typeloom_term::ty::PlaceholderId::Named(name) = placeholder.id {
                                meet(&|kind| matches!(kind, ParamKind::Const(_)), name, Variance::Invariant);
                            }
                        }
                        ConstData::Expr(_, args) | ConstData::Alias(_, args) => {
                            stack.extend(args.iter().map(|arg| (arg.clone(), Variance::Invariant)));
                        }
                        ConstData::Value(_)
                        | ConstData::Infer(_)
                        | ConstData::Bound(_)
                        | ConstData::Error(_) => {}
                    }
                    continue;
                }
                GenericArg::Ty(ty) => ty,
            };
            match ty.data() {
                TyData::Placeholder(placeholder) => {
                    if let typeloom_term::ty::PlaceholderId::Named(name) = placeholder.id {
                        meet(&|kind| *kind == ParamKind::Type, name, variance);
                    }
                }
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
                        stack.extend(bound.args.iter().map(|arg| (arg.clone(), Variance::Invariant)));
                    }
                }
                TyData::Alias(AliasTy { name: _, args }) => {
                    stack.extend(args.iter().map(|arg| (arg.clone(), Variance::Invariant)));
                }
                TyData::GeneratorWitness(witness) => {
                    stack.extend(witness.types.iter().map(|arg| (arg.clone(), variance)));
                }
                TyData::InferenceVar(_) | TyData::BoundVariable(_) | TyData::Error(_) => {}
            }
        }
    }
}
