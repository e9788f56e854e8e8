//! Lowering of items other than traits and impls of traits.
//!
//! [`Lower::all`] converts each public path of a crate to items of the API. An item of Rust with parts
//! becomes several items, so that a change of one part is a change of one item:
//!
//! ```text
//! pub struct Point<T> { pub x: T, y: T }      in the crate `shapes`
//!
//! struct shapes::Point      parameter T, predicate T: Sized, not all fields public
//! field  shapes::Point::x   type T
//! ```
//!
//! The definitions of all types come first, because proofs and variances need them (`traits`). Then the
//! public paths are visited in order. A definition becomes an item under its public name, and a re-export
//! under any other path.
//!
//! A user can reach a private type through a value. So a worklist ([`Lower::impls_and_reached`]) adds the
//! fields, methods and impls of each private type that a public signature mentions; an impl with a private
//! type in its header waits until the type is reached. Each type is reached once, so the number of rounds is
//! bounded by the private types, and a round visits the waiting impls and the new items.
//!
//! **Invariant:** a definition becomes an item once for each namespace. Code that lowers a type again only
//! for its names, such as [`Lower::impl_scope`], does not change the counts of types.
//!
//! **Limits:** an item with `#[doc(hidden)]` is omitted, unless the older version of a comparison has its
//! path. Values of constants are not compared, except for the discriminants of enums without fields.

use std::collections::{BTreeSet, HashMap};

use rustdoc_types::{
    Attribute as JsonAttribute, Function, Generics, Id, Impl, Item as JsonItem, ItemEnum, StructKind,
    Type as JsonType, VariantKind, Visibility, WherePredicate,
};
use typeloom_term::{ApplicationTy, Arity, Boxed, GenericArg, Name, Region, Symbol, Symbols, Ty, TyData};

use super::generics::{Elided, ImplTrait};
use super::ty::{abi_text, elided_result};
use super::{AdtDef, HiddenFields, ImplDef, ItemError, Lower, LowerError, Sig, paths, regions};
use crate::item::{Arg, Attribute, FieldForm, Item, Kind, ParamKind, PartLabel, Role, SignaturePart, Type};
use crate::lower::paths::Namespace;
use crate::predicate::{self, Predicate};
use crate::std_facts;
use crate::terms::subterms;

impl<'a> Lower<'a> {
    /// Lowers all reachable items.
    pub(super) fn all(&mut self) -> Result<(), LowerError> {
        self.definitions()?;
        self.counts = super::Counts::default();
        self.distinct.clear();
        self.errors.clear();
        let mut impls: BTreeSet<Id> = BTreeSet::new();
        let mut done: BTreeSet<(Namespace, Id)> = BTreeSet::new();
        let enums = self.enums_of_variants();
        for ((namespace, path), id) in &self.paths.public {
            let name = self.paths.public_name(*id).unwrap_or(path);
            let hidden = self.paths.is_undocumented(&(*namespace, path.clone()));
            let of_enum = enums.get(id).map(|of| self.variant_name(*of, *id));
            if name != path || self.get(*id).is_none() || of_enum.is_some() {
                let mut item = Item::new(path.clone(), Kind::ReExport);
                item.hidden = hidden;
                let target = if name == path { self.name(*id, path) } else { name.to_owned() };
                let target = of_enum.unwrap_or(target);
                let target = match self.krate.paths.get(id) {
                    Some(summary) if summary.crate_id != 0 => summary.path.join("::"),
                    _ => target,
                };
                item.attributes.push(Attribute::Target(target));
                self.items.push(item);
            }
            if let Some(item) = self.get(*id)
                && done.insert((*namespace, *id))
            {
                // The item may be lowered under its path in the older version, which is not public in this
                // one.
                let reachable = self.paths.public.get(&(*namespace, name.to_owned())) == Some(id);
                let (first, errors) = (self.items.len(), self.errors.len());
                self.item(item, name, &mut impls).map_err(|error| error.at(name))?;
                self.attach_reasons(first, errors);
                if let Some(item) = self.items.get_mut(first) {
                    item.attributes.push(Attribute::PublicPath(reachable));
                    item.hidden = self.paths.is_undocumented(&(*namespace, name.to_owned()));
                }
            }
        }
        self.impls_and_reached(impls)
    }

    fn impls_of(&mut self, impls: &BTreeSet<Id>) -> Result<(), LowerError> {
        for id in impls {
            let Some(item) = self.get(*id) else { continue };
            self.enter_module(item);
            if let ItemEnum::Impl(of) = &item.inner {
                let (first, errors) = (self.items.len(), self.errors.len());
                self.impl_item(item, of).map_err(|error| error.at("impl"))?;
                self.attach_reasons(first, errors);
            }
        }
        Ok(())
    }

    /// Lowers impls, and the fields, methods and impls of private types in public signatures, which users can
    /// reach through values. The types themselves are not items, because they have no public path. An impl
    /// whose header mentions a private type is public only if that type is reached.
    fn impls_and_reached(&mut self, mut impls: BTreeSet<Id>) -> Result<(), LowerError> {
        let mut unreached = self.unnamed.clone();
        let mut lowered: BTreeSet<Id> = BTreeSet::new();
        let mut waiting: Vec<Item> = Vec::new();
        let mut next = 0;
        loop {
            impls.retain(|id| lowered.insert(*id));
            let first = self.items.len();
            self.impls_of(&impls)?;
            waiting.extend(self.items.split_off(first));
            let (later, ready) = waiting.drain(..).partition(|item| mentions_any(&unreached, header(item)));
            waiting = later;
            self.items.extend::<Vec<Item>>(ready);

            let mut found: Vec<Id> = Vec::new();
            for part in self.items.get(next..).unwrap_or_default().iter().flat_map(|item| &item.parts) {
                found.extend(applied(&part.ty).iter().filter_map(|name| match name {
                    Name::Adt(symbol) => unreached.remove(symbol),
                    _ => None,
                }));
            }
            if found.is_empty() {
                return Ok(());
            }
            next = self.items.len();
            impls.clear();
            for id in found {
                let Some(item) = self.get(id) else { continue };
                let name = self.name(id, item.name.as_deref().unwrap_or_default());
                let (first, errors) = (self.items.len(), self.errors.len());
                self.item(item, &name, &mut impls).map_err(|error| error.at(&name))?;
                self.attach_reasons(first, errors);
                let more = self.items.split_off(first);
                self.items.extend(more.into_iter().filter(|item| {
                    item.kind == Kind::Field
                        && item.path.matches("::").count() == name.matches("::").count() + 1
                }));
            }
        }
    }

    /// The enum of each variant, because a variant can be re-exported alone.
    fn enums_of_variants(&self) -> HashMap<Id, Id> {
        let mut enums = HashMap::new();
        for (id, item) in &self.krate.index {
            if let ItemEnum::Enum(of) = &item.inner {
                enums.extend(of.variants.iter().map(|variant| (*variant, *id)));
            }
        }
        enums
    }

    fn variant_name(&self, of: Id, variant: Id) -> String {
        let own = |id: Id| self.get(id).and_then(|item| item.name.as_deref()).unwrap_or_default();
        format!("{}::{}", self.name(of, own(of)), own(variant))
    }

    fn item(&mut self, item: &'a JsonItem, path: &str, impls: &mut BTreeSet<Id>) -> Result<(), ItemError> {
        self.enter_module(item);
        match &item.inner {
            ItemEnum::Struct(of) => {
                impls.extend(&of.impls);
                let (form, fields, hidden) = struct_fields(&of.kind);
                let hidden = hidden || self.has_private(path, &fields);
                let (mut main, sig) = self.adt(path, Kind::Struct, &of.generics)?;
                let exhaustive = !is_non_exhaustive(item);
                main.closed = exhaustive && !hidden && !matches!(of.kind, StructKind::Unit);
                main.attributes.push(Attribute::Exhaustive(exhaustive));
                main.attributes.push(Attribute::AllFieldsPublic(!hidden));
                if !hidden && exhaustive {
                    main.attributes.push(Attribute::Form(form));
                }
                self.items.push(main);
                self.fields(path, path, &fields, &sig)
            }
            ItemEnum::Union(of) => {
                impls.extend(&of.impls);
                let (mut main, sig) = self.adt(path, Kind::Union, &of.generics)?;
                let hidden = of.has_stripped_fields || self.has_private(path, &of.fields);
                main.attributes.push(Attribute::AllFieldsPublic(!hidden));
                self.items.push(main);
                self.fields(path, path, &of.fields, &sig)
            }
            ItemEnum::Enum(of) => {
                impls.extend(&of.impls);
                let (mut main, sig) = self.adt(path, Kind::Enum, &of.generics)?;
                let all_public = !of.has_stripped_variants && !self.has_private(path, &of.variants);
                // No match can list a hidden variant.
                main.closed = !is_non_exhaustive(item) && all_public;
                main.attributes.push(Attribute::Exhaustive(main.closed));
                main.attributes.push(Attribute::AllVariantsPublic(all_public));
                let values = if main.closed { self.discriminants(&of.variants) } else { Vec::new() };
                self.items.push(main);
                for (index, id) in of.variants.iter().enumerate() {
                    let first = self.items.len();
                    self.variant(path, *id, &sig)?;
                    if let (Some(variant), Some(value)) = (self.items.get_mut(first), values.get(index)) {
                        variant.attributes.push(Attribute::Discriminant(*value));
                    }
                }
                Ok(())
            }
            ItemEnum::Trait(of) => {
                impls.extend(&of.implementations);
                self.trait_item(item.id, path, of)
            }
            other => {
                let single = self.single_item(other, path)?;
                self.items.extend(single);
                Ok(())
            }
        }
    }

    /// Lowers an item without child items; `None` for items without a path.
    fn single_item(&mut self, inner: &ItemEnum, path: &str) -> Result<Option<Item>, ItemError> {
        Ok(Some(match inner {
            ItemEnum::Function(of) => self.function(path, Kind::Function, of, &Sig::new())?,
            ItemEnum::TraitAlias(of) => {
                let (mut main, mut sig) = self.adt(path, Kind::TraitAlias, &of.generics)?;
                let this = Ty::param(&self.cx, Name::Param(self.symbols.intern("Self")))?;
                main.promises = self.bounds(&this, &of.params, &[], &mut sig)?;
                main.implemented_by_others = true;
                main
            }
            ItemEnum::TypeAlias(of) => {
                let (mut main, mut sig) = self.adt(path, Kind::TypeAlias, &of.generics)?;
                let ty = self.ty(&of.type_, &mut sig)?;
                main.parts.push(SignaturePart { label: PartLabel::Type, ty });
                // The compiler ignores bounds of aliases.
                main.predicates.clear();
                main
            }
            ItemEnum::Constant { type_, const_: _ } => {
                self.typed(path.to_owned(), Kind::Const, type_, &Sig::new())?
            }
            ItemEnum::Static(of) => {
                let mut item = self.typed(path.to_owned(), Kind::Static, &of.type_, &Sig::new())?;
                item.attributes.push(Attribute::Mutable(of.is_mutable));
                item.attributes.push(Attribute::Safe(!of.is_unsafe));
                item
            }
            ItemEnum::ExternType => Item::new(path.to_owned(), Kind::ExternType),
            ItemEnum::Macro(_) | ItemEnum::ProcMacro(_) => Item::new(path.to_owned(), Kind::Macro),
            _ => return Ok(None),
        }))
    }

    /// The item of a definition with parameters, and the scope of its parameters.
    pub(super) fn adt(
        &mut self,
        path: &str,
        kind: Kind,
        generics: &Generics,
    ) -> Result<(Item, Sig), ItemError> {
        let mut sig = Sig::new();
        // `Self` may occur in bounds, so the parameters come into scope first.
        let mut names = Sig::new();
        self.names_only(generics, &mut names)?;
        let name = Name::Adt(self.symbols.intern(path));
        sig.this = Some(Ty::apply(&self.cx, name, &names.args(&self.cx)?)?);
        self.generics(generics, Role::Explicit, Role::Explicit, &mut sig)?;
        let (params, predicates) = (sig.params.clone(), sig.predicates.clone());
        Ok((Item { params, predicates, ..Item::new(path.to_owned(), kind) }, sig))
    }

    /// Brings parameters into scope without their bounds.
    fn names_only(&mut self, generics: &Generics, sig: &mut Sig) -> Result<(), ItemError> {
        let counts = self.counts.clone();
        self.declare(&generics.params, Role::Explicit, Role::Explicit, sig)?;
        self.counts = counts;
        Ok(())
    }

    /// Whether private or hidden fields or variants are in the JSON.
    fn has_private(&self, path: &str, members: &[Id]) -> bool {
        let private = |item: &JsonItem| {
            let own = format!("{path}::{}", item.name.as_deref().unwrap_or_default());
            !matches!(item.visibility, Visibility::Public | Visibility::Default)
                || self.is_omitted(item, &own)
        };
        members.iter().any(|id| self.get(*id).is_some_and(private))
    }

    fn fields(&mut self, path: &str, parent: &str, fields: &[Id], sig: &Sig) -> Result<(), ItemError> {
        for id in fields {
            let Some(field) = self.get(*id) else { continue };
            let public = matches!(field.visibility, Visibility::Public | Visibility::Default);
            let (ItemEnum::StructField(ty), Some(name), true) = (&field.inner, &field.name, public) else {
                continue;
            };
            let own = format!("{path}::{name}");
            if self.is_omitted(field, &own) {
                continue;
            }
            let mut item = self.typed(own, Kind::Field, ty, sig)?;
            item.hidden = paths::is_hidden(field);
            item.parent = Some(parent.to_owned());
            item.context = std::mem::take(&mut item.predicates);
            self.items.push(item);
        }
        Ok(())
    }

    /// The item of a value with a type; `sig` is the scope around it.
    pub(super) fn typed(
        &mut self,
        path: String,
        kind: Kind,
        ty: &JsonType,
        sig: &Sig,
    ) -> Result<Item, ItemError> {
        let mut sig = sig.clone();
        let ty = self.ty(ty, &mut sig)?;
        let Sig { params, predicates, .. } = sig;
        let parts = vec![SignaturePart { label: PartLabel::Type, ty }];
        Ok(Item { params, predicates, parts, ..Item::new(path, kind) })
    }

    /// The values of the variants of an enum without fields; empty for other enums.
    fn discriminants(&self, variants: &[Id]) -> Vec<i128> {
        let mut values: Vec<i128> = Vec::new();
        for id in variants {
            let Some(ItemEnum::Variant(variant)) = self.get(*id).map(|item| &item.inner) else {
                return Vec::new();
            };
            let explicit = variant.discriminant.as_ref().map(|discriminant| discriminant.value.parse().ok());
            let next = || values.last().map_or(Some(0), |last| last.checked_add(1));
            match explicit.unwrap_or_else(next) {
                Some(value) if matches!(variant.kind, VariantKind::Plain) => values.push(value),
                Some(_) | None => return Vec::new(),
            }
        }
        values
    }

    fn variant(&mut self, path: &str, id: Id, sig: &Sig) -> Result<(), ItemError> {
        let Some(variant) = self.get(id) else { return Ok(()) };
        let (ItemEnum::Variant(of), Some(name)) = (&variant.inner, &variant.name) else { return Ok(()) };
        let own = format!("{path}::{name}");
        if self.is_omitted(variant, &own) {
            return Ok(());
        }
        let (form, fields, hidden) = variant_fields(&of.kind);
        let mut item = Item::new(own.clone(), Kind::Variant);
        item.hidden = paths::is_hidden(variant);
        item.parent = Some(path.to_owned());
        item.params.clone_from(&sig.params);
        item.context.clone_from(&sig.predicates);
        let exhaustive = !is_non_exhaustive(variant) && !hidden && !self.has_private(&own, &fields);
        item.closed = exhaustive;
        item.attributes.push(Attribute::Form(form));
        item.attributes.push(Attribute::Exhaustive(exhaustive));
        self.items.push(item);
        self.fields(&own, &own, &fields, sig)
    }

    /// Lowers a function, method or trait method; `outer` is the scope of the enclosing impl or trait.
    pub(super) fn function(
        &mut self,
        path: &str,
        kind: Kind,
        of: &Function,
        outer: &Sig,
    ) -> Result<Item, ItemError> {
        let mut sig = outer.clone();
        self.generics(&of.generics, Role::Inferred, Role::Explicit, &mut sig)?;
        let mut item = Item::new(path.to_owned(), kind);
        sig.elided = Elided::Fresh;
        sig.impl_trait = ImplTrait::Parameter;
        sig.of_trait |= kind == Kind::TraitMethod;
        let mut inputs: Vec<Type> = Vec::new();
        let has_receiver = of.sig.inputs.first().is_some_and(|(name, _)| name == "self");
        for (index, (name, ty)) in of.sig.inputs.iter().enumerate() {
            let ty = self.ty(ty, &mut sig)?;
            inputs.push(ty.clone());
            item.parts.push(SignaturePart { label: PartLabel::Input(index, name.clone()), ty });
        }
        let of_receiver = inputs.first().filter(|_| has_receiver).and_then(regions::of_reference);
        sig.elided = Elided::Is(of_receiver.unwrap_or_else(|| elided_result(&inputs)));
        sig.impl_trait = ImplTrait::Result;
        let unit = JsonType::Tuple(Vec::new());
        let mut output = self.ty(of.sig.output.as_ref().unwrap_or(&unit), &mut sig)?;
        if of.header.is_async {
            item.witness = Some(self.witness(path, &inputs)?);
            output = self.future(&output, &mut sig)?;
        }
        item.late = late_bound(outer, &sig, self.symbols);
        let own = sig.params.len();
        self.captures(&mut sig)?;
        item.late.extend(sig.params.iter().skip(own).map(|param| param.symbol));
        item.parts.push(SignaturePart { label: PartLabel::Output, ty: output });
        item.attributes.push(Attribute::Const(of.header.is_const));
        item.attributes.push(Attribute::Safe(!of.header.is_unsafe));
        item.attributes.push(Attribute::Extern(abi_text(&of.header.abi)));
        item.attributes.push(Attribute::CVariadic(of.sig.is_c_variadic));
        if matches!(kind, Kind::Method | Kind::TraitMethod) {
            item.attributes.push(Attribute::CallableAsMethod(has_receiver));
        }
        let Sig { params, predicates, promises, .. } = sig;
        Ok(Item { params, predicates, promises, ..item })
    }

    /// Lowers the items of an inherent impl.
    pub(super) fn inherent(&mut self, impl_: &JsonItem, of: &Impl) -> Result<(), ItemError> {
        let (sig, this) = self.impl_scope(of)?;
        let Some(path) = adt_path(&this).map(|symbol| self.symbols.resolve(symbol).to_owned()) else {
            return Ok(());
        };
        for id in &of.items {
            let Some(item) = self.get(*id) else { continue };
            if !matches!(item.visibility, Visibility::Public) {
                continue;
            }
            let Some(name) = &item.name else { continue };
            let own = format!("{path}::{name}");
            if self.is_omitted(item, &own) || self.is_omitted(impl_, &own) {
                continue;
            }
            let mut lowered = match &item.inner {
                ItemEnum::Function(function) => self.function(&own, Kind::Method, function, &sig)?,
                ItemEnum::AssocConst { type_, value: _ } => self.typed(own, Kind::AssocConst, type_, &sig)?,
                _ => continue,
            };
            lowered.hidden = paths::is_hidden(item) || paths::is_hidden(impl_);
            lowered.parent = Some(path.clone());
            lowered.parts.insert(0, SignaturePart { label: PartLabel::SelfType, ty: this.clone() });
            self.items.push(lowered);
        }
        Ok(())
    }

    /// The scope inside an impl, and the self type.
    pub(super) fn impl_scope(&mut self, of: &Impl) -> Result<(Sig, Type), ItemError> {
        let mut sig = Sig::new();
        // The header can use the parameters, and the bounds can use `Self`: names first, then the type, then
        // bounds.
        let mut names = Sig::new();
        names.elided = Elided::Fresh;
        self.names_only(&of.generics, &mut names)?;
        let counts = self.counts.clone();
        let fresh = names.params.len();
        let this = self.ty(&of.for_, &mut names)?;
        self.counts = counts;
        sig.this = Some(this);
        sig.elided = Elided::Fresh;
        self.generics(&of.generics, Role::Inferred, Role::Inferred, &mut sig)?;
        // Elided lifetimes of the self type become parameters of this scope.
        sig.params.extend(names.params.drain(fresh..));
        let this = sig.this.clone().map_or_else(|| self.ty(&of.for_, &mut sig), Ok)?;
        self.counts.occurrences += 1;
        Ok((sig, this))
    }

    /// Adds the definition of a type.
    pub(super) fn adt_definition(&mut self, item: &JsonItem) -> Result<(), ItemError> {
        let (generics, fields, hidden, impls) = match &item.inner {
            ItemEnum::Struct(of) => {
                let (_, fields, hidden) = struct_fields(&of.kind);
                (&of.generics, fields, hidden, &of.impls)
            }
            ItemEnum::Union(of) => (&of.generics, of.fields.clone(), of.has_stripped_fields, &of.impls),
            ItemEnum::Enum(of) => {
                let mut fields = Vec::new();
                let mut hidden = of.has_stripped_variants;
                for id in &of.variants {
                    match self.get(*id).map(|item| &item.inner) {
                        Some(ItemEnum::Variant(variant)) => {
                            let (_, list, stripped) = variant_fields(&variant.kind);
                            hidden |= stripped;
                            fields.extend(list);
                        }
                        _ => hidden = true,
                    }
                }
                (&of.generics, fields, hidden, &of.impls)
            }
            _ => return Ok(()),
        };
        let path = self.name(item.id, item.name.as_deref().unwrap_or_default());
        let (main, sig) = self.adt(&path, Kind::Struct, generics)?;
        let mut types = Vec::new();
        let mut hidden = hidden;
        for id in fields {
            match self.get(id).map(|item| &item.inner) {
                Some(ItemEnum::StructField(ty)) => types.push(self.ty(ty, &mut sig.clone())?),
                _ => hidden = true,
            }
        }
        let params = main.params.iter().map(|param| (param.symbol, param.kind.clone())).collect();
        self.derive_auto_traits(&path, &sig, &types, impls)?;
        let hidden = hidden.then(|| self.hidden_fields(impls));
        let definition = AdtDef { params, fields: types, hidden, predicates: main.predicates };
        self.adts.insert(self.symbols.intern(&path), definition);
        Ok(())
    }

    /// Adds the impls of auto traits that rustc derives. rustdoc lists them, except for a type with
    /// `#[doc(hidden)]`.
    fn derive_auto_traits(
        &mut self,
        path: &str,
        sig: &Sig,
        fields: &[Type],
        impls: &[Id],
    ) -> Result<(), ItemError> {
        let found: Vec<&Impl> = impls
            .iter()
            .filter_map(|id| match self.get(*id).map(|item| &item.inner) {
                Some(ItemEnum::Impl(of)) => Some(of),
                _ => None,
            })
            .collect();
        if found.iter().any(|of| of.is_synthetic) {
            return Ok(());
        }
        let of_trait = |of: &&Impl| of.trait_.as_ref().map(|path| self.name(path.id, &path.path));
        let written: Vec<String> = found.iter().filter_map(of_trait).collect();
        let this = Ty::apply(&self.cx, Name::Adt(self.symbols.intern(path)), &sig.args(&self.cx)?)?;
        for name in std_facts::AUTO_TRAITS.iter().filter(|name| !written.iter().any(|own| own == *name)) {
            let of = self.symbols.intern(name);
            let condition =
                |field: &Type| predicate::implements(&self.cx, Arity::NONE, of, &[field.clone().into()]);
            let predicates = fields.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
            let params = sig.params.iter().map(|param| param.symbol).collect();
            self.impls.push(ImplDef {
                params,
                of,
                args: vec![this.clone().into()],
                predicates,
                types: Vec::new(),
            });
        }
        Ok(())
    }

    /// The restriction of hidden fields by the auto traits of a type. Only impls that rustc derives, with
    /// conditions on parameters alone, count.
    fn hidden_fields(&self, impls: &[Id]) -> HiddenFields {
        let found: Vec<&Impl> = impls
            .iter()
            .filter_map(|id| match self.get(*id).map(|item| &item.inner) {
                Some(ItemEnum::Impl(of)) if of.is_synthetic && !of.is_negative => Some(of),
                _ => None,
            })
            .collect();
        let has = |name: &str| {
            found.iter().any(|of| {
                let is_it = |path: &rustdoc_types::Path| self.name(path.id, &path.path) == name;
                let on_params = of.generics.where_predicates.iter().all(|clause| match clause {
                    WherePredicate::BoundPredicate { type_, .. } => matches!(type_, JsonType::Generic(_)),
                    WherePredicate::LifetimePredicate { .. } | WherePredicate::EqPredicate { .. } => true,
                });
                on_params && of.trait_.as_ref().is_some_and(is_it)
            })
        };
        if !std_facts::LOST_BY_INVARIANCE.iter().all(|name| has(name)) {
            return HiddenFields::Unknown;
        }
        if has(std_facts::LOST_BY_POINTERS) { HiddenFields::Plain } else { HiddenFields::Pointers }
    }
}

/// The late-bound lifetimes of a function: its own lifetimes that no clause between lifetimes mentions. A
/// clause about a type makes them early-bound too, but weakening such a bound is a common change that calls
/// do not notice.
fn late_bound(outer: &Sig, sig: &Sig, symbols: &Symbols) -> Vec<Symbol> {
    let clauses = sig.predicates.get(outer.predicates.len()..).unwrap_or_default();
    let is_fixed = |region: Region<Boxed>| {
        clauses.iter().any(|clause| match predicate::view(symbols, clause) {
            Some((_, Predicate::Outlives(GenericArg::Region(longer), shorter))) => {
                *longer == region || shorter == region
            }
            Some(_) | None => false,
        })
    };
    let own = sig.params.iter().skip(outer.params.len());
    own.filter(|param| param.kind == ParamKind::Region)
        .map(|param| param.symbol)
        .filter(|symbol| !is_fixed(Region::param(Name::Param(*symbol))))
        .collect()
}

/// The names of all applied types in a type.
pub(super) fn applied(ty: &Type) -> Vec<Name> {
    let name = |arg: &Arg| match arg.as_ty().map(Ty::data) {
        Some(TyData::Apply(app)) => Some(app.name),
        _ => None,
    };
    subterms([ty]).iter().filter_map(name).collect()
}

/// The types in the header of an impl. Other items have none.
fn header(item: &Item) -> impl Iterator<Item = &Type> {
    let is_header = |part: &&SignaturePart| {
        item.kind == Kind::Impl && matches!(part.label, PartLabel::TraitRef | PartLabel::SelfType)
    };
    item.parts.iter().filter(is_header).map(|part| &part.ty)
}

/// Whether one of the types applies one of the definitions.
fn mentions_any<'t>(definitions: &HashMap<Symbol, Id>, types: impl IntoIterator<Item = &'t Type>) -> bool {
    let is_one = |name: &Name| matches!(name, Name::Adt(symbol) if definitions.contains_key(symbol));
    types.into_iter().any(|ty| applied(ty).iter().any(is_one))
}

fn is_non_exhaustive(item: &JsonItem) -> bool {
    item.attrs.contains(&JsonAttribute::NonExhaustive)
}

/// The form of a struct, its fields in the JSON, and whether others were stripped.
fn struct_fields(kind: &StructKind) -> (FieldForm, Vec<Id>, bool) {
    match kind {
        StructKind::Unit => (FieldForm::Unit, Vec::new(), false),
        StructKind::Tuple(fields) => tuple_fields(fields),
        StructKind::Plain { fields, has_stripped_fields } => {
            (FieldForm::Named, fields.clone(), *has_stripped_fields)
        }
    }
}

/// [`struct_fields`] of a variant.
fn variant_fields(kind: &VariantKind) -> (FieldForm, Vec<Id>, bool) {
    match kind {
        VariantKind::Plain => (FieldForm::Unit, Vec::new(), false),
        VariantKind::Tuple(fields) => tuple_fields(fields),
        VariantKind::Struct { fields, has_stripped_fields } => {
            (FieldForm::Named, fields.clone(), *has_stripped_fields)
        }
    }
}

fn tuple_fields(fields: &[Option<Id>]) -> (FieldForm, Vec<Id>, bool) {
    (FieldForm::Tuple, fields.iter().flatten().copied().collect(), fields.contains(&None))
}

/// The definition that a type applies.
pub(crate) fn adt_path(ty: &Type) -> Option<Symbol> {
    match ty.data() {
        TyData::Apply(ApplicationTy { name: Name::Adt(symbol), .. }) => Some(symbol),
        _ => None,
    }
}

/// The arguments without the self type.
pub(super) fn without_self(args: &[Arg]) -> &[Arg] {
    args.get(1..).unwrap_or_default()
}
