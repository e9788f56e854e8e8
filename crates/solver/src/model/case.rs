//! Cases: separate solves for the outcomes of conditions that only a run decides.
//!
//! The outputs of a node with branches depend on a condition. If the branches differ in shape, their join is
//! imprecise: `[2, 3]` and `[4, 3]` give `[?, 3]`, and different ranks give an unknown rank. So the model is
//! also solved once for each outcome of the condition, with the condition as a constant, and the results are
//! joined at the end. This is trace partitioning (Mauborgne and Rival, 2005). Inside a case there is no
//! choice, so rules do not handle cases, and all types that depend on one condition are correlated.
//!
//! A [`Question`] is a condition with two possible outcomes. A question about dims becomes a fact about
//! symbols, which holds for the whole model: `k = 1` is substituted, and `k != 1` is a fact of
//! [`typeloom_dim`]. Every other condition is a value of the main graph, which is a constant in each case.
//! The condition of a graph that runs repeatedly differs between iterations, so it is never assumed, and the
//! outputs of such a node are joined.
//!
//! The truth value of an undecided comparison is a variable that maps to its question, also through
//! arithmetic (`Not` is `1 - x`).
//!
//! **Invariant:** a model without branches that differ is solved once.
//!
//! **Limits:** [`MAX_DEPTH`] questions in one case, [`MAX_CASES`] cases. Beyond these the outputs are joined.

mod blame;
mod display;
mod merge;
mod split;

use typeloom_dim::DimId;

use crate::state::cases::{CaseRequest, Literal, Question};

pub(crate) use blame::{decide, open_claims, prune};
pub(crate) use display::write_union;
pub(crate) use merge::{Alternatives, merge};
pub(crate) use split::{Leaf, split, trace};

use crate::state::Core;
use crate::state::frame::Frame;

/// Maximum number of questions that a case assumes.
pub(crate) const MAX_DEPTH: usize = 4;
/// Maximum number of cases of one model.
pub(crate) const MAX_CASES: usize = 16;

/// Sets the assumed conditions to constants where their shape is known, and each boolean model input to the
/// truth value of its question, so that values computed from it are recognised.
pub(crate) fn seed_conditions<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>) {
    let literals = core.cases.literals.clone();
    for Literal { request, holds } in literals {
        let Question::Condition(value) = request.question else { continue };
        let item = core.dims.constant(i64::from(holds));
        let ints = match request.rank {
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
