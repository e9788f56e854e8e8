//! Operations on shapes.
//!
//! The shape of a sequence, optional or map is the shape of the tensors inside it, as far as they agree.

use std::ops::RangeBounds;

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Bind, Condition, Decision, DimId, DimView, Dims, Domain, Relation, Solved, Verdict};
use typeloom_types::plural::counted;

use super::{Extent, ExtentRelation, Port, RuleCx, RuleError};
use crate::state::recovery::Purpose;

impl RuleCx<'_, '_> {
    /// The shape at a port, if its rank is known.
    pub fn shape(&mut self, port: Port) -> Option<DimVec> {
        self.shape_id(port).map(|shape| self.core().resolved(shape))
    }

    /// The number of axes at a port, if it is known.
    #[must_use]
    pub fn rank(&self, port: Port) -> Option<usize> {
        self.shape_id(port).map(|shape| self.tables().shapes.get(shape).len())
    }

    /// Narrows the shape at a port by `dims`. Has no effect at an omitted port.
    ///
    /// # Errors
    /// [`RuleError::Contradiction`] when the known shape contradicts it.
    pub fn set_shape(&mut self, port: Port, dims: &[DimId]) -> Result<(), RuleError> {
        if !self.can_narrow_shape(port) {
            return Ok(());
        }
        let Some(known) = self.derived_shape(port) else {
            let simple = self.simplify_in_runs(dims);
            let shape = self.core().shapes.intern(&simple);
            self.write_shape(port, shape);
            return Ok(());
        };
        let known = DimVec::from_slice(self.tables().shapes.get(known));
        // A known shape does not come from a node in error.
        if known[..] == *dims
            || known == self.simplify_in_runs(dims)
            || self.tables().recovery.purpose == Purpose::Recover
        {
            return Ok(());
        }
        let met = self.meet_dims(port, &known, dims)?;
        if met != known {
            let shape = self.core().shapes.intern(&met);
            self.write_shape(port, shape);
        }
        Ok(())
    }

    fn meet_dims(&mut self, port: Port, known: &[DimId], dims: &[DimId]) -> Result<DimVec, RuleError> {
        let contradiction = |cx: &mut Self| {
            let table = cx.dims();
            let known: DimVec = known.iter().map(|dim| table.resolve(*dim)).collect();
            let computed: DimVec = dims.iter().map(|dim| table.resolve(*dim)).collect();
            let shown = |shape: &[DimId]| typeloom_dim::shape::display(table, shape).to_string();
            let message = format!("the shape is {}, but {} is needed", shown(&known), shown(&computed));
            RuleError::Contradiction { port, known, computed, message }
        };
        if known.len() != dims.len() {
            return Err(contradiction(self));
        }
        let conditional = self.is_conditional();
        let mut met = DimVec::with_capacity(dims.len());
        for (axis, (old, new)) in known.iter().zip(dims).enumerate() {
            match self.core().meet_dim(*old, *new, conditional) {
                Some(dim) => met.push(dim),
                None => return Err(contradiction(self)),
            }
            let (a, b) = (self.dims().resolve(*old), self.dims().resolve(*new));
            if a != b && self.dims().compare(a, b) == Decision::Undecided {
                self.add_equation(
                    Relation::Equal,
                    (port, axis, a).into(),
                    (port, b).into(),
                    "are one axis".into(),
                );
            }
        }
        Ok(met)
    }

    /// Sets the rank at a port, with unknown extents.
    ///
    /// # Errors
    /// [`RuleError::Contradiction`] when another rank is known.
    pub fn set_rank(&mut self, port: Port, rank: usize) -> Result<(), RuleError> {
        if self.rank(port) == Some(rank) || !self.has(port) {
            return Ok(());
        }
        let dims: DimVec = (0..rank).map(|_| self.fresh()).collect();
        self.set_shape(port, &dims)
    }

    /// Makes two ports have one shape. Knowledge flows in both directions.
    ///
    /// # Errors
    /// [`RuleError::Contradiction`] when they cannot.
    pub fn same_shape(&mut self, a: Port, b: Port) -> Result<(), RuleError> {
        if !self.has(a) || !self.has(b) {
            return Ok(());
        }
        match (self.shape_id(a), self.shape_id(b)) {
            (Some(shape), None) => self.write_shape(b, shape),
            (None, Some(shape)) => self.write_shape(a, shape),
            (Some(known), Some(other)) if known != other => {
                let dims = DimVec::from_slice(self.tables().shapes.get(known));
                self.set_shape(b, &dims)?;
                if let Some(dims) = self.shape(b) {
                    self.set_shape(a, &dims)?;
                }
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        Ok(())
    }

    /// Whether two ports are known to have one shape, at the cost of a comparison.
    #[must_use]
    pub fn shares_shape(&self, a: Port, b: Port) -> bool {
        self.shape_id(a).is_some() && self.shape_id(a) == self.shape_id(b)
    }

    /// Checks the number of axes at a port and returns it, if it is known.
    ///
    /// # Errors
    /// [`RuleError::Rank`] when it is outside `expected`.
    pub fn require_rank(
        &mut self,
        port: Port,
        expected: impl RangeBounds<usize>,
    ) -> Result<Option<usize>, RuleError> {
        match self.rank(port) {
            Some(rank) if !expected.contains(&rank) => Err(self.wrong_rank(port, expected)),
            known => Ok(known),
        }
    }

    /// Requires two extents to be equal, and returns the more precise one.
    ///
    /// `relation` completes the sentence "these dims ..." (`are contracted`). A variable is bound to the
    /// other extent. An undecided equality is kept as an equation.
    ///
    /// # Errors
    /// [`RuleError::Dims`] when they are never equal.
    pub fn require_equal(
        &mut self,
        left: impl Into<Extent>,
        right: impl IntoExtent,
        relation: impl Into<ExtentRelation>,
    ) -> Result<DimId, RuleError> {
        let relation = relation.into();
        let left: Extent = left.into();
        let (left, right) = self.resolve_both(left, right.into_extent(left));
        let (a, b) = (left.dim, right.dim);
        match self.dims().compare(a, b) {
            Decision::Equal => Ok(a),
            Decision::Different => self.extents_differ(left, right, relation),
            Decision::Undecided if self.tables().recovery.purpose == Purpose::Recover => {
                Ok(self.better_known(a, b))
            }
            Decision::Undecided => {
                if let Some(known) = self.after_error(left, right, relation) {
                    return known;
                }
                if !self.is_conditional() && self.bind_unnamed(a, b) {
                    self.touch_inputs();
                    let (a, b) = (self.dims().resolve(a), self.dims().resolve(b));
                    return Ok(self.better_known(a, b));
                }
                self.add_equation(Relation::Equal, left, right, relation);
                Ok(self.better_known(a, b))
            }
        }
    }

    /// Requires the left extent to be at most the right one.
    ///
    /// `relation` completes the sentence "these dims ...". An undecided inequality is kept as a condition of
    /// the model.
    ///
    /// # Errors
    /// [`RuleError::Dims`] when the left one is always more.
    pub fn require_at_most(
        &mut self,
        left: impl Into<Extent>,
        right: impl IntoExtent,
        relation: impl Into<ExtentRelation>,
    ) -> Result<(), RuleError> {
        let relation = ExtentRelation { is_upper_bound: true, ..relation.into() };
        let left: Extent = left.into();
        let (left, right) = self.resolve_both(left, right.into_extent(left));
        let gap = self.dims().sub(right.dim, left.dim);
        let (least, most) = self.dims().bounds(gap);
        if most.is_some_and(|most| most < 0) {
            return Err(RuleError::Dims { left, right, relation });
        }
        if least.is_none_or(|least| least < 0) {
            self.add_equation(Relation::AtMost, left, right, relation);
        }
        Ok(())
    }

    /// The extents with resolved dims.
    fn resolve_both(&mut self, left: Extent, right: Extent) -> (Extent, Extent) {
        let dims = self.dims();
        (left.with(dims.resolve(left.dim)), right.with(dims.resolve(right.dim)))
    }

    /// Binds a variable of the equation `a = b` to the solution of the equation.
    fn bind_unnamed(&mut self, a: DimId, b: DimId) -> bool {
        let dims = self.dims();
        for (variable, value) in [(a, b), (b, a)] {
            if dims.is_variable(variable) && dims.bind(variable, value) == Bind::Bound {
                return true;
            }
        }
        if !dims.is_anonymous(a) && !dims.is_anonymous(b) {
            return false;
        }
        match dims.solve_for(a, b) {
            Solved::Variable { variable, value } => dims.bind(variable, value) == Bind::Bound,
            Solved::Always | Solved::Contradiction | Solved::Symbol { .. } | Solved::Undecided => false,
        }
    }

    /// The more precise one of two equal extents: a constant, else an expression over symbols.
    #[must_use]
    pub fn better_known(&self, a: DimId, b: DimId) -> DimId {
        let order = |dim: DimId| match self.tables().dims.as_constant(dim) {
            Some(_) => 0,
            None if !self.tables().dims.is_anonymous(dim) => 1,
            None => 2,
        };
        if order(b) < order(a) { b } else { a }
    }

    /// The extent of one axis after broadcasting `a` against `b` by ONNX's (NumPy's) rule.
    ///
    /// # Errors
    /// [`RuleError::Dims`] when both are constants that differ and neither is 1.
    pub fn broadcast_dim(&mut self, a: impl Into<Extent>, b: impl Into<Extent>) -> Result<DimId, RuleError> {
        let (left, right) = self.resolve_both(a.into(), b.into());
        let (a, b) = (left.dim, right.dim);
        if a == b {
            return Ok(a);
        }
        let dims = self.dims();
        match (dims.as_constant(a), dims.as_constant(b)) {
            (Some(1), _) => return Ok(b),
            (_, Some(1)) => return Ok(a),
            (Some(_), Some(_)) => return self.extents_differ(left, right, ExtentRelation::BROADCAST),
            // A constant other than 1 is the result: the other extent is 1 or equal to it.
            (Some(_), None) => return self.broadcast_to_constant(right, left),
            (None, Some(_)) => return self.broadcast_to_constant(left, right),
            (None, None) => {}
        }
        if dims.compare(a, b) == Decision::Equal {
            return Ok(a);
        }
        match (dims.is_one_possible(a), dims.is_one_possible(b)) {
            (true, false) => {
                self.add_equation(Relation::OneOrEqual, left, right, ExtentRelation::BROADCAST);
                Ok(b)
            }
            (false, true) => {
                self.add_equation(Relation::OneOrEqual, right, left, ExtentRelation::BROADCAST);
                Ok(a)
            }
            (false, false) => self.require_equal(left, right, ExtentRelation::BROADCAST_NOT_ONE),
            (true, true) => {
                self.add_equation(Relation::Broadcast, left, right, ExtentRelation::BROADCAST);
                Ok(self.broadcast_of_both(a, b))
            }
        }
    }

    /// The broadcast of two extents that may both be 1, as an expression over them that is exact wherever
    /// they broadcast.
    ///
    /// If `a = 1` implies `b = 1`, it is `a`: either both are equal, or `b` is 1. In general it is
    /// `max(a, b)*min(1, a, b)`, the greater extent, or 0 if one of them is 0.
    fn broadcast_of_both(&mut self, a: DimId, b: DimId) -> DimId {
        if let Some(known) = self.core().known_broadcast(a, b) {
            return known;
        }
        let broadcast = self.derive_broadcast(a, b);
        self.core().note_broadcast(broadcast, a, b);
        broadcast
    }

    fn derive_broadcast(&mut self, a: DimId, b: DimId) -> DimId {
        let dims = self.dims();
        // Two different extents that are no expressions are not made of each other.
        let is_leaf = |dim| dims.is_variable(dim) || dims.as_symbol(dim).is_some();
        let may_contain = a == b || !is_leaf(a) || !is_leaf(b);
        for (wide, narrow) in [(a, b), (b, a)].into_iter().filter(|_| may_contain) {
            if let DimView::Min(parts) = dims.view(narrow)
                && parts.contains(&wide)
                && parts.iter().all(|part| *part == wide || dims.is_positive(*part))
            {
                return wide;
            }
            // An extent is not negative.
            if dims.max(wide, DimId::ZERO) == narrow {
                return wide;
            }
        }
        if dims.is_anonymous(a) || dims.is_anonymous(b) {
            return self.core().broadcast_unknown(a, b);
        }
        let is_symbol = |dims: &Dims, dim| dims.as_symbol(dim).is_some();
        if !(is_symbol(dims, a) && is_symbol(dims, b)) {
            // Two expressions for one extent may differ on empty tensors.
            let equal = Condition::new(Relation::Equal, a, b);
            if dims.examine(equal, &Domain::nonempty()) == Verdict::Always {
                return dims.simpler(a, b);
            }
            for (wide, narrow) in [(a, b), (b, a)] {
                let mut domain = Domain::extents();
                domain.assume(dims, Condition::new(Relation::Equal, wide, DimId::ONE));
                let is_one = Condition::new(Relation::Equal, narrow, DimId::ONE);
                if dims.examine(is_one, &domain) == Verdict::Always {
                    return wide;
                }
            }
        }
        let mut broadcast = dims.max(a, b);
        if !(dims.is_positive(a) && dims.is_positive(b)) {
            let least = dims.min(a, b);
            let least = dims.min(least, DimId::ONE);
            broadcast = dims.mul(broadcast, least);
        }
        if dims.is_anonymous(broadcast) { self.core().broadcast_unknown(a, b) } else { broadcast }
    }

    /// Broadcasts an extent against a constant that is not 1.
    fn broadcast_to_constant(&mut self, narrow: Extent, wide: Extent) -> Result<DimId, RuleError> {
        if let Some(known) = self.after_error(narrow, wide, ExtentRelation::BROADCAST) {
            return known;
        }
        if !self.dims().is_one_possible(narrow.dim) {
            return self.require_equal(narrow, wide, ExtentRelation::BROADCAST_NOT_ONE);
        }
        self.add_equation(Relation::OneOrEqual, narrow, wide, ExtentRelation::BROADCAST);
        Ok(wide.dim)
    }

    /// Requires an extent to be 1 or equal to another one.
    ///
    /// `relation` completes the sentence "these dims ...". An undecided requirement is kept as a condition of
    /// the model.
    ///
    /// # Errors
    /// [`RuleError::Dims`] when neither is possible.
    pub fn require_one_or_equal(
        &mut self,
        narrow: impl Into<Extent>,
        wide: impl Into<Extent>,
        relation: impl Into<ExtentRelation>,
    ) -> Result<(), RuleError> {
        let relation = relation.into();
        let (narrow, wide) = self.resolve_both(narrow.into(), wide.into());
        let (a, dims) = (narrow.dim, self.dims());
        match dims.compare(a, wide.dim) {
            Decision::Equal => {}
            Decision::Different if !dims.is_one_possible(a) => {
                return Err(RuleError::Dims { left: narrow, right: wide, relation });
            }
            Decision::Different | Decision::Undecided if a == DimId::ONE => {}
            Decision::Undecided if !dims.is_one_possible(a) => {
                self.require_equal(narrow, wide, relation)?;
            }
            Decision::Different | Decision::Undecided => {
                self.add_equation(Relation::OneOrEqual, narrow, wide, relation);
            }
        }
        Ok(())
    }

    /// The shape that several ports broadcast to, if every rank is known.
    ///
    /// # Errors
    /// As [`RuleCx::broadcast_dim`].
    pub fn broadcast(&mut self, ports: &[Port]) -> Result<Option<DimVec>, RuleError> {
        let mut result: Option<DimVec> = None;
        let mut from: smallvec::SmallVec<[(Port, usize); 6]> = smallvec::SmallVec::new();
        for port in ports.iter().copied() {
            let Some(shape) = self.shape(port) else { return Ok(None) };
            let Some(wide) = &mut result else {
                from = (0..shape.len()).map(|axis| (port, axis)).collect();
                result = Some(shape);
                continue;
            };
            if shape.len() > wide.len() {
                let missing = shape.len() - wide.len();
                wide.insert_many(0, shape[..missing].iter().copied());
                from.insert_many(0, (0..missing).map(|axis| (port, axis)));
            }
            let offset = wide.len() - shape.len();
            for (axis, dim) in shape.iter().enumerate() {
                let (other, other_axis) = from[offset + axis];
                let before = wide[offset + axis];
                if before == *dim {
                    continue;
                }
                let after = self.broadcast_dim((other, other_axis, before), (port, axis, *dim))?;
                if after != before {
                    from[offset + axis] = (port, axis);
                    wide[offset + axis] = after;
                }
            }
        }
        Ok(result)
    }

    /// Converts an axis to a position. Negative axes count from the end.
    ///
    /// # Errors
    /// [`RuleError::Attribute`] named `name` when it is outside `-rank..rank`.
    pub fn axis(&self, name: &'static str, axis: i64, rank: usize) -> Result<usize, RuleError> {
        typeloom_types::shape::position(axis, rank).ok_or_else(|| {
            let limit = rank.to_string();
            RuleError::attribute(
                name,
                format!("is {axis}, outside [-{limit}, {limit}) for {}", counted(rank, "axis")),
            )
        })
    }

    /// As [`RuleCx::axis`], for `rank` axes of the tensor at a port.
    ///
    /// # Errors
    /// [`RuleError::Rank`] of the port if there is no axis, [`RuleError::Attribute`] otherwise.
    pub fn axis_of(
        &self,
        port: Port,
        name: &'static str,
        axis: i64,
        rank: usize,
    ) -> Result<usize, RuleError> {
        match rank {
            0 => Err(RuleError::scalar(port)),
            _ => self.axis(name, axis, rank),
        }
    }

    /// Sets the shape of every tensor in the sequence or optional at a port. Each variable is a separate
    /// number in each element.
    ///
    /// # Errors
    /// As [`RuleCx::set_shape`].
    pub fn set_element_shape(&mut self, port: Port, dims: &[DimId]) -> Result<(), RuleError> {
        self.set_shape(port, dims)
    }

    /// Whether the join of two shapes is less precise than one of them.
    pub fn differ(&mut self, a: Port, b: Port) -> bool {
        match (self.shape(a), self.shape(b)) {
            (Some(a), Some(b)) => {
                let known = |cx: &Self, dim: &DimId| !cx.tables().dims.is_variable(*dim);
                a.len() != b.len()
                    || a.iter().zip(&b).any(|(a, b)| {
                        (known(self, a) || known(self, b)) && self.dims().compare(*a, *b) != Decision::Equal
                    })
            }
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        }
    }

    /// The join of several shapes: equal dims stay, others become fresh. `None` if the ranks differ or one is
    /// unknown.
    pub fn join_shapes(&mut self, ports: &[Port]) -> Option<DimVec> {
        let mut joined: Option<DimVec> = None;
        for port in ports.iter().copied() {
            let shape = self.shape(port)?;
            let Some(sofar) = &mut joined else {
                joined = Some(shape);
                continue;
            };
            if sofar.len() != shape.len() {
                return None;
            }
            for (a, b) in sofar.iter_mut().zip(&shape) {
                if self.dims().compare(*a, *b) != Decision::Equal {
                    *a = self.dims().fresh();
                }
            }
        }
        joined
    }
}

/// The right-hand side of [`RuleCx::require_equal`]: an extent with its position, or a dim that the rule
/// computed for the position of the left-hand side.
pub trait IntoExtent {
    /// Converts to an extent, given the left-hand side.
    fn into_extent(self, left: Extent) -> Extent;
}

impl IntoExtent for DimId {
    fn into_extent(self, left: Extent) -> Extent {
        Extent { port: left.port, axis: None, dim: self }
    }
}

impl<T: Into<Extent>> IntoExtent for T {
    fn into_extent(self, _left: Extent) -> Extent {
        self.into()
    }
}
