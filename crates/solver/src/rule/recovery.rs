//! Recovery from errors in shapes. See [`crate::analysis::recovery`].

use typeloom_dim::DimId;

use super::{Extent, ExtentRelation, Port, RuleCx, RuleError};
use crate::state::Core;
use crate::state::recovery::Purpose;

impl RuleCx<'_, '_> {
    /// The result for two extents that must be equal and never are: an error, or an unknown extent during
    /// recovery.
    pub(crate) fn extents_differ(
        &mut self,
        left: Extent,
        right: Extent,
        relation: ExtentRelation,
    ) -> Result<DimId, RuleError> {
        if self.core().recovery.purpose == Purpose::Check {
            return Err(RuleError::Dims { left, right, relation });
        }
        if let Some(swapped) = self.transposed(left, right) {
            self.core().recovery.swapped = Some(swapped);
        }
        Ok(self.one_of(left.dim, right.dim))
    }

    /// Creates an unknown extent with two candidates.
    fn one_of(&mut self, one: DimId, other: DimId) -> DimId {
        let dim = self.dims().fresh();
        self.core().recovery.candidates.insert(dim, (one, other));
        dim
    }

    /// The extent that an operand needs and has on another axis, and the extent that it has instead.
    fn transposed(&mut self, left: Extent, right: Extent) -> Option<(DimId, DimId)> {
        let mut elsewhere = |at: Extent, wanted: DimId| {
            let (Some(axis), Some(shape)) = (at.axis, self.shape(at.port)) else { return false };
            shape.iter().enumerate().any(|(other, dim)| other != axis && *dim == wanted)
        };
        if elsewhere(right, left.dim) {
            return Some((left.dim, right.dim));
        }
        elsewhere(left, right.dim).then_some((right.dim, left.dim))
    }

    /// If an operand would be valid with permuted axes, the axes of the outputs may be permuted too.
    pub(crate) fn doubt_swapped(&mut self) {
        let Some((needed, found)) = self.core().recovery.swapped.take() else { return };
        for at in 0..self.output_count() {
            let Some(mut shape) = self.shape(Port::Out(at)) else { continue };
            if !shape.contains(&needed) {
                continue;
            }
            for dim in &mut shape {
                if *dim == needed {
                    *dim = self.one_of(needed, found);
                }
            }
            let shape = self.core().shapes.intern(&shape);
            self.write_shape(Port::Out(at), shape);
        }
    }

    /// The result for two extents if an earlier error left one of them unknown: that one, or an error if the
    /// other extent is neither of its candidates. `None` if there is no such extent.
    pub(crate) fn after_error(
        &mut self,
        left: Extent,
        right: Extent,
        relation: ExtentRelation,
    ) -> Option<Result<DimId, RuleError>> {
        if self.core().recovery.candidates.is_empty() {
            return None;
        }
        let Core { dims, recovery, .. } = self.core();
        let (unknown, other) = [(left.dim, right.dim), (right.dim, left.dim)]
            .into_iter()
            .find(|(unknown, _)| recovery.candidates.contains_key(unknown))?;
        let (one, two) = recovery.candidates.get(&unknown)?;
        let is_neither = match (dims.as_constant(*one), dims.as_constant(*two), dims.as_constant(other)) {
            (Some(one), Some(two), Some(other)) => one != other && two != other,
            _ => false,
        };
        Some(if is_neither { self.extents_differ(left, right, relation) } else { Ok(unknown) })
    }
}
