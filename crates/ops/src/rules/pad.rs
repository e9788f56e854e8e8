//! Operators that extend or truncate axes: Pad and CenterCropPad.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleResult};
use typeloom_types::plural::counted;

use super::common::{
    self, List, Source, list, require_at_most, require_extent, require_single, unknown_extent,
};
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("CenterCropPad", &[rule("centercroppad.shape", center_crop_pad)]),
    // As `pad.pads`, with another attribute name. Source: Pad version 1, `paddings`.
    Entry::of("Pad", &[rule("pad.paddings", |cx| pad(cx, "paddings"))]).until(2),
    // Each padded axis grows by its pads at both ends; a negative pad removes elements. Source: Pad, `pads`
    // and `axes`.
    Entry::of("Pad", &[rule("pad.pads", |cx| pad(cx, "pads"))]).since(2),
];

fn pad(cx: &mut RuleCx<'_, '_>, name: &'static str) -> RuleResult {
    require_single(cx, In(2))?;
    let (Some(pads), axes) = (list(cx, name, 1)?, list(cx, "axes", 3)?) else { return Ok(()) };
    let Some(mut shape) = cx.shape(In(0)) else {
        // Without `axes`, there are two pads for every axis.
        return match pads.len {
            Some(len) if axes.is_none() && len % 2 == 0 => cx.set_rank(Out(0), len / 2),
            Some(_) | None => Ok(()),
        };
    };
    let Some(positions) = padded_axes(cx, axes, shape.len())? else {
        return cx.set_rank(Out(0), shape.len());
    };
    let count = positions.len();
    let fill = match cx.attr_str("mode")? {
        Some("reflect") => Fill::Reflected,
        Some("edge" | "wrap") => Fill::Repeated,
        Some(_) | None => Fill::Constant,
    };
    if let Some(len) = pads.len
        && len != 2 * count
    {
        return Err(pads
            .source
            .error(format!("has {}, and {count} axes need two each", counted(len, "item"))));
    }
    for (at, axis) in positions.into_iter().enumerate() {
        shape[axis] = match &pads.items {
            Some(items) => {
                let added = common::sum(cx, pads.source, items[at], items[at + count])?;
                let grown = common::sum(cx, pads.source, shape[axis], added)?;
                if let Some(extent) = cx.const_dim(grown).filter(|extent| *extent < 0) {
                    return Err(pads
                        .source
                        .error(format!("leaves {} of axis {axis}", counted(extent, "element"))));
                }
                let ends = [items[at], items[at + count]];
                match ends.map(|end| cx.const_dim(end)) {
                    [Some(front), Some(back)] => {
                        require_capacity(cx, pads.source, (axis, shape[axis]), [front, back], fill)?;
                    }
                    [Some(_) | None, _] if fill == Fill::Reflected => {
                        require_longer(cx, (axis, shape[axis]), ends)?;
                    }
                    [Some(_) | None, _] => {}
                }
                grown
            }
            None => unknown_extent(cx, Out(0), axis),
        };
    }
    cx.set_shape(Out(0), &shape)
}

/// The elements that fill a pad.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Constant,
    /// Elements of the axis: those at its edge, or all of them in turn.
    Repeated,
    /// Elements of the axis next to its edge, in reverse order.
    Reflected,
}

/// Requires an axis to have enough elements for constant pads.
///
/// Pads that reflect need the elements that negative pads remove, the elements that the largest pad reflects,
/// and the edge, which is not reflected. Pads that repeat elements need one that is not removed. Other pads
/// need only as many elements as both together remove.
fn require_capacity(
    cx: &mut RuleCx<'_, '_>,
    source: Source,
    (axis, extent): (usize, DimId),
    [front, back]: [i64; 2],
    fill: Fill,
) -> RuleResult {
    let cut = front.min(0).saturating_add(back.min(0)).saturating_neg();
    let widest = front.max(back);
    let needed = match fill {
        Fill::Reflected if widest > 0 => cut.saturating_add(widest).saturating_add(1),
        Fill::Repeated if widest > 0 => cut.saturating_add(1),
        Fill::Constant | Fill::Repeated | Fill::Reflected => front.saturating_add(back).saturating_neg(),
    };
    match cx.const_dim(extent) {
        Some(extent) if extent < needed => {
            Err(source
                .error(format!("needs {} of axis {axis}, which has {extent}", counted(needed, "element"))))
        }
        Some(_) => Ok(()),
        None => {
            let needed = cx.dims().constant(needed);
            require_at_most(
                cx,
                (In(0), needed),
                (In(0), axis, extent),
                "are the extent that the pads require and that of the axis",
            )
        }
    }
}

/// Requires an axis to be longer than each of the pads that reflect it, if these are computed at run time.
fn require_longer(cx: &mut RuleCx<'_, '_>, (axis, extent): (usize, DimId), pads: [DimId; 2]) -> RuleResult {
    for pad in pads {
        if cx.dims().is_anonymous(pad) || cx.dims().bounds(pad).1.is_some_and(|most| most <= 0) {
            continue;
        }
        let needed = cx.dims().add(pad, DimId::ONE);
        let relation = "are the extent that the reflected pads require and that of the axis";
        cx.require_at_most((In(0), needed), (In(0), axis, extent), relation)?;
    }
    Ok(())
}

/// The axes in the list `axes`, or all axes without a list; `None` if the list is known only at run time.
fn padded_axes(cx: &mut RuleCx<'_, '_>, axes: Option<List>, rank: usize) -> RuleResult<Option<Vec<usize>>> {
    let Some(axes) = axes else { return Ok(Some((0..rank).collect())) };
    match axes.constants(cx) {
        Some(known) => axes.source.axes(&known, In(0), rank).map(Some),
        None => Ok(None),
    }
}

/// The axes in `axes` get the extents in `shape`; without `axes`, all axes do. Source: CenterCropPad, `shape`
/// and `axes`.
fn center_crop_pad(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(1), 1..=1)?;
    let axes = match cx.attr_ints("axes")? {
        Some(_) => list(cx, "axes", usize::MAX)?,
        None => None,
    };
    let Some(target) = list(cx, "shape", 1)? else { return Ok(()) };
    let Some(mut shape) = cx.shape(In(0)) else {
        return match target.len {
            Some(len) if axes.is_none() => cx.set_rank(Out(0), len),
            Some(_) | None => Ok(()),
        };
    };
    let Some(positions) = padded_axes(cx, axes, shape.len())? else { return Ok(()) };
    if let Some(len) = target.len
        && len != positions.len()
    {
        return Err(target.source.error(format!(
            "has {}, for {}",
            counted(len, "item"),
            counted(positions.len(), "axis")
        )));
    }
    for (at, axis) in positions.into_iter().enumerate() {
        shape[axis] = match &target.items {
            Some(items) => require_extent(cx, target.source, items[at])?,
            None => unknown_extent(cx, Out(0), axis),
        };
    }
    cx.set_shape(Out(0), &shape)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer_y};

    fn padded(pads: &str) -> String {
        let count = pads.split(',').count();
        format!("g (float[N, 4] x) => (y) <int64[{count}] p = {{{pads}}}> {{ y = Pad (x, p) }}")
    }

    #[test]
    fn pads_are_added_at_both_ends() {
        assert_eq!(infer_y(13, &padded("1, 0, 1, 3")), "float[N + 2, 7]");
        assert_eq!(infer_y(13, &padded("1, -1, -1, -3")), "float[N, 0]");
        assert_eq!(
            infer_y(2, "g (float[N, 4] x) => (y) { y = Pad <pads = [0, 1, 0, 1]> (x) }"),
            "float[N, 6]"
        );
        assert_eq!(
            infer_y(1, "g (float[N, 4] x) => (y) { y = Pad <paddings = [0, 1, 0, 1]> (x) }"),
            "float[N, 6]"
        );
        assert_eq!(infer_y(13, "g (float[N, 4] x, int64[4] p) => (y) { y = Pad (x, p) }"), "float[?, ?]");
    }

    #[test]
    fn only_the_axes_that_are_listed_are_padded() {
        let graph =
            "g (float[N, 4, 5] x) => (y) <int64[2] p = {2, 3}, int64[1] a = {-1}> { y = Pad (x, p, , a) }";
        assert_eq!(infer_y(18, graph), "float[N, 4, 10]");
        let graph = "g (float[N, 4, 5] x, int64[1] a) => (y) <int64[2] p = {2, 3}> { y = Pad (x, p, , a) }";
        assert_eq!(infer_y(18, graph), "float[?, ?, ?]");
    }

    #[test]
    fn pads_come_in_pairs_and_leave_no_negative_extent() {
        assert_eq!(error(13, &padded("1, 0, 1")), "pad.pads: input 1 has 3 items, and 2 axes need two each");
        assert_eq!(error(13, &padded("0, -2, 0, -3")), "pad.pads: input 1 leaves -1 elements of axis 1");
        let graph = "g (float[4] x) => (y) <int64[2] p = {1, 1}> { y = Pad <mode = \"wrap\"> (x, p) }";
        assert!(error(13, graph).starts_with("attribute mode is"), "wrapping came with version 19");
        assert_eq!(infer_y(19, graph), "float[6]");
    }

    #[test]
    fn a_crop_sets_the_extents_of_the_listed_axes() {
        let graph = "g (float[N, 7, 3] x) => (y) <int64[2] s = {10, 9}> { y = CenterCropPad <axes = [0, -1]> (x, s) }";
        assert_eq!(infer_y(18, graph), "float[10, 7, 9]");
        let graph = "g (float[N, 7] x, int64[2] s) => (y) { y = CenterCropPad (x, s) }";
        assert_eq!(infer_y(18, graph), "float[?, ?]");
        let graph = "g (float[N, 7] x) => (y) <int64[1] s = {10}> { y = CenterCropPad (x, s) }";
        assert_eq!(error(18, graph), "centercroppad.shape: input 1 has 1 item, for 2 axes");
    }

    #[test]
    fn an_axis_must_be_longer_than_computed_pads_that_reflect_it() {
        let graph = "g (float[N] x) => (y) <int64[1] z = {0}, int64[1] k = {4}> \
            { s = Shape (x) r = Mod (s, k) p = Concat <axis = 0> (z, r) y = Pad <mode = \"reflect\"> (x, p) }";
        assert_eq!(conditions(21, graph), ["N % 4 + 1 <= N"]);
        assert_eq!(conditions(21, &graph.replace("reflect", "edge")), [""; 0]);
    }

    #[test]
    fn pads_that_cut_or_reflect_need_elements() {
        assert_eq!(
            conditions(13, "g (float[N] x) => (y) <int64[2] p = {-1, -2}> { y = Pad (x, p) }"),
            ["N >= 3"]
        );
        let reflected =
            "g (float[N] x) => (y) <int64[2] p = {2, -1}> { y = Pad <mode = \"reflect\"> (x, p) }";
        assert_eq!(conditions(13, reflected), ["N >= 4"]);
        let repeated = "g (float[N] x) => (y) <int64[2] p = {2, -1}> { y = Pad <mode = \"edge\"> (x, p) }";
        assert_eq!(conditions(13, repeated), ["N >= 2"]);
        let constant = "g (float[N] x) => (y) <int64[2] p = {2, 9}> { y = Pad (x, p) }";
        assert_eq!(conditions(13, constant), [""; 0]);
    }
}
