//! Resize and Upsample: the same tensor with more or fewer elements along its axes.
//!
//! Along each resized axis the output has `floor(input * scale)` elements, or those in `sizes`. A scale is
//! the stored binary number: `0.7` as a float is slightly less than 0.7, so ten elements become six. A
//! symbolic extent is scaled if the scale is a simple fraction.

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::{self, MAX_AXES, repeated};
use super::{Entry, rule};

mod policy;
#[cfg(test)]
mod tests;

/// Source: Resize version 10, `scales`; Upsample version 9, `scales`.
const BY_SCALES: Rule = Rule { name: "resize.scales", run: by_scales };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Resize", &[BY_SCALES]).until(11),
    Entry::of("Resize", &[rule("resize.sizes", resize)]).since(11),
    Entry::of("Upsample", &[rule("upsample.height_and_width", by_height_and_width)]).until(7),
    Entry::of("Upsample", &[rule("upsample.scales", by_attribute)]).since(7).until(9),
    Entry::of("Upsample", &[BY_SCALES]).since(9),
];

/// Scales in an input, one per axis.
fn by_scales(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let scales = In(1);
    cx.require_rank(scales, 1..=1)?;
    let count = cx.vector_len(scales);
    let Some(rank) = cx.rank(In(0)).or(count).filter(|rank| *rank <= MAX_AXES) else { return Ok(()) };
    require_one_each(scales, count, rank)?;
    let scales = scale_values(cx, scales)?;
    let axes: Axes = (0..rank).collect();
    scaled(cx, rank, &axes, scales.as_deref())
}

/// Source: Upsample version 7, `scales`.
fn by_attribute(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(scales) = cx.attr_floats("scales")? else { return Ok(()) };
    let rank = cx.rank(In(0)).unwrap_or(scales.len());
    if rank > MAX_AXES {
        return Ok(());
    }
    if scales.len() != rank {
        return Err(RuleError::attribute("scales", format!("has {} numbers for {rank} axes", scales.len())));
    }
    let scales: Vec<f64> = scales.into_iter().map(f64::from).collect();
    if let Some(bad) = scales.iter().find(|scale| not_positive(**scale)) {
        return Err(RuleError::attribute("scales", format!("must be positive, but holds {bad}")));
    }
    let axes: Axes = (0..rank).collect();
    scaled(cx, rank, &axes, Some(&scales))
}

/// Source: Upsample version 1, `height_scale`, `width_scale`.
fn by_height_and_width(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 4..=4)?;
    let mut scales = [1.0; 2];
    for (scale, name) in scales.iter_mut().zip(["height_scale", "width_scale"]) {
        *scale = f64::from(cx.attr_float(name)?.unwrap_or(1.0));
        if not_positive(*scale) {
            return Err(RuleError::attribute(name, format!("is {scale}, but must be positive")));
        }
    }
    scaled(cx, 4, &[2, 3], Some(&scales))
}

/// The positions of the resized axes.
type Axes = SmallVec<[usize; 6]>;

const SCALES: Port = In(2);
const SIZES: Port = In(3);

/// Source: Resize versions 11 to 19, `scales`, `sizes`, `axes`, `keep_aspect_ratio_policy`.
fn resize(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (scales, sizes) = (list(cx, SCALES)?, list(cx, SIZES)?);
    let policy = policy::read(cx)?;
    if matches!((scales, sizes), (List::Absent, List::Absent)) {
        let message = "the output's extents follow from `scales` or `sizes`, but neither is given";
        return Err(RuleError::shapes(&[In(0)], message));
    }
    let by_sizes = matches!(scales, List::Absent) || matches!(sizes, List::Given(_));
    let by_scales = matches!(sizes, List::Absent) || matches!(scales, List::Given(_)) && !by_sizes;
    if by_scales && policy != policy::Policy::Stretch {
        let message = "applies to `sizes`, but `scales` are given";
        return Err(RuleError::attribute("keep_aspect_ratio_policy", message));
    }
    let count = match (scales, sizes) {
        (_, List::Given(count)) | (List::Given(count), _) => Some(count),
        (List::Absent | List::Unknown, _) => None,
    };
    let axes_given = cx.has_attr("axes")?;
    let Some(rank) = cx.rank(In(0)).or(count.filter(|_| !axes_given)).filter(|rank| *rank <= MAX_AXES) else {
        return Ok(());
    };
    let axes = axes(cx, rank)?;
    require_one_each(if by_scales { SCALES } else { SIZES }, count, axes.len())?;
    if by_scales {
        // A crop has fewer elements than the input; implementations differ in whether they count them.
        let crops = cx.attr_str("coordinate_transformation_mode")? == Some("tf_crop_and_resize");
        let values = scale_values(cx, SCALES)?;
        return scaled(cx, rank, &axes, values.as_deref().filter(|_| !crops));
    }
    let values = if by_sizes { cx.shape_value(SIZES) } else { None };
    let extents = match values {
        Some(values) => {
            super::sliding::require_extents(cx, SIZES, &values)?;
            policy.apply(cx, &axes, &values)
        }
        None => SmallVec::from_elem(None, axes.len()),
    };
    set_extents(cx, rank, &axes, &extents)?;
    match (scales, sizes) {
        (List::Given(_), List::Given(_)) => Err(RuleError::value(SIZES, "is given as well as `scales`")),
        (List::Given(_) | List::Absent | List::Unknown, _) => Ok(()),
    }
}

/// A list input for which empty means absent.
#[derive(Clone, Copy)]
enum List {
    Absent,
    /// Present, of this length.
    Given(usize),
    /// Present and possibly empty.
    Unknown,
}

fn list(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult<List> {
    if !cx.has(port) {
        return Ok(List::Absent);
    }
    cx.require_rank(port, 1..=1)?;
    Ok(match cx.vector_len(port) {
        Some(0) => List::Absent,
        Some(count) => List::Given(count),
        None => List::Unknown,
    })
}

fn require_one_each(port: Port, count: Option<usize>, axes: usize) -> RuleResult {
    match count {
        Some(count) if count != axes => {
            Err(RuleError::value(port, format!("has {count} numbers for {axes} axes")))
        }
        Some(_) | None => Ok(()),
    }
}

/// The resized axes; all axes without the attribute.
fn axes(cx: &RuleCx<'_, '_>, rank: usize) -> RuleResult<Axes> {
    let Some(given) = cx.attr_ints("axes")? else { return Ok((0..rank).collect()) };
    let mut axes = Axes::new();
    for axis in given {
        axes.push(cx.axis_of(In(0), "axes", axis, rank)?);
    }
    match repeated(&axes) {
        Some(axis) => Err(RuleError::attribute("axes", format!("names axis {axis} twice"))),
        None => Ok(axes),
    }
}

fn scale_values(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult<Option<Vec<f64>>> {
    let Some(scales) = cx.floats(port) else { return Ok(None) };
    match scales.items.iter().find(|scale| not_positive(**scale)) {
        Some(bad) => Err(RuleError::value(port, format!("must be positive, but holds {bad}"))),
        None => Ok(Some(scales.items.to_vec())),
    }
}

fn not_positive(scale: f64) -> bool {
    scale <= 0.0 || !scale.is_finite()
}

/// Scales some axes; with unknown scales, determines only the axes that keep their extent.
fn scaled(cx: &mut RuleCx<'_, '_>, rank: usize, axes: &[usize], scales: Option<&[f64]>) -> RuleResult {
    let input = cx.shape(In(0));
    let mut extents: Extents = SmallVec::from_elem(None, axes.len());
    if let (Some(input), Some(scales)) = (&input, scales) {
        for ((extent, axis), scale) in extents.iter_mut().zip(axes).zip(scales) {
            *extent = scale_dim(cx, input[*axis], *scale);
        }
    }
    set_extents(cx, rank, axes, &extents)
}

/// The known extents of the resized axes.
type Extents = SmallVec<[Option<DimId>; 6]>;

fn set_extents(
    cx: &mut RuleCx<'_, '_>,
    rank: usize,
    axes: &[usize],
    extents: &[Option<DimId>],
) -> RuleResult {
    let input = cx.shape(In(0));
    let mut known: SmallVec<[Option<DimId>; 6]> =
        (0..rank).map(|axis| input.as_ref().map(|input| input[axis])).collect();
    for (at, axis) in axes.iter().enumerate() {
        if let Some(known) = known.get_mut(*axis) {
            *known = extents.get(at).copied().flatten();
        }
    }
    common::set_extents(cx, Out(0), known)
}

/// `floor(dim * scale)`, if it can be expressed.
fn scale_dim(cx: &mut RuleCx<'_, '_>, dim: DimId, scale: f64) -> Option<DimId> {
    /// From here on, a double does not represent every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    /// A scale with a larger denominator is not a fraction that an author wrote.
    const DENOMINATORS: [i32; 7] = [1, 2, 4, 8, 16, 32, 64];
    if let Some(extent) = cx.const_dim(dim) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "the product is only used below the limit of exact integers"
        )]
        let scaled = (extent as f64 * scale).floor();
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below the limit")]
        return (scaled < EXACT).then(|| cx.dims().constant(scaled as i64));
    }
    for denominator in DENOMINATORS {
        let numerator = scale * f64::from(denominator);
        if numerator.fract() == 0.0 && numerator <= f64::from(1 << 20) {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^20")]
            let numerator = cx.dims().constant(numerator as i64);
            let denominator = cx.dims().constant(i64::from(denominator));
            let product = cx.dims().mul(dim, numerator);
            return Some(cx.dims().floor_div(product, denominator));
        }
    }
    None
}
