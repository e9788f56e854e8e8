//! Changes of a model that a runtime or device requires, and that keep what the model computes.
//!
//! | the target requires | change |
//! |---|---|
//! | a constant input | a value that the solver proves becomes an initializer; nodes that only computed it are removed |
//! | indices of another integer type | the indices are stored as `int32` or `int64`, if all values fit |
//! | an attribute written out, or left out | the default is written, or removed; a negative axis is counted from the start, and the reverse |
//! | an older IR version | the version is lowered, if nothing in the file needs the newer one |
//!
//! The target is a function from a checked model to a [`Standing`]. A change is tried at all nodes of one
//! operator with an issue at once, and it is kept only if the standing gets better. Each trial starts from the
//! original file with the changes that were kept before.
//!
//! **Invariant:** the result has no errors, and no target has more issues of one kind than before, unless it
//! has fewer of a worse kind.
//!
//! Limits: nodes in the bodies of functions are not changed. Changes that help only together are not found,
//! apart from those of all inputs of one node.
//!
//! **Cost:** a check of the model for each trial; at most 128.

mod candidates;
mod edit;

use std::collections::BTreeSet;
use std::sync::Arc;

use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::model::{Checked, Options};
use typeloom_solver::program::GraphId;
use typeloom_solver::universe::Universe;

use crate::coerce::{Hunk, RepairError};
use crate::mend::AppliedFix;
use crate::{Settings, declared};
use candidates::{Candidate, candidates};
use edit::edited;

/// The largest number of changed models that are checked.
const MAX_TRIALS: usize = 128;

/// The issues that targets have with a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// For each target the numbers of issues, the worst kind first.
    pub counts: Vec<[usize; 3]>,
    /// The nodes of the main graph and of graphs nested in it that have an issue, by graph and position.
    pub nodes: BTreeSet<(GraphId, usize)>,
    /// The newest IR version that all targets read, if the file has a newer one.
    pub newest_ir: Option<i64>,
}

impl Standing {
    /// Whether no target is worse off than before, and one is better off.
    fn is_better_than(&self, before: &Self) -> bool {
        self.counts.iter().zip(&before.counts).all(|(new, old)| new <= old) && self.counts != before.counts
    }
}

/// Result of [`retarget`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Retargeted {
    /// The new model; `None` if nothing changed.
    pub file: Option<Vec<u8>>,
    /// The changes.
    pub fixed: Vec<AppliedFix>,
    /// The changed nodes.
    pub hunks: Vec<Hunk>,
}

/// Changes a model without errors so that targets have fewer issues with it.
///
/// # Errors
/// [`RepairError`] if the model cannot be read.
pub fn retarget(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    judge: &mut dyn FnMut(&mut Checked<'_>) -> Standing,
) -> Result<Retargeted, RepairError> {
    let settings = Settings { catalogue, universe, options };
    let mut checked = settings.check(bytes)?;
    if !checked.is_ok() {
        return Ok(Retargeted::default());
    }
    let mut standing = judge(&mut checked);
    let groups = candidates(&mut checked, &standing, options);
    drop(checked);
    let mut kept: Vec<Candidate> = Vec::new();
    let mut trials = 0;
    for group in groups {
        // A change that was kept can have removed the issues of a node, or the node itself.
        let mut group: Vec<Candidate> = group
            .into_iter()
            .filter(|one| one.node.is_none_or(|node| standing.nodes.contains(&node)))
            .collect();
        // The second trial leaves out the nodes that the first one did not help.
        for _ in 0..2 {
            if group.is_empty() || trials == MAX_TRIALS {
                break;
            }
            trials += 1;
            let all: Vec<&Candidate> = kept.iter().chain(&group).collect();
            let Some(new) = edited(bytes, &all)? else { break };
            let Ok(mut checked) = settings.check(&new.file) else { break };
            if !checked.is_ok() {
                break;
            }
            let found = judge(&mut checked);
            if !found.is_better_than(&standing) {
                break;
            }
            let still = new.original(&found.nodes);
            let helped = |one: &Candidate| one.node.is_none_or(|node| !still.contains(&node));
            if group.iter().all(helped) || !group.iter().any(helped) {
                standing = Standing { nodes: still, ..found };
                kept.append(&mut group);
                break;
            }
            group.retain(helped);
        }
    }
    let all: Vec<&Candidate> = kept.iter().collect();
    let Some(mut new) = edited(bytes, &all)? else { return Ok(Retargeted::default()) };
    // A change of a node that a later change removed is left out.
    let needed: Vec<&Candidate> = all.iter().copied().filter(|one| !new.removes(one.node)).collect();
    if needed.len() < all.len()
        && let Some(other) = edited(bytes, &needed)?
    {
        let mut checked = settings.check(&other.file)?;
        let is_equal = checked.is_ok() && judge(&mut checked).counts == standing.counts;
        drop(checked);
        if is_equal {
            kept.retain(|one| !new.removes(one.node));
            new = other;
        }
    }
    let mut file = new.file;
    if !options.assume.is_empty() {
        let assumed = declared::assumed(&file, &mut settings.check(&file)?)?;
        file = assumed.unwrap_or(file);
    }
    let fixed = kept.into_iter().map(|one| AppliedFix { graph: one.graph, change: one.reason }).collect();
    Ok(Retargeted { file: Some(file), fixed, hunks: new.hunks })
}
