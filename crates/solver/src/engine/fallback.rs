//! Default types of inputs that no relation determines.
//!
//! Some operators accept several types at a port, of which one is suitable for every caller: a send accepts
//! one peer or a list, and a list can have one element. Such an operator *proposes* this type. After all
//! other rules, including the assumptions of [`super::relation`], an input of the model that is still open
//! gets the proposed type, and the worklist continues.
//!
//! **Invariant:** only inputs of the model, and values with the type of an input, take a proposed type. The
//! type of an input is a requirement on the caller, which is checked at run time, so a choice cannot be
//! wrong. The type of a computed value is determined by its node, which a choice could contradict.
//!
//! **Invariant:** all choices of a round are made before the first one is applied, so the order of the nodes
//! does not affect the result.

use typeloom_types::lattice::NodeNo;

use crate::elem::ElemSet;
use crate::map::Set;
use crate::program::ValueId;
use crate::state::Core;
use crate::state::fallback::Proposer;
use crate::state::frame::Frame;
use crate::ty::{Head, Ty, Types};

/// A type that a value takes.
struct Choice {
    value: ValueId,
    from: Ty,
    to: Ty,
    proposer: Proposer,
}

/// Gives open inputs their proposed types; returns whether a type was narrowed.
pub(crate) fn apply(core: &mut Core<'_>, frame: &mut Frame<'_>) -> bool {
    if frame.number != 0 || (frame.rare.fallbacks.nodes.is_empty() && frame.rare.fallbacks.groups.is_empty())
    {
        return false;
    }
    let mut choices = nodes(core, frame);
    choices.extend(elements(core, frame));
    if choices.is_empty() {
        return false;
    }
    let inputs = input_classes(core, frame);
    let mut narrowed = false;
    for Choice { value, from, to, proposer: Proposer { step, rule } } in choices {
        // Another choice of this round may have narrowed the type.
        if inputs.contains(&core.types.class(from)) && core.types.unify(from, to).is_ok() {
            core.trace_fixed(frame.number, value, step, rule);
            narrowed = true;
        }
    }
    narrowed
}

/// The classes of the types of the model's inputs.
fn input_classes(core: &mut Core<'_>, frame: &Frame<'_>) -> Set<(u8, u32)> {
    let inputs = &frame.body.graph(frame.body.root()).inputs;
    let types = inputs.iter().filter_map(|input| frame.slots[input.index()].ty);
    types.map(|ty| core.types.class(ty)).collect()
}

/// The values of unknown type for which a node of the type tree is proposed.
fn nodes(core: &mut Core<'_>, frame: &mut Frame<'_>) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (value, (node, proposer)) in std::mem::take(&mut frame.rare.fallbacks.nodes) {
        let Some(from) = frame.slots[value.index()].ty else { continue };
        if is_open(core, from, node) {
            choices.push(Choice { value, from, to: core.types.at_node(node), proposer });
        }
    }
    choices
}

fn is_open(core: &mut Core<'_>, ty: Ty, node: NodeNo) -> bool {
    match core.types.head(ty) {
        Head::Unknown(None) => true,
        Head::Unknown(Some(bound)) => core.types.universe().lattice().is_subtype(node, bound),
        Head::Tensor
        | Head::Sparse
        | Head::Scalar
        | Head::Container(..)
        | Head::Composite
        | Head::Leaf(_)
        | Head::Error => false,
    }
}

/// The values of unknown element type in groups with one known element type.
fn elements(core: &mut Core<'_>, frame: &mut Frame<'_>) -> Vec<Choice> {
    let Frame { rare, slots, .. } = frame;
    let mut choices = Vec::new();
    for group in rare.fallbacks.groups.values_mut() {
        let mut open = Vec::new();
        for (value, proposer) in std::mem::take(&mut group.open) {
            let Some(from) = slots[value.index()].ty else { continue };
            let Some(elems) = core.types.elems(from) else { continue };
            match elems.single() {
                Some(_) => group.known = ElemSet::union(group.known, elems),
                None => open.push((value, from, proposer)),
            }
        }
        let Some(elem) = group.known.single() else { continue };
        let to = Types::tensor(elem);
        choices.extend(open.into_iter().map(|(value, from, proposer)| Choice { value, from, to, proposer }));
    }
    choices
}
