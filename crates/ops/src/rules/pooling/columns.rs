//! Col2Im: assembles an image from blocks, one per column.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use crate::rules::common::{self, MAX_AXES, Source, require_multiple, set_extents};
use crate::rules::sliding::{self, Rounding, Windows};

const INPUT: Port = In(0);
const IMAGE: Port = In(1);
const BLOCK: Port = In(2);

/// The input is `[N, C * elements of a block, blocks]`, the output `[N, C, image...]`; the number of blocks
/// is the number of positions of a window of their shape. Source: Col2Im, `input`, `image_shape`,
/// `block_shape`.
pub(super) fn col2im(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(INPUT, 3..=3)?;
    let Some(spatial) = spatial_axes(cx)? else { return Ok(()) };
    let windows = Windows::read(cx, spatial)?;
    let (image, block) = (extents(cx, IMAGE)?, extents(cx, BLOCK)?);
    if let Some(block) = &block
        && block.iter().any(|extent| cx.const_dim(*extent) == Some(0))
    {
        return Err(RuleError::value(BLOCK, "must not be empty"));
    }
    let input = cx.shape(INPUT);
    let batch = input.as_ref().map(|input| input[0]);
    let channels = match (&input, &block) {
        (Some(input), Some(block)) => Some(channels(cx, input[1], block)?),
        (Some(_) | None, _) => None,
    };
    let positions = (0..spatial).map(|axis| image.as_ref().map(|image| image[axis]));
    set_extents(cx, Out(0), [batch, channels].into_iter().chain(positions))?;
    let (Some(input), Some(image), Some(block)) = (input, image, block) else { return Ok(()) };
    let mut blocks = DimId::ONE;
    for axis in 0..spatial {
        let extent = (Out(0), axis + 2, image[axis]).into();
        let Some(positions) = windows.positions(cx, axis, extent, block[axis], Rounding::Down)? else {
            return Ok(());
        };
        blocks = cx.dims().mul(blocks, positions);
    }
    cx.require_equal((INPUT, 2, input[2]), blocks, "is the number of positions of a block in the image")
        .map(drop)
}

/// Number of spatial axes, on which inputs and attributes must agree.
fn spatial_axes(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<usize>> {
    let mut known: Option<usize> = None;
    for port in [IMAGE, BLOCK] {
        cx.require_rank(port, 1..=1)?;
        let Some(length) = cx.vector_len(port) else { continue };
        if let Some(known) = known
            && known != length
        {
            let message = format!("the image has {known} spatial axes, but a block has {length}");
            return Err(RuleError::shapes(&[IMAGE, BLOCK], message));
        }
        known = Some(length);
    }
    if known.is_none() {
        known = cx.attr_ints("strides")?.or(cx.attr_ints("dilations")?).map(|list| list.len());
    }
    Ok(known.filter(|spatial| *spatial < MAX_AXES))
}

/// The extents in the value of an input.
fn extents(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult<Option<DimVec>> {
    let value = cx.shape_value(port);
    if let Some(value) = &value {
        sliding::require_extents(cx, port, value)?;
    }
    Ok(value)
}

/// The channels: a column contains the elements of a block for each of them.
fn channels(cx: &mut RuleCx<'_, '_>, column: DimId, block: &[DimId]) -> RuleResult<DimId> {
    let mut elements = DimId::ONE;
    for extent in block {
        elements = common::product(cx, Source::Input(BLOCK), elements, *extent)?;
    }
    if let (Some(column), Some(elements)) = (cx.const_dim(column), cx.const_dim(elements))
        && column.checked_rem(elements) != Some(0)
    {
        let message = format!(
            "a column has {}, which is not a multiple of the {elements} of a block",
            counted(column, "element")
        );
        return Err(RuleError::shapes(&[INPUT], message));
    }
    require_multiple(
        cx,
        (INPUT, 1, column),
        elements,
        "must be a multiple of the number of elements of a block",
    )
}
