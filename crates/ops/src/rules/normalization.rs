//! Normalisations and Dropout: the output has the input's shape, and the parameters have its channels.

use typeloom_dim::DimId;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{ExtentRelation, Rule, RuleCx, RuleError, RuleResult};

use super::common::{dtype_attr, require_multiple, require_one_element};
use super::elementwise::SAME_SHAPE;
use super::{Entry, rule};

/// Scale and bias are vectors with one number per channel. Source: InstanceNormalization, `scale` and `B`.
const INSTANCE_CHANNELS: Rule = Rule { name: "instancenormalization.channels", run: instance_channels };

/// Scale and bias broadcast to the normalised axes. Source: LayerNormalization, `axis`, `Scale`, `B`.
pub(super) const LAYER_SCALE: Rule = Rule { name: "layernormalization.scale", run: layer_scale };

/// The statistics have extent 1 on the normalised axes and the type of `stash_type`.
/// Source: LayerNormalization, `Mean`, `InvStdDev`, `stash_type`.
pub(super) const LAYER_STATISTICS: Rule =
    Rule { name: "layernormalization.statistics", run: layer_statistics };

/// The normalised axes are axes of the input. Source: RMSNormalization, `axis`.
const RMS_SCALE: Rule = Rule { name: "rmsnormalization.scale", run: layer_scale };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("BatchNormalization", &[SAME_SHAPE, rule("batchnormalization.channels", batch_channels)]),
    Entry::of("Dropout", &[SAME_SHAPE, rule("dropout.mask", dropout_mask)]),
    Entry::of("GroupNormalization", &[SAME_SHAPE, rule("groupnormalization.groups", group_channels)]),
    Entry::of("InstanceNormalization", &[SAME_SHAPE, INSTANCE_CHANNELS]),
    // The input has a batch and a channel axis. Source: LRN, `X`.
    Entry::of("LRN", &[SAME_SHAPE, rule("lrn.rank", |cx| cx.require_rank(In(0), 2..).map(drop))]),
    Entry::of("LayerNormalization", &[SAME_SHAPE, LAYER_SCALE, LAYER_STATISTICS]),
    Entry::of("MeanVarianceNormalization", &[SAME_SHAPE, rule("meanvariancenormalization.axes", axes)]),
    Entry::of("RMSNormalization", &[SAME_SHAPE, RMS_SCALE]),
];

/// Requires the vectors at some inputs to have one element per channel of the data.
fn channel_vectors(cx: &mut RuleCx<'_, '_>, vectors: std::ops::Range<usize>) -> RuleResult {
    let data = cx.shape(In(0));
    for at in vectors {
        cx.require_rank(In(at), 1..=1)?;
        if let (Some(vector), Some(channels)) = (cx.shape(In(at)), data.as_ref().and_then(|data| data.get(1)))
        {
            cx.require_equal((In(at), 0, vector[0]), (In(0), 1, *channels), "hold one number per channel")?;
        }
    }
    Ok(())
}

/// Scale, bias, mean and variance are vectors with one number per channel; so are the running statistics.
/// Source: BatchNormalization, inputs and outputs 1 to 4.
fn batch_channels(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..)?;
    // Before version 9, `spatial = 0` means separate parameters for every activation.
    if cx.attr_int("spatial")? == Some(0) {
        return Ok(());
    }
    channel_vectors(cx, 1..5)?;
    let Some(channels) = (1..5).find_map(|at| cx.shape(In(at))) else { return Ok(()) };
    (1..cx.output_count()).try_for_each(|at| cx.set_shape(Out(at), &channels))
}

fn instance_channels(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..)?;
    channel_vectors(cx, 1..3)
}

/// The groups divide the channels; scale and bias have one number per channel (before version 21: per group).
/// Source: GroupNormalization, `num_groups`, `scale`, `bias`.
fn group_channels(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..)?;
    let groups = cx.attr_int("num_groups")?.unwrap_or(1);
    if groups < 1 {
        let message = format!("is {groups}, but there must be at least one group");
        return Err(RuleError::attribute("num_groups", message));
    }
    let count = cx.dims().constant(groups);
    if let Some(channels) = cx.shape(In(0)).map(|shape| shape[1]) {
        if let Some(channels) = cx.const_dim(channels).filter(|channels| channels % groups != 0) {
            let message = format!("is {groups}, which does not divide the {channels} channels");
            return Err(RuleError::attribute("num_groups", message));
        }
        require_multiple(cx, (In(0), 1, channels), count, "must be a multiple of the number of groups")?;
    }
    if cx.since_version() >= 21 {
        return channel_vectors(cx, 1..3);
    }
    for at in [1, 2] {
        if let Some(vector) = cx.shape_of_rank(In(at), 1..=1)? {
            cx.require_equal((In(at), 0, vector[0]), count, "holds one number per group")?;
        }
    }
    Ok(())
}

fn layer_scale(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(data) = cx.shape(In(0)) else { return Ok(()) };
    let first = cx.axis_attr(In(0), "axis", -1, data.len())?;
    let normalised = &data[first..];
    for port in [In(1), In(2)] {
        let Some(scale) = cx.shape(port) else { continue };
        if scale.len() > data.len() {
            return Err(cx.wrong_rank(port, ..=data.len()));
        }
        let offset = data.len() - scale.len();
        for (axis, dim) in scale.iter().enumerate() {
            if cx.const_dim(*dim) == Some(1) {
                continue;
            }
            // An axis before the normalised ones broadcasts like the others.
            let (at, wide) = (offset + axis, data[offset + axis]);
            if at >= first && scale.len() <= normalised.len() {
                cx.require_equal((port, axis, *dim), (In(0), at, wide), "are normalised together")?;
            } else {
                let relation = ExtentRelation::of_broadcast("must match, as only the parameter is broadcast");
                cx.require_one_or_equal((port, axis, *dim), (In(0), at, wide), relation)?;
            }
        }
    }
    Ok(())
}

fn layer_statistics(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if cx.output_count() < 2 {
        return Ok(());
    }
    let elem = dtype_attr(cx, "stash_type")?.unwrap_or(Elem::FLOAT);
    for port in [Out(1), Out(2)] {
        cx.set_elem(port, elem)?;
    }
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let first = cx.axis_attr(In(0), "axis", -1, shape.len())?;
    shape[first..].fill(DimId::ONE);
    cx.set_shape(Out(1), &shape)?;
    cx.set_shape(Out(2), &shape)
}

/// The normalised axes are axes of the input. Source: MeanVarianceNormalization, `axes`.
fn axes(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (Some(rank), Some(axes)) = (cx.rank(In(0)), cx.attr_ints("axes")?) else { return Ok(()) };
    // The default lists axes of an input of rank 4; only an explicit list is checked.
    if cx.has_attr("axes")? {
        for axis in axes {
            cx.axis_of(In(0), "axes", axis, rank)?;
        }
    }
    Ok(())
}

/// The mask has the data's shape; the ratio is a single number. Source: Dropout, `mask` and `ratio`.
fn dropout_mask(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(In(0), Out(1))?;
    for port in [In(1), In(2)] {
        require_one_element(cx, port, "must be a single number")?;
    }
    Ok(())
}
