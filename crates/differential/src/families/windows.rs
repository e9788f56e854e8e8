//! Operators on images: convolutions, pools, resizing, blocks of space and depth.

use typeloom_cpu::attributes::Attribute;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::layout::target;
use super::{extents, floats, int, ints, text};
use crate::build::{Builder, Var};

/// A value with batch, channels and one or two spatial axes.
fn image(b: &mut Builder<'_>) -> Option<Var> {
    if b.choices.percent(70)
        && let Some(x) = floats(b, 3, 4)
    {
        return Some(x);
    }
    let x = floats(b, 2, 3)?;
    let axes = b.ints(&[0]);
    b.simple("Unsqueeze", &[&x.name, &axes])
}

fn window(b: &mut Builder<'_>, spatial: usize) -> Vec<(&'static str, Attribute)> {
    let mut attributes = Vec::new();
    if b.choices.percent(60) {
        let strides: Vec<i64> = (0..spatial).map(|_| b.choices.between(1, 3)).collect();
        attributes.push(ints("strides", &strides));
    }
    // ONNX Runtime does not implement dilations with automatic padding.
    let dilated = b.choices.percent(20);
    if dilated {
        let dilations: Vec<i64> = (0..spatial).map(|_| b.choices.between(1, 2)).collect();
        attributes.push(ints("dilations", &dilations));
    }
    if !dilated && b.choices.percent(25) {
        let kinds = ["SAME_UPPER", "SAME_LOWER", "VALID"];
        attributes.push(text("auto_pad", b.choices.pick::<&str>(&kinds)));
    } else if b.choices.percent(50) {
        let pads: Vec<i64> = (0..2 * spatial).map(|_| b.choices.between(0, 1)).collect();
        attributes.push(ints("pads", &pads));
    }
    attributes
}

pub(super) fn convolved(b: &mut Builder<'_>) -> Option<()> {
    let x = image(b)?;
    let spatial = x.rank()? - 2;
    let kernel: Vec<i64> = (0..spatial).map(|_| b.choices.between(1, 3)).collect();
    let mut attributes = window(b, spatial);
    match b.choices.below(5) {
        0 | 1 => {
            let channels = x.shape(b.lead())?[1];
            let mut shape = vec![b.choices.below(3) + 1, channels];
            shape.extend(kernel.iter().map(|it| usize::try_from(*it).unwrap_or(1)));
            if shape.iter().product::<usize>() > 600 {
                return None;
            }
            let w = b.weight(Dtype::F32, &shape);
            b.node("Conv", &[&x.name, &w], attributes, 1).map(|_| ())
        }
        pool @ (2 | 3) => {
            attributes.push(ints("kernel_shape", &kernel));
            attributes.push(int("ceil_mode", i64::from(b.choices.percent(30))));
            let op = if pool == 2 { "MaxPool" } else { "AveragePool" };
            b.node(op, &[&x.name], attributes, 1).map(|_| ())
        }
        _ => b.simple("GlobalAveragePool", &[&x.name]).map(|_| ()),
    }
}

pub(super) fn resized(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 2, 4)?;
    let nearest = vec![text("mode", "nearest")];
    if b.choices.percent(50) {
        let factor = |b: &mut Builder<'_>| *b.choices.pick(&[1.0_f32, 2.0, 0.5, 1.5]);
        let scales: Vec<f32> = (0..x.rank()?).map(|_| factor(b)).collect();
        let scales = b.constant(AnyTensor::from_vec(&[scales.len()], scales).ok()?);
        return b.node("Resize", &[&x.name, "", &scales], nearest, 1).map(|_| ());
    }
    let sizes: Vec<i64> = extents(b, &x).iter().map(|extent| extent * b.choices.between(1, 2)).collect();
    let sizes = target(b, &sizes, 60)?;
    b.node("Resize", &[&x.name, "", "", &sizes], nearest, 1).map(|_| ())
}

pub(super) fn blocks(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 4, 4)?;
    let op = *b.choices.pick(&["SpaceToDepth", "DepthToSpace"]);
    b.node(op, &[&x.name], vec![int("blocksize", 2)], 1).map(|_| ())
}
