//! Type variables that a node shares with other nodes, and default types of inputs.

use typeloom_types::lattice::NodeNo;

use super::cx::Uncached;
use super::{Port, RuleCx};
use crate::elem::ElemSet;
use crate::program::ValueId;
use crate::state::fallback::Proposer;
use crate::ty::{Clash, Ty};

impl RuleCx<'_, '_> {
    /// Unifies the type at a port with the type variable `name` of the body.
    ///
    /// # Errors
    /// The type of the variable and the first value of it, if the two types do not unify.
    pub(crate) fn share(&mut self, port: Port, name: &str) -> Result<(), (Ty, ValueId)> {
        let (Some(value), Some(ty)) = (self.value(port), self.ty(port)) else { return Ok(()) };
        let rule = self.rule();
        let Uncached { core, frame, step } = self.uncached();
        let Some((shared, first)) = frame.rare.shared.get(name).copied() else {
            frame.rare.shared.insert(name.to_owned(), (ty, value));
            return Ok(());
        };
        if first != value {
            core.trace_equal(frame.number, first, value, step, rule);
        }
        core.types.unify(ty, shared).map_err(|Clash| (shared, first))
    }

    /// Proposes a default type for a port. It applies if the port reads an input of the model whose type
    /// nothing else determines.
    pub(crate) fn fall_back(&mut self, port: Port, node: NodeNo) {
        let Some(value) = self.value(port) else { return };
        let rule = self.rule();
        let Uncached { frame, step, .. } = self.uncached();
        frame.rare.fallbacks.nodes.entry(value).or_insert((node, Proposer { step, rule }));
    }

    /// Proposes that a port has the element type of the other ports of this group. It applies if the port
    /// reads an input of the model whose element type nothing else determines, and if the group has exactly
    /// one element type.
    pub fn prefer_common_element(&mut self, port: Port, group: &str) {
        let (Some(value), Some(ty)) = (self.value(port), self.ty(port)) else { return };
        let Some(elems) = self.types().elems(ty) else { return };
        let is_known = elems.single().is_some();
        if !is_known {
            self.wait_for(ty);
        }
        let rule = self.rule();
        let Uncached { frame, step, .. } = self.uncached();
        let groups = &mut frame.rare.fallbacks.groups;
        if !groups.contains_key(group) {
            groups.insert(group.to_owned(), Default::default());
        }
        let Some(group) = groups.get_mut(group) else { return };
        if is_known {
            group.known = ElemSet::union(group.known, elems);
        } else {
            group.open.entry(value).or_insert(Proposer { step, rule });
        }
    }
}
