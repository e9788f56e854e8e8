//! Resolution: replacing bound variables by their values.

use super::InferenceTable;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::fold::{Fold, FoldState, Folder, super_fold_const, super_fold_ty};
use crate::infer::vars::Probe;
use crate::meta::{Flags, Meta, TermError};
use crate::ty::{InferVar, Ty, TyData};

impl<F: TypeFamily> InferenceTable<F> {
    /// Replaces every bound variable, at any depth, and every other variable by the representative of its
    /// class.
    ///
    /// Each variable is resolved once, so the occurrences share one result. Fails only if the result would be
    /// too deep.
    pub fn resolve<T: Fold<F>>(&self, value: &T) -> Result<T, TermError> {
        value.try_fold_with(&mut Resolve {
            table: self,
            state: FoldState::default(),
            done: hashbrown::HashMap::default(),
        })
    }
}

struct Resolve<'t, F: TypeFamily> {
    table: &'t InferenceTable<F>,
    state: FoldState<F>,
    done: hashbrown::HashMap<u32, Ty<F>, foldhash::fast::FixedState>,
}

impl<F: TypeFamily> Folder<F> for Resolve<'_, F> {
    type Error = TermError;

    fn cx(&self) -> &F {
        &self.table.cx
    }

    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::TY_INFER.union(Flags::CONST_INFER))
    }

    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        let TyData::InferenceVar(InferVar::Var(var)) = ty.data() else { return super_fold_ty(ty, self) };
        match self.table.tys.probe(var) {
            Probe::Root(_) => Ok(self.table.shallow(ty)),
            Probe::Value(root, value) => {
                if let Some(done) = self.done.get(&root) {
                    return Ok(done.clone());
                }
                let result = value.try_fold_with(self)?;
                self.done.insert(root, result.clone());
                Ok(result)
            }
        }
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        match constant.data() {
            ConstData::Infer(InferVar::Var(_)) => {
                let value = self.table.shallow_const(constant);
                if value.same(constant) { Ok(value) } else { value.try_fold_with(self) }
            }
            ConstData::Infer(InferVar::Canonical(_))
            | ConstData::Value(_)
            | ConstData::Placeholder(_)
            | ConstData::Bound(_)
            | ConstData::Expr(..)
            | ConstData::Alias(..)
            | ConstData::Error(_) => super_fold_const(constant, self),
        }
    }
}
