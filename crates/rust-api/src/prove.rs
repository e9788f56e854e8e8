//! Proofs of predicates under assumptions.
//!
//! A goal is proven by an assumption, by a rule of the language, or by an impl, in this order. A goal without
//! a proof counts as false, so a comparison reports it.

mod associated_types;
pub(crate) mod assumptions;
pub(crate) mod variance;
pub(crate) mod world;

use std::cell::Cell;

use typeloom_term::infer::Negation;
use typeloom_term::name::Mutability;
use typeloom_term::subst::{Instantiation, instantiate_args};
use typeloom_term::ty::{InferVar, Placeholder, PlaceholderId};
use typeloom_term::{
    AliasTy, ApplicationTy, Arity, Boxed, Flags, GenericArg, InferenceTable, Name, Region, Symbol, Symbols,
    TermError, Ty, TyData, Variance,
};

use crate::item::{Arg, Type};
use crate::lower::unresolved::has_error;
use crate::predicate::{self, Predicate};
use crate::std_facts::{self, std_facts};
use crate::terms::with_self;
use assumptions::{Outlives, elaborate};
use world::{EqualLifetimes, Knowledge, Rule, World, normalize};

/// Maximum nesting of impls in a proof.
const MAX_DEPTH: usize = 24;

/// Maximum number of steps of the proofs for one pair of items.
const MAX_STEPS: u32 = 20_000;

/// The premises of proofs.
pub(crate) struct Prover<'w> {
    pub(crate) knowledge: Knowledge<'w>,
    facts: Vec<Type>,
    pub(crate) outlives: Outlives,
    /// Number of remaining steps: impls that require each other have exponentially many paths.
    steps: Cell<u32>,
}

type Table = InferenceTable<Boxed>;

/// Commits or undoes a step.
pub(crate) fn attempt(table: &mut Table, step: impl FnOnce(&mut Table) -> bool) -> bool {
    let snapshot = table.snapshot();
    let holds = step(table);
    if holds {
        table.commit(snapshot);
    } else {
        table.rollback_to(snapshot);
    }
    holds
}

impl<'w> Prover<'w> {
    /// Creates a prover from known predicates and from types that are well formed.
    pub(crate) fn new(
        world: &'w World,
        symbols: &'w mut Symbols,
        known: &[Type],
        implied: &[Type],
    ) -> Result<Self, TermError> {
        let facts = elaborate(&world.traits, symbols, known)?;
        let outlives = Outlives::new(world, symbols, &facts, implied);
        let knowledge = Knowledge::new(world, symbols, &facts);
        Ok(Self { knowledge, facts, outlives, steps: MAX_STEPS.into() })
    }

    /// Whether a predicate holds. Constraints between lifetimes are added to the table.
    pub(crate) fn holds(&self, table: &mut Table, goal: &Type) -> bool {
        // An assumption can determine an associated type in the goal.
        let evaluated = table.resolve(goal).and_then(|goal| Ok((normalize(&self.knowledge, &goal)?, goal)));
        match evaluated {
            Ok((evaluated, goal)) if evaluated != goal => {
                attempt(table, |table| self.prove(table, &goal, 0)) || self.prove(table, &evaluated, 0)
            }
            Ok(_) | Err(_) => self.prove(table, goal, 0),
        }
    }

    fn prove(&self, table: &mut Table, goal: &Type, depth: usize) -> bool {
        let Some(left) = self.steps.get().checked_sub(1) else { return false };
        self.steps.set(left);
        let Ok(goal) = table.resolve(goal) else { return false };
        // An error equals any type, so that it would be proven by anything.
        if has_error(&goal) {
            return false;
        }
        let symbols = self.knowledge.symbols;
        let Some((arity, predicate)) = predicate::view(symbols, &goal) else { return false };
        match predicate {
            Predicate::Outlives(longer, shorter) => return self.longer(table, longer, shorter),
            Predicate::Trait(..) | Predicate::Projection(..) => {}
        }
        if self.facts.iter().any(|fact| self.follows(table, fact, &goal)) {
            return true;
        }
        if depth >= MAX_DEPTH {
            return false;
        }
        match predicate {
            Predicate::Trait(of, args) => {
                let Some(args) = self.open(table, arity, args) else { return false };
                self.implemented(table, of, &args, depth)
            }
            Predicate::Projection(item, args, value) => {
                let mut all = args.to_vec();
                all.push(value.clone());
                let Some(all) = self.open(table, arity, &all) else { return false };
                let Some((value, args)) = all.split_last() else { return false };
                self.projects(table, item, args, value)
            }
            Predicate::Outlives(..) => false,
        }
    }

    /// Replaces the variables of a binder by new placeholders.
    fn open(&self, table: &mut Table, arity: Arity, args: &[Arg]) -> Option<Vec<Arg>> {
        if arity.is_empty() {
            return Some(args.to_vec());
        }
        let universe = table.new_universe().ok()?;
        let fresh = |index: u16| {
            Region::Placeholder(Placeholder { universe, id: PlaceholderId::Fresh(u32::from(index)) })
        };
        let with =
            Instantiation { regions: (0..arity.regions).map(fresh).collect(), ..Instantiation::default() };
        instantiate_args(table.cx(), args, &with).ok()
    }

    /// Whether an assumption is at least as general as the goal.
    fn follows(&self, table: &mut Table, fact: &Type, goal: &Type) -> bool {
        let names = |ty: &Type| match predicate::view(self.knowledge.symbols, ty) {
            Some((_, Predicate::Trait(of, args))) => Some((of, args.len())),
            Some((_, Predicate::Projection(item, args, _))) => Some((item, args.len())),
            Some((_, Predicate::Outlives(..))) | None => None,
        };
        if names(fact) != names(goal) || has_error(fact) {
            return false;
        }
        if fact == goal {
            return true;
        }
        attempt(table, |table| {
            let related = table.sub(&self.knowledge, fact, goal);
            related.is_ok_and(|obligations| obligations.is_empty())
                && table.regions().check(&self.outlives.regions).is_ok()
        })
    }

    /// `<args[0] as _>::item == value`
    fn projects(&self, table: &mut Table, item: Symbol, args: &[Arg], value: &Arg) -> bool {
        let (Ok(alias), Some(value)) = (Ty::alias(table.cx(), Name::Projection(item), args), value.as_ty())
        else {
            return false;
        };
        // An alias without a value can be bound to a variable, but equals no other type.
        attempt(table, |table| table.eq(&self.knowledge, &alias, value).is_ok_and(|open| open.is_empty()))
    }

    fn implemented(&self, table: &mut Table, of: Symbol, args: &[Arg], depth: usize) -> bool {
        let Some(GenericArg::Ty(this)) = args.first() else { return false };
        let name = self.knowledge.symbols.resolve(of);
        if let Some(answer) = self.by_compiler(table, name, of, this, depth) {
            if answer {
                return true;
            }
            if name == predicate::SIZED {
                return false;
            }
        }
        if matches!(this.data(), TyData::InferenceVar(InferVar::Var(_))) {
            return false;
        }
        let goal = predicate::implements(table.cx(), Arity::NONE, of, args);
        if goal.is_ok_and(|goal| self.object(table, this, &goal)) {
            return true;
        }
        if let TyData::Alias(AliasTy { name: Name::Projection(item), args: _ }) = this.data()
            && std_facts().is_bounded(self.knowledge.symbols.resolve(item), name)
        {
            return true;
        }
        let world = self.knowledge.world;
        for (conditions, lifetimes) in world.rules(of).iter().filter_map(|rule| world.apply(rule, of, args)) {
            if attempt(table, |table| {
                self.equal(table, &lifetimes) && self.conditions(table, &conditions, depth)
            }) {
                return true;
            }
        }
        if self.by_only_impl(table, of, args, depth) {
            return true;
        }
        let is_function_trait =
            matches!(name.strip_prefix("core::ops::function::"), Some("Fn" | "FnMut" | "FnOnce"));
        is_function_trait && args.get(1).is_some_and(|inputs| self.is_function(table, this, inputs))
    }

    fn conditions(&self, table: &mut Table, conditions: &[Type], depth: usize) -> bool {
        conditions.iter().all(|condition| {
            normalize(&self.knowledge, condition).is_ok_and(|goal| self.prove(table, &goal, depth + 1))
        })
    }

    /// Equates lifetimes.
    fn equal(&self, table: &mut Table, lifetimes: &EqualLifetimes) -> bool {
        for (a, b) in
            lifetimes.iter().filter(|(a, b)| ![a, b].iter().any(|one| matches!(one, Region::Bound(_))))
        {
            table.outlives(*a, *b);
            table.outlives(*b, *a);
        }
        lifetimes.is_empty() || table.regions().check(&self.outlives.regions).is_ok()
    }

    /// Proves a goal with variables by the only impl that can apply, which determines the variables.
    ///
    /// The parameters in the goal are types that callers choose, so each other impl has to apply for none of
    /// them: a negative goal. With `impl<T> Get<u8> for Vec<T>` and `impl Get<u16> for Vec<u32>`, the goal
    /// `Vec<T>: Get<?0>` does not determine `?0`, because `T` can be `u32`.
    fn by_only_impl(&self, table: &mut Table, of: Symbol, args: &[Arg], depth: usize) -> bool {
        let Ok(goal) = Ty::apply(table.cx(), Name::Trait(of), args) else { return false };
        let open = Flags::TY_INFER.union(Flags::CONST_INFER);
        if !goal.meta().flags.intersects(open) {
            return false;
        }
        let world = self.knowledge.world;
        let can_apply = |table: &mut Table, rule: &Rule| {
            table.probe(|table| {
                let all = std::iter::once(&goal).chain(&self.facts).cloned().collect::<Vec<_>>();
                let Ok(mut all) = table.invert(&all) else { return true };
                let others = all.split_off(1);
                self.can_apply(table, rule, &all[0], others, depth)
            })
        };
        let mut candidates = world.rules(of).iter().filter(|rule| can_apply(table, rule));
        let (Some(only), None) = (candidates.next(), candidates.next()) else { return false };
        attempt(table, |table| {
            let Ok((header, conditions)) = world.open(only, table) else { return false };
            table.eq(&self.knowledge, &header, &goal).is_ok_and(|open| open.is_empty())
                && table.regions().check(&self.outlives.regions).is_ok()
                && self.conditions(table, &conditions, depth)
        })
    }

    /// Whether an impl covers the types in the header of another impl, so that the other one conflicts with
    /// it. A condition of the first impl only prevents the conflict if it does not follow from the
    /// assumptions and is known to be false.
    pub(crate) fn conflicts(&self, of: Symbol, args: &[Arg], is_known: impl Fn(&Type) -> bool) -> bool {
        let mut table = InferenceTable::new(self.knowledge.world.cx);
        let Ok(goal) = Ty::apply(table.cx(), Name::Trait(of), args) else { return false };
        self.knowledge.world.rules(of).iter().any(|rule| {
            table.probe(|table| {
                let Ok((header, conditions)) = self.knowledge.world.open(rule, table) else { return false };
                let holds = |table: &mut Table, condition: &Type| {
                    let condition = table.resolve(condition).unwrap_or_else(|_| condition.clone());
                    !is_known(&condition) || self.conditions(table, &[condition], 0)
                };
                let is_equal = |table: &mut Table| {
                    table.eq(&self.knowledge, &header, &goal).is_ok_and(|open| open.is_empty())
                };
                is_equal(table) && conditions.iter().all(|condition| holds(table, condition))
            })
        })
    }

    /// Whether some values of the variables satisfy a goal by an impl, and the other goals. The answer no is
    /// a proof.
    fn can_apply(
        &self,
        table: &mut Table,
        rule: &Rule,
        goal: &Type,
        mut others: Vec<Type>,
        depth: usize,
    ) -> bool {
        let Ok((header, conditions)) = self.knowledge.world.open(rule, table) else { return true };
        if matches!(table.never(&self.knowledge, Variance::Invariant, &header, goal), Ok(Negation::Holds)) {
            return false;
        }
        if table.eq(&self.knowledge, &header, goal).is_err() {
            return true;
        }
        others.extend(conditions);
        self.can_hold(table, others, depth + 1)
    }

    /// Whether some values of the variables satisfy goals. Only traits of the crate have known impls, and
    /// only for types whose constructor is known.
    fn can_hold(&self, table: &mut Table, mut goals: Vec<Type>, depth: usize) -> bool {
        let Some(left) = self.steps.get().checked_sub(1).filter(|_| depth < MAX_DEPTH) else { return true };
        self.steps.set(left);
        let world = self.knowledge.world;
        let closed = goals.iter().enumerate().find_map(|(index, goal)| {
            let goal = table.resolve(goal).ok()?;
            let Some((Arity::NONE, Predicate::Trait(of, args @ [GenericArg::Ty(this), ..]))) =
                predicate::view(self.knowledge.symbols, &goal)
            else {
                return None;
            };
            let is_closed =
                matches!(this.data(), TyData::Apply(_) | TyData::Fn(_)) && world.traits.contains_key(&of);
            is_closed.then(|| Some((index, of, Ty::apply(table.cx(), Name::Trait(of), args).ok()?))).flatten()
        });
        let Some((index, of, goal)) = closed else { return true };
        goals.swap_remove(index);
        world
            .rules(of)
            .iter()
            .any(|rule| table.probe(|table| self.can_apply(table, rule, &goal, goals.clone(), depth)))
    }

    /// Proves that a trait object implements a trait: one of its own, or one that follows from them.
    fn object(&self, table: &mut Table, this: &Type, goal: &Type) -> bool {
        let TyData::Dyn(dynamic) = this.data() else { return false };
        let bounds = dynamic.bounds.iter().filter_map(|bound| {
            let Name::Trait(of) = bound.name else { return None };
            predicate::implements(table.cx(), bound.arity, of, &with_self(this, &bound.args)).ok()
        });
        let known: Vec<Type> = bounds.collect();
        let facts = elaborate(&self.knowledge.world.traits, self.knowledge.symbols, &known);
        facts.is_ok_and(|facts| facts.iter().any(|fact| self.follows(table, fact, goal)))
    }

    /// Proves that a function pointer can be called with arguments of these types.
    fn is_function(&self, table: &mut Table, this: &Type, inputs: &Arg) -> bool {
        let TyData::Fn(function) = this.data() else { return false };
        let Name::FnPtr(..) = function.name else { return false };
        // A call chooses the lifetimes of the binder.
        let regions = (0..function.arity.regions).map(|_| table.new_region_var());
        let Ok(regions) = regions.collect::<Result<Vec<_>, _>>() else { return false };
        let with = Instantiation { regions, ..Instantiation::default() };
        let Ok(open) = instantiate_args(table.cx(), function.inputs(), &with) else { return false };
        let Ok(tuple) = Ty::apply(table.cx(), Name::Tuple, &open) else { return false };
        let Some(inputs) = inputs.as_ty() else { return false };
        table.sub(&self.knowledge, inputs, &tuple).is_ok_and(|obligations| obligations.is_empty())
    }

    /// Answers a goal by a rule of the language that no impl expresses; `None` if no rule applies.
    fn by_compiler(
        &self,
        table: &mut Table,
        name: &str,
        of: Symbol,
        this: &Type,
        depth: usize,
    ) -> Option<bool> {
        if name == predicate::SIZED {
            if let TyData::Apply(ApplicationTy { name: Name::Adt(symbol), args }) = this.data()
                && let Some(tail) = std_facts().of_type(self.knowledge.symbols.resolve(symbol)).tail
            {
                return Some(self.all(table, of, args.get(tail..=tail)?, depth));
            }
            return self.sized(this);
        }
        if name == "core::any::Any" {
            return Some(self.longer(table, &this.clone().into(), Region::Static));
        }
        let copied = matches!(name, "core::clone::Clone" | "core::marker::Copy");
        let auto = std_facts().of_trait(name).is_auto;
        let structural = std_facts::STRUCTURAL_TRAITS.contains(&name);
        match this.data() {
            TyData::Apply(ApplicationTy { name: Name::Tuple, args }) => {
                let is_short = (1..=std_facts::MAX_TUPLE).contains(&args.len());
                (auto || copied || structural && is_short).then(|| self.all(table, of, args, depth))
            }
            TyData::Apply(ApplicationTy { name: Name::Ref(mutability), args }) => {
                // The standard library has impls of the other auto traits.
                let is_inherited = match name {
                    "core::marker::Sync" | "core::panic::unwind_safe::RefUnwindSafe" => true,
                    "core::marker::Send" => mutability != Mutability::Shared,
                    _ => false,
                };
                (is_inherited && self.all(table, of, args, depth)).then_some(true)
            }
            TyData::Fn(_) => (copied || auto || structural && !name.ends_with("::Default")).then_some(true),
            // The lifetimes are unknown, so the types have to implement the trait for all of them. A future
            // cannot move.
            TyData::GeneratorWitness(witness) if auto && name != predicate::UNPIN => {
                let held = self.open(table, witness.arity, witness.types)?;
                self.all(table, of, &held, depth).then_some(true)
            }
            _ => None,
        }
    }

    fn all(&self, table: &mut Table, of: Symbol, args: &[Arg], depth: usize) -> bool {
        args.iter().filter_map(GenericArg::as_ty).all(|ty| {
            let goal = predicate::implements(table.cx(), Arity::NONE, of, &[ty.clone().into()]);
            goal.is_ok_and(|goal| self.prove(table, &goal, depth + 1))
        })
    }

    fn sized(&self, this: &Type) -> Option<bool> {
        match this.data() {
            TyData::Apply(ApplicationTy { name: Name::Adt(symbol), args: [] }) => {
                Some(!std_facts().of_type(self.knowledge.symbols.resolve(symbol)).is_unsized)
            }
            TyData::Apply(app) => Some(!matches!(app.name, Name::Str | Name::Slice)),
            TyData::Dyn(_) => Some(false),
            TyData::Alias(alias) => match alias.name {
                Name::Projection(item) if self.knowledge.may_be_unsized(item) => None,
                _ => Some(true),
            },
            TyData::Fn(_) | TyData::InferenceVar(_) | TyData::GeneratorWitness(_) => Some(true),
            TyData::Placeholder(_) | TyData::BoundVariable(_) | TyData::Error(_) => None,
        }
    }

    /// Proves `longer: shorter` by the components of a type.
    fn longer(&self, table: &mut Table, longer: &Arg, shorter: Region<Boxed>) -> bool {
        let mut stack = vec![longer.clone()];
        while let Some(arg) = stack.pop() {
            match arg {
                GenericArg::Region(Region::Bound(_)) => {}
                GenericArg::Region(region) => table.outlives(region, shorter),
                GenericArg::Const(_) => {}
                GenericArg::Ty(ty) => match ty.data() {
                    TyData::Apply(app) => stack.extend(app.args.iter().cloned()),
                    TyData::Fn(function) => stack.extend(function.signature.iter().cloned()),
                    TyData::GeneratorWitness(witness) => stack.extend(witness.types.iter().cloned()),
                    TyData::Dyn(dynamic) => {
                        stack.push(dynamic.region.into());
                        stack.extend(dynamic.bounds.iter().flat_map(|bound| bound.args.iter().cloned()));
                    }
                    TyData::Placeholder(_) | TyData::Alias(_) => {
                        if !self.type_outlives(table, &ty, shorter) {
                            // An alias outlives a lifetime if its arguments do.
                            match ty.data() {
                                TyData::Alias(alias) => stack.extend(alias.args.iter().cloned()),
                                _ => return false,
                            }
                        }
                    }
                    TyData::InferenceVar(_) | TyData::BoundVariable(_) | TyData::Error(_) => {}
                },
            }
        }
        true
    }

    fn type_outlives(&self, table: &mut Table, ty: &Type, shorter: Region<Boxed>) -> bool {
        // A lifetime variable can be short enough.
        if matches!(shorter, Region::Infer(_)) {
            return true;
        }
        let known = || self.outlives.types.iter().filter(|(known, _)| known == ty);
        if known().any(|(_, region)| self.outlives.regions.outlives(*region, shorter)) {
            return true;
        }
        // A lifetime variable that the type outlives can be long enough.
        known().filter(|(_, region)| matches!(region, Region::Infer(_))).any(|(_, region)| {
            attempt(table, |table| {
                table.outlives(*region, shorter);
                table.regions().check(&self.outlives.regions).is_ok()
            })
        })
    }
}
