//! An interner for `chalk-ir` in the manner of its reference interner: every interned type is an `Arc` or a
//! `Vec`.

use chalk_ir::interner::Interner;
use chalk_ir::*;
use std::fmt::{self, Debug};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Reference;

impl Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reference")
    }
}

impl interner::HasInterner for Reference {
    type Interner = Reference;
}

macro_rules! lists {
    ($($intern:ident, $data:ident, $list:ident, $item:ident;)*) => {$(
        fn $intern<E>(self, data: impl IntoIterator<Item = Result<$item<Self>, E>>) -> Result<Self::$list, E> {
            data.into_iter().collect()
        }
        fn $data(self, list: &Self::$list) -> &[$item<Self>] {
            list
        }
    )*};
}

impl Interner for Reference {
    type InternedType = Arc<TyData<Self>>;
    type InternedLifetime = LifetimeData<Self>;
    type InternedConst = Arc<ConstData<Self>>;
    type InternedConcreteConst = u32;
    type InternedGenericArg = GenericArgData<Self>;
    type InternedGoal = Arc<GoalData<Self>>;
    type InternedGoals = Vec<Goal<Self>>;
    type InternedSubstitution = Vec<GenericArg<Self>>;
    type InternedProgramClauses = Vec<ProgramClause<Self>>;
    type InternedProgramClause = ProgramClauseData<Self>;
    type InternedQuantifiedWhereClauses = Vec<QuantifiedWhereClause<Self>>;
    type InternedVariableKinds = Vec<VariableKind<Self>>;
    type InternedCanonicalVarKinds = Vec<CanonicalVarKind<Self>>;
    type InternedConstraints = Vec<InEnvironment<Constraint<Self>>>;
    type InternedVariances = Vec<Variance>;
    type DefId = u32;
    type InternedAdtId = u32;
    type Identifier = u32;
    type FnAbi = ();

    fn intern_ty(self, kind: TyKind<Self>) -> Arc<TyData<Self>> {
        let flags = kind.compute_flags(self);
        Arc::new(TyData { kind, flags })
    }
    fn ty_data(self, ty: &Arc<TyData<Self>>) -> &TyData<Self> {
        ty
    }
    fn intern_lifetime(self, lifetime: LifetimeData<Self>) -> LifetimeData<Self> {
        lifetime
    }
    fn lifetime_data(self, lifetime: &LifetimeData<Self>) -> &LifetimeData<Self> {
        lifetime
    }
    fn intern_const(self, constant: ConstData<Self>) -> Arc<ConstData<Self>> {
        Arc::new(constant)
    }
    fn const_data(self, constant: &Arc<ConstData<Self>>) -> &ConstData<Self> {
        constant
    }
    fn const_eq(self, _ty: &Arc<TyData<Self>>, a: &u32, b: &u32) -> bool {
        a == b
    }
    fn intern_generic_arg(self, data: GenericArgData<Self>) -> GenericArgData<Self> {
        data
    }
    fn generic_arg_data(self, arg: &GenericArgData<Self>) -> &GenericArgData<Self> {
        arg
    }
    fn intern_goal(self, data: GoalData<Self>) -> Arc<GoalData<Self>> {
        Arc::new(data)
    }
    fn goal_data(self, goal: &Arc<GoalData<Self>>) -> &GoalData<Self> {
        goal
    }
    fn intern_program_clause(self, data: ProgramClauseData<Self>) -> ProgramClauseData<Self> {
        data
    }
    fn program_clause_data(self, clause: &ProgramClauseData<Self>) -> &ProgramClauseData<Self> {
        clause
    }
    fn intern_constraints<E>(
        self,
        data: impl IntoIterator<Item = Result<InEnvironment<Constraint<Self>>, E>>,
    ) -> Result<Self::InternedConstraints, E> {
        data.into_iter().collect()
    }
    fn constraints_data(self, list: &Self::InternedConstraints) -> &[InEnvironment<Constraint<Self>>] {
        list
    }
    fn intern_variances<E>(
        self,
        data: impl IntoIterator<Item = Result<Variance, E>>,
    ) -> Result<Vec<Variance>, E> {
        data.into_iter().collect()
    }
    fn variances_data(self, list: &Vec<Variance>) -> &[Variance] {
        list
    }
    lists! {
        intern_goals, goals_data, InternedGoals, Goal;
        intern_substitution, substitution_data, InternedSubstitution, GenericArg;
        intern_program_clauses, program_clauses_data, InternedProgramClauses, ProgramClause;
        intern_quantified_where_clauses, quantified_where_clauses_data, InternedQuantifiedWhereClauses,
            QuantifiedWhereClause;
        intern_generic_arg_kinds, variable_kinds_data, InternedVariableKinds, VariableKind;
        intern_canonical_var_kinds, canonical_var_kinds_data, InternedCanonicalVarKinds, CanonicalVarKind;
    }
}

pub(crate) fn adt(id: u32, args: &[Ty<Reference>]) -> Ty<Reference> {
    let args = args.iter().map(|ty| GenericArgData::Ty(ty.clone()).intern(Reference));
    TyKind::Adt(AdtId(id), Substitution::from_iter(Reference, args)).intern(Reference)
}

pub(crate) fn bound(index: usize) -> Ty<Reference> {
    TyKind::BoundVar(BoundVar::new(DebruijnIndex::INNERMOST, index)).intern(Reference)
}
