//! Replacement of types in an item, bottom up.

use typeloom_term::fold::{FoldState, super_fold_ty};
use typeloom_term::{Boxed, Fold, Folder, Meta, TermError};

use crate::item::{Item, Type};

/// Replaces every type of an item for which `replacement` returns one. Inner types are replaced first.
pub(crate) fn map_types(
    item: &mut Item,
    cx: &Boxed,
    replacement: impl Fn(&Type) -> Result<Option<Type>, TermError>,
) -> Result<(), TermError> {
    let mut fold = BottomUp { cx, replacement, state: FoldState::default() };
    for ty in item.types_mut() {
        *ty = ty.try_fold_with(&mut fold)?;
    }
    Ok(())
}

struct BottomUp<'c, R> {
    cx: &'c Boxed,
    replacement: R,
    state: FoldState<Boxed>,
}

impl<R: Fn(&Type) -> Result<Option<Type>, TermError>> Folder<Boxed> for BottomUp<'_, R> {
    type Error = TermError;

    fn cx(&self) -> &Boxed {
        self.cx
    }

    fn state(&mut self) -> &mut FoldState<Boxed> {
        &mut self.state
    }

    fn skip(&self, _meta: Meta) -> bool {
        false
    }

    fn fold_ty(&mut self, ty: &Type) -> Result<Type, TermError> {
        let folded = super_fold_ty(ty, self)?;
        Ok((self.replacement)(&folded)?.unwrap_or(folded))
    }
}
