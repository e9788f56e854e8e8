//! Default lifetimes of trait objects.
//!
//! As in the compiler, the lifetime is the first of these that exists: the lifetime bound of the trait
//! (`'static` before others); the bound of the enclosing type's parameter for which the object is the
//! argument (`&'a dyn Tr`, `Ref<'a, dyn Tr>`); `'static`.

use rustdoc_types::{
    GenericBound, GenericParamDef, GenericParamDefKind, Generics, Id, ItemEnum, Path, Type as JsonType,
    WherePredicate,
};
use typeloom_term::{Boxed, GenericArg, Region};

use super::ty::generics_of;
use super::{Lower, MAX_ALIASES};
use crate::item::Arg;
use crate::std_facts::std_facts;

fn lifetimes(bounds: &[GenericBound]) -> impl Iterator<Item = &str> {
    bounds.iter().filter_map(|bound| match bound {
        GenericBound::Outlives(lifetime) => Some(lifetime.as_str()),
        GenericBound::TraitBound { .. } | GenericBound::Use(_) => None,
    })
}

/// The bounds of clauses about the parameter `name`.
fn clauses<'g>(generics: &'g Generics, name: &'g str) -> impl Iterator<Item = &'g [GenericBound]> {
    generics.where_predicates.iter().filter_map(move |clause| match clause {
        WherePredicate::BoundPredicate { type_: JsonType::Generic(of), bounds, generic_params }
            if of == name && generic_params.is_empty() =>
        {
            Some(bounds.as_slice())
        }
        WherePredicate::BoundPredicate { .. }
        | WherePredicate::LifetimePredicate { .. }
        | WherePredicate::EqPredicate { .. } => None,
    })
}

fn is_lifetime(param: &&GenericParamDef) -> bool {
    matches!(param.kind, GenericParamDefKind::Lifetime { .. })
}

impl Lower<'_> {
    /// The index of the lifetime argument that bounds type parameter `index` of a type. Lifetimes are not
    /// counted in `index`.
    pub(super) fn object_in(&self, container: &Path, index: usize) -> Option<usize> {
        let Some(generics) = self.get(container.id).and_then(|item| generics_of(&item.inner)) else {
            let name = self.name(container.id, &container.path);
            return std_facts().outlived_by(&name, index);
        };
        let param = generics.params.iter().filter(|param| !is_lifetime(param)).nth(index)?;
        let GenericParamDefKind::Type { bounds, .. } = &param.kind else { return None };
        let all = std::iter::once(bounds.as_slice()).chain(clauses(generics, &param.name));
        let mut all = all.flat_map(lifetimes);
        let (only, None) = (all.next()?, all.next()) else { return None };
        generics.params.iter().filter(is_lifetime).position(|param| param.name == only)
    }

    /// The lifetime bound of the trait of an object with known arguments.
    pub(super) fn object_of(&self, path: &Path, args: &[Arg]) -> Option<Region<Boxed>> {
        if self.is_static(path.id, &path.path, &mut Vec::new()) {
            return Some(Region::Static);
        }
        let Some(ItemEnum::Trait(of)) = self.get(path.id).map(|item| &item.inner) else { return None };
        let name = std::iter::once(of.bounds.as_slice())
            .chain(clauses(&of.generics, "Self"))
            .flat_map(lifetimes)
            .next()?;
        let index = of.generics.params.iter().filter(is_lifetime).position(|param| param.name == name)?;
        args.iter().filter_map(GenericArg::as_region).nth(index)
    }

    /// Whether every type that implements a trait is `'static`.
    fn is_static(&self, id: Id, written: &str, seen: &mut Vec<Id>) -> bool {
        let Some(ItemEnum::Trait(of)) = self.get(id).map(|item| &item.inner) else {
            return std_facts().of_trait(&self.name(id, written)).is_static;
        };
        if seen.contains(&id) || seen.len() >= MAX_ALIASES {
            return false;
        }
        seen.push(id);
        let bounds = std::iter::once(of.bounds.as_slice()).chain(clauses(&of.generics, "Self"));
        let bounds: Vec<&GenericBound> = bounds.flatten().collect();
        bounds.into_iter().any(|bound| match bound {
            GenericBound::Outlives(lifetime) => lifetime == "'static",
            GenericBound::TraitBound { trait_, .. } => self.is_static(trait_.id, &trait_.path, seen),
            GenericBound::Use(_) => false,
        })
    }
}
