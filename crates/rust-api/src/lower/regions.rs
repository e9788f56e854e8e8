//! The lifetimes in types, for elision and for witnesses.

use std::convert::Infallible;
use std::ops::ControlFlow;

use typeloom_term::fold::FoldState;
use typeloom_term::visit::{VisitState, super_visit_ty};
use typeloom_term::{
    Boxed, Flags, Fold, Folder, GenericArg, Meta, Name, Region, Symbols, TermError, Ty, TyData, Visit,
    Visitor,
};

use crate::item::Type;

#[derive(Default)]
struct Regions {
    state: VisitState,
    found: Vec<Region<Boxed>>,
}

impl Visitor<Boxed> for Regions {
    type Break = Infallible;

    fn state(&mut self) -> &mut VisitState {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::FREE_REGION)
    }

    fn visit_region(&mut self, region: Region<Boxed>) -> ControlFlow<Infallible> {
        if matches!(region, Region::Static | Region::Placeholder(_)) && !self.found.contains(&region) {
            self.found.push(region);
        }
        ControlFlow::Continue(())
    }
}

/// The different lifetimes that are free in types, in the order of their first use.
pub(crate) fn all(types: &[Type]) -> Vec<Region<Boxed>> {
    let mut regions = Regions::default();
    for ty in types {
        // The visitor never breaks.
        let ControlFlow::Continue(()) = ty.visit_with(&mut regions);
    }
    regions.found
}

/// Replaces each occurrence of a free lifetime by a new one.
struct Distinct<'s> {
    cx: Boxed,
    state: FoldState<Boxed>,
    symbols: &'s mut Symbols,
    made: Vec<Name>,
}

impl Folder<Boxed> for Distinct<'_> {
    type Error = TermError;

    fn cx(&self) -> &Boxed {
        &self.cx
    }

    fn state(&mut self) -> &mut FoldState<Boxed> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::FREE_REGION)
    }

    fn fold_region(&mut self, region: Region<Boxed>) -> Result<Region<Boxed>, TermError> {
        match region {
            Region::Static | Region::Erased | Region::Placeholder(_) => {
                let name = Name::Param(self.symbols.intern(&format!("'held#{}", self.made.len())));
                self.made.push(name);
                Ok(Region::param(name))
            }
            Region::Infer(_) | Region::Bound(_) | Region::Error(_) => Ok(region),
        }
    }
}

/// The types with a separate name for each occurrence of a free lifetime, and these names.
pub(super) fn distinct(
    cx: &Boxed,
    symbols: &mut Symbols,
    types: &[Type],
) -> Result<(Vec<Type>, Vec<Name>), TermError> {
    // A shared part of a term has other names at each occurrence, so a large graph would become a larger
    // tree.
    if types.iter().any(|ty| ty.meta().weight == u16::MAX) {
        return Err(TermError::TooMany);
    }
    let mut folder = Distinct { cx: *cx, state: FoldState::uncached(), symbols, made: Vec::new() };
    let types = types.to_vec().try_fold_with(&mut folder)?;
    Ok((types, folder.made))
}

#[derive(Default)]
struct FirstReference(VisitState);

impl Visitor<Boxed> for FirstReference {
    type Break = Region<Boxed>;

    fn state(&mut self) -> &mut VisitState {
        &mut self.0
    }

    fn skip(&self, _meta: Meta) -> bool {
        false
    }

    fn visit_ty(&mut self, ty: &Ty<Boxed>) -> ControlFlow<Region<Boxed>> {
        if let TyData::Apply(app) = ty.data()
            && let (Name::Ref(_), Some(GenericArg::Region(region))) = (app.name, app.args.first())
        {
            return ControlFlow::Break(*region);
        }
        super_visit_ty(ty, self)
    }
}

/// The lifetime of the outermost reference in a type.
pub(crate) fn of_reference(ty: &Type) -> Option<Region<Boxed>> {
    match ty.visit_with(&mut FirstReference::default()) {
        ControlFlow::Break(region) => Some(region),
        ControlFlow::Continue(()) => None,
    }
}
