//! Steps that many rules have in common.

use std::ops::RangeBounds;

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;

use super::{Port, RuleCx, RuleError, RuleResult};

impl RuleCx<'_, '_> {
    /// The shape at a port, if its rank is known.
    ///
    /// # Errors
    /// [`RuleError::Rank`] when the rank is outside `expected`.
    pub fn shape_of_rank(
        &mut self,
        port: Port,
        expected: impl RangeBounds<usize>,
    ) -> RuleResult<Option<DimVec>> {
        self.require_rank(port, expected)?;
        Ok(self.shape(port))
    }

    /// The position of the axis in an attribute, of `rank` axes of the tensor at a port. Negative axes count
    /// from the end.
    ///
    /// # Errors
    /// As [`RuleCx::axis_of`].
    pub fn axis_attr(&self, port: Port, name: &'static str, default: i64, rank: usize) -> RuleResult<usize> {
        self.axis_of(port, name, self.attr_int(name)?.unwrap_or(default), rank)
    }

    /// An integer attribute with a lower bound.
    ///
    /// # Errors
    /// [`RuleError::Attribute`] when it is less than `least`.
    pub fn attr_at_least(&self, name: &'static str, default: i64, least: i64) -> RuleResult<i64> {
        match self.attr_int(name)?.unwrap_or(default) {
            value if value < least => {
                Err(RuleError::attribute(name, format!("is {value}, but must be at least {least}")))
            }
            value => Ok(value),
        }
    }

    /// The dim of a number of items.
    pub fn count(&mut self, items: usize) -> DimId {
        self.dims().constant(i64::try_from(items).unwrap_or(i64::MAX))
    }

    /// A dim times a number.
    pub fn scaled(&mut self, dim: DimId, factor: i64) -> DimId {
        let factor = self.dims().constant(factor);
        self.dims().mul(dim, factor)
    }

    /// Whether an extent is a constant other than 1.
    pub fn is_never_single(&mut self, dim: DimId) -> bool {
        self.const_dim(dim).is_some_and(|extent| extent != 1)
    }

    /// Requires the shapes at two ports to be equal, if both are known.
    ///
    /// # Errors
    /// [`RuleError::Rank`] of `right` when the ranks differ; as [`RuleCx::require_equal`].
    pub fn require_equal_shapes(&mut self, left: Port, right: Port, relation: &'static str) -> RuleResult {
        let (Some(a), Some(b)) = (self.shape(left), self.shape(right)) else { return Ok(()) };
        if a.len() != b.len() {
            return Err(self.wrong_rank(right, a.len()..=a.len()));
        }
        let axes = 0..a.len();
        self.require_equal_axes((left, &a), (right, &b), axes, relation)
    }

    /// Requires two shapes to be equal along some axes.
    ///
    /// # Errors
    /// As [`RuleCx::require_equal`].
    pub fn require_equal_axes(
        &mut self,
        (left, a): (Port, &[DimId]),
        (right, b): (Port, &[DimId]),
        axes: impl IntoIterator<Item = usize>,
        relation: &'static str,
    ) -> RuleResult {
        for axis in axes {
            self.require_equal((left, axis, a[axis]), (right, axis, b[axis]), relation)?;
        }
        Ok(())
    }
}
