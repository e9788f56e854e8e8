//! Random types, described independently of a family.
//!
//! A shape can be built in two styles that mean the same type: with variables of binders in another order,
//! unused variables, repeated bounds in another order, and constants as expressions.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_term::name::Mutability;
use typeloom_term::ty::{DynBoundKind, FnTy, WitnessTy};
use typeloom_term::{
    Arity, BoundVar, Const, ConstOp, DynBound, DynTy, GenericArg, Name, Region, Symbols, Ty, TyData,
    TypeFamily,
};

#[derive(Clone, Debug)]
pub(crate) enum R {
    Static,
    Named(u8),
    Bound(u8, u8),
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Leaf(u8),
    Param(u8),
    /// A type variable of a binder, if there is one.
    Bound(u8, u8),
    Ref(R, bool, Box<Shape>),
    Adt(u8, Vec<Shape>),
    AdtL(u8, R),
    Tuple(Vec<Shape>),
    Array(Box<Shape>, u8),
    Fn(u8, u8, Vec<Shape>, Box<Shape>),
    Dyn(u8, R, Box<Shape>, u8, R),
    Witness(u8, Vec<Shape>),
}

fn regions() -> impl Strategy<Value = R> {
    prop_oneof![
        1 => Just(R::Static),
        3 => (0..3u8).prop_map(R::Named),
        4 => (0..3u8, 0..3u8).prop_map(|(depth, index)| R::Bound(depth, index)),
    ]
}

pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        3 => (0..4u8).prop_map(Shape::Leaf),
        2 => (0..2u8).prop_map(Shape::Param),
        2 => (0..2u8, 0..2u8).prop_map(|(depth, index)| Shape::Bound(depth, index)),
        3 => (0..3u8, regions()).prop_map(|(name, region)| Shape::AdtL(name, region)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..3);
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            2 => (regions(), any::<bool>(), boxed()).prop_map(|(r, m, t)| Shape::Ref(r, m, t)),
            2 => (0..4u8, inner.clone()).prop_map(|(name, arg)| Shape::Adt(name, vec![arg])),
            1 => list().prop_map(Shape::Tuple),
            1 => (boxed(), 0..4u8).prop_map(|(t, n)| Shape::Array(t, n)),
            4 => (0..3u8, 0..2u8, list(), boxed()).prop_map(|(r, t, ins, out)| Shape::Fn(r, t, ins, out)),
            2 => (0..3u8, regions(), boxed(), 0..16u8, regions())
                .prop_map(|(n, of, arg, more, r)| Shape::Dyn(n, of, arg, more, r)),
            1 => (0..3u8, list()).prop_map(|(n, list)| Shape::Witness(n, list)),
        ]
    })
}

/// Runs a property on a fixed sequence of cases.
pub(crate) fn check<S: Strategy>(
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(strategy, property).unwrap_or_else(|error| panic!("{error}"));
}

/// Style of writing a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Plain,
    Roundabout,
}

pub(crate) struct Build<'a, F: TypeFamily<Name = Name>> {
    pub(crate) cx: &'a F,
    pub(crate) symbols: &'a mut Symbols,
    pub(crate) style: Style,
    binders: Vec<Arity>,
}

const UNUSED: u16 = 2;

impl<'a, F: TypeFamily<Name = Name>> Build<'a, F> {
    pub(crate) fn new(cx: &'a F, symbols: &'a mut Symbols, style: Style) -> Self {
        Self { cx, symbols, style, binders: Vec::new() }
    }

    fn name(&mut self, text: &str) -> typeloom_term::Symbol {
        self.symbols.intern(text)
    }

    /// Number in this style of variable `index` of a binder with `declared` variables.
    fn number(&self, index: u16, declared: u16) -> u32 {
        match self.style {
            Style::Plain => u32::from(index),
            Style::Roundabout => u32::from(declared - 1 - index + UNUSED - 1),
        }
    }

    fn find(&self, depth: u8, index: u8, count: impl Fn(Arity) -> u16) -> Option<BoundVar> {
        if self.binders.is_empty() {
            return None;
        }
        let depth = usize::from(depth) % self.binders.len();
        let declared = count(self.binders[self.binders.len() - 1 - depth]);
        (declared > 0)
            .then(|| BoundVar::new(depth as u32, self.number(u16::from(index) % declared, declared)))
    }

    pub(crate) fn region(&mut self, region: &R) -> Region<F> {
        match *region {
            R::Static => Region::Static,
            R::Named(i) => Region::param(Name::Param(self.name(["'a", "'b", "'c"][usize::from(i)]))),
            R::Bound(depth, index) => match self.find(depth, index, |arity| arity.regions) {
                Some(var) => Region::Bound(var),
                None => self.region(&R::Named(index % 3)),
            },
        }
    }

    fn constant(&mut self, value: u8) -> Const<F> {
        let value = i128::from(value);
        match self.style {
            Style::Plain => Const::int(self.cx, value),
            Style::Roundabout => {
                let parts = [value + 3, 3].map(|part| Const::int(self.cx, part).into());
                Const::expr(self.cx, ConstOp::Sub, &parts).unwrap()
            }
        }
    }

    fn under<T>(&mut self, regions: u8, types: u8, body: impl FnOnce(&mut Self) -> T) -> (Arity, T) {
        let (regions, types) = (u16::from(regions), u16::from(types));
        self.binders.push(Arity { regions, types, consts: 0 });
        let result = body(self);
        self.binders.pop();
        let extra = if self.style == Style::Plain { 0 } else { UNUSED };
        (Arity { regions: regions + extra, types: types + extra, consts: 0 }, result)
    }

    fn list(&mut self, shapes: &[Shape]) -> Vec<GenericArg<F>> {
        shapes.iter().map(|shape| self.ty(shape).into()).collect()
    }

    pub(crate) fn ty(&mut self, shape: &Shape) -> Ty<F> {
        let built = match shape {
            Shape::Leaf(i) => {
                let name = Name::primitive(["u8", "bool", "str", "i32"][usize::from(*i)]).unwrap();
                Ty::apply(self.cx, name, &[])
            }
            Shape::Param(i) => {
                let name = self.name(["T", "U"][usize::from(*i)]);
                Ty::param(self.cx, Name::Param(name))
            }
            Shape::Bound(depth, index) => match self.find(*depth, *index, |arity| arity.types) {
                Some(var) => Ty::new(self.cx, TyData::BoundVariable(var)),
                None => Ok(self.ty(&Shape::Leaf(*index))),
            },
            Shape::Ref(region, mutable, inner) => {
                let mutability = if *mutable { Mutability::Mutable } else { Mutability::Shared };
                let args = [self.region(region).into(), self.ty(inner).into()];
                Ty::apply(self.cx, Name::Ref(mutability), &args)
            }
            Shape::Adt(i, args) => {
                let name = self.name(["CovT", "ContraT", "InvT", "Vec"][usize::from(*i)]);
                let args = self.list(args);
                Ty::apply(self.cx, Name::Adt(name), &args)
            }
            Shape::AdtL(i, region) => {
                let name = self.name(["CovL", "ContraL", "InvL"][usize::from(*i)]);
                let region = self.region(region);
                Ty::apply(self.cx, Name::Adt(name), &[region.into()])
            }
            Shape::Tuple(items) => {
                let items = self.list(items);
                Ty::apply(self.cx, Name::Tuple, &items)
            }
            Shape::Array(element, len) => {
                let args = [self.ty(element).into(), self.constant(*len).into()];
                Ty::apply(self.cx, Name::Array, &args)
            }
            Shape::Fn(regions, types, ins, out) => {
                let (arity, signature) = self.under(*regions, *types, |this| {
                    let mut list = this.list(ins);
                    list.push(this.ty(out).into());
                    list
                });
                Ty::new(self.cx, TyData::Fn(FnTy { name: Name::FN, arity, signature: &signature }))
            }
            Shape::Dyn(regions, of, arg, more, region) => self.dynamic(*regions, of, arg, *more, region),
            Shape::Witness(regions, types) => {
                let (arity, types) = self.under(*regions, 0, |this| this.list(types));
                let name = Name::Coroutine(self.name("work"));
                Ty::new(self.cx, TyData::GeneratorWitness(WitnessTy { name, arity, types: &types }))
            }
        };
        built.unwrap()
    }

    /// A trait object with up to three other bounds, as the bits of `more` say: auto traits, another trait, and
    /// the same trait with another argument.
    fn dynamic(
        &mut self,
        regions: u8,
        of: &R,
        arg: &Shape,
        more: u8,
        region: &R,
    ) -> Result<Ty<F>, typeloom_term::TermError> {
        let mut bounds = Vec::new();
        let other = Shape::Leaf(0);
        let traits = [(true, "TrLT", arg), (more & 4 != 0, "Other", arg), (more & 8 != 0, "TrLT", &other)];
        for (_, name, arg) in traits.into_iter().filter(|(is_bound, ..)| *is_bound) {
            let (arity, args) =
                self.under(regions, 0, |this| vec![this.region(of).into(), this.ty(arg).into()]);
            let name = Name::Trait(self.name(name));
            let args = self.cx.intern_args(&args);
            bounds.push(DynBound { arity, kind: DynBoundKind::Trait, name, args });
        }
        let none = self.cx.intern_args(&[]);
        for name in [(1, "Send"), (2, "Sync")].iter().filter(|(bit, _)| more & bit != 0).map(|(_, name)| name)
        {
            let name = Name::Trait(self.name(name));
            let (arity, kind) = (Arity::NONE, DynBoundKind::AutoTrait);
            bounds.push(DynBound { arity, kind, name, args: none.clone() });
        }
        if self.style == Style::Roundabout {
            bounds.reverse();
            bounds.extend(bounds.clone());
        }
        let region = self.region(region);
        Ty::new(self.cx, TyData::Dyn(DynTy { bounds: &bounds, region }))
    }
}
