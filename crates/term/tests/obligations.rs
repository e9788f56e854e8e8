//! Undecided relations are returned as obligations and decided when more is known.

use typeloom_term::infer::{Negation, Outlives, RegionFacts};
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::program::{ConstEquation, NoProgram, Normalized};
use typeloom_term::ty::Reporter;
use typeloom_term::{
    AliasTy, Arena, Boxed, Const, ConstData, GenericArg, InferVar, InferenceTable, Interned, Name,
    Obligation, Program, Region, RelationError, Symbols, Ty, TyData, TypeFamily, Variance, print,
};

/// `Vec<T>: IntoIterator<Item = T>`; `Loop` evaluates to itself, `Grow` to `Vec<Grow>`; `Phantom` ignores its
/// second argument; `N` and `M` cannot be compared, every other pair of symbols is distinct.
struct World {
    symbols: Symbols,
}

impl World {
    fn new() -> Self {
        Self { symbols: Symbols::new() }
    }

    fn parse<F: TypeFamily<Name = Name>>(&mut self, cx: &F, text: &str) -> Ty<F> {
        let scope = Scope::new().types(["T"]).consts(["N", "M", "K"]);
        parse_ty(cx, &mut self.symbols, &scope, text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn named(&self, name: Name, text: &str) -> bool {
        let symbol = match name {
            Name::Adt(symbol) | Name::Projection(symbol) | Name::Free(symbol) | Name::Param(symbol) => symbol,
            _ => return false,
        };
        self.symbols.resolve(symbol) == text
    }
}

impl<F: TypeFamily<Name = Name>> Program<F> for World {
    fn variance(&self, _cx: &F, name: Name, index: usize) -> Variance {
        match name.builtin_variance(index) {
            Some(variance) => variance,
            None if index == 1 && self.named(name, "Phantom") => Variance::Bivariant,
            None => Variance::Covariant,
        }
    }

    fn normalize(&self, cx: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
        let this = alias.args.first().and_then(GenericArg::as_ty).map(Ty::data);
        if self.named(alias.name, "IntoIterator::Item") {
            return match this {
                Some(TyData::Apply(app)) if self.named(app.name, "Vec") => match app.args.first() {
                    Some(GenericArg::Ty(item)) => Normalized::To(item.clone()),
                    _ => Normalized::Rigid,
                },
                Some(TyData::InferenceVar(_)) => Normalized::Ambiguous,
                _ => Normalized::Rigid,
            };
        }
        let again = || Ty::alias(cx, alias.name, alias.args).unwrap();
        if self.named(alias.name, "Loop") {
            return Normalized::To(again());
        }
        if self.named(alias.name, "Grow") {
            let vec = Name::Adt(self.symbols.get("Vec").unwrap());
            return Normalized::To(Ty::apply(cx, vec, &[again().into()]).unwrap());
        }
        Normalized::Rigid
    }

    fn equate(&self, _cx: &F, a: &Const<F>, b: &Const<F>) -> ConstEquation {
        let symbol = |constant: &Const<F>, text: &str| match constant.data() {
            ConstData::Placeholder(placeholder) => match placeholder.id {
                typeloom_term::ty::PlaceholderId::Named(name) => self.named(name, text),
                typeloom_term::ty::PlaceholderId::Fresh(_) => false,
            },
            _ => false,
        };
        let unknown = |a, b| symbol(a, "N") && symbol(b, "M");
        if unknown(a, b) || unknown(b, a) { ConstEquation::Unknown } else { ConstEquation::Distinct }
    }
}

fn an_alias_waits_for_its_arguments<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut world = World::new();
    for variance in [Variance::Invariant, Variance::Covariant, Variance::Contravariant] {
        let mut table = InferenceTable::new(cx.clone());
        let var = table.new_ty_var().unwrap();
        assert_eq!(print::rust(&var, &world.symbols), "?0");
        let item = world.parse(cx, "Vec<<?0 as IntoIterator>::Item>");
        let bytes = world.parse(cx, "Vec<u8>");
        let open = table.relate(&world, variance, &item, &bytes).unwrap();
        assert!(matches!(open.as_slice(), [Obligation::Relate { .. }]), "{open:?}");
        assert_eq!(table.retry(&world, open.clone()).unwrap(), open, "nothing more is known");
        table.eq(&world, &var, &bytes).unwrap();
        assert_eq!(table.retry(&world, open.clone()), Ok(vec![]));
        let mut other = InferenceTable::new(cx.clone());
        let var = other.new_ty_var().unwrap();
        other.eq(&world, &var, &world.symbols.clone().intern_vec_of_bool(cx)).unwrap();
        assert!(other.retry(&world, open).is_err(), "a vector of something else");
    }
}

trait VecOfBool {
    fn intern_vec_of_bool<F: TypeFamily<Name = Name>>(self, cx: &F) -> Ty<F>;
}

impl VecOfBool for Symbols {
    fn intern_vec_of_bool<F: TypeFamily<Name = Name>>(mut self, cx: &F) -> Ty<F> {
        parse_ty(cx, &mut self, &Scope::new(), "Vec<bool>").unwrap()
    }
}

fn subtyping_of_two_variables_waits_for_one_of_them<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut world = World::new();
    let mut table = InferenceTable::new(cx.clone());
    let (x, y) = (table.new_ty_var().unwrap(), table.new_ty_var().unwrap());
    let open = table.sub(&world, &x, &y).unwrap();
    assert_eq!(open.len(), 1);
    assert!(table.resolve(&x).unwrap() != table.resolve(&y).unwrap(), "they may still differ in lifetimes");
    let long = world.parse(cx, "&'b u8");
    let short = world.parse(cx, "&'a u8");
    table.eq(&world, &y, &short).unwrap();
    assert_eq!(table.retry(&world, open), Ok(vec![]));
    assert_eq!(table.eq(&world, &x, &long), Ok(vec![]));
    let [a, b] = ["'a", "'b"].map(|name| Region::param(Name::Param(world.symbols.intern(name))));
    let mut facts = RegionFacts::new();
    let unknown = table.regions().check(&facts).unwrap_err();
    assert_eq!((unknown.longer, unknown.shorter), (b, a));
    facts.assume(b, a);
    assert!(table.regions().check(&facts).is_ok());
}

fn a_type_cannot_contain_one_that_it_is_related_to<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut table = InferenceTable::new(cx.clone());
    let (x, y) = (table.new_ty_var().unwrap(), table.new_ty_var().unwrap());
    table.sub(&NoProgram, &x, &y).unwrap();
    let around = Ty::apply(cx, Name::Slice, &[x.into()]).unwrap();
    let result = table.eq(&NoProgram, &y, &around);
    let occurs = matches!(result, Err(RelationError::Occurs { .. }));
    assert!(occurs, "{result:?}");
}

fn constants_wait_for_their_symbols<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut world = World::new();
    let mut table = InferenceTable::new(cx.clone());
    table.new_const_var().unwrap();
    let mut eq = |a: &str, b: &str| {
        let (a, b) = (world.parse(cx, a), world.parse(cx, b));
        table.eq(&world, &a, &b)
    };
    assert_eq!(eq("[u8; { 2 * 3 }]", "[u8; 6]"), Ok(vec![]));
    assert_eq!(eq("[u8; { N + 1 }]", "[u8; { N + (3 - 2) }]"), Ok(vec![]));
    assert!(eq("[u8; 3]", "[u8; 4]").is_err());
    assert!(eq("[u8; N]", "[u8; K]").is_err());
    assert!(eq("[u8; { 1 / 0 }]", "[u8; 1]").is_err());
    assert_eq!(eq("[u8; N]", "[u8; M]").unwrap().len(), 1);
    let open = eq("[u8; { ?#0 + 1 }]", "[u8; 3]").unwrap();
    assert!(matches!(open.as_slice(), [Obligation::EquateConsts { .. }]));
    assert_eq!(eq("[u8; ?#0]", "[u8; 2]"), Ok(vec![]));
    assert_eq!(table.retry(&world, open), Ok(vec![]));
    let var = Const::new(cx, ConstData::Infer(InferVar::Var(0))).unwrap();
    assert_eq!(table.resolve(&var).unwrap(), Const::int(cx, 2));
}

fn an_argument_without_variance_is_determined_by_well_formedness<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut world = World::new();
    let mut table = InferenceTable::new(cx.clone());
    let (a, b) = (world.parse(cx, "Phantom<u8, &'a u8>"), world.parse(cx, "Phantom<u8, bool>"));
    assert_eq!(table.sub(&world, &a, &b), Ok(vec![]));
    assert!(table.eq(&world, &a, &b).is_err(), "equality looks at every argument");
    let inner = table.new_ty_var().unwrap();
    let phantom = Name::Adt(world.symbols.intern("Phantom"));
    let byte = world.parse(cx, "u8");
    let open = Ty::apply(cx, phantom, &[byte.into(), inner.into()]).unwrap();
    let var = table.new_ty_var().unwrap();
    let obligations = table.sub(&world, &open, &var).unwrap();
    assert!(matches!(obligations.as_slice(), [Obligation::WellFormed(_)]), "{obligations:?}");
}

fn aliases_that_never_end_are_handed_back<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut world = World::new();
    world.parse(cx, "Vec<u8>");
    let byte = world.parse(cx, "u8");
    for text in ["{type Loop}", "{type Grow}", "Vec<{type Loop}>", "Vec<{type Grow}>", "Vec<&'a {type Grow}>"]
    {
        let alias = world.parse(cx, text);
        let mut table = InferenceTable::new(cx.clone());
        let _ = table.eq(&world, &alias, &byte);
        for variance in [Variance::Invariant, Variance::Covariant, Variance::Contravariant] {
            let var = table.new_ty_var().unwrap();
            let result = table.relate(&world, variance, &var, &alias);
            assert!(result.is_ok() || matches!(result, Err(RelationError::Term(_))), "{text}: {result:?}");
        }
    }
    let alias = world.parse(cx, "{type Loop}");
    let open = InferenceTable::new(cx.clone()).eq(&world, &alias, &byte).unwrap();
    assert_eq!(open.len(), 1);
}

fn outlives_constraints_come_in_order_and_without_a_decision<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut world = World::new();
    let mut table = InferenceTable::new(cx.clone());
    let (a, b) = (world.parse(cx, "(&'a u8, &'b mut u8)"), world.parse(cx, "(&'b u8, &'a mut u8)"));
    table.sub(&world, &a, &b).unwrap();
    let [x, y] = ["'a", "'b"].map(|name| Region::param(Name::Param(world.symbols.intern(name))));
    let expected = [Outlives { longer: x, shorter: y }, Outlives { longer: y, shorter: x }];
    assert_eq!(table.regions().outlives(), expected);
    let proof = Vec::new().report("a lifetime in error");
    table.outlives(Region::Error(proof), x);
    let mut facts = RegionFacts::new();
    facts.assume(x, y);
    assert!(table.regions().check(&facts).is_err());
    facts.assume(y, x);
    assert!(table.regions().check(&facts).is_ok());
}

macro_rules! on_both_families {
    ($($name:ident),* $(,)?) => {
        mod boxed {
            $(#[test]
            fn $name() {
                super::$name(&super::Boxed::new());
            })*
        }
        mod interned {
            $(#[test]
            fn $name() {
                let arena = super::Arena::new();
                super::$name(&super::Interned::new(&arena));
            })*
        }
    };
}
on_both_families!(
    an_alias_waits_for_its_arguments,
    subtyping_of_two_variables_waits_for_one_of_them,
    a_type_cannot_contain_one_that_it_is_related_to,
    constants_wait_for_their_symbols,
    an_argument_without_variance_is_determined_by_well_formedness,
    aliases_that_never_end_are_handed_back,
    outlives_constraints_come_in_order_and_without_a_decision,
);

/// Trait objects with several traits, which Rust does not have: the bounds are a set.
#[test]
fn bounds_of_one_trait_correspond_when_their_variables_are_known() {
    let (cx, mut world) = (Boxed::new(), World::new());
    let mut table = InferenceTable::new(cx);
    let mut ty = |text| world.parse(&cx, text);
    let variable = table.new_ty_var().unwrap();
    let (open, known) = (ty("dyn Tr<(?0, u8)> + Tr<(u16, ?0)>"), ty("dyn Tr<(u16, u8)>"));
    let (two, three) = (ty("dyn Tr<(u16, u32)> + Tr<(u32, u8)>"), ty("dyn Tr<(u16, u8)> + Tr<u64>"));
    // Each of the bounds can be the other one.
    let obligations = table.eq(&NoProgram, &open, &known).unwrap();
    assert_eq!(obligations.len(), 1);
    assert_eq!(table.never(&NoProgram, Variance::Invariant, &open, &known), Ok(undecided(&open, &known)));
    for (value, holds) in [("u16", None), ("u32", Some(&two)), ("u8", None)] {
        table.probe(|table| {
            let value = world.parse(&cx, value);
            table.eq(&NoProgram, &variable, &value).unwrap();
            assert!(table.retry(&NoProgram, obligations.clone()).is_err(), "two bounds are not one");
            for other in [&two, &three] {
                let is_equal = table.eq(&NoProgram, &open, other).is_ok_and(|open| open.is_empty());
                assert_eq!(is_equal, holds.is_some_and(|holds| holds == other));
            }
        });
    }
    // One of them is left over.
    let mut ty = |text| world.parse(&cx, text);
    let (open, known) = (ty("dyn Tr<u8> + Tr<?0>"), ty("dyn Tr<u16> + Tr<u8> + Tr<u8>"));
    assert!(table.eq(&NoProgram, &open, &known).unwrap().is_empty());
    assert_eq!(print::rust(&table.resolve(&variable).unwrap(), &world.symbols), "u16");
}

fn undecided(a: &Ty, b: &Ty) -> Negation<Boxed> {
    let relate = Obligation::Relate { variance: Variance::Invariant, a: a.clone(), b: b.clone() };
    Negation::Undecided(vec![relate])
}
