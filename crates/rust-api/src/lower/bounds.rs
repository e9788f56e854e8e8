//! Lowering of bounds, trait objects and `impl Trait`.
//!
//! Every bound becomes a separate predicate: `T: Iterator<Item = u8, IntoIter: Clone>` becomes three. The
//! binders of a where clause and of a bound in it are merged.

use std::collections::HashSet;

use rustdoc_types::{
    AssocItemConstraint, AssocItemConstraintKind, DynTrait, GenericArgs, GenericBound, Id, ItemEnum,
    ItemKind, Path, PolyTrait, PreciseCapturingArg, TraitBoundModifier,
};
use typeloom_term::ty::DynBoundKind;
use typeloom_term::{
    Arity, Boxed, DynBound, DynTy, GenericArg, Name, Region, Symbol, Ty, TyData, TypeFamily,
};

use super::generics::{Captures, Opaque};
use super::regions;
use super::ty::generics_of;
use super::{ItemError, Lower, Sig};
use crate::item::{Arg, ParamKind, Role, Type};
use crate::predicate::{self, Predicate};
use crate::prove::assumptions::elaborate;
use crate::std_facts::{Supertrait, std_facts};
use crate::terms::with_self;

/// A trait with its arguments, the self type first, and the result of `Fn(..) ->`.
pub(super) struct TraitRef {
    pub(super) of: Symbol,
    pub(super) args: Vec<Arg>,
    output: Option<Type>,
}

fn constraints(args: Option<&GenericArgs>) -> &[AssocItemConstraint] {
    match args {
        Some(GenericArgs::AngleBracketed { args: _, constraints }) => constraints,
        Some(GenericArgs::Parenthesized { .. } | GenericArgs::ReturnTypeNotation) | None => &[],
    }
}

impl Lower<'_> {
    /// The name of a trait.
    pub(super) fn trait_symbol(&mut self, path: &Path) -> Symbol {
        let name = self.name(path.id, &path.path);
        self.symbols.intern(&name)
    }

    pub(super) fn trait_applied(
        &mut self,
        path: &Path,
        this: &Type,
        sig: &mut Sig,
    ) -> Result<TraitRef, ItemError> {
        let of = self.trait_symbol(path);
        let (mut args, output) = self.generic_args(path.args.as_deref(), sig)?;
        // `Self::Item` omits the arguments of the enclosing trait.
        if args.is_empty()
            && let Some((trait_id, own)) = &sig.within
            && *trait_id == path.id
            && own.first().and_then(GenericArg::as_ty) == Some(this)
        {
            args.extend(own.iter().skip(1).cloned());
        }
        if let Some(generics) = self.get(path.id).and_then(|item| generics_of(&item.inner)) {
            self.fill(generics, &mut args, Some(this))?;
        } else if std_facts().of_trait(self.symbols.resolve(of)).self_by_default
            && let [GenericArg::Ty(only)] = &args[..]
            && only == this
        {
            args.clear();
        }
        args.insert(0, this.clone().into());
        Ok(TraitRef { of, args, output })
    }

    pub(super) fn trait_ref(
        &mut self,
        path: &Path,
        this: &Type,
        sig: &mut Sig,
    ) -> Result<(Symbol, Vec<Arg>), ItemError> {
        let TraitRef { of, args, output: _ } = self.trait_applied(path, this, sig)?;
        Ok((of, args))
    }

    /// The symbol of an associated item.
    pub(super) fn item_symbol(&mut self, of: Symbol, item: &str) -> Symbol {
        let text = format!("{}::{item}", self.symbols.resolve(of));
        self.symbols.intern(&text)
    }

    /// The symbol and the arguments of an associated type that a bound names: of the trait itself or of a
    /// supertrait.
    fn associated_type(&mut self, path: &Path, of: &TraitRef, item: &str) -> (Symbol, Vec<Arg>) {
        let name = self.symbols.resolve(of.of).to_owned();
        let declaring = match self.get(path.id) {
            Some(_) => self.declaring(path.id, item, &mut Vec::new()),
            None => std_facts()
                .declaring(&name, item)
                .map(|Supertrait { path, same_args }| (path.to_owned(), same_args)),
        };
        match declaring {
            Some((declaring, same_args)) if declaring != name => {
                let symbol = self.symbols.intern(&declaring);
                let args = self.supertrait_args(of, symbol).unwrap_or_else(|| {
                    if same_args { of.args.clone() } else { of.args.iter().take(1).cloned().collect() }
                });
                (self.symbols.intern(&format!("{declaring}::{item}")), args)
            }
            Some(_) | None => (self.item_symbol(of.of, item), of.args.clone()),
        }
    }

    /// The arguments of a supertrait of a trait of the crate, if its definition is known already and gives
    /// one answer.
    fn supertrait_args(&self, of: &TraitRef, above: Symbol) -> Option<Vec<Arg>> {
        self.traits.get(&of.of)?;
        let this = predicate::implements(&self.cx, Arity::NONE, of.of, &of.args).ok()?;
        let facts = elaborate(&self.traits, self.symbols, &[this]).ok()?;
        let mut found = facts.iter().filter_map(|fact| match predicate::view(self.symbols, fact)? {
            (Arity::NONE, Predicate::Trait(other, args))
                if other == above && args.first() == of.args.first() =>
            {
                Some(args.to_vec())
            }
            _ => None,
        });
        let args = found.next()?;
        found.all(|other| other == args).then_some(args)
    }

    /// The trait that declares an associated type of a trait of the crate, and whether it has the same
    /// arguments.
    fn declaring(&self, id: Id, item: &str, seen: &mut Vec<Id>) -> Option<(String, bool)> {
        if seen.contains(&id) || seen.len() >= super::MAX_ALIASES {
            return None;
        }
        seen.push(id);
        let ItemEnum::Trait(of) = &self.get(id)?.inner else { return None };
        if of.items.iter().any(|id| self.get(*id).and_then(|found| found.name.as_deref()) == Some(item)) {
            return Some((self.name(id, ""), false));
        }
        let mut outside = None;
        for bound in &of.bounds {
            let GenericBound::TraitBound { trait_, .. } = bound else { continue };
            if self.get(trait_.id).is_some() {
                if let Some(found) = self.declaring(trait_.id, item, seen) {
                    return Some(found);
                }
                continue;
            }
            let name = self.name(trait_.id, &trait_.path);
            match std_facts().declaring(&name, item) {
                Some(found) => {
                    return Some((found.path.to_owned(), found.same_args && trait_.args.is_some()));
                }
                None if std_facts().has_trait(&name) => {}
                // The items of traits of other crates are unknown.
                None => _ = outside.get_or_insert((name, false)),
            }
        }
        outside
    }

    /// The predicates of bounds on `this`, which can mention lifetimes of an enclosing binder.
    pub(super) fn bounds(
        &mut self,
        this: &Type,
        bounds: &[GenericBound],
        outer: &[Symbol],
        sig: &mut Sig,
    ) -> Result<Vec<Type>, ItemError> {
        let mut found = Vec::new();
        for bound in bounds {
            match bound {
                GenericBound::TraitBound {
                    trait_: _,
                    generic_params: _,
                    modifier: TraitBoundModifier::Maybe,
                } => {
                    self.note("?Sized bound");
                    sig.unsized_types.push(this.clone());
                }
                GenericBound::TraitBound {
                    trait_,
                    generic_params,
                    modifier: TraitBoundModifier::None | TraitBoundModifier::MaybeConst,
                } => {
                    self.note("trait bound");
                    let (names, hidden) = self.enter(generic_params, sig);
                    let mut names: Vec<Symbol> = outer.iter().copied().chain(names).collect();
                    let before = std::mem::take(&mut sig.of_bound);
                    self.trait_bound(this, trait_, &mut names, sig, &mut found)?;
                    sig.of_bound = before;
                    self.leave(hidden, sig);
                }
                GenericBound::Outlives(lifetime) => {
                    self.note("lifetime bound");
                    let shorter = self.region(Some(lifetime), sig)?;
                    if outer.is_empty() {
                        let predicate =
                            predicate::outlives(&self.cx, self.symbols, this.clone().into(), shorter)?;
                        found.push(predicate);
                    }
                }
                GenericBound::Use(_) => self.note("captures"),
            }
        }
        Ok(found)
    }

    fn trait_bound(
        &mut self,
        this: &Type,
        path: &Path,
        names: &mut Vec<Symbol>,
        sig: &mut Sig,
        found: &mut Vec<Type>,
    ) -> Result<(), ItemError> {
        let of = self.trait_applied(path, this, sig)?;
        names.append(&mut sig.of_bound);
        let (arity, args) = self.bind(names, &of.args)?;
        found.push(predicate::implements(&self.cx, arity, of.of, &args)?);
        if let Some((item, args)) = self.output(path, &of) {
            let (arity, args) = self.bind(names, &args)?;
            found.push(predicate::projects(&self.cx, arity, item, &args)?);
        }
        for AssocItemConstraint { name, args, binding } in constraints(path.args.as_deref()) {
            let own = self.generic_args(args.as_deref(), sig)?.0;
            let (item, mut all) = self.associated_type(path, &of, name);
            all.extend(own);
            match binding {
                AssocItemConstraintKind::Equality(term) => {
                    all.push(self.term(term, sig)?);
                    names.append(&mut sig.of_bound);
                    let (arity, all) = self.bind(names, &all)?;
                    found.push(predicate::projects(&self.cx, arity, item, &all)?);
                }
                AssocItemConstraintKind::Constraint(bounds) => {
                    let alias = Ty::alias(&self.cx, Name::Projection(item), &all)?;
                    let more = self.bounds(&alias, bounds, names, sig)?;
                    found.extend(more);
                }
            }
        }
        Ok(())
    }

    /// The projection that `Fn(..) -> Output` states.
    fn output(&mut self, path: &Path, of: &TraitRef) -> Option<(Symbol, Vec<Arg>)> {
        let output = of.output.clone()?;
        let (item, mut args) = self.associated_type(path, of, "Output");
        args.push(output.into());
        Some((item, args))
    }

    /// `dyn Trait + Auto + 'a`
    pub(super) fn dynamic(
        &mut self,
        dynamic: &DynTrait,
        object: Region<Boxed>,
        sig: &mut Sig,
    ) -> Result<Type, ItemError> {
        let DynTrait { traits, lifetime } = dynamic;
        // The hidden type as self type; the bounds of the trait object omit it.
        let this = Ty::param(&self.cx, Name::Param(self.symbols.intern("dyn Self")))?;
        let mut bounds = Vec::new();
        let mut of_traits = None;
        for PolyTrait { trait_, generic_params } in traits {
            let (mut names, hidden) = self.enter(generic_params, sig);
            let before = std::mem::take(&mut sig.of_bound);
            let of = self.trait_applied(trait_, &this, sig)?;
            names.append(&mut sig.of_bound);
            let mut projections = Vec::from_iter(self.output(trait_, &of));
            for AssocItemConstraint { name, args, binding } in constraints(trait_.args.as_deref()) {
                let own = self.generic_args(args.as_deref(), sig)?.0;
                let (item, mut all) = self.associated_type(trait_, &of, name);
                all.extend(own);
                if let AssocItemConstraintKind::Equality(term) = binding {
                    all.push(self.term(term, sig)?);
                    projections.push((item, all));
                }
            }
            names.append(&mut sig.of_bound);
            sig.of_bound = before;
            self.leave(hidden, sig);
            let is_bound =
                |region: Region<Boxed>| names.iter().any(|x| region == Region::param(Name::Param(*x)));
            let outlived = self.object_of(trait_, &of.args).filter(|region| !is_bound(*region));
            of_traits = outlived.filter(|region| *region == Region::Static).or(of_traits).or(outlived);
            let auto = self.is_auto(trait_.id, of.of);
            let kind = if auto { DynBoundKind::AutoTrait } else { DynBoundKind::Trait };
            bounds.push(self.dyn_bound(&names, kind, Name::Trait(of.of), &of.args)?);
            for (item, args) in projections {
                let kind = DynBoundKind::Projection;
                bounds.push(self.dyn_bound(&names, kind, Name::Projection(item), &args)?);
            }
        }
        bounds.extend(self.implied_items(&this, &bounds)?);
        let region = match lifetime {
            Some(lifetime) => self.region(Some(lifetime), sig)?,
            None => of_traits.unwrap_or(object),
        };
        Ok(Ty::new(&self.cx, TyData::Dyn(DynTy { bounds: &bounds, region }))?)
    }

    /// The associated types whose values the supertraits of the bounds declare: with
    /// `trait P: Iterator<Item = u8>`, `dyn P` and `dyn P<Item = u8>` are one type. An implied trait is no
    /// part of the type: with `trait P: Send`, `dyn P` and `dyn P + Send` differ.
    fn implied_items(
        &mut self,
        this: &Type,
        bounds: &[DynBound<Boxed>],
    ) -> Result<Vec<DynBound<Boxed>>, ItemError> {
        let mut traits = Vec::new();
        for bound in bounds {
            if let Name::Trait(of) = bound.name
                && self.traits.contains_key(&of)
            {
                let args = with_self(this, &bound.args);
                traits.push(predicate::implements(&self.cx, bound.arity, of, &args)?);
            }
        }
        if traits.is_empty() {
            return Ok(Vec::new());
        }
        let mut implied = Vec::new();
        for fact in elaborate(&self.traits, self.symbols, &traits)? {
            let Some((arity, Predicate::Projection(item, args, value))) =
                predicate::view(self.symbols, &fact)
            else {
                continue;
            };
            let Some((GenericArg::Ty(hidden), rest)) = args.split_first() else { continue };
            let name = Name::Projection(item);
            let is_known = |bound: &DynBound<Boxed>| {
                bound.name == name && bound.args.split_last().is_some_and(|(_, args)| args == rest)
            };
            if hidden == this && !bounds.iter().chain(&implied).any(is_known) {
                let args: Vec<Arg> = rest.iter().chain([value]).cloned().collect();
                let args = self.cx.intern_args(&args);
                implied.push(DynBound { arity, kind: DynBoundKind::Projection, name, args });
            }
        }
        Ok(implied)
    }

    fn dyn_bound(
        &mut self,
        names: &[Symbol],
        kind: DynBoundKind,
        name: Name,
        args: &[Arg],
    ) -> Result<DynBound<Boxed>, ItemError> {
        let args: Vec<_> = args.iter().skip(1).cloned().collect();
        let (arity, args) = self.bind(names, &args)?;
        Ok(DynBound { arity, kind, name, args: self.cx.intern_args(&args) })
    }

    fn is_auto(&self, id: Id, of: Symbol) -> bool {
        match self.get(id).map(|item| &item.inner) {
            Some(ItemEnum::Trait(of)) => of.is_auto,
            _ => {
                let is_trait =
                    self.krate.paths.get(&id).is_none_or(|summary| summary.kind == ItemKind::Trait);
                is_trait && std_facts().of_trait(self.symbols.resolve(of)).is_auto
            }
        }
    }

    /// `impl Bounds`: a parameter that is known by its bounds.
    pub(super) fn impl_trait(
        &mut self,
        bounds: &[GenericBound],
        role: Role,
        sig: &mut Sig,
    ) -> Result<Type, ItemError> {
        let text = impl_text(bounds);
        let symbol = self.unique(sig, &text);
        sig.param(symbol, ParamKind::Type, role);
        let ty = Ty::param(&self.cx, Name::Param(symbol))?;
        let own = sig.opaque.len();
        if role == Role::Existential {
            sig.opaque.push(Opaque { ty: ty.clone(), captures: Captures::All });
        }
        let before = sig.unsized_types.len();
        let mut found = self.bounds(&ty, bounds, &[], sig)?;
        if role == Role::Existential {
            let captures = self.captured(bounds, &found, own, sig)?;
            if let Some(opaque) = sig.opaque.get_mut(own) {
                opaque.captures = captures;
            }
        }
        if !sig.unsized_types[before..].contains(&ty) {
            found.push(self.sized(&ty)?);
        }
        match role {
            Role::Existential => sig.promises.extend(found),
            Role::Explicit | Role::Inferred => sig.predicates.extend(found),
        }
        Ok(ty)
    }

    /// The captures of the existential type with this number. Type parameters are always captured.
    fn captured(
        &mut self,
        bounds: &[GenericBound],
        found: &[Type],
        own: usize,
        sig: &mut Sig,
    ) -> Result<Captures, ItemError> {
        let list = bounds.iter().find_map(|bound| match bound {
            GenericBound::Use(list) => Some(list),
            GenericBound::TraitBound { .. } | GenericBound::Outlives(_) => None,
        });
        let Some(list) = list else {
            if sig.of_trait {
                return Ok(Captures::All);
            }
            let mut mentioned: HashSet<_> = regions::all(found).into_iter().collect();
            // A nested `impl Trait` in the bounds has already become a parameter.
            for within in sig.opaque.get(own + 1..).unwrap_or_default() {
                match &within.captures {
                    Captures::All => {}
                    Captures::Listed(regions) => mentioned.extend(regions),
                    Captures::Mentioned(regions) => mentioned.extend(regions),
                }
            }
            return Ok(Captures::Mentioned(mentioned));
        };
        let mut regions = Vec::new();
        for arg in list {
            match arg {
                PreciseCapturingArg::Lifetime(name) => regions.push(self.region(Some(name), sig)?),
                PreciseCapturingArg::Param(_) => {}
            }
        }
        Ok(Captures::Listed(regions))
    }

    /// The captures of the existential types of a function, as predicates. An existential type outlives a
    /// lifetime if all its captures do. Each existential type therefore has a lifetime parameter: callers
    /// must prove that each captured lifetime outlives the parameter, and the function guarantees that the
    /// existential type does.
    ///
    /// Without `use<..>`, the edition determines the captures.
    pub(super) fn captures(&mut self, sig: &mut Sig) -> Result<(), ItemError> {
        let opaque = std::mem::take(&mut sig.opaque);
        for Opaque { ty, captures } in opaque {
            let symbol = self.unique(sig, predicate::CAPTURED);
            let shorter = Region::param(Name::Param(symbol));
            let mut longer: Vec<Arg> = Vec::new();
            let mut left_out = false;
            for param in &sig.params {
                let arg = crate::terms::param_arg(&self.cx, param.symbol, &param.kind)?;
                let captured = match (&param.kind, &captures) {
                    (ParamKind::Type, _) => param.role != Role::Existential,
                    (ParamKind::Region, Captures::All) => {
                        !predicate::is_capture_param(self.symbols, param.symbol)
                    }
                    (ParamKind::Region, Captures::Mentioned(mentioned)) => {
                        let known = mentioned.contains(&Region::param(Name::Param(param.symbol)));
                        let in_scope = !predicate::is_capture_param(self.symbols, param.symbol);
                        left_out |= in_scope && !known;
                        in_scope && (known || self.edition.captures_all())
                    }
                    (ParamKind::Region, Captures::Listed(_)) | (ParamKind::Const(_), _) => false,
                };
                if captured {
                    longer.push(arg);
                }
            }
            self.by_edition |= left_out;
            if let Captures::Listed(listed) = captures {
                longer.extend(listed.into_iter().map(GenericArg::from));
            }
            // Every existential type captures everything in scope, so the number of predicates is a product.
            let too_large = || ItemError::TooLarge;
            self.budget = self.budget.checked_sub(longer.len()).ok_or_else(too_large)?;
            sig.param(symbol, ParamKind::Region, Role::Inferred);
            for longer in longer {
                sig.predicates.push(predicate::outlives(&self.cx, self.symbols, longer, shorter)?);
            }
            sig.promises.push(predicate::outlives(&self.cx, self.symbols, ty.into(), shorter)?);
        }
        Ok(())
    }

    /// The result of an `async fn`: `impl Future<Output = output>`.
    pub(super) fn future(&mut self, output: &Type, sig: &mut Sig) -> Result<Type, ItemError> {
        let symbol = self.unique(sig, "impl Future");
        sig.param(symbol, ParamKind::Type, Role::Existential);
        let ty = Ty::param(&self.cx, Name::Param(symbol))?;
        sig.opaque.push(Opaque { ty: ty.clone(), captures: Captures::All });
        let future = self.symbols.intern("core::future::future::Future");
        let item = self.item_symbol(future, "Output");
        let none = Arity::NONE;
        let this = GenericArg::Ty(ty.clone());
        sig.promises.push(predicate::implements(&self.cx, none, future, std::slice::from_ref(&this))?);
        sig.promises.push(predicate::projects(&self.cx, none, item, &[this, output.clone().into()])?);
        sig.promises.push(self.sized(&ty)?);
        Ok(ty)
    }

    /// The witness of the future of an `async fn` with these parameters.
    pub(super) fn witness(&mut self, path: &str, inputs: &[Type]) -> Result<Type, ItemError> {
        let name = Name::Coroutine(self.symbols.intern(path));
        let (types, inside) = regions::distinct(&self.cx, self.symbols, inputs)?;
        Ok(Ty::witness(&self.cx, name, &inside, &types)?)
    }
}

/// A short text for `impl Bounds`, for display.
fn impl_text(bounds: &[GenericBound]) -> String {
    let names: Vec<&str> = bounds
        .iter()
        .filter_map(|bound| match bound {
            GenericBound::TraitBound { trait_, modifier: TraitBoundModifier::None, .. } => {
                trait_.path.rsplit("::").next()
            }
            GenericBound::TraitBound { .. } | GenericBound::Use(_) => None,
            GenericBound::Outlives(lifetime) => Some(lifetime),
        })
        .collect();
    format!("impl {}", names.join(" + "))
}
