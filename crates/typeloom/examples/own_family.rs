//! A compiler with terms of its own: it stores types and goals, and supplies the impls of its program.
//!
//! `cargo run --example own_family`

use std::borrow::Cow;

use typeloom::term::build::{Arity, BoundVar, ConstData, TermError, WitnessTy};
use typeloom::term::family::{Meta, Node};
use typeloom::term::goals::{Answer, Goal, GoalData, GoalFamily, Impl, TraitEnvironment, TraitRef};
use typeloom::term::infer::{AliasTy, ConstEquation, InferenceTable, Normalized, Program, Variance};
use typeloom::term::{ApplicationTy, Const, DynTy, FnTy, GenericArg, Ty, TyData, TypeFamily};

/// The family. Handles are references, and nodes are never freed; an arena would free them at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Leaked;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LeakedTy(&'static (Meta, TyData<'static, Leaked>));

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LeakedConst(&'static (Meta, ConstData<'static, Leaked>));

impl Node for LeakedTy {
    fn meta(&self) -> Meta {
        self.0.0
    }
    fn address(&self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }
}

impl Node for LeakedConst {
    fn meta(&self) -> Meta {
        self.0.0
    }
    fn address(&self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }
}

/// Lists are borrowed from the caller, so the family copies them.
fn keep<T: Clone>(list: &[T]) -> &'static [T] {
    list.to_vec().leak()
}

impl TypeFamily for Leaked {
    type Name = &'static str;
    type InternedTy = LeakedTy;
    type InternedConst = LeakedConst;
    type InternedArgs = Vec<GenericArg<Self>>;
    const IDENTITY: bool = false;

    fn intern_ty(&self, data: TyData<'_, Self>) -> Result<LeakedTy, TermError> {
        let meta = data.meta()?;
        let data = match data {
            TyData::Apply(ApplicationTy { name, args }) => {
                TyData::Apply(ApplicationTy { name, args: keep(args) })
            }
            TyData::Alias(AliasTy { name, args }) => TyData::Alias(AliasTy { name, args: keep(args) }),
            TyData::Dyn(DynTy { bounds, region }) => TyData::Dyn(DynTy { bounds: keep(bounds), region }),
            TyData::Fn(FnTy { name, arity, signature }) => {
                TyData::Fn(FnTy { name, arity, signature: keep(signature) })
            }
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                TyData::GeneratorWitness(WitnessTy { name, arity, types: keep(types) })
            }
            TyData::Placeholder(placeholder) => TyData::Placeholder(placeholder),
            TyData::InferenceVar(var) => TyData::InferenceVar(var),
            TyData::BoundVariable(var) => TyData::BoundVariable(var),
            TyData::Error(proof) => TyData::Error(proof),
        };
        Ok(LeakedTy(Box::leak(Box::new((meta, data)))))
    }

    fn intern_const(&self, data: ConstData<'_, Self>) -> Result<LeakedConst, TermError> {
        let meta = data.meta()?;
        let data = match data {
            ConstData::Expr(op, operands) => ConstData::Expr(op, keep(operands)),
            ConstData::Alias(name, args) => ConstData::Alias(name, keep(args)),
            ConstData::Value(value) => ConstData::Value(value),
            ConstData::Placeholder(placeholder) => ConstData::Placeholder(placeholder),
            ConstData::Infer(var) => ConstData::Infer(var),
            ConstData::Bound(var) => ConstData::Bound(var),
            ConstData::Error(proof) => ConstData::Error(proof),
        };
        Ok(LeakedConst(Box::leak(Box::new((meta, data)))))
    }

    fn intern_args(&self, args: &[GenericArg<Self>]) -> Self::InternedArgs {
        args.to_vec()
    }

    fn ty_data(ty: &LeakedTy) -> TyData<'_, Self> {
        ty.0.1
    }

    fn const_data(constant: &LeakedConst) -> ConstData<'_, Self> {
        constant.0.1
    }
}

impl GoalFamily for Leaked {
    type InternedGoal = &'static GoalData<Self>;

    fn intern_goal(&self, data: GoalData<Self>) -> Self::InternedGoal {
        Box::leak(Box::new(data))
    }

    fn goal_data(goal: &Self::InternedGoal) -> &GoalData<Self> {
        goal
    }
}

/// `impl Clone for u8` and `impl<T: Clone> Clone for Vec<T>`.
impl TraitEnvironment<Leaked> for Leaked {
    fn impls(&self, _: &Leaked, name: &'static str) -> Cow<'_, [Impl<Leaked>]> {
        let impls = || -> Result<_, TermError> {
            let element = Ty::new(self, TyData::BoundVariable(BoundVar::innermost(0)))?;
            let of_vec = Impl {
                arity: Arity { types: 1, ..Arity::NONE },
                of: TraitRef::new("Clone", [Ty::apply(self, "Vec", &[element.into()])?.into()]),
                conditions: vec![Goal::implemented(self, TraitRef::new("Clone", [element.into()]))?],
            };
            let of_byte = Impl::fact(TraitRef::new("Clone", [Ty::apply(self, "u8", &[])?.into()]));
            Ok(vec![of_byte, of_vec])
        };
        Cow::Owned(if name == "Clone" { impls().expect("the terms are small") } else { Vec::new() })
    }
}

impl Program<Leaked> for Leaked {
    fn variance(&self, _: &Leaked, _: &'static str, _: usize) -> Variance {
        Variance::Covariant
    }

    fn normalize(&self, _: &Leaked, _: AliasTy<'_, Leaked>) -> Normalized<Ty<Leaked>> {
        Normalized::Rigid
    }

    fn equate(&self, _: &Leaked, _: &Const<Leaked>, _: &Const<Leaked>) -> ConstEquation {
        ConstEquation::Distinct
    }
}

/// The answers to `Implemented(ty: Clone)` and to its negation, for several types.
pub(crate) fn walk() -> Result<Vec<(&'static str, Answer, Answer)>, TermError> {
    let mut table = InferenceTable::new(Leaked);
    let vec = |of: Ty<Leaked>| Ty::apply(&Leaked, "Vec", &[of.into()]);
    let (byte, text) = (Ty::apply(&Leaked, "u8", &[])?, Ty::apply(&Leaked, "str", &[])?);
    let unknown = table.new_ty_var()?;
    let types = [
        ("Vec<Vec<u8>>", vec(vec(byte)?)?),
        ("Vec<str>", vec(text)?),
        // A parameter: any type in the goal, some type in the negation.
        ("T", Ty::param(&Leaked, "T")?),
        ("Vec<?0>", vec(unknown)?),
    ];
    let mut answers = Vec::new();
    for (name, ty) in types {
        let goal = Goal::implemented(&Leaked, TraitRef::new("Clone", [ty.into()]))?;
        let not = Goal::not(&Leaked, goal.clone())?;
        let [holds, fails] = [goal, not].map(|goal| table.prove(&Leaked, &Leaked, &goal));
        answers.push((name, holds, fails));
    }
    Ok(answers)
}

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Result<(), TermError> {
    for (ty, holds, fails) in walk()? {
        println!("Implemented({ty}: Clone): {holds:?}; not {{ Implemented({ty}: Clone) }}: {fails:?}");
    }
    Ok(())
}
