//! Substitutability of items: whether one item can replace another.
//!
//! The check covers all uses at once. The parameters of the item that is replaced (`sup`) are placeholders
//! and its conditions are assumptions. The parameters of the item that replaces it (`sub`) are those that the
//! user writes, or variables where they are inferred; its conditions are goals. For existential parameters
//! (`impl Trait` in a result) the roles are exchanged. Each part then relates at its variance. The goals and
//! the constraints between lifetimes have to be proven.

use typeloom_term::subst::replace_params;
use typeloom_term::ty::InferVar;
use typeloom_term::{
    Arity, Boxed, Flags, Fold, GenericArg, InferenceTable, Name, Obligation, Region, Symbol, Symbols,
    TermError, Ty, TyData, Variance,
};

use crate::item::{Arg, Item, Kind, Param, ParamKind, PartLabel, Role, Type};
use crate::lower::regions;
use crate::predicate;
use crate::prove::world::{Knowledge, World};
use crate::prove::{Prover, attempt};
use crate::terms::{applications, param, param_arg, subterms, values};

/// The first reason why an item cannot replace another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mismatch {
    /// The kinds of the items differ.
    Kind,
    /// The number or kinds of parameters differ.
    Generics,
    /// A parameter has another type or default.
    Param(Symbol),
    /// An attribute, by its label.
    Attribute(&'static str),
    /// A part of the signature.
    Part(PartLabel),
    /// A condition of the replacing item that users need not satisfy.
    Condition(Type),
    /// A promise of the replaced item that the other one does not make.
    Promise(Type),
    /// A part of one of the items is not resolved, so nothing can be proven.
    Unresolved,
}

/// Relation that invariant parts have to satisfy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvariantParts {
    /// Equality.
    Equal,
    /// Subtyping, as if they were only read: it determines in which direction a type changed.
    ReadOnly,
}

/// A term that exceeds the limits of terms counts as a difference, because nothing is known about it.
impl From<TermError> for Mismatch {
    fn from(_: TermError) -> Self {
        Self::Generics
    }
}

/// Check of two items in a world.
pub(crate) struct SubstitutionCheck<'q> {
    /// The world of the item that replaces the other one.
    pub(crate) world: &'q World,
    pub(crate) symbols: &'q mut Symbols,
    pub(crate) invariant_parts: InvariantParts,
}

type ParamMap = Vec<(Symbol, Arg)>;

/// Two items with values for the parameters that are not placeholders.
struct Pair<'i> {
    sub: &'i Item,
    sup: &'i Item,
    /// Values of all parameters of `sub`.
    sub_params: ParamMap,
    /// Values of the existential parameters of `sup`.
    sup_choices: ParamMap,
}

/// The attributes of `sup` that `sub` has to keep.
fn check_attributes(sub: &Item, sup: &Item) -> Result<(), Mismatch> {
    for attribute in &sup.attributes {
        let other = sub.attributes.iter().find(|other| other.is_about_same(attribute));
        if !other.map_or(attribute.may_be_lost(), |other| other.allows(attribute)) {
            return Err(Mismatch::Attribute(attribute.label()));
        }
    }
    Ok(())
}

fn substitute<T: Fold<Boxed>>(cx: &Boxed, value: &T, map: &ParamMap) -> Result<T, TermError> {
    replace_params(cx, value, |name| {
        let found = map.iter().find(|(symbol, _)| Name::Param(*symbol) == name);
        found.map(|(_, arg)| arg.clone())
    })
}

fn substitute_all(cx: &Boxed, list: &[Type], map: &ParamMap) -> Result<Vec<Type>, TermError> {
    list.iter().map(|ty| substitute(cx, ty, map)).collect()
}

/// The types of the fields of a definition that do not contain the definition: they imply bounds only without
/// it.
fn fields_of(world: &World, of: Symbol, args: &[Arg]) -> Result<Vec<Type>, TermError> {
    let Some(adt) = world.adts.get(&of) else { return Ok(Vec::new()) };
    let value = values(adt.params.iter().map(|(symbol, _)| *symbol), args);
    let fields = adt.fields.iter().filter(|field| !mentions(field, Name::Adt(of)));
    fields.map(|field| replace_params(&world.cx, field, &value)).collect()
}

/// Whether a type applies a name outside of binders and bounds.
fn mentions(ty: &Type, wanted: Name) -> bool {
    applications([ty]).iter().any(|(name, _)| *name == wanted)
}

fn is_same_kind(a: &ParamKind, b: &ParamKind) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

fn variable(table: &mut InferenceTable<Boxed>, kind: &ParamKind) -> Result<Arg, TermError> {
    Ok(match kind {
        ParamKind::Region => table.new_region_var()?.into(),
        ParamKind::Type => table.new_ty_var()?.into(),
        ParamKind::Const(_) => table.new_const_var()?.into(),
    })
}

impl SubstitutionCheck<'_> {
    /// Checks that everything that is possible with `sup` is possible with `sub`.
    pub(crate) fn check(&mut self, sub: &Item, sup: &Item) -> Result<(), Mismatch> {
        if sub.kind != sup.kind {
            return Err(Mismatch::Kind);
        }
        if sub.has_error() || sup.has_error() {
            return Err(Mismatch::Unresolved);
        }
        check_attributes(sub, sup)?;
        let cx = self.world.cx;
        let mut table = InferenceTable::new(cx);
        let sub_params = self.sub_params(&mut table, sub, sup)?;
        let mut sup_choices = ParamMap::new();
        for param in sup.params.iter().filter(|param| param.role == Role::Existential) {
            sup_choices.push((param.symbol, variable(&mut table, &param.kind)?));
        }
        let pair = Pair { sub, sup, sub_params, sup_choices };
        self.check_params(&mut table, &pair)?;

        let mut known = sup.context.clone();
        known.extend(sup.predicates.iter().cloned());
        known.extend(substitute_all(&cx, &sub.context, &pair.sub_params)?);
        let implied = self.well_formed_types(sup)?;
        let open = self.relate_parts(&mut table, &pair, &known, &implied)?;
        // The promises of `sub` are known too, now that the variables in them are.
        for promise in substitute_all(&cx, &sub.promises, &pair.sub_params)? {
            known.push(table.resolve(&promise)?);
        }
        self.prove_goals(&mut table, &pair, open, &known, &implied)?;
        // An error equals any type.
        if table.tainted().is_some() {
            return Err(Mismatch::Unresolved);
        }
        if self.invariant_parts == InvariantParts::Equal
            && (is_less_general(&table, &pair)
                || is_unrelated_to_inputs(self.symbols, sub, sup)
                || is_undetermined(&table, &pair)?)
        {
            return Err(Mismatch::Generics);
        }
        Ok(())
    }

    /// Types that are well formed wherever `sup` is used, which implies bounds.
    fn well_formed_types(&mut self, sup: &Item) -> Result<Vec<Type>, TermError> {
        let mut types: Vec<Type> = sup.parts.iter().map(|part| part.ty.clone()).collect();
        if sup.kind.is_adt() {
            // The clauses that the fields of a definition require need not be written.
            let args = sup.params.iter().map(|param| param_arg(&self.world.cx, param.symbol, &param.kind));
            let args = args.collect::<Result<Vec<_>, _>>()?;
            types.extend(fields_of(self.world, self.symbols.intern(&sup.path), &args)?);
        }
        Ok(types)
    }

    /// Relates each part of `sup` to the part of `sub`, and returns the obligations that stay open.
    fn relate_parts(
        &mut self,
        table: &mut InferenceTable<Boxed>,
        pair: &Pair<'_>,
        known: &[Type],
        implied: &[Type],
    ) -> Result<Vec<Obligation<Boxed>>, Mismatch> {
        let Pair { sub, sup, sub_params, sup_choices } = pair;
        let cx = self.world.cx;
        let Prover { knowledge, outlives, .. } = &Prover::new(self.world, self.symbols, known, implied)?;
        let mut open = Vec::new();
        for part in &sup.parts {
            let mismatch = || Mismatch::Part(part.label.clone());
            let other = sub.part(&part.label).ok_or_else(mismatch)?;
            let variance = match (part.label.variance(sup.kind), self.invariant_parts) {
                (Variance::Invariant, InvariantParts::ReadOnly) => Variance::Covariant,
                (variance, _) => variance,
            };
            let a = substitute(&cx, &other.ty, sub_params)?;
            let b = substitute(&cx, &part.ty, sup_choices)?;
            open.extend(table.relate(knowledge, variance, &a, &b).map_err(|_| mismatch())?);
            open = table.retry(knowledge, open).map_err(|_| mismatch())?;
            table.regions().check(&outlives.regions).map_err(|_| mismatch())?;
        }
        let is_extra = |label: &PartLabel| !matches!(label, PartLabel::Assoc(_)) && sup.part(label).is_none();
        match sub.parts.iter().find(|part| is_extra(&part.label)) {
            Some(part) => Err(Mismatch::Part(part.label.clone())),
            None => Ok(open),
        }
    }

    /// Proves the conditions of `sub` and the promises of `sup`.
    fn prove_goals(
        &mut self,
        table: &mut InferenceTable<Boxed>,
        pair: &Pair<'_>,
        open: Vec<Obligation<Boxed>>,
        known: &[Type],
        implied: &[Type],
    ) -> Result<(), Mismatch> {
        let Pair { sub, sup, sub_params, sup_choices } = pair;
        let cx = self.world.cx;
        let prover = Prover::new(self.world, self.symbols, known, implied)?;
        let Prover { knowledge, outlives, .. } = &prover;
        let mut goals: Vec<(Type, Mismatch)> = Vec::new();
        for goal in &sub.predicates {
            goals.push((substitute(&cx, goal, sub_params)?, Mismatch::Condition(goal.clone())));
        }
        for goal in &sup.promises {
            goals.push((substitute(&cx, goal, sup_choices)?, Mismatch::Promise(goal.clone())));
        }
        // Equations first: they can determine the variables in the other goals.
        let is_equation = |goal: &Type| {
            matches!(
                predicate::view(knowledge.symbols, goal),
                Some((_, predicate::Predicate::Projection(..)))
            )
        };
        goals.sort_by_key(|(goal, _)| !is_equation(goal));
        let mut open = table.retry(knowledge, open).map_err(|_| Mismatch::Generics)?;
        // An equation can also determine an associated type in an open obligation. Its own proof follows
        // below.
        for (goal, _) in goals.iter().filter(|(goal, _)| is_equation(goal)) {
            if open.iter().all(is_harmless) {
                break;
            }
            prover.holds(table, goal);
            open = table.retry(knowledge, open).map_err(|_| Mismatch::Generics)?;
        }
        if !open.iter().all(is_harmless) {
            let label = sup.parts.last().map(|part| part.label.clone());
            return Err(label.map_or(Mismatch::Generics, Mismatch::Part));
        }
        // A goal with a variable is tried again, if the proofs of others may have determined the variable.
        // Any assumption could prove a goal whose type is a variable, so such goals are last.
        loop {
            let before = goals.len();
            let mut ordered = Vec::new();
            for goal in goals {
                ordered.push((is_about_variable(&table.resolve(&goal.0)?, knowledge.symbols), goal));
            }
            ordered.sort_by_key(|(is_last, _)| *is_last);
            goals = ordered.into_iter().map(|(_, goal)| goal).collect();
            let mut deferred = Vec::new();
            for (goal, mismatch) in goals {
                let is_proven = attempt(table, |table| {
                    prover.holds(table, &goal) && table.regions().check(&outlives.regions).is_ok()
                });
                if is_proven {
                    continue;
                }
                let flags = table.resolve(&goal)?.meta().flags;
                if !flags.intersects(Flags::TY_INFER.union(Flags::CONST_INFER)) {
                    return Err(mismatch);
                }
                deferred.push((goal, mismatch));
            }
            match deferred.first() {
                None => return Ok(()),
                Some((_, mismatch)) if deferred.len() == before => return Err(mismatch.clone()),
                Some(_) => goals = deferred,
            }
        }
    }

    /// Whether the world proves everything that an impl states.
    pub(crate) fn is_implemented(&mut self, item: &Item) -> bool {
        self.try_implemented(item).unwrap_or(false)
    }

    fn try_implemented(&mut self, item: &Item) -> Result<bool, TermError> {
        let Some((Name::Trait(name), args)) = item.implemented_trait() else { return Ok(false) };
        let cx = self.world.cx;
        let mut goals = vec![predicate::implements(&cx, Arity::NONE, name, &args)?];
        for part in &item.parts {
            if let PartLabel::Assoc(own) = &part.label {
                let symbol = self.symbols.intern(&format!("{}::{own}", self.symbols.resolve(name)));
                let mut args = args.clone();
                args.push(part.ty.clone().into());
                goals.push(predicate::projects(&cx, Arity::NONE, symbol, &args)?);
            }
        }
        // The evaluation of associated types ignores lifetimes.
        let types: Vec<Type> = item.parts.iter().map(|part| part.ty.clone()).collect();
        if goals.len() > 1 && !regions::all(&types).is_empty() {
            return Ok(false);
        }
        let prover = Prover::new(self.world, self.symbols, &item.predicates, &types)?;
        let mut table = InferenceTable::new(cx);
        let all = goals.iter().all(|goal| prover.holds(&mut table, goal)) && table.tainted().is_none();
        Ok(all && table.regions().check(&prover.outlives.regions).is_ok())
    }

    /// Values of the parameters of `sub`.
    fn sub_params(
        &mut self,
        table: &mut InferenceTable<Boxed>,
        sub: &Item,
        sup: &Item,
    ) -> Result<ParamMap, Mismatch> {
        let cx = self.world.cx;
        let of_sub: Vec<&Param> = sub.explicit_params().collect();
        let of_sup: Vec<&Param> = sup.explicit_params().collect();
        let is_function = matches!(sub.kind, Kind::Function | Kind::Method);
        let count = |list: &[&Param], kind: &ParamKind| {
            list.iter().filter(|param| is_same_kind(&param.kind, kind)).count()
        };
        let same_counts = of_sub
            .iter()
            .chain(&of_sup)
            .all(|param| count(&of_sub, &param.kind) == count(&of_sup, &param.kind));
        // A function without explicit parameters may get some.
        let inferred = is_function && of_sup.is_empty();
        if !inferred && !same_counts {
            let defaults = of_sub.len() > of_sup.len()
                && of_sub.iter().skip(of_sup.len()).all(|param| param.default.is_some());
            // The difference of the parent is reported for the parent.
            let is_member = sub.parent.is_some() && matches!(sub.kind, Kind::Field | Kind::Variant);
            if !defaults && !is_member {
                return Err(Mismatch::Generics);
            }
        }
        let mut map = ParamMap::new();
        for (index, param) in of_sub.iter().enumerate() {
            let before = count(&of_sub[..index], &param.kind);
            let matching = of_sup.iter().filter(|other| is_same_kind(&other.kind, &param.kind)).nth(before);
            let arg = match (matching, &param.default) {
                (Some(other), _) => param_arg(&cx, other.symbol, &other.kind)?,
                (None, Some(default)) if !is_function => substitute(&cx, default, &map)?,
                (None, _) => variable(table, &param.kind)?,
            };
            map.push((param.symbol, arg));
        }
        for param in &sub.params {
            let arg = match param.role {
                Role::Explicit => continue,
                Role::Inferred => variable(table, &param.kind)?,
                // A placeholder with a name that no parameter of the other item has.
                Role::Existential => {
                    let text = format!("{}#chosen", self.symbols.resolve(param.symbol));
                    param_arg(&cx, self.symbols.intern(&text), &param.kind)?
                }
            };
            map.push((param.symbol, arg));
        }
        Ok(map)
    }

    /// Checks the types of constant parameters, and defaults.
    fn check_params(&mut self, table: &mut InferenceTable<Boxed>, pair: &Pair<'_>) -> Result<(), Mismatch> {
        let Pair { sub, sup, sub_params, .. } = pair;
        let knowledge = Knowledge::new(self.world, self.symbols, &[]);
        for (a, b) in sub.explicit_params().zip(sup.explicit_params()) {
            if let (ParamKind::Const(x), ParamKind::Const(y)) = (&a.kind, &b.kind)
                && x != y
            {
                return Err(Mismatch::Param(b.symbol));
            }
            if matches!(sub.kind, Kind::Field | Kind::Variant | Kind::TraitMethod) {
                continue;
            }
            let same = match (&a.default, &b.default) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(GenericArg::Ty(a)), Some(GenericArg::Ty(b))) => {
                    let a = substitute(&self.world.cx, a, sub_params)?;
                    table.eq(&knowledge, &a, b).is_ok()
                }
                (Some(a), Some(b)) => substitute(&self.world.cx, a, sub_params)? == *b,
            };
            if !same {
                return Err(Mismatch::Param(b.symbol));
            }
        }
        Ok(())
    }
}

/// Whether the function pointer of `sub` is less general over a lifetime: where that of `sup` is a
/// `for<'a> fn(&'a u8)`, an early-bound lifetime of `sub` would have to be shorter than every `'a`.
fn is_less_general(table: &InferenceTable<Boxed>, pair: &Pair<'_>) -> bool {
    let constraints = table.regions().outlives();
    let late = pair.sup.late.iter();
    let mut reached: Vec<Region<Boxed>> = late.map(|symbol| Region::param(Name::Param(*symbol))).collect();
    let mut next = 0;
    while let Some(longer) = reached.get(next).copied() {
        next += 1;
        for constraint in constraints.iter().filter(|constraint| constraint.longer == longer) {
            if !reached.contains(&constraint.shorter) {
                reached.push(constraint.shorter);
            }
        }
    }
    pair.sub_params.iter().any(|(symbol, arg)| match arg {
        GenericArg::Region(region @ Region::Infer(_)) => {
            !pair.sub.late.contains(symbol) && reached.contains(region)
        }
        GenericArg::Region(_) | GenericArg::Ty(_) | GenericArg::Const(_) => false,
    })
}

/// Whether a function without explicit parameters gained a parameter that no call can determine: neither the
/// inputs nor a condition on a determined parameter mention it.
fn is_unrelated_to_inputs(symbols: &Symbols, sub: &Item, sup: &Item) -> bool {
    let is_function = matches!(sub.kind, Kind::Function | Kind::Method);
    if !is_function || sup.explicit_params().next().is_some() {
        return false;
    }
    let is_input = |label: &PartLabel| matches!(label, PartLabel::Input(..) | PartLabel::SelfType);
    let inputs = sub.parts.iter().filter(|part| is_input(&part.label));
    let mut known: Vec<Symbol> = inputs.flat_map(|part| params_in(&part.ty)).collect();
    let conditions = sub.predicates.iter().filter(|one| !predicate::is_sized(one, symbols));
    let groups: Vec<Vec<Symbol>> = conditions.map(params_in).collect();
    loop {
        let before = known.len();
        for group in &groups {
            if group.iter().any(|symbol| known.contains(symbol)) {
                let more: Vec<Symbol> = group.iter().copied().filter(|one| !known.contains(one)).collect();
                known.extend(more);
            }
        }
        if known.len() == before {
            break;
        }
    }
    let is_type = |param: &&Param| param.role != Role::Existential && param.kind != ParamKind::Region;
    sub.params.iter().filter(is_type).any(|param| !known.contains(&param.symbol))
}

/// The parameters in a type.
fn params_in(ty: &Type) -> Vec<Symbol> {
    subterms([ty]).iter().filter_map(param).collect()
}

/// Whether a function without explicit parameters gained a parameter that calls do not determine.
fn is_undetermined(table: &InferenceTable<Boxed>, pair: &Pair<'_>) -> Result<bool, TermError> {
    let is_function = matches!(pair.sub.kind, Kind::Function | Kind::Method);
    if !is_function || pair.sup.explicit_params().next().is_some() {
        return Ok(false);
    }
    let open = Flags::TY_INFER.union(Flags::CONST_INFER);
    for (_, arg) in &pair.sub_params {
        let flags = match arg {
            GenericArg::Region(_) => continue,
            GenericArg::Ty(ty) => table.resolve(ty)?.meta().flags,
            GenericArg::Const(constant) => table.resolve(constant)?.meta().flags,
        };
        if flags.intersects(open) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a goal states that an unknown type implements a trait.
fn is_about_variable(goal: &Type, symbols: &Symbols) -> bool {
    match predicate::view(symbols, goal) {
        Some((_, predicate::Predicate::Trait(_, [GenericArg::Ty(this), ..]))) => {
            matches!(this.data(), TyData::InferenceVar(_))
        }
        Some(_) | None => false,
    }
}

/// Whether an open obligation can always be satisfied.
fn is_harmless(obligation: &Obligation<Boxed>) -> bool {
    let is_var = |ty: &Ty<Boxed>| matches!(ty.data(), TyData::InferenceVar(InferVar::Var(_)));
    match obligation {
        Obligation::WellFormed(_) => true,
        Obligation::Relate { variance: _, a, b } => is_var(a) && is_var(b),
        Obligation::EquateConsts { a, b } => a == b,
    }
}
