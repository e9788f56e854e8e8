//! Lowering of traits and impls of traits.
//!
//! A trait is lowered twice. As a *definition* (`TraitDef`, `ImplDef`) it serves the proofs of predicates,
//! public or not. As *items* it is a part of the API, if it has a public path:
//!
//! ```text
//! pub trait Shape: Debug { type Unit; const SIDES: u32; fn area(&self) -> Self::Unit { .. } }
//!
//! trait        Shape          promises Self: Debug
//! trait type   Shape::Unit    required, promises Unit: Sized
//! trait const  Shape::SIDES   required
//! trait method Shape::area    provided, in the context Self: Shape, Self: Debug
//! ```
//!
//! A new required method breaks the crates that implement the trait. Other crates cannot implement a sealed
//! trait (Rust API Guidelines, C-SEALED), so [`Lower::trait_item`] decides whether another crate can write an
//! impl. It cannot if
//!
//! - a required item, also of a supertrait, is hidden;
//! - a supertrait has no public path, and no impl of the crate covers all types that could implement the
//!   trait;
//! - an impl of the crate covers all types already;
//! - the signature of a required method or constant mentions a private type without a public alias.
//!
//! A private supertrait cannot be named. [`Lower::named_supertraits`] replaces it by its own supertraits. A
//! crate with a trait that has more than [`MAX_SUPERTRAITS`] of any level is too large.
//!
//! **Invariant:** definitions of traits precede those of types, because the default lifetime of a trait
//! object depends on supertraits.
//!
//! **Limits:** blanket impls of other crates and negative impls are left out. [`Lower::is_for_all`]
//! recognizes an impl over parameters whose conditions follow from supertraits, and proves nothing else.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use rustdoc_types::{
    GenericBound, Generics, Id, Impl, Item as JsonItem, ItemEnum, ItemKind, Trait, TraitBoundModifier,
    Type as JsonType, WherePredicate,
};
use typeloom_term::print::Printer;
use typeloom_term::subst::replace_params;
use typeloom_term::{Arity, Name, Symbol, TermError, Ty};

use super::items::{applied, without_self};
use super::{ImplDef, ItemError, Lower, LowerError, Sig, TraitDef, paths};
use crate::item::{Arg, Attribute, Item, Kind, Param, ParamKind, PartLabel, Role, SignaturePart, Type};
use crate::predicate::{self, Predicate};
use crate::std_facts;
use crate::terms::{binder, find, type_param, values};

/// Maximum number of traits above a trait.
const MAX_SUPERTRAITS: usize = 512;

/// The scope inside a trait, its parameters as arguments (`Self` first), and its supertraits as predicates.
type TraitScope = (Sig, Vec<Arg>, Vec<Type>);

impl<'a> Lower<'a> {
    /// Collects the definitions for proofs and variances, public or not.
    pub(super) fn definitions(&mut self) -> Result<(), LowerError> {
        let mut ids: Vec<Id> = self.krate.index.keys().copied().collect();
        ids.sort_unstable();
        // Trait objects in any definition, those of traits included, depend on the supertraits.
        let is_trait = |id: &Id| self.get(*id).is_some_and(|item| matches!(item.inner, ItemEnum::Trait(_)));
        let traits: Vec<Id> = ids.iter().copied().filter(is_trait).collect();
        for id in traits.into_iter().chain(ids) {
            let Some(item) = self.get(id) else { continue };
            self.enter_module(item);
            let path = self.name(id, item.name.as_deref().unwrap_or("impl"));
            self.definition(id, item, &path).map_err(|error| error.at(&path))?;
        }
        Ok(())
    }

    fn definition(&mut self, id: Id, item: &'a JsonItem, path: &str) -> Result<(), ItemError> {
        let kind = item.inner.item_kind();
        if matches!(kind, ItemKind::Struct | ItemKind::Enum | ItemKind::Union | ItemKind::Trait) {
            let symbol = self.symbols.intern(path);
            if self.paths.public_name(id).is_none() {
                self.unnamed.insert(symbol, id);
            }
            if kind == ItemKind::Trait {
                self.trait_symbols.insert(id, symbol);
            }
        }
        match &item.inner {
            ItemEnum::Struct(_) | ItemEnum::Enum(_) | ItemEnum::Union(_) => self.adt_definition(item),
            ItemEnum::Trait(of) => {
                let symbol = self.symbols.intern(path);
                self.trait_definition(id, symbol, of)
            }
            ItemEnum::Impl(of) if of.blanket_impl.is_none() && !of.is_negative => self.impl_definition(of),
            _ => Ok(()),
        }
    }

    /// The definition of a trait: the bounds of its associated types, except generic ones, and those with
    /// `?Sized`.
    fn trait_definition(&mut self, id: Id, symbol: Symbol, of: &Trait) -> Result<(), ItemError> {
        let (sig, args, supertraits) = self.trait_scope(id, of)?;
        let params = sig.params.iter().map(|param| param.symbol).collect();
        let is_maybe = |bound: &GenericBound| {
            matches!(bound, GenericBound::TraitBound { modifier: TraitBoundModifier::Maybe, .. })
        };
        let (mut promises, mut unsized_items) = (Vec::new(), Vec::new());
        for id in &of.items {
            let Some(item) = self.get(*id) else { continue };
            let (ItemEnum::AssocType { generics, bounds, type_: _ }, Some(name)) = (&item.inner, &item.name)
            else {
                continue;
            };
            let item = self.item_symbol(symbol, name);
            if generics.params.is_empty() {
                let alias = Ty::alias(&self.cx, Name::Projection(item), &args)?;
                promises.extend(self.bounds(&alias, bounds, &[], &mut sig.clone())?);
            }
            if bounds.iter().any(is_maybe) {
                unsized_items.push(item);
            }
        }
        self.traits.insert(symbol, TraitDef { params, supertraits, promises, unsized_items });
        Ok(())
    }

    fn impl_definition(&mut self, of: &Impl) -> Result<(), ItemError> {
        let Some(path) = &of.trait_ else { return Ok(()) };
        let (mut sig, this) = self.impl_scope(of)?;
        let (symbol, args) = self.trait_ref(path, &this, &mut sig)?;
        let mut types = Vec::new();
        for (name, ty) in self.impl_types(of, &sig)? {
            types.push((self.item_symbol(symbol, &name), ty));
        }
        let params = sig.params.iter().map(|param| param.symbol).collect();
        self.impls.push(ImplDef { params, of: symbol, args, predicates: sig.predicates, types });
        Ok(())
    }

    /// The associated types of an impl; those with parameters are under a binder.
    fn impl_types(&mut self, of: &Impl, sig: &Sig) -> Result<Vec<(String, Type)>, ItemError> {
        let mut types = Vec::new();
        for id in &of.items {
            let Some(item) = self.get(*id) else { continue };
            let (ItemEnum::AssocType { generics, bounds: _, type_: Some(ty) }, Some(name)) =
                (&item.inner, &item.name)
            else {
                continue;
            };
            let mut sig = sig.clone();
            if generics.params.is_empty() {
                types.push((name.clone(), self.ty(ty, &mut sig)?));
                continue;
            }
            let first = sig.params.len();
            self.generics(generics, Role::Explicit, Role::Explicit, &mut sig)?;
            let lowered = self.ty(ty, &mut sig)?;
            let own = sig.params.get(first..).unwrap_or_default();
            types.push((name.clone(), self.over(own, lowered)?));
        }
        Ok(types)
    }

    /// Binds parameters in a type. A list of the parameters precedes the type, because their order and unused
    /// parameters matter where arguments are written.
    fn over(&mut self, params: &[Param], ty: Type) -> Result<Type, ItemError> {
        let (arity, bound) = binder(&self.cx, params)?;
        let body = replace_params(&self.cx, &ty, |name| find(&bound, name))?;
        let list: Vec<Arg> = bound.iter().map(|(_, arg)| arg.clone()).collect();
        let list = Ty::apply(&self.cx, Name::Adt(self.symbols.intern(predicate::LIST)), &list)?;
        Ok(Ty::function(&self.cx, Name::Forall, arity, &[list.into(), body.into()])?)
    }

    /// The scope inside a trait, its parameters as arguments, and its supertraits as predicates.
    fn trait_scope(&mut self, id: Id, of: &Trait) -> Result<TraitScope, ItemError> {
        let mut sig = Sig::new();
        let this_symbol = self.symbols.intern("Self");
        let this = Ty::param(&self.cx, Name::Param(this_symbol))?;
        sig.param(this_symbol, ParamKind::Type, Role::Explicit);
        sig.this = Some(this.clone());
        sig.within = Some((id, vec![this.clone().into()]));
        // Conditions on `Self` are supertraits, wherever they are written.
        let (on_self, rest): (Vec<_>, Vec<_>) =
            of.generics.where_predicates.iter().cloned().partition(|predicate| match predicate {
                WherePredicate::BoundPredicate { type_: JsonType::Generic(name), .. } => name == "Self",
                WherePredicate::BoundPredicate { .. }
                | WherePredicate::LifetimePredicate { .. }
                | WherePredicate::EqPredicate { .. } => false,
            });
        let generics = Generics { params: of.generics.params.clone(), where_predicates: rest };
        self.generics(&generics, Role::Explicit, Role::Explicit, &mut sig)?;
        let args = sig.args(&self.cx)?;
        sig.within = Some((id, args.clone()));
        let mut supertraits = self.bounds(&this, &of.bounds, &[], &mut sig)?;
        for predicate in &on_self {
            if let WherePredicate::BoundPredicate { type_: _, bounds, generic_params } = predicate {
                let (names, hidden) = self.enter(generic_params, &mut sig);
                let more = self.bounds(&this, bounds, &names, &mut sig)?;
                self.leave(hidden, &mut sig);
                supertraits.extend(more);
            }
        }
        Ok((sig, args, supertraits))
    }

    /// Whether other crates can implement a trait, as far as its own declaration and its supertraits
    /// determine it.
    fn is_open(&self, of: Id) -> Result<bool, ItemError> {
        let order = self.in_order(of)?;
        // For each trait, those on every path from `of` to it.
        let mut paths: HashMap<Id, HashSet<Id>> = HashMap::from([(of, HashSet::from([of]))]);
        for id in order {
            let (Some(definition), Some(below)) = (self.trait_of(id), paths.remove(&id)) else { continue };
            let mut members = definition.items.iter().filter_map(|id| self.get(*id));
            if members.any(|item| is_required(item) && paths::is_hidden(item)) {
                return Ok(false);
            }
            let names: Vec<Symbol> =
                below.iter().filter_map(|id| self.trait_symbols.get(id).copied()).collect();
            for above in supertraits(definition) {
                let private = self.is_of_crate(above) && self.paths.public_name(above).is_none();
                let everywhere =
                    || self.trait_symbols.get(&above).is_some_and(|symbol| self.is_for_all(*symbol, &names));
                if private && !everywhere() {
                    return Ok(false);
                }
                match paths.entry(above) {
                    Entry::Occupied(mut known) => {
                        known.get_mut().retain(|id| *id == above || below.contains(id));
                    }
                    Entry::Vacant(unknown) => {
                        let mut path = below.clone();
                        path.insert(above);
                        unknown.insert(path);
                    }
                }
            }
        }
        Ok(true)
    }

    /// A trait and its supertraits of any level, each before its own supertraits.
    fn in_order(&self, of: Id) -> Result<Vec<Id>, ItemError> {
        let above = |id: Id| {
            let of = self.trait_of(id).map(|definition| supertraits(definition).collect::<Vec<Id>>());
            of.unwrap_or_default().into_iter()
        };
        let (mut order, mut seen, mut open) = (Vec::new(), HashSet::from([of]), vec![(of, above(of))]);
        while let Some((id, rest)) = open.last_mut() {
            match rest.next() {
                Some(next) if seen.insert(next) => open.push((next, above(next))),
                Some(_) => {}
                None => {
                    order.push(*id);
                    open.pop();
                }
            }
            if seen.len() > MAX_SUPERTRAITS {
                return Err(ItemError::TooLarge);
            }
        }
        order.reverse();
        Ok(order)
    }

    fn trait_of(&self, id: Id) -> Option<&'a Trait> {
        match self.get(id).map(|item| &item.inner) {
            Some(ItemEnum::Trait(definition)) => Some(definition),
            Some(_) | None => None,
        }
    }

    fn is_of_crate(&self, id: Id) -> bool {
        self.krate.paths.get(&id).map_or_else(|| self.get(id).is_some(), |summary| summary.crate_id == 0)
    }

    /// Whether an impl of the crate covers every type that could implement a trait. Types that implement one
    /// of the traits in `known` are sufficient.
    fn is_for_all(&self, symbol: Symbol, known: &[Symbol]) -> bool {
        let Some(TraitDef { params: own, supertraits, .. }) = self.traits.get(&symbol) else { return false };
        self.impls.iter().filter(|found| found.of == symbol).any(|found| {
            let mut seen = Vec::new();
            let all_params = found.args.iter().all(|arg| match type_param(arg) {
                Some(param) if found.params.contains(&param) && !seen.contains(&param) => {
                    seen.push(param);
                    true
                }
                Some(_) | None => false,
            });
            if !all_params || found.args.len() != own.len() {
                return false;
            }
            let value = values(own.iter().copied(), &found.args);
            let required: Vec<Type> =
                supertraits.iter().filter_map(|bound| replace_params(&self.cx, bound, &value).ok()).collect();
            let is_known = |condition: &Type| match predicate::view(self.symbols, condition) {
                Some((_, Predicate::Trait(of, [this, ..]))) => {
                    known.contains(&of) && found.args.first() == Some(this)
                }
                Some(_) | None => false,
            };
            found.predicates.iter().all(|condition| {
                required.contains(condition)
                    || is_known(condition)
                    || predicate::is_sized(condition, self.symbols)
            })
        })
    }

    /// The supertraits that can be named from outside. Those that cannot are replaced by their own
    /// supertraits.
    fn named_supertraits(&self, supertraits: Vec<Type>) -> Result<Vec<Type>, ItemError> {
        let mut named: Vec<Type> = Vec::new();
        let mut seen: Vec<Type> = Vec::new();
        let mut open = supertraits;
        open.reverse();
        while let Some(bound) = open.pop() {
            let private = match predicate::view(self.symbols, &bound) {
                Some((arity, Predicate::Trait(of, args))) if self.unnamed.contains_key(&of) => {
                    Some((arity, self.traits.get(&of), args))
                }
                // No type can be written for an associated type of a private trait.
                Some((_, Predicate::Projection(item, ..))) if self.is_item_of_private_trait(item) => continue,
                Some(_) | None => None,
            };
            match private {
                None if named.contains(&bound) => {}
                None => named.push(bound.clone()),
                Some((arity, Some(definition), args)) if !seen.contains(&bound) => {
                    let value = values(definition.params.iter().copied(), args);
                    for above in definition.supertraits.iter().rev() {
                        open.extend(self.under(arity, above, &value)?);
                    }
                    seen.push(bound.clone());
                    if seen.len() > MAX_SUPERTRAITS {
                        return Err(ItemError::TooLarge);
                    }
                }
                Some(_) => {}
            }
        }
        Ok(named)
    }

    fn is_item_of_private_trait(&self, item: Symbol) -> bool {
        let of = self.symbols.resolve(item).rsplit_once("::").and_then(|(of, _)| self.symbols.get(of));
        of.is_some_and(|of| self.unnamed.contains_key(&of))
    }

    /// A bound of a private trait with other arguments, under the binder of these; `None` if the bound has a
    /// binder too.
    fn under(
        &self,
        arity: Arity,
        bound: &Type,
        value: &impl Fn(Name) -> Option<Arg>,
    ) -> Result<Option<Type>, ItemError> {
        if arity.is_empty() {
            return Ok(Some(replace_params(&self.cx, bound, value)?));
        }
        let replace = |args: &[Arg]| -> Result<Vec<Arg>, TermError> {
            args.iter().map(|arg| replace_params(&self.cx, arg, value)).collect()
        };
        Ok(match predicate::view(self.symbols, bound) {
            Some((Arity::NONE, Predicate::Trait(of, args))) => {
                Some(predicate::implements(&self.cx, arity, of, &replace(args)?)?)
            }
            Some((Arity::NONE, Predicate::Projection(item, args, result))) => {
                let mut args = replace(args)?;
                args.push(replace_params(&self.cx, result, value)?);
                Some(predicate::projects(&self.cx, arity, item, &args)?)
            }
            Some(_) | None => None,
        })
    }

    /// Whether no other crate can write the signature of a required method or constant, because a type or
    /// trait in it is private.
    fn has_private_part(&self, item: &Item) -> bool {
        let is_private = |name: &Name| match name {
            Name::Adt(symbol) | Name::Trait(symbol) => {
                self.unnamed.get(symbol).is_some_and(|id| !self.has_public_alias(*id))
            }
            _ => false,
        };
        matches!(item.kind, Kind::TraitMethod | Kind::TraitConst)
            && item.required
            && item.parts.iter().map(|part| &part.ty).any(|ty| applied(ty).iter().any(is_private))
    }

    fn has_public_alias(&self, of: Id) -> bool {
        self.paths.public.values().any(|id| match self.get(*id).map(|item| &item.inner) {
            Some(ItemEnum::TypeAlias(alias)) => {
                matches!(&alias.type_, JsonType::ResolvedPath(path) if path.id == of)
            }
            _ => false,
        })
    }

    pub(super) fn trait_item(&mut self, id: Id, path: &str, of: &'a Trait) -> Result<(), ItemError> {
        let (sig, args, supertraits) = self.trait_scope(id, of)?;
        let symbol = self.symbols.intern(path);
        let first = self.items.len();
        let mut item = Item::new(path.to_owned(), Kind::Trait);
        item.params.clone_from(&sig.params);
        item.predicates.clone_from(&sig.predicates);
        item.promises = self.named_supertraits(supertraits.clone())?;
        item.attributes.push(Attribute::Safe(!of.is_unsafe));
        item.attributes.push(Attribute::UsableAsDyn(of.is_dyn_compatible));
        item.attributes.push(Attribute::Auto(of.is_auto));
        self.items.push(item);

        // Inside the trait, `Self` implements it.
        let mut inner = sig;
        let here = predicate::implements(&self.cx, Arity::NONE, symbol, &args)?;
        let mut context = std::mem::take(&mut inner.predicates);
        context.push(here);
        context.extend(supertraits);
        for member in &of.items {
            let Some(json) = self.get(*member) else { continue };
            let Some(name) = &json.name else { continue };
            let own = format!("{path}::{name}");
            if self.is_omitted(json, &own) {
                continue;
            }
            let mut lowered = match &json.inner {
                ItemEnum::Function(function) => {
                    let mut lowered = self.function(&own, Kind::TraitMethod, function, &inner)?;
                    lowered.required = !function.has_body;
                    lowered
                }
                ItemEnum::AssocConst { type_, value } => {
                    let mut lowered = self.typed(own, Kind::TraitConst, type_, &inner)?;
                    lowered.required = value.is_none();
                    lowered
                }
                ItemEnum::AssocType { generics, bounds, type_ } => {
                    let mut sig = inner.clone();
                    self.generics(generics, Role::Explicit, Role::Explicit, &mut sig)?;
                    let all = sig.args(&self.cx)?;
                    let item = self.item_symbol(symbol, name);
                    let alias = Ty::alias(&self.cx, Name::Projection(item), &all)?;
                    let before = sig.unsized_types.len();
                    let mut promises = self.bounds(&alias, bounds, &[], &mut sig)?;
                    if !sig.unsized_types[before..].contains(&alias) {
                        promises.push(self.sized(&alias)?);
                    }
                    let Sig { params, predicates, .. } = sig;
                    let required = type_.is_none();
                    Item { params, predicates, promises, required, ..Item::new(own, Kind::TraitType) }
                }
                _ => continue,
            };
            lowered.parent = Some(path.to_owned());
            lowered.context = context.clone();
            lowered.hidden = paths::is_hidden(json);
            self.items.push(lowered);
        }
        let lowered = self.items.get(first..).unwrap_or_default();
        let open = self.is_open(id)?
            && !self.is_for_all(symbol, &[])
            && !lowered.iter().any(|item| self.has_private_part(item));
        for item in self.items.iter_mut().skip(first) {
            item.implemented_by_others = open;
            item.attributes.push(match item.kind {
                Kind::Trait => Attribute::Implementable(open),
                _ => Attribute::Default { provided: !item.required, open },
            });
        }
        Ok(())
    }

    /// Lowers an impl of a trait, or the items of an inherent impl.
    pub(super) fn impl_item(&mut self, json: &JsonItem, of: &Impl) -> Result<(), ItemError> {
        if of.blanket_impl.is_some() || of.is_negative {
            return Ok(());
        }
        let Some(path) = &of.trait_ else { return self.inherent(json, of) };
        // A hidden impl of the newer version can be one that was not hidden before.
        let hidden = paths::is_hidden(json);
        if hidden && self.earlier.is_none() {
            return Ok(());
        }
        let symbol = self.trait_symbol(path);
        let name = self.symbols.resolve(symbol);
        let local = self.get(path.id).is_some();
        if std_facts::INTERNAL_TRAITS.contains(&name) || (local && self.paths.public_name(path.id).is_none())
        {
            return Ok(());
        }
        let (mut sig, this) = self.impl_scope(of)?;
        sig.of_trait = true;
        let (symbol, args) = self.trait_ref(path, &this, &mut sig)?;
        let mut item = Item::new(self.impl_path(symbol, &args, &this), Kind::Impl);
        item.hidden = hidden;
        let applied = Ty::apply(&self.cx, Name::Trait(symbol), without_self(&args))?;
        item.parts.push(SignaturePart { label: PartLabel::TraitRef, ty: applied });
        item.parts.push(SignaturePart { label: PartLabel::SelfType, ty: this.clone() });
        for (name, ty) in self.impl_types(of, &sig)? {
            item.parts.push(SignaturePart { label: PartLabel::Assoc(name), ty });
        }
        // The functions belong to the trait. They are lowered to count the types in them.
        for id in &of.items {
            if let Some(ItemEnum::Function(function)) = self.get(*id).map(|item| &item.inner) {
                self.function("", Kind::Method, function, &sig)?;
            }
        }
        item.parent = super::items::adt_path(&this).map(|symbol| self.symbols.resolve(symbol).to_owned());
        item.params = sig.params;
        item.predicates = sig.predicates;
        self.items.push(item);
        Ok(())
    }

    fn impl_path(&self, of: Symbol, args: &[Arg], this: &Type) -> String {
        let mut text = format!("impl {}", self.symbols.resolve(of));
        let args = without_self(args);
        if !args.is_empty() {
            let list: Vec<String> = args.iter().map(|arg| Printer::new(self.symbols).arg(arg)).collect();
            text.push_str(&format!("<{}>", list.join(", ")));
        }
        format!("{text} for {}", Printer::new(self.symbols).ty(this))
    }
}

/// The traits in the bounds of a trait, including conditions on `Self`.
fn supertraits(of: &Trait) -> impl Iterator<Item = Id> {
    let conditions = of.generics.where_predicates.iter().filter_map(|condition| match condition {
        WherePredicate::BoundPredicate { type_: JsonType::Generic(name), bounds, .. } if name == "Self" => {
            Some(bounds)
        }
        WherePredicate::BoundPredicate { .. }
        | WherePredicate::LifetimePredicate { .. }
        | WherePredicate::EqPredicate { .. } => None,
    });
    std::iter::once(&of.bounds).chain(conditions).flatten().filter_map(|bound| match bound {
        GenericBound::TraitBound { trait_, modifier: TraitBoundModifier::None, .. } => Some(trait_.id),
        GenericBound::TraitBound { .. } | GenericBound::Outlives(_) | GenericBound::Use(_) => None,
    })
}

/// Whether an impl of the trait must provide the item.
fn is_required(item: &JsonItem) -> bool {
    match &item.inner {
        ItemEnum::Function(function) => !function.has_body,
        ItemEnum::AssocConst { value, .. } => value.is_none(),
        ItemEnum::AssocType { type_, .. } => type_.is_none(),
        _ => false,
    }
}
