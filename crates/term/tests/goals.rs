//! Goals and negative goals: their meaning, their limits, and random programs against a reference that
//! computes all facts.

use std::collections::BTreeSet;

use typeloom_term::goal::{Goal, GoalFamily, Impl, MAX_GOALS, TraitRef};
use typeloom_term::infer::Answer::{self, Ambiguous, Fails, Holds, TooComplex};
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::program::NoProgram;
use typeloom_term::ty::Reporter;
use typeloom_term::{
    Arena, Arity, BoundVar, Boxed, InferenceTable, Interned, Name, Region, Symbols, TermError, Ty, TyData,
    print,
};
use typeloom_testing::{Random, number};

/// A list of impls, and a table.
struct World<F: GoalFamily<Name = Name>> {
    cx: F,
    symbols: Symbols,
    table: InferenceTable<F>,
    impls: Vec<Impl<F>>,
}

impl<F: GoalFamily<Name = Name>> World<F> {
    fn new(cx: F) -> Self {
        let table = InferenceTable::new(cx.clone());
        Self { cx, symbols: Symbols::new(), table, impls: Vec::new() }
    }

    /// A type over the parameters `T`, `U` and the variables `^0.0`, `^0.1` of an impl.
    fn ty(&mut self, text: &str) -> Ty<F> {
        let scope = Scope::new().types(["T", "U"]);
        parse_ty(&self.cx, &mut self.symbols, &scope, text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// `type: trait`, or `type: trait` and an argument of the trait.
    fn of(&mut self, this: &str, name: &str) -> TraitRef<F> {
        let (name, arg) = name.split_once(' ').map_or((name, None), |(name, arg)| (name, Some(arg)));
        let args: Vec<_> = std::iter::once(this).chain(arg).map(|ty| self.ty(ty).into()).collect();
        TraitRef::new(Name::Trait(self.symbols.intern(name)), args)
    }

    /// `type: trait`, `a = b`, or `not` and a goal; several goals with `&` between them.
    fn goal(&mut self, text: &str) -> Goal<F> {
        let parts: Vec<&str> = text.split(" & ").collect();
        if parts.len() > 1 {
            let parts: Vec<_> = parts.into_iter().map(|part| self.goal(part)).collect();
            return Goal::all(&self.cx, parts).unwrap();
        }
        if let Some(rest) = text.strip_prefix("not ") {
            let goal = self.goal(rest);
            return Goal::not(&self.cx, goal).unwrap();
        }
        if let Some((a, b)) = text.split_once(" = ") {
            let (a, b) = (self.ty(a), self.ty(b));
            return Goal::equal(&self.cx, a, b).unwrap();
        }
        let (this, name) = text.split_once(": ").expect("a goal has a colon");
        let of = self.of(this, name);
        Goal::implemented(&self.cx, of).unwrap()
    }

    fn add(&mut self, (types, regions): (u16, u16), head: &str, conditions: &str) {
        let (this, name) = head.split_once(": ").expect("a head has a colon");
        let of = self.of(this, name);
        let conditions = if conditions.is_empty() { Vec::new() } else { vec![self.goal(conditions)] };
        let arity = Arity { types, regions, consts: 0 };
        self.impls.push(Impl { arity, of, conditions });
    }

    fn prove(&mut self, goal: &Goal<F>) -> Answer {
        let before = self.table.len();
        let answer = self.table.prove(&NoProgram, &self.impls, goal);
        assert_eq!(self.table.len(), before, "a proof leaves no variables");
        answer
    }

    fn answer(&mut self, text: &str) -> Answer {
        let goal = self.goal(text);
        self.prove(&goal)
    }
}

fn has_the_documented_meaning<F: GoalFamily<Name = Name>>(cx: F) {
    let mut world = World::new(cx);
    world.add((0, 0), "u8: Clone", "");
    world.add((0, 0), "u16: Clone", "");
    world.add((1, 0), "Vec<^0.0>: Clone", "^0.0: Clone");
    world.add((2, 0), "(^0.0, ^0.1): Clone", "^0.0: Clone & ^0.1: Clone");
    world.add((1, 0), "Vec<^0.0>: From ^0.0", "");
    world.add((1, 0), "^0.0: Unique", "not ^0.0: Clone");
    world.add((1, 0), "^0.0: Same", "^0.0: Same");
    world.add((0, 0), "u8: Odd", "not u8: Odd");
    world.add((0, 1), "&'^0.0 u8: Short", "");
    world.add((0, 0), "&'static u16: Short", "");
    // A bound of the parameter `U`.
    world.add((0, 0), "U: Clone", "");
    let variable = world.table.new_ty_var().expect("the table has capacity");
    assert_eq!(print::rust(&variable, &world.symbols), "?0");
    for (goal, answer) in [
        ("u8: Clone", Holds),
        ("bool: Clone", Fails),
        ("not bool: Clone", Holds),
        ("not u8: Clone", Fails),
        ("(u8, Vec<Vec<u16>>): Clone", Holds),
        ("(u8, Vec<Vec<str>>): Clone", Fails),
        ("not (u8, Vec<Vec<str>>): Clone", Holds),
        ("Vec<u8>: From u8", Holds),
        ("Vec<u8>: From u16", Fails),
        ("not Vec<u8>: From u16", Holds),
        ("u8: Unknown", Fails),
        ("not u8: Unknown", Holds),
        // A parameter is any type in a goal and some type under a negation.
        ("T: Clone", Fails),
        ("not T: Clone", Fails),
        ("not (T, bool): Clone", Holds),
        ("not Vec<T>: From U", Fails),
        ("not Vec<T>: From Vec<T>", Holds),
        ("T = u8", Fails),
        ("not T = u8", Fails),
        ("not Vec<T> = T", Holds),
        ("U: Clone", Holds),
        // A conjunction under a negation: no `T` has both properties.
        ("not T = u8 & T: Unknown", Fails),
        // Variables of the table.
        ("?0: Clone", Ambiguous),
        ("?0: Unknown", Fails),
        ("not ?0: Clone", Ambiguous),
        ("not ?0: Unknown", Ambiguous),
        ("(?0, bool): Clone", Fails),
        // Negations of negations, and in conditions.
        ("not not u8: Clone", Holds),
        ("bool: Unique", Holds),
        ("u8: Unique", Fails),
        ("not u8: Unique", Holds),
        ("not T: Unique", Ambiguous),
        // A proof that needs itself, and a goal that depends on its negation.
        ("u8: Same", Fails),
        ("not u8: Same", Holds),
        ("u8: Odd", Ambiguous),
        // Lifetimes.
        ("&'a u8: Short", Holds),
        ("&'a u16: Short", Ambiguous),
        ("&'static u16: Short", Holds),
        ("not &'a u16: Short", Fails),
        ("not &'static u8: Short", Fails),
        ("&'a u8 = &'b u8", Ambiguous),
        ("&'a u8 = &'a u8", Holds),
    ] {
        assert_eq!(world.answer(goal), answer, "{goal}");
    }
    // The answer is that of the value when the variable is known.
    let byte = world.ty("u8");
    assert!(world.table.eq(&NoProgram, &variable, &byte).expect("they unify").is_empty());
    assert_eq!((world.answer("?0: Clone"), world.answer("not ?0: Clone")), (Holds, Fails));
    let printed = world.goal("not T: Clone & Vec<U>: From u8");
    assert_eq!(
        print::goal(&printed, &world.symbols),
        "not { Implemented(T: Clone) }, Implemented(Vec<U>: From<u8>)"
    );
}

#[test]
fn goals_have_the_documented_meaning_in_both_families() {
    has_the_documented_meaning(Boxed::new());
    let arena = Arena::new();
    has_the_documented_meaning(Interned::new(&arena));
}

#[test]
fn a_goal_with_an_error_is_not_reported_again() {
    let mut world = World::new(Boxed::new());
    let error = Ty::error(&world.cx, Vec::new().report("a name is not resolved"));
    let of = TraitRef::new(Name::Trait(world.symbols.intern("Clone")), [error.into()]);
    let goal = Goal::implemented(&world.cx, of).unwrap();
    let not = Goal::not(&world.cx, goal.clone()).unwrap();
    assert_eq!((world.prove(&goal), world.prove(&not)), (Holds, Holds));
}

#[test]
fn aliases_that_are_not_evaluated_are_ambiguous_under_a_negation() {
    let mut world = World::new(Boxed::new());
    world.add((0, 0), "u8: Clone", "");
    assert_eq!(world.answer("<T as Tr>::Out: Clone"), Fails);
    assert_eq!(world.answer("not <T as Tr>::Out: Clone"), Ambiguous);
}

#[test]
fn proofs_end_at_their_limits() {
    let mut world = World::new(Boxed::new());
    // Types grow.
    world.add((1, 0), "^0.0: Grow", "Vec<^0.0>: Grow");
    // Each goal needs two goals that have two proofs each, and no proof ends.
    world.add((1, 0), "^0.0: Wide", "Vec<^0.0>: Wide & Box<^0.0>: Wide");
    world.add((1, 0), "^0.0: Wide", "Box<^0.0>: Wide & Vec<^0.0>: Wide");
    // The condition mentions a type that nothing determines.
    world.add((2, 0), "^0.0: Open", "(^0.0, ^0.1): Open");
    for name in ["Grow", "Wide", "Open"] {
        assert_eq!(world.answer(&format!("u8: {name}")), TooComplex, "{name}");
        assert_eq!(world.answer(&format!("not u8: {name}")), TooComplex, "{name}");
    }
    // A long conjunction and a deep type are within the limits.
    world.add((0, 0), "u8: Clone", "");
    world.add((1, 0), "Vec<^0.0>: Clone", "^0.0: Clone");
    let goal = world.goal("u8: Clone");
    let wide = Goal::all(&world.cx, vec![goal.clone(); MAX_GOALS as usize - 1]).unwrap();
    assert_eq!(world.prove(&wide), Holds);
    assert_eq!(world.answer(&format!("{}u8{}: Clone", "Vec<".repeat(200), ">".repeat(200))), Holds);
    // Goals are limited like terms.
    let two = Goal::all(&world.cx, [wide.clone(), wide]);
    assert_eq!(two, Err(TermError::LargeGoal));
    let mut deep = goal;
    let error = loop {
        match Goal::not(&world.cx, deep) {
            Ok(goal) => deep = goal,
            Err(error) => break error,
        }
    };
    assert_eq!(error, TermError::TooDeep);
    let mut negations = world.goal("u8: Clone");
    for _ in 0..40 {
        negations = Goal::not(&world.cx, negations).unwrap();
    }
    assert_eq!(world.prove(&negations), TooComplex);
}

#[test]
fn the_impls_of_foreign_regions_and_arities_do_not_apply() {
    let mut world = World::new(Boxed::new());
    let name = Name::Trait(world.symbols.intern("Tr"));
    world.impls.push(Impl::fact(TraitRef::new(name, [Region::Static.into()])));
    world.add((0, 0), "u8: Tr u16", "");
    assert_eq!(world.answer("u8: Tr"), Fails);
    assert_eq!(world.answer("u8: Tr u16"), Holds);
    let variable = TyData::BoundVariable(BoundVar::innermost(0));
    let unbound = Ty::new(&world.cx, variable).unwrap();
    world.impls.push(Impl::fact(TraitRef::new(name, [unbound.into()])));
    assert_eq!(world.answer("u8: Tr"), TooComplex, "an impl mentions a variable that it does not bind");
}

/// A clause of the reference: a trait, its type (`None` for every type), and the conditions on the same type or
/// on another one.
struct Clause {
    of: (usize, Option<usize>),
    conditions: Vec<(bool, usize, Option<usize>)>,
}

const TYPES: [&str; 4] = ["u8", "u16", "u32", "u64"];
const TRAITS: usize = 5;

/// All facts of a program whose negations are about traits with lower numbers: trait by trait, the least fixed
/// point.
fn facts(clauses: &[Clause]) -> BTreeSet<(usize, usize)> {
    let mut facts = BTreeSet::new();
    // A trait can need one of a greater number, so positive facts are computed together up to each number.
    for stratum in 0..TRAITS {
        loop {
            let mut new = Vec::new();
            for clause in clauses.iter().filter(|clause| clause.of.0 <= stratum) {
                for ty in (0..TYPES.len()).filter(|ty| clause.of.1.is_none_or(|own| own == *ty)) {
                    let holds = |(positive, of, on): &(bool, usize, Option<usize>)| {
                        facts.contains(&(*of, on.unwrap_or(ty))) == *positive
                    };
                    if clause.conditions.iter().all(holds) && !facts.contains(&(clause.of.0, ty)) {
                        new.push((clause.of.0, ty));
                    }
                }
            }
            if new.is_empty() {
                break;
            }
            facts.extend(new);
        }
    }
    facts
}

#[test]
fn random_programs_have_the_answers_of_the_reference() {
    let mut counts = [0; 2];
    for seed in 0..number(60, 1_000) {
        let mut random = Random(seed);
        let mut clauses = Vec::new();
        for _ in 0..3 + random.below(10) {
            let of = random.below(TRAITS);
            let mut conditions = Vec::new();
            for _ in 0..random.below(3) {
                let on = random.one_in(3).then(|| random.below(TYPES.len()));
                // Positive conditions are about traits up to the own one, negative ones about lower traits.
                let positive = of == 0 || random.one_in(2);
                let trait_number = random.below(if positive { of + 1 } else { of });
                conditions.push((positive, trait_number, on));
            }
            let on = random.one_in(2).then(|| random.below(TYPES.len()));
            clauses.push(Clause { of: (of, on), conditions });
        }
        let expected = facts(&clauses);
        let mut world = World::new(Boxed::new());
        let name = |ty: Option<usize>| ty.map_or("^0.0", |ty| TYPES[ty]);
        for Clause { of: (of, head), conditions } in &clauses {
            let conditions: Vec<String> = conditions
                .iter()
                .map(|(positive, of, on)| {
                    let not = if *positive { "" } else { "not " };
                    format!("{not}{}: C{of}", name(on.or(*head)))
                })
                .collect();
            world.add((1, 0), &format!("{}: C{of}", name(*head)), &conditions.join(" & "));
        }
        for of in 0..TRAITS {
            for (at, ty) in TYPES.iter().enumerate() {
                let holds = expected.contains(&(of, at));
                let (yes, no) = if holds { (Holds, Fails) } else { (Fails, Holds) };
                assert_eq!(world.answer(&format!("{ty}: C{of}")), yes, "seed {seed}: {ty}: C{of}");
                assert_eq!(world.answer(&format!("not {ty}: C{of}")), no, "seed {seed}: not {ty}: C{of}");
                counts[usize::from(holds)] += 1;
            }
            // An answer about a parameter is a proof. The reference has no other types, so it refutes one side.
            let some = (0..TYPES.len()).any(|at| expected.contains(&(of, at)));
            let never = world.answer(&format!("not T: C{of}"));
            assert!(never != Holds || !some, "seed {seed}: not T: C{of}");
        }
    }
    assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
}
