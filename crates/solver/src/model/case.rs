//! Cases: conditions that only a run decides, and what is assumed of them.
//!
//! The outputs of a node with branches depend on a condition. Where the branches differ in shape, a join of the two is
//! imprecise: `[2, 3]` and `[4, 3]` become `[?, 3]`, and two ranks become no rank at all. So the solver also solves the
//! model once for each outcome of the condition, with the condition as a constant, and joins the results at the end.
//! This is trace partitioning (Mauborgne and Rival, 2005). Inside one case there is no choice left, so no rule knows
//! of cases, and whatever depends on one condition is correlated.
//!
//! A [`Question`] is a condition that can be assumed either way. Questions about dims are decided by facts about
//! symbols (`k = 1` is put in wherever `k` is declared, `k != 1` is a fact, see [`crate::dim`]), and hold for the
//! whole model. All other conditions are values of the main graph: the value is a constant in either case. The
//! condition of a graph that runs repeatedly differs from iteration to iteration, so it is never assumed; the outputs of
//! such a node are joined.
//!
//! Truth values of comparisons that dims leave open are variables that remember their question. Arithmetic on truth values
//! (`Not` is `1 - x`) leads back to it.
//!
//! **Invariant:** a model in which no branches differ is solved once.
//!
//! **Limits:** [`MAX_DEPTH`] questions in one case, [`MAX_CASES`] cases. Beyond these the outputs are joined.

mod blame;
mod display;
mod merge;
mod split;

use crate::state::cases::{Asked, Literal, Question};

pub(crate) use blame::{judge, open_claims, prune};
pub(crate) use display::display_union;
pub(crate) use merge::{Alternatives, merge};
pub(crate) use split::{Leaf, split, trace};

use crate::dim::DimId;
use crate::state::Core;
use crate::state::frame::Frame;

/// The most questions that are assumed at once.
pub(crate) const MAX_DEPTH: usize = 4;
/// The most cases of one model.
pub(crate) const MAX_CASES: usize = 16;

/// Gives the assumed conditions their value, where their shape is known, and the truth values that callers give a question
/// each, so that what is computed from them is recognised.
pub(crate) fn seed_conditions<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>) {
    let literals = core.cases.literals.clone();
    for Literal { asked, holds } in literals {
        let Question::Condition(value) = asked.question else { continue };
        let item = core.dims.constant(i64::from(holds));
        let ints = match asked.rank {
            Some(0) => crate::state::constants::Ints::scalar(item),
            Some(1) => crate::state::constants::Ints::vector([item]),
            Some(_) | None => continue,
        };
        core.set_data(frame, value, crate::state::constants::Data::Ints(std::sync::Arc::new(ints)));
    }
    let body = std::sync::Arc::clone(&frame.body);
    for value in body.graph(body.root()).inputs.iter().copied() {
        let slot = frame.slots[value.index()];
        let is_truth = slot.ty.and_then(crate::ty::Ty::constant_elem) == Some(crate::elem::Elem::BOOL);
        if !is_truth || slot.data.is_some() || body.value(value).origin != crate::program::Origin::Input {
            continue;
        }
        let truth = |core: &mut Core<'a>| core.cases.truth(&mut core.dims, Question::Condition(value));
        let ints = match slot.shape.map(|shape| core.shapes.get(shape)) {
            Some([]) => crate::state::constants::Ints::scalar(truth(core)),
            Some([DimId::ONE]) => crate::state::constants::Ints::vector([truth(core)]),
            Some(_) | None => continue,
        };
        core.set_data(frame, value, crate::state::constants::Data::Ints(std::sync::Arc::new(ints)));
    }
}
