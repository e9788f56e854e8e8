//! Helpers shared by several operator families.
//!
//! Rules of all families read lists, name axes and relate extents. The helpers here give these steps one
//! meaning and one message. An example is a list that moved from an attribute to an input:
//!
//! ```text
//! Squeeze 11   axes = [4]                  axes names axis 4, outside [-4, 4) for 4 axes
//! Squeeze 13   input 1 = [4]               input 1 names axis 4, outside [-4, 4) for 4 axes
//!              both are one `List`, whose `Source` is in the message
//! ```
//!
//! | helpers | contents |
//! |---|---|
//! | [`list`], [`Source`], [`single`], [`choice`], [`dtype_attr`] | values of attributes and inputs |
//! | [`Shared`], [`meet_axes`], [`Deferred`] | one extent that several axes have |
//! | `require_*` | conditions on extents and indices |
//! | [`unknown_extent`], [`set_extents`], [`sum`], [`product`] | extents of outputs |
//! | [`broadcast_positions`] | positions in the operands of a broadcast constant |
//!
//! **Invariant:** an unknown value or extent is no error. The result is `None` or an unknown extent.
//!
//! **Invariant:** a rule that runs again gets the same unknown extents ([`unknown_extent`]). Another one in
//! each run would change the outputs, and wake their readers again.
//!
//! **Invariant:** a condition that every non-empty tensor fulfils is not recorded ([`require_at_most`]),
//! since it would hide the ones that matter.
//!
//! [`MAX_AXES`] bounds the axes that a rule processes one by one, and [`MAX_ELEMENTS`] the elements of a
//! constant. Duplicates in up to [`MAX_PAIRWISE`] axes are found without an allocation.

use std::collections::HashSet;

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::diagnostic::text;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::In;
use typeloom_solver::rule::{Extent, Extents, MAX_ELEMENTS, Port, RuleCx, RuleError, RuleResult};
use typeloom_solver::signature::FormalType;
use typeloom_types::dtype::DtypeClass;
use typeloom_types::plural::counted;
use typeloom_types::shape;

/// The extents of a broadcast result, and for each of its elements the positions in all operands.
pub(super) type Positions = (Extents, Vec<[usize; 3]>);

/// Computes the extents of a broadcast result and the position of each of its elements in every operand.
/// Returns `None` if the shapes do not broadcast or the result exceeds [`MAX_ELEMENTS`].
pub(super) fn broadcast_positions(shapes: &[&[usize]]) -> Option<Positions> {
    let extents = shape::broadcast(shapes)?;
    let count = element_count(&extents).filter(|count| *count <= MAX_ELEMENTS)?;
    let own = shape::strides(&extents);
    let operands: SmallVec<[Vec<usize>; 3]> =
        shapes.iter().map(|shape| shape::broadcast_strides(shape, &extents)).collect();
    let position = |element: usize| {
        let mut at = [0; 3];
        for (at, strides) in at.iter_mut().zip(&operands) {
            let axes = extents.iter().zip(&own).zip(strides);
            *at = axes.map(|((extent, own), stride)| element / own % extent * stride).sum();
        }
        at
    };
    let positions = (0..count).map(position).collect();
    Some((extents.into(), positions))
}

/// The element type in an attribute with a `TensorProto.DataType` number; `None` if absent or 0.
pub(super) fn dtype_attr(cx: &RuleCx<'_, '_>, name: &'static str) -> RuleResult<Option<Elem>> {
    match cx.attr_int(name)? {
        None | Some(0) => Ok(None),
        Some(number) => match i32::try_from(number).ok().and_then(Elem::from_onnx) {
            Some(elem) => Ok(Some(elem)),
            None => Err(RuleError::attribute(name, format!("is {number}, which is not an element type"))),
        },
    }
}

/// The meaning of a string attribute; `None` if it is absent.
pub(super) fn choice<T: Copy>(
    cx: &RuleCx<'_, '_>,
    name: &'static str,
    choices: &[(&str, T)],
) -> RuleResult<Option<T>> {
    let Some(given) = cx.attr_str(name)? else { return Ok(None) };
    if let Some((_, meaning)) = choices.iter().find(|(text, _)| *text == given) {
        return Ok(Some(*meaning));
    }
    let texts: Vec<String> = choices.iter().map(|(text, _)| (*text).to_owned()).collect();
    let message = format!("is `{given}`, but must be {}", text::list(&texts, "or"));
    Err(RuleError::attribute(name, message))
}

/// Maximum number of axes that rules process one by one. No implementation supports more; the limit bounds
/// the cost of a file that declares a million axes.
pub(super) const MAX_AXES: usize = 64;

/// An extent shared by several axes: the first known one defines it, the others must be equal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    extent: Option<Extent>,
    relation: &'static str,
}

impl Shared {
    /// `relation` is that of [`RuleCx::require_equal`].
    pub(super) const fn new(relation: &'static str) -> Self {
        Self { extent: None, relation }
    }

    /// Adds an axis or a computed extent.
    pub(super) fn meet(&mut self, cx: &mut RuleCx<'_, '_>, extent: impl Into<Extent>) -> RuleResult {
        let extent = extent.into();
        self.extent = Some(match self.extent {
            None => extent,
            Some(first) => Extent { dim: cx.require_equal(first, extent, self.relation)?, ..first },
        });
        Ok(())
    }

    /// The extent; `None` if no axis was added.
    pub(super) fn get(self) -> Option<DimId> {
        self.extent.map(|extent| extent.dim)
    }
}

/// Adds the axes of a port, in order. The port has as many axes.
pub(super) fn meet_axes(cx: &mut RuleCx<'_, '_>, port: Port, axes: &mut [&mut Shared]) -> RuleResult {
    let rank = axes.len();
    let Some(shape) = cx.shape_of_rank(port, rank..=rank)? else { return Ok(()) };
    axes.iter_mut().zip(shape).enumerate().try_for_each(|(at, (axis, dim))| axis.meet(cx, (port, at, dim)))
}

/// The first of several errors, deferred until the outputs have shapes: the shapes of outputs are useful even
/// if some inputs contradict each other.
#[derive(Debug, Default)]
pub(super) struct Deferred(Option<RuleError>);

impl Deferred {
    /// Stores an error and returns the success value.
    pub(super) fn note<T>(&mut self, result: RuleResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(failure) => {
                self.0.get_or_insert(failure);
                None
            }
        }
    }

    /// Adds the first axes of a port, if its shape is known.
    pub(super) fn meet_axes(&mut self, cx: &mut RuleCx<'_, '_>, port: Port, axes: &mut [&mut Shared]) {
        for (at, (axis, dim)) in axes.iter_mut().zip(cx.shape(port).unwrap_or_default()).enumerate() {
            self.note(axis.meet(cx, (port, at, dim)));
        }
    }

    /// The stored error, if any.
    pub(super) fn finish(self) -> RuleResult {
        self.0.map_or(Ok(()), Err)
    }
}

/// Sets the element type of an output from an attribute and returns it; `None` if the attribute is absent.
pub(super) fn set_elem_attr(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    name: &'static str,
) -> RuleResult<Option<Elem>> {
    let elem = dtype_attr(cx, name)?;
    if let Some(elem) = elem {
        set_named_elem(cx, port, name, elem)?;
    }
    Ok(elem)
}

/// As [`set_elem_attr`]; without the attribute, the output has the element type of the first input.
pub(super) fn set_elem_attr_or_same(cx: &mut RuleCx<'_, '_>, port: Port, name: &'static str) -> RuleResult {
    match set_elem_attr(cx, port, name)? {
        Some(_) => Ok(()),
        None => cx.same_elem(In(0), port),
    }
}

/// Sets the element type of an output that an attribute names. A type that the signature does not allow for
/// the output is an error of the attribute.
pub(super) fn set_named_elem(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    name: &'static str,
    elem: Elem,
) -> RuleResult {
    if let (Some(schema), Port::Out(at)) = (cx.schema(), port)
        && let Some(FormalType::Var(variable)) = schema.output(at).map(|formal| formal.ty)
        && !schema.type_vars[usize::from(variable)].allowed.tensor.contains(elem)
    {
        let word = elem.onnx_name().unwrap_or("a custom type");
        return Err(RuleError::attribute(name, format!("is {word}, which the output cannot have")));
    }
    cx.set_elem(port, elem)
}

/// Requires `left` to be at most `right`. A condition that holds for all extents but 0 is not recorded.
pub(crate) fn require_at_most(
    cx: &mut RuleCx<'_, '_>,
    left: impl Into<Extent>,
    right: impl Into<Extent>,
    relation: &'static str,
) -> RuleResult {
    let (left, right) = (left.into(), right.into());
    let is_one = cx.const_dim(left.dim).is_some_and(|left| left <= 1);
    if is_one && cx.const_dim(right.dim).is_none() {
        return Ok(());
    }
    cx.require_at_most(left, right, relation)
}

/// Requires an extent to be a multiple of a number. Returns the quotient; rounding does not matter, because a
/// run fails unless it is exact.
pub(crate) fn require_multiple(
    cx: &mut RuleCx<'_, '_>,
    extent: impl Into<Extent>,
    of: DimId,
    relation: &'static str,
) -> RuleResult<DimId> {
    let extent: Extent = extent.into();
    let dims = cx.dims();
    if let Some(quotient) = dims.div_exact(extent.dim, of) {
        return Ok(quotient);
    }
    let quotient = dims.floor_div(extent.dim, of);
    if !dims.is_anonymous(extent.dim) && !dims.is_anonymous(of) {
        let rounded = dims.mul(quotient, of);
        cx.require_equal(extent, (extent.port, rounded), relation)?;
    }
    Ok(quotient)
}

/// Requires constant indices to be within an axis; negative ones count from the end.
pub(super) fn require_indices(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    indices: impl Iterator<Item = i64>,
    axis: Extent,
) -> RuleResult {
    // An axis with the extreme indices in both directions has all others.
    let (mut least, mut most) = (0, -1);
    for index in indices {
        least = least.min(index);
        most = most.max(index);
    }
    if let Some(extent) = cx.const_dim(axis.dim) {
        let outside = if most >= extent { Some(most) } else { Some(least).filter(|least| *least < -extent) };
        return match outside {
            Some(index) => {
                let at = axis.axis.unwrap_or(0);
                let message = format!("has the index {index}, outside [-{extent}, {extent}) for axis {at}");
                Err(RuleError::value(port, message))
            }
            None => Ok(()),
        };
    }
    let needed = most.saturating_add(1).max(least.saturating_neg());
    let needed = cx.dims().constant(needed);
    require_at_most(cx, (port, needed), axis, "are the elements that an index needs and those of the axis")
}

/// An extent that is known only at run time: that of an earlier application of the rule, or a fresh one.
pub(crate) fn unknown_extent(cx: &mut RuleCx<'_, '_>, port: Port, axis: usize) -> DimId {
    cx.shape(port).and_then(|known| known.get(axis).copied()).unwrap_or_else(|| cx.fresh())
}

/// Sets the shape of an output of which some extents may be known only at run time.
pub(super) fn set_extents(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    extents: impl IntoIterator<Item = Option<DimId>>,
) -> RuleResult {
    let extent =
        |(axis, extent): (usize, Option<DimId>)| extent.unwrap_or_else(|| unknown_extent(cx, port, axis));
    let shape: DimVec = extents.into_iter().enumerate().map(extent).collect();
    cx.set_shape(port, &shape)
}

/// The origin of a list of integers: an attribute in early versions of an operator, an input in later ones.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Attribute(&'static str),
    Input(Port),
}

impl Source {
    /// An error of the list; `message` follows its name.
    pub(super) fn error(self, message: impl Into<String>) -> RuleError {
        match self {
            Self::Attribute(name) => RuleError::attribute(name, message),
            Self::Input(port) => RuleError::value(port, message),
        }
    }

    /// An axis of the tensor at a port as a position; a negative axis counts from the end.
    pub(super) fn axis(self, axis: i64, port: Port, rank: usize) -> RuleResult<usize> {
        if rank == 0 {
            return Err(RuleError::scalar(port));
        }
        let limit = i64::try_from(rank).unwrap_or(i64::MAX);
        shape::position(axis, rank).ok_or_else(|| {
            self.error(format!(
                "names axis {axis}, outside [-{limit}, {limit}) for {}",
                counted(rank, "axis")
            ))
        })
    }

    /// Distinct axes of the tensor at a port as positions.
    pub(super) fn axes(self, axes: &[i64], port: Port, rank: usize) -> RuleResult<Vec<usize>> {
        let mut positions = Vec::with_capacity(axes.len());
        for axis in axes {
            positions.push(self.axis(*axis, port, rank)?);
        }
        match repeated(&positions) {
            Some(at) => Err(self.error(format!("names axis {at} twice"))),
            None => Ok(positions),
        }
    }
}

/// Maximum number of axes that are compared pairwise, without allocating a set.
const MAX_PAIRWISE: usize = 16;

/// The first duplicate in a list.
pub(super) fn repeated(axes: &[usize]) -> Option<usize> {
    if axes.len() <= MAX_PAIRWISE {
        return (1..axes.len()).find(|at| axes[..*at].contains(&axes[*at])).map(|at| axes[at]);
    }
    let mut seen = HashSet::with_capacity(axes.len());
    axes.iter().copied().find(|axis| !seen.insert(*axis))
}

/// A mask of the `rank` axes that are in a list.
pub(super) fn members(axes: &[usize], rank: usize) -> Vec<bool> {
    let mut members = vec![false; rank];
    for axis in axes {
        if let Some(member) = members.get_mut(*axis) {
            *member = true;
        }
    }
    members
}

/// A list of integers, possibly with unknown items.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) source: Source,
    pub(super) items: Option<DimVec>,
    /// The number of items, if it is known.
    pub(super) len: Option<usize>,
}

impl List {
    /// The items, if all are constants.
    pub(super) fn constants(&self, cx: &mut RuleCx<'_, '_>) -> Option<Vec<i64>> {
        self.items.as_ref()?.iter().map(|item| cx.const_dim(*item)).collect()
    }
}

/// The list in the attribute `name` or in the input `at` of rank 1; `None` if both are omitted.
pub(super) fn list(cx: &mut RuleCx<'_, '_>, name: &'static str, at: usize) -> RuleResult<Option<List>> {
    let list = list_or_single(cx, name, at)?;
    if let Some(List { source: Source::Input(port), .. }) = list {
        cx.require_rank(port, 1..=1)?;
    }
    Ok(list)
}

/// As [`list`], but a scalar input is a list of one item.
pub(super) fn list_or_single(
    cx: &mut RuleCx<'_, '_>,
    name: &'static str,
    at: usize,
) -> RuleResult<Option<List>> {
    if let Some(values) = cx.attr_ints(name)? {
        let len = Some(values.len());
        let items = values.into_iter().map(|value| cx.dims().constant(value)).collect();
        return Ok(Some(List { source: Source::Attribute(name), items: Some(items), len }));
    }
    let port = In(at);
    if !cx.has(port) {
        return Ok(None);
    }
    cx.require_rank(port, ..=1)?;
    let items: Option<DimVec> = cx.ints(port).map(|ints| ints.items.iter().copied().collect());
    let len = match &items {
        Some(items) => Some(items.len()),
        None if cx.rank(port) == Some(0) => Some(1),
        None => cx.vector_len(port),
    };
    Ok(Some(List { source: Source::Input(port), items, len }))
}

/// The item of a single-element input, if it is known.
///
/// # Errors
/// If the input is known to have another number of elements.
pub(super) fn single(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult<Option<DimId>> {
    require_single(cx, port)?;
    Ok(cx.ints(port).and_then(|ints| ints.items.first().copied()))
}

/// Requires an input to be a scalar or to have one element.
pub(super) fn require_single(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult {
    cx.require_rank(port, ..=1)?;
    if let Some(shape) = cx.shape(port)
        && let [only] = shape[..]
        && let Some(extent) = cx.const_dim(only)
        && extent != 1
    {
        return Err(RuleError::shapes(&[port], format!("one number is needed, but there are {extent}")));
    }
    Ok(())
}

/// Requires an input of any rank to have one element.
pub(super) fn require_one_element(cx: &mut RuleCx<'_, '_>, port: Port, message: &'static str) -> RuleResult {
    match cx.shape(port) {
        Some(shape) if shape.iter().any(|dim| cx.is_never_single(*dim)) => {
            Err(RuleError::shapes(&[port], message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Requires an extent that comes from a value to be non-negative.
pub(super) fn require_extent(cx: &mut RuleCx<'_, '_>, source: Source, extent: DimId) -> RuleResult<DimId> {
    match cx.const_dim(extent) {
        Some(extent) if extent < 0 => Err(source.error(format!("has the negative extent {extent}"))),
        Some(_) | None => Ok(extent),
    }
}

/// The sum of two extents; an error if it overflows for constants.
pub(super) fn sum(cx: &mut RuleCx<'_, '_>, source: Source, a: DimId, b: DimId) -> RuleResult<DimId> {
    let sum = cx.dims().add(a, b);
    within_range(cx, source, [a, b, sum])
}

/// The product of two extents; an error if it overflows for constants.
pub(super) fn product(cx: &mut RuleCx<'_, '_>, source: Source, a: DimId, b: DimId) -> RuleResult<DimId> {
    let product = cx.dims().mul(a, b);
    within_range(cx, source, [a, b, product])
}

fn within_range(cx: &mut RuleCx<'_, '_>, source: Source, [a, b, result]: [DimId; 3]) -> RuleResult<DimId> {
    if let (Some(_), Some(_), None) = (cx.const_dim(a), cx.const_dim(b), cx.const_dim(result)) {
        return Err(source.error("makes an axis longer than any tensor can be: its extent would overflow"));
    }
    Ok(result)
}

/// Whether an element type has no negative values.
pub(super) fn is_unsigned(elem: Elem) -> bool {
    elem.dtype().is_some_and(|dtype| dtype.class() == DtypeClass::UnsignedInt)
}

/// The extents, if all are constants.
pub(super) fn const_extents(cx: &mut RuleCx<'_, '_>, extents: &[DimId]) -> Option<SmallVec<[usize; 6]>> {
    let mut constants = Some(SmallVec::new());
    for dim in extents {
        let extent = cx.const_dim(*dim).and_then(|extent| usize::try_from(extent).ok());
        match (extent, &mut constants) {
            (Some(extent), Some(constants)) => constants.push(extent),
            (_, _) => constants = None,
        }
    }
    constants
}

/// Number of elements of a shape; `None` on overflow.
pub(super) fn element_count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent))
}

#[cfg(test)]
mod tests {
    use super::super::testing::error;
    use super::*;

    #[test]
    fn an_input_with_one_element_has_no_others() {
        let two = "one number is needed, but there are 2";
        let graph = "g (float[9] x) => (v, i) <int64[2] k = {5, 1}> { v, i = TopK (x, k) }";
        assert_eq!(error(11, graph), format!("topk.axis: {two}"));
        let graph = "g (float[9] x, int64[2] axis) => (y) { y = CumSum (x, axis) }";
        assert_eq!(error(14, graph), format!("cumsum.axis: {two}"));
        let graph = "g (bool[1, 2] c, float x) => (y) { y = If <then_branch = t () => (a) { a = Neg (x) },
            else_branch = e () => (b) { b = Abs (x) }> (c) }";
        assert_eq!(error(16, graph), "if.branches: a condition must have one element");
        let body =
            "<body = b (int64 i, bool k, float s) => (bool l, float t) { l = Identity (k) t = Neg (s) }>";
        let graph = format!("g (int64[2] n, float x) => (y) {{ y = Loop {body} (n, , x) }}");
        assert_eq!(error(16, &graph), format!("loop.state: {two}"));
        let graph = format!("g (bool[2] c, float x) => (y) {{ y = Loop {body} (, c, x) }}");
        assert_eq!(error(16, &graph), format!("loop.state: {two}"));
        let graph = "g (float[9] x, int64[1, 2] parts) => (y) { y = SplitToSequence (x, parts) }";
        assert_eq!(error(11, graph), "splittosequence.parts: input 1 has rank 2, not 0 to 1");
    }

    #[test]
    fn a_row_and_a_column_broadcast_to_a_table() {
        let (shape, positions) = broadcast_positions(&[&[2, 1], &[3]]).unwrap();
        assert_eq!(*shape, [2, 3]);
        let pairs: Vec<_> = positions.iter().map(|at| (at[0], at[1])).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn shapes_that_do_not_broadcast_have_no_positions() {
        assert_eq!(broadcast_positions(&[&[2], &[3]]), None);
        assert_eq!(broadcast_positions(&[&[0], &[1]]).unwrap().1.len(), 0);
    }
}
