//! Whether one item can be used in place of another.
//!
//! The question is asked for every use at once: the parameters of the item that is replaced (`sup`) are placeholders, its
//! conditions are assumptions; the parameters of the item that replaces it (`sub`) are taken from the user where they
//! are written, and variables where they are inferred; its conditions are goals. What the item itself chooses (`impl
//! Trait` in a result) is the other way round. Then every part relates at the variance of its place, and what is left is
//! to prove the goals and the constraints between lifetimes.

use typeloom_term::subst::replace_params;
use typeloom_term::ty::InferVar;
use typeloom_term::{
    Arity, Boxed, Const, Fold, GenericArg, InferenceTable, Name, Obligation, Region, Symbol, Symbols,
    TermError, Ty, TyData, Variance,
};

use crate::compare::difference::{children, param};
use crate::item::{Item, Kind, Label, Mark, Order, Param, ParamKind, Role, Type};
use crate::lower::{param_arg, regions};
use crate::predicate;
use crate::prove::assumptions::{Outlives, elaborate};
use crate::prove::world::{Knowledge, World};
use crate::prove::{MAX_STEPS, Prover};

/// Where an item falls short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// It is another kind of item.
    Kind,
    /// The number or kinds of parameters.
    Generics,
    /// A parameter.
    Param(Symbol),
    /// Something that is not a type.
    Mark(&'static str),
    /// A part of the signature.
    Part(Label),
    /// A condition of the replacing item that the user has no reason to meet.
    Condition(Type),
    /// A promise of the replaced item that the other one does not give.
    Promise(Type),
}

/// How invariant places are asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Equality.
    Exact,
    /// As if they were only read: to say in which direction a type changed.
    ReadOnly,
}

/// Two items and what is known.
pub(crate) struct Question<'q> {
    /// The world of the item that replaces the other one.
    pub(crate) world: &'q World,
    pub(crate) symbols: &'q mut Symbols,
    pub(crate) reading: Reading,
}

fn allows(sub: &Mark, sup: &Mark) -> bool {
    match (sub.order, sup.order) {
        (Order::Fixed, Order::Fixed) => sub.text == sup.text,
        (Order::Level(sub), Order::Level(sup)) => sub >= sup,
        (Order::Variance(sub), Order::Variance(sup)) => {
            sub == sup || sub == Variance::Bivariant || sup == Variance::Invariant
        }
        (Order::Fixed | Order::Level(_) | Order::Variance(_), _) => false,
    }
}

fn marks(sub: &Item, sup: &Item) -> Result<(), Place> {
    for mark in &sup.marks {
        let other = sub.marks.iter().find(|other| other.label == mark.label && same_subject(other, mark));
        match (other, mark.order) {
            (Some(other), _) if allows(other, mark) => {}
            // A mark that is only made where it matters.
            (None, Order::Variance(_) | Order::Level(0)) => {}
            (None, Order::Fixed) if mark.label == "form" => {}
            (Some(_), _) | (None, Order::Fixed | Order::Level(_)) => return Err(Place::Mark(mark.label)),
        }
    }
    Ok(())
}

/// Variance marks are about one parameter each, which their texts name behind the last blank.
fn same_subject(a: &Mark, b: &Mark) -> bool {
    match (a.order, b.order) {
        (Order::Variance(_), Order::Variance(_)) => a.text.rsplit(' ').next() == b.text.rsplit(' ').next(),
        _ => true,
    }
}

type Map = Vec<(Symbol, GenericArg<Boxed>)>;

fn put<T: Fold<Boxed>>(cx: &Boxed, value: &T, map: &Map) -> Result<T, TermError> {
    replace_params(cx, value, |name| {
        let found = map.iter().find(|(symbol, _)| Name::Param(*symbol) == name);
        found.map(|(_, arg)| arg.clone())
    })
}

/// The types of the fields of a definition that do not lead back to it: what its clauses ask for is not to be had from
/// the clauses themselves.
fn fields_of(world: &World, of: Symbol, args: &[GenericArg<Boxed>]) -> Result<Vec<Type>, TermError> {
    let Some(adt) = world.adts.get(&of) else { return Ok(Vec::new()) };
    let lookup = |name: Name| {
        let index = adt.params.iter().position(|(symbol, _)| Name::Param(*symbol) == name)?;
        args.get(index).cloned()
    };
    let fields = adt.fields.iter().filter(|field| !mentions(field, Name::Adt(of)));
    fields.map(|field| replace_params(&world.cx, field, lookup)).collect()
}

/// Whether a name is applied anywhere in a type, other than under a binder or in a bound.
fn mentions(ty: &Type, wanted: Name) -> bool {
    let mut stack = vec![ty.clone()];
    while let Some(ty) = stack.pop() {
        let TyData::Apply(app) = ty.data() else { continue };
        if app.name == wanted {
            return true;
        }
        stack.extend(app.args.iter().filter_map(GenericArg::as_ty).cloned());
    }
    false
}

fn same_kind(a: &ParamKind, b: &ParamKind) -> bool {
    matches!(
        (a, b),
        (ParamKind::Region, ParamKind::Region)
            | (ParamKind::Type, ParamKind::Type)
            | (ParamKind::Const(_), ParamKind::Const(_))
    )
}

fn variable(table: &mut InferenceTable<Boxed>, kind: &ParamKind) -> Result<GenericArg<Boxed>, TermError> {
    Ok(match kind {
        ParamKind::Region => table.new_region_var()?.into(),
        ParamKind::Type => table.new_ty_var()?.into(),
        ParamKind::Const(_) => table.new_const_var()?.into(),
    })
}

fn explicit(item: &Item) -> Vec<&Param> {
    item.params.iter().filter(|param| param.role == Role::Explicit).collect()
}

/// Why an item cannot be used, or why the question could not be asked.
pub(crate) enum Trouble {
    Place(Place),
    /// A term grew too large.
    TooLarge,
}

impl From<TermError> for Trouble {
    fn from(_: TermError) -> Self {
        Self::TooLarge
    }
}

impl From<Place> for Trouble {
    fn from(place: Place) -> Self {
        Self::Place(place)
    }
}

impl Question<'_> {
    /// Whether everything that can be done with `sup` can be done with `sub`; the first place where not.
    pub(crate) fn usable(&mut self, sub: &Item, sup: &Item) -> Result<(), Place> {
        match self.ask(sub, sup) {
            Ok(()) => Ok(()),
            Err(Trouble::Place(place)) => Err(place),
            // Terms that grow too large when they are put together are reported, not passed over.
            Err(Trouble::TooLarge) => Err(Place::Generics),
        }
    }

    fn ask(&mut self, sub: &Item, sup: &Item) -> Result<(), Trouble> {
        if sub.kind != sup.kind {
            return Err(Place::Kind.into());
        }
        marks(sub, sup)?;
        let cx = self.world.cx;
        let mut table = InferenceTable::new(cx);
        let own = self.sub_map(&mut table, sub, sup)?;
        let mut chosen: Map = Vec::new();
        for param in sup.params.iter().filter(|param| param.role == Role::Existential) {
            chosen.push((param.symbol, variable(&mut table, &param.kind)?));
        }
        self.params(&mut table, sub, sup, &own)?;

        let put_all =
            |list: &[Type], map: &Map| list.iter().map(|ty| put(&cx, ty, map)).collect::<Result<Vec<_>, _>>();
        let mut known = sup.context.clone();
        known.extend(sup.predicates.iter().cloned());
        known.extend(put_all(&sub.context, &own)?);
        let facts = elaborate(self.world, self.symbols, &known)?;
        let mut implied: Vec<Type> = sup.parts.iter().map(|part| part.ty.clone()).collect();
        if matches!(sup.kind, Kind::Struct | Kind::Enum | Kind::Union) {
            // A definition is well formed too: what its fields ask for needs no clause of its own.
            let args = sup.params.iter().map(|param| param_arg(&cx, param.symbol, &param.kind));
            let args = args.collect::<Result<Vec<_>, _>>()?;
            implied.extend(fields_of(self.world, self.symbols.intern(&sup.path), &args)?);
        }
        let outlives = Outlives::new(self.world, self.symbols, &facts, &implied);

        let mut open = Vec::new();
        {
            let knowledge = Knowledge::new(self.world, self.symbols, &facts);
            for part in &sup.parts {
                let place = Place::Part(part.label.clone());
                let Some(other) = sub.part(&part.label) else { return Err(place.into()) };
                let variance = match (part.label.variance(sup.kind), self.reading) {
                    (Variance::Invariant, Reading::ReadOnly) => Variance::Covariant,
                    (variance, _) => variance,
                };
                let (a, b) = (put(&cx, &other.ty, &own)?, put(&cx, &part.ty, &chosen)?);
                let related = table.relate(&knowledge, variance, &a, &b);
                let Ok(more) = related else { return Err(place.into()) };
                open.extend(more);
                let Ok(left) = table.retry(&knowledge, std::mem::take(&mut open)) else {
                    return Err(place.into());
                };
                open = left;
                if table.regions().check(&outlives.regions).is_err() {
                    return Err(place.into());
                }
            }
            let extra = sub
                .parts
                .iter()
                .find(|part| !matches!(part.label, Label::Assoc(_)) && sup.part(&part.label).is_none());
            if let Some(part) = extra {
                return Err(Place::Part(part.label.clone()).into());
            }
        }
        // What the replacing item promises is known too, now that its variables are.
        for promise in put_all(&sub.promises, &own)? {
            known.push(table.resolve(&promise)?);
        }
        let facts = elaborate(self.world, self.symbols, &known)?;
        let outlives = Outlives::new(self.world, self.symbols, &facts, &implied);
        let knowledge = Knowledge::new(self.world, self.symbols, &facts);
        let prover =
            Prover { knowledge: &knowledge, facts: &facts, outlives: &outlives, steps: MAX_STEPS.into() };
        let mut goals: Vec<(Type, Place)> = Vec::new();
        for goal in &sub.predicates {
            goals.push((put(&cx, goal, &own)?, Place::Condition(goal.clone())));
        }
        for goal in &sup.promises {
            goals.push((put(&cx, goal, &chosen)?, Place::Promise(goal.clone())));
        }
        // Equations first: they can say what the variables in the other goals are.
        let is_equation = |goal: &Type| {
            matches!(predicate::view(self.symbols, goal), Some((_, predicate::Predicate::Projection(..))))
        };
        goals.sort_by_key(|(goal, _)| !is_equation(goal));
        let Ok(mut open) = table.retry(&knowledge, open) else { return Err(Place::Generics.into()) };
        // Or what an associated type of a variable is, which a part may have left open; whether they hold is asked below.
        for (goal, _) in goals.iter().filter(|(goal, _)| is_equation(goal)) {
            if open.iter().all(is_harmless) {
                break;
            }
            prover.holds(&mut table, goal);
            let Ok(left) = table.retry(&knowledge, open) else { return Err(Place::Generics.into()) };
            open = left;
        }
        if !open.iter().all(is_harmless) {
            let label = sup.parts.last().map(|part| part.label.clone());
            return Err(label.map_or(Place::Generics, Place::Part).into());
        }
        for (goal, place) in goals {
            if !prover.holds(&mut table, &goal) || table.regions().check(&outlives.regions).is_err() {
                return Err(place.into());
            }
        }
        if self.reading == Reading::Exact
            && (is_less_general(&table, &own, sub, sup) || is_undetermined(self.symbols, sub, sup))
        {
            return Err(Place::Generics.into());
        }
        Ok(())
    }

    /// Whether everything that an impl said follows from what there is.
    pub(crate) fn implemented(&mut self, item: &Item) -> bool {
        self.follows(item).unwrap_or(false)
    }

    fn follows(&mut self, item: &Item) -> Result<bool, TermError> {
        let (Some(of), Some(this)) = (item.part(&Label::TraitRef), item.part(&Label::SelfType)) else {
            return Ok(false);
        };
        let TyData::Apply(applied) = of.ty.data() else { return Ok(false) };
        let Name::Trait(name) = applied.name else { return Ok(false) };
        let cx = self.world.cx;
        let args: Vec<GenericArg<Boxed>> =
            std::iter::once(this.ty.clone().into()).chain(applied.args.iter().cloned()).collect();
        let mut goals = vec![predicate::implements(&cx, Arity::NONE, name, &args)?];
        for part in &item.parts {
            if let Label::Assoc(own) = &part.label {
                let symbol = self.symbols.intern(&format!("{}::{own}", self.symbols.resolve(name)));
                let mut args = args.clone();
                args.push(part.ty.clone().into());
                goals.push(predicate::projects(&cx, Arity::NONE, symbol, &args)?);
            }
        }
        // The search for impls does not look at lifetimes.
        let types: Vec<Type> = item.parts.iter().map(|part| part.ty.clone()).collect();
        if !regions::all(&types).is_empty() {
            return Ok(false);
        }
        let facts = elaborate(self.world, self.symbols, &item.predicates)?;
        let outlives = Outlives::new(self.world, self.symbols, &facts, &types);
        let knowledge = Knowledge::new(self.world, self.symbols, &facts);
        let prover =
            Prover { knowledge: &knowledge, facts: &facts, outlives: &outlives, steps: MAX_STEPS.into() };
        let mut table = InferenceTable::new(cx);
        let all = goals.iter().all(|goal| prover.holds(&mut table, goal));
        Ok(all && table.regions().check(&outlives.regions).is_ok())
    }

    /// What the parameters of `sub` stand for.
    fn sub_map(&mut self, table: &mut InferenceTable<Boxed>, sub: &Item, sup: &Item) -> Result<Map, Trouble> {
        let cx = self.world.cx;
        let (of_sub, of_sup) = (explicit(sub), explicit(sup));
        let function = matches!(sub.kind, Kind::Function | Kind::Method);
        let member = sub.parent.is_some();
        let mut map: Map = Vec::new();
        let kinds = |list: &[&Param]| -> [usize; 3] {
            let count =
                |wanted: &dyn Fn(&ParamKind) -> bool| list.iter().filter(|param| wanted(&param.kind)).count();
            [
                count(&|kind| *kind == ParamKind::Region),
                count(&|kind| *kind == ParamKind::Type),
                count(&|kind| matches!(kind, ParamKind::Const(_))),
            ]
        };
        // A function whose arguments nobody could write may get some to write.
        let inferred = function && of_sup.is_empty();
        if !inferred && kinds(&of_sub) != kinds(&of_sup) {
            let defaults = of_sub.len() > of_sup.len()
                && of_sub.iter().skip(of_sup.len()).all(|param| param.default.is_some());
            // A member's own difference is what counts; its parent is reported on its own.
            let excused = defaults || (member && matches!(sub.kind, Kind::Field | Kind::Variant));
            if !excused {
                return Err(Place::Generics.into());
            }
        }
        for wanted in [&of_sub] {
            for (index, param) in wanted.iter().enumerate() {
                let before =
                    wanted[..index].iter().filter(|other| same_kind(&other.kind, &param.kind)).count();
                let matching = of_sup.iter().filter(|other| same_kind(&other.kind, &param.kind)).nth(before);
                let arg = match (matching, &param.default) {
                    (Some(other), _) => param_arg(&cx, other.symbol, &other.kind)?,
                    (None, Some(default)) if !function => put(&cx, default, &map)?,
                    (None, _) => variable(table, &param.kind)?,
                };
                map.push((param.symbol, arg));
            }
        }
        for param in &sub.params {
            let arg = match param.role {
                Role::Explicit => continue,
                Role::Inferred => variable(table, &param.kind)?,
                // Its own choice, under a name that nothing of the other item has.
                Role::Existential => {
                    let text = format!("{}#chosen", self.symbols.resolve(param.symbol));
                    param_arg(&cx, self.symbols.intern(&text), &param.kind)?
                }
            };
            map.push((param.symbol, arg));
        }
        Ok(map)
    }

    /// The types of constant parameters, and defaults.
    fn params(
        &mut self,
        table: &mut InferenceTable<Boxed>,
        sub: &Item,
        sup: &Item,
        own: &Map,
    ) -> Result<(), Trouble> {
        let knowledge = Knowledge::new(self.world, self.symbols, &[]);
        for (a, b) in explicit(sub).into_iter().zip(explicit(sup)) {
            if let (ParamKind::Const(x), ParamKind::Const(y)) = (&a.kind, &b.kind)
                && x != y
            {
                return Err(Place::Param(b.symbol).into());
            }
            if matches!(sub.kind, Kind::Field | Kind::Variant) || sub.kind == Kind::TraitMethod {
                continue;
            }
            let same = match (&a.default, &b.default) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(GenericArg::Ty(a)), Some(GenericArg::Ty(b))) => {
                    let a = put(&self.world.cx, a, own)?;
                    table.eq(&knowledge, &a, b).is_ok()
                }
                (Some(a), Some(b)) => put(&self.world.cx, a, own)? == *b,
            };
            if !same {
                return Err(Place::Param(b.symbol).into());
            }
        }
        Ok(())
    }
}

/// Whether a function is no longer general over a lifetime, as a value: where the old one was a `for<'a> fn(&'a u8)`, a
/// lifetime of the new one that is fixed when it is named would have to be shorter than all of `'a`.
fn is_less_general(table: &InferenceTable<Boxed>, own: &Map, sub: &Item, sup: &Item) -> bool {
    let constraints = table.regions().outlives();
    let mut reached: Vec<Region<Boxed>> =
        sup.late.iter().map(|symbol| Region::param(Name::Param(*symbol))).collect();
    let mut next = 0;
    while let Some(longer) = reached.get(next).copied() {
        next += 1;
        for constraint in constraints.iter().filter(|constraint| constraint.longer == longer) {
            if !reached.contains(&constraint.shorter) {
                reached.push(constraint.shorter);
            }
        }
    }
    own.iter().any(|(symbol, arg)| match arg {
        GenericArg::Region(region @ Region::Infer(_)) => {
            !sub.late.contains(symbol) && reached.contains(region)
        }
        GenericArg::Region(_) | GenericArg::Ty(_) | GenericArg::Const(_) => false,
    })
}

/// Whether a function that could be called without saying more has a parameter now that no call determines: one that
/// neither its parameters nor a condition on them mention.
fn is_undetermined(symbols: &Symbols, sub: &Item, sup: &Item) -> bool {
    let function = matches!(sub.kind, Kind::Function | Kind::Method);
    if !function || !explicit(sup).is_empty() {
        return false;
    }
    let mut known: Vec<Symbol> = Vec::new();
    let mut groups: Vec<Vec<Symbol>> = Vec::new();
    for part in &sub.parts {
        if matches!(part.label, Label::Input(..) | Label::SelfType) {
            known.extend(named(&part.ty));
        }
    }
    groups.extend(sub.predicates.iter().filter(|one| !crate::print::is_sized(one, symbols)).map(named));
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
fn named(ty: &Type) -> Vec<Symbol> {
    let mut found = Vec::new();
    let mut stack: Vec<GenericArg<Boxed>> = vec![ty.clone().into()];
    while let Some(arg) = stack.pop() {
        found.extend(param(&arg));
        stack.extend(children(&arg).into_iter().map(|(_, child)| child));
    }
    found
}

/// Whether a question that is left open cannot be answered with no.
fn is_harmless(obligation: &Obligation<Boxed>) -> bool {
    let is_var = |ty: &Ty<Boxed>| matches!(ty.data(), TyData::InferenceVar(InferVar::Var(_)));
    match obligation {
        Obligation::WellFormed(_) => true,
        Obligation::Relate { variance: _, a, b } => is_var(a) && is_var(b),
        Obligation::EquateConsts { a, b } => same_const(a, b),
    }
}

fn same_const(a: &Const<Boxed>, b: &Const<Boxed>) -> bool {
    a == b
}
