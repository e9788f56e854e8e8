//! Negative goals: a relation that holds for no substitution of the placeholders.
//!
//! A placeholder of a positive goal is universal: the goal has to hold for every type in its position. Under
//! a negation it is existential, so the placeholders become inference variables ([`InferenceTable::invert`]),
//! and the negation holds if the relation between the inverted terms fails. Coherence asks this question of
//! the headers of two impls.
//!
//! **Invariant:** the answer [`Negation::Holds`] is a proof. An alias that mentions an inverted variable may
//! evaluate for some substitution, even if it is rigid for the placeholder, so it never proves a negation.

use super::{InferenceTable, Obligation, RelationError};
use crate::arg::GenericArg;
use crate::binder::{Universe, VarKind};
use crate::constant::Const;
use crate::family::TypeFamily;
use crate::fold::Fold;
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta, TermError};
use crate::program::{ConstEquation, Normalized, Program};
use crate::subst::{LeafMap, map_leaves};
use crate::ty::{AliasTy, InferVar, Placeholder, Ty, TyData};
use crate::variance::Variance;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Answer to a negative goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Negation<F: TypeFamily> {
    /// The relation holds for no substitution.
    Holds,
    /// The relation holds for some substitution.
    Fails,
    /// The answer depends on variables of the table, or on the obligations.
    Undecided(Vec<Obligation<F>>),
}

impl<F: TypeFamily> InferenceTable<F> {
    /// Replaces every placeholder by a new variable, the same one for each of its occurrences.
    pub fn invert<T: Fold<F>>(&mut self, value: &T) -> Result<T, TermError> {
        let cx = self.cx.clone();
        map_leaves(&cx, value, &mut Invert { table: self, made: HashMap::default() })
    }

    /// Answers `not (a R b)` for the relation of a variance; the table stays unchanged.
    ///
    /// ```
    /// use typeloom_term::infer::Negation;
    /// use typeloom_term::parse::{Scope, parse_ty};
    /// use typeloom_term::program::NoProgram;
    /// use typeloom_term::{Boxed, InferenceTable, Symbols, Variance};
    ///
    /// let cx = Boxed::new();
    /// let mut symbols = Symbols::new();
    /// let scope = Scope::new().types(["T", "U"]);
    /// let mut parse = |text| parse_ty(&cx, &mut symbols, &scope, text);
    /// let (pair, same, bytes) = (parse("(T, u8)")?, parse("(Vec<U>, U)")?, parse("(str, u8)")?);
    ///
    /// let mut table = InferenceTable::new(cx);
    /// // `T` is no `Vec<U>`, but some `T` is.
    /// assert!(table.eq(&NoProgram, &pair, &same).is_err());
    /// assert_eq!(table.never(&NoProgram, Variance::Invariant, &pair, &same)?, Negation::Fails);
    /// assert_eq!(table.never(&NoProgram, Variance::Invariant, &same, &bytes)?, Negation::Holds);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a term exceeds a limit.
    pub fn never<P: Program<F>>(
        &mut self,
        program: &P,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<Negation<F>, TermError> {
        self.probe(|table| {
            let pair = vec![GenericArg::Ty(table.resolve(a)?), GenericArg::Ty(table.resolve(b)?)];
            let open =
                pair.iter().any(|arg| arg.as_ty().is_some_and(|ty| ty.meta().flags.intersects(VARIABLES)));
            let inverted = table.invert(&pair)?;
            let [GenericArg::Ty(a), GenericArg::Ty(b)] = inverted.as_slice() else {
                return Ok(Negation::Undecided(Vec::new()));
            };
            let program = Inverted(program);
            let related = table.relate(&program, variance, a, b);
            match related.and_then(|obligations| table.retry(&program, obligations)) {
                Err(RelationError::Term(error)) => Err(error),
                Err(_) => Ok(Negation::Holds),
                Ok(obligations) => {
                    let obligations: Vec<_> =
                        obligations.into_iter().filter(|obligation| !is_satisfiable(obligation)).collect();
                    let decided = !open && obligations.is_empty();
                    Ok(if decided { Negation::Fails } else { Negation::Undecided(obligations) })
                }
            }
        })
    }
}

/// Flags of types with variables that are not part of the goal.
pub(super) const VARIABLES: Flags = Flags::TY_INFER.union(Flags::CONST_INFER).union(Flags::CANONICAL);

/// Whether some values of the variables satisfy an obligation: two variables can be equal.
fn is_satisfiable<F: TypeFamily>(obligation: &Obligation<F>) -> bool {
    let is_var = |ty: &Ty<F>| matches!(ty.data(), TyData::InferenceVar(InferVar::Var(_)));
    match obligation {
        Obligation::Relate { variance: _, a, b } => is_var(a) && is_var(b),
        Obligation::WellFormed(_) => true,
        Obligation::EquateConsts { .. } => false,
    }
}

/// A program in which aliases of unknown arguments stay open.
pub(super) struct Inverted<'p, P>(pub(super) &'p P);

impl<F: TypeFamily, P: Program<F>> Program<F> for Inverted<'_, P> {
    fn variance(&self, cx: &F, name: F::Name, index: usize) -> Variance {
        self.0.variance(cx, name, index)
    }

    fn normalize(&self, cx: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
        let is_open = |arg: &GenericArg<F>| match arg {
            GenericArg::Ty(ty) => ty.meta().flags.intersects(Flags::INFER),
            GenericArg::Const(constant) => constant.meta().flags.intersects(Flags::INFER),
            GenericArg::Region(_) => false,
        };
        match self.0.normalize(cx, alias) {
            Normalized::Rigid if alias.args.iter().any(is_open) => Normalized::Ambiguous,
            other => other,
        }
    }

    fn equate(&self, cx: &F, a: &Const<F>, b: &Const<F>) -> ConstEquation {
        self.0.equate(cx, a, b)
    }
}

/// Replaces placeholders by variables of a table.
struct Invert<'t, F: TypeFamily> {
    table: &'t mut InferenceTable<F>,
    made: HashMap<(VarKind, Placeholder<F::Name>), GenericArg<F>, FixedState>,
}

impl<F: TypeFamily> LeafMap<F> for Invert<'_, F> {
    fn skip(&self, meta: Meta, _depth: u32) -> bool {
        !meta.flags.intersects(Flags::PLACEHOLDER)
    }

    fn map(
        &mut self,
        _cx: &F,
        kind: VarKind,
        leaf: Leaf<F::Name>,
        _depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError> {
        let Leaf::Placeholder(placeholder) = leaf else { return Ok(None) };
        if let Some(var) = self.made.get(&(kind, placeholder)) {
            return Ok(Some(var.clone()));
        }
        let var: GenericArg<F> = match kind {
            VarKind::Ty => self.table.new_ty_var_in(Universe::ROOT)?.into(),
            VarKind::Region => self.table.new_region_var_in(Universe::ROOT)?.into(),
            VarKind::Const => self.table.new_const_var_in(Universe::ROOT)?.into(),
        };
        self.made.insert((kind, placeholder), var.clone());
        Ok(Some(var))
    }
}
