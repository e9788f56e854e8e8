//! The lifetimes in types, for elision.

use std::convert::Infallible;
use std::ops::ControlFlow;

use typeloom_term::name::Name;
use typeloom_term::visit::{VisitState, super_visit_ty};
use typeloom_term::{Boxed, GenericArg, Meta, Region, Ty, TyData, Visit, Visitor};

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
        !meta.flags.intersects(typeloom_term::Flags::FREE_REGION)
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
