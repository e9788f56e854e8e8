//! Assumptions: known predicates, and the predicates that follow from them by supertraits.

use std::collections::HashMap;

use indexmap::IndexSet;
use typeloom_term::infer::RegionFacts;
use typeloom_term::normal::normal_form;
use typeloom_term::subst::{Instantiation, instantiate_args, replace_params};
use typeloom_term::{
    Arity, BoundVar, Boxed, FnTy, GenericArg, Name, Region, Symbol, Symbols, TermError, Ty, TyData,
};

use crate::item::{Arg, Type};
use crate::lower::{TraitDef, regions};
use crate::predicate::{self, Predicate};
use crate::prove::world::World;
use crate::std_facts::std_facts;
use crate::terms::{applications, values};

/// Maximum number of elaborated predicates.
const MAX_FACTS: usize = 512;

/// Returns the predicates, and those that follow from them by supertraits.
pub(crate) fn elaborate(
    traits: &HashMap<Symbol, TraitDef>,
    symbols: &Symbols,
    predicates: &[Type],
) -> Result<Vec<Type>, TermError> {
    let mut facts: IndexSet<Type> = predicates.iter().take(MAX_FACTS).cloned().collect();
    let mut next = 0;
    while let Some(fact) = facts.get_index(next).cloned() {
        next += 1;
        let Some((arity, Predicate::Trait(of, args))) = predicate::view(symbols, &fact) else { continue };
        let above = match traits.get(&of) {
            Some(definition) => of_definition(definition, arity, args)?,
            None => of_std(symbols, arity, of, args)?,
        };
        for found in above {
            if facts.len() < MAX_FACTS {
                facts.insert(found);
            }
        }
    }
    Ok(facts.into_iter().collect())
}

/// The supertraits of a trait of the crate with arguments, and the bounds of its associated types.
fn of_definition(definition: &TraitDef, arity: Arity, args: &[Arg]) -> Result<Vec<Type>, TermError> {
    let cx = &Boxed::new();
    let value = values(definition.params.iter().copied(), args);
    let mut found = Vec::new();
    for predicate in definition.supertraits.iter().chain(&definition.promises) {
        let predicate = replace_params(cx, predicate, &value)?;
        if arity.is_empty() {
            found.push(predicate);
        } else if let TyData::Fn(function) = predicate.data() {
            found.extend(merged(cx, arity, function)?);
        }
    }
    Ok(found)
}

/// A predicate whose binder is merged with the binder around it; the variables of its own binder come last.
fn merged(cx: &Boxed, outer: Arity, predicate: FnTy<'_, Boxed>) -> Result<Option<Type>, TermError> {
    let FnTy { name, arity, signature } = predicate;
    let Some(regions) = outer.regions.checked_add(arity.regions) else { return Err(TermError::TooMany) };
    if Arity::regions(regions) != (Arity { regions, ..outer }) || Arity::regions(arity.regions) != arity {
        return Ok(None);
    }
    let own = (outer.regions..regions).map(|index| Region::Bound(BoundVar::innermost(index.into())));
    let with = Instantiation { regions: own.collect(), ..Instantiation::default() };
    let body = instantiate_args(cx, signature, &with)?;
    let merged = Ty::function(cx, name, Arity::regions(regions), &body)?;
    // A predicate that mentions none of the variables holds without a binder.
    normal_form(cx, &merged).map(Some)
}

/// The supertraits of any level of a trait of the standard library. A trait without a symbol occurs in no
/// goal.
fn of_std(symbols: &Symbols, arity: Arity, of: Symbol, args: &[Arg]) -> Result<Vec<Type>, TermError> {
    let cx = &Boxed::new();
    let mut found = Vec::new();
    for above in std_facts().all_above(symbols.resolve(of)) {
        if std_facts().of_trait(above.path).is_static
            && let (Some(this), true) = (args.first(), arity.is_empty())
        {
            found.extend(predicate::outlives_if_known(cx, symbols, this.clone(), Region::Static)?);
        }
        let args = if above.same_args { args } else { args.get(..1).unwrap_or_default() };
        if let Some(symbol) = symbols.get(above.path) {
            found.push(predicate::implements(cx, arity, symbol, args)?);
        }
    }
    Ok(found)
}

/// Known constraints between lifetimes: assumed ones, and those that well-formed types imply.
pub(crate) struct Outlives {
    pub(crate) regions: RegionFacts<Boxed>,
    /// Types and the lifetimes that they outlive.
    pub(crate) types: Vec<(Type, Region<Boxed>)>,
}

impl Outlives {
    /// Collects the constraints of predicates and of types that are well formed.
    pub(crate) fn new(world: &World, symbols: &Symbols, facts: &[Type], implied_by: &[Type]) -> Self {
        let mut this = Self { regions: RegionFacts::new(), types: Vec::new() };
        for fact in facts {
            if let Some((_, Predicate::Outlives(longer, shorter))) = predicate::view(symbols, fact) {
                this.assume(longer, shorter);
            }
        }
        for (name, args) in applications(implied_by) {
            if let (Name::Ref(_), [GenericArg::Region(region), GenericArg::Ty(inner)]) = (name, &args[..]) {
                this.everything_in(inner, *region);
            }
            if let Name::Adt(symbol) = name
                && let Some(adt) = world.adts.get(&symbol)
            {
                this.of_definition(world, symbols, adt, &args);
            }
        }
        this
    }

    fn assume(&mut self, longer: &Arg, shorter: Region<Boxed>) {
        match longer {
            GenericArg::Region(longer) => self.regions.assume(*longer, shorter),
            GenericArg::Ty(ty) => self.everything_in(ty, shorter),
            GenericArg::Const(_) => {}
        }
    }

    /// `ty: region` implies that every component of the type outlives the region.
    fn everything_in(&mut self, ty: &Type, region: Region<Boxed>) {
        for longer in regions::all(std::slice::from_ref(ty)) {
            self.regions.assume(longer, region);
        }
        let mut stack = vec![ty.clone()];
        while let Some(ty) = stack.pop() {
            match ty.data() {
                TyData::Placeholder(_) | TyData::Alias(_) => self.types.push((ty, region)),
                TyData::Apply(app) => stack.extend(app.args.iter().filter_map(GenericArg::as_ty).cloned()),
                _ => {}
            }
        }
    }

    /// The clauses of a type, and the bounds that the references in its fields imply.
    fn of_definition(&mut self, world: &World, symbols: &Symbols, adt: &crate::lower::AdtDef, args: &[Arg]) {
        let value = values(adt.params.iter().map(|(symbol, _)| *symbol), args);
        for predicate in &adt.predicates {
            if let Ok(predicate) = replace_params(&world.cx, predicate, &value)
                && let Some((_, Predicate::Outlives(longer, shorter))) = predicate::view(symbols, &predicate)
            {
                self.assume(longer, shorter);
            }
        }
        for field in &adt.fields {
            let Ok(field) = replace_params(&world.cx, field, &value) else { continue };
            if let TyData::Apply(app) = field.data()
                && let (Name::Ref(_), [GenericArg::Region(region), GenericArg::Ty(inner)]) =
                    (app.name, app.args)
            {
                self.everything_in(inner, *region);
            }
        }
    }
}
