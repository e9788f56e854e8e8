//! Convolutions and pooling: windows are gathered along each axis, and reduced or multiplied.
//!
//! `Gather` with a matrix of indices splits an axis into windows and the taps in each window. Taps outside of
//! the input are gathered from its edge and masked. So the batch and the channels need not be numbers, and no
//! padding is inserted.

use typeloom_types::dtype::{Dtype, DtypeClass};

use super::form::{Form, Lowered, Operand, bounded, refuse, total};
use super::normalization::per_channel;
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("GlobalAveragePool", |f| global(f, "ReduceMean")),
    rule("GlobalMaxPool", |f| global(f, "ReduceMax")),
    rule("GlobalLpPool", global_lp),
    rule("AveragePool", average_pool),
    rule("MaxPool", max_pool),
    rule("LpPool", lp_pool),
    rule("Conv", conv),
    rule("ConvTranspose", conv_transpose),
];

fn spatial(x: &Operand) -> Lowered<Vec<usize>> {
    let axes: Vec<usize> = (2..x.rank()?).collect();
    if axes.is_empty() { refuse("its input has no spatial axes") } else { Ok(axes) }
}

fn global(f: &mut Form<'_>, op: &str) -> Lowered {
    let x = f.real(0)?;
    let axes = spatial(&x)?;
    Ok(f.reduce(op, &x, &axes, true))
}

fn power_sum(f: &mut Form<'_>, x: &Operand, p: f64, axes: &[usize], keep: bool) -> Operand {
    let (up, down) = (f.number(x, p), f.number(x, 1.0 / p));
    let size = f.abs(x);
    let power = f.binary("Pow", &size, &up);
    let sum = f.reduce("ReduceSum", &power, axes, keep);
    f.binary("Pow", &sum, &down)
}

fn global_lp(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let axes = spatial(&x)?;
    let p = f.int("p", 2) as f64;
    Ok(power_sum(f, &x, p, &axes, true))
}

/// Windows over the spatial axes.
struct Windows {
    kernel: Vec<i64>,
    output: Vec<i64>,
    /// The position in the input by axis, window and tap; `None` outside of the input.
    positions: Vec<Vec<Option<i64>>>,
    /// Whether a tap is inside the padded input, by axis, window and tap.
    padded: Vec<Vec<bool>>,
}

impl Windows {
    /// The windows of a convolution or pooling whose result has these extents.
    fn of(f: &Form<'_>, input: &[i64], kernel: Vec<i64>, output: Vec<i64>) -> Lowered<Self> {
        let rank = input.len();
        let (strides, dilations) = (per_axis(f, "strides", rank)?, per_axis(f, "dilations", rank)?);
        let pads = f.ints("pads").unwrap_or_else(|| vec![0; 2 * rank]);
        if pads.len() != 2 * rank || kernel.len() != rank || output.len() != rank {
            return refuse("its window does not fit its axes");
        }
        let auto = f.text("auto_pad", "NOTSET");
        let (mut positions, mut padded) = (Vec::new(), Vec::new());
        for axis in 0..rank {
            let span = (kernel[axis] - 1) * dilations[axis] + 1;
            let total = ((output[axis] - 1) * strides[axis] + span - input[axis]).max(0);
            let (begin, end) = match auto.as_str() {
                "NOTSET" | "" => (pads[axis], pads[axis + rank]),
                "VALID" => (0, 0),
                "SAME_UPPER" => (total / 2, total - total / 2),
                "SAME_LOWER" => (total - total / 2, total / 2),
                other => return refuse(format!("`auto_pad` = `{other}` is not known")),
            };
            bounded(output[axis] * kernel[axis])?;
            let taps = || {
                let (stride, dilation, taps) = (strides[axis], dilations[axis], kernel[axis]);
                (0..output[axis]).flat_map(move |window| {
                    (0..taps).map(move |tap| window * stride + tap * dilation - begin)
                })
            };
            let extent = input[axis];
            positions.push(taps().map(|at| (0..extent).contains(&at).then_some(at)).collect());
            padded.push(taps().map(|at| (-begin..extent + end).contains(&at)).collect());
        }
        Ok(Self { kernel, output, positions, padded })
    }

    /// The extents `[O1, K1, O2, K2, ..]` of windows and taps.
    fn dims(&self) -> Vec<i64> {
        self.output.iter().zip(&self.kernel).flat_map(|(windows, taps)| [*windows, *taps]).collect()
    }

    /// The input as windows: `[N, C, O1, K1, O2, K2, ..]`.
    fn gathered(&self, f: &mut Form<'_>, x: &Operand) -> Operand {
        let mut x = x.clone();
        for axis in (0..self.kernel.len()).rev() {
            let positions = &self.positions[axis];
            let indices: Vec<i64> = positions.iter().map(|at| at.unwrap_or(0)).collect();
            x = f.gather(&x, axis + 2, &[self.output[axis], self.kernel[axis]], &indices);
        }
        x
    }

    /// The windows with a value at taps outside of the input.
    fn masked(&self, f: &mut Form<'_>, x: &Operand, outside: f64) -> Operand {
        let mut x = self.gathered(f, x);
        let rank = self.kernel.len();
        for (axis, positions) in self.positions.iter().enumerate() {
            let inside: Vec<bool> = positions.iter().map(Option::is_some).collect();
            if inside.contains(&false) {
                let mut dims = vec![1; 2 * rank];
                (dims[2 * axis], dims[2 * axis + 1]) = (self.output[axis], self.kernel[axis]);
                let (inside, value) = (f.mask(&dims, &inside), f.number(&x, outside));
                x = f.select(&inside, &x, &value);
            }
        }
        x
    }

    /// The axes of taps in the gathered input.
    fn taps(&self) -> Vec<usize> {
        (0..self.kernel.len()).map(|axis| 2 * axis + 3).collect()
    }

    fn windows(&self) -> Vec<usize> {
        (0..self.kernel.len()).map(|axis| 2 * axis + 2).collect()
    }
}

fn per_axis(f: &Form<'_>, name: &str, rank: usize) -> Lowered<Vec<i64>> {
    let given = f.ints(name).unwrap_or_else(|| vec![1; rank]);
    if given.len() != rank || given.iter().any(|number| *number < 1) {
        return refuse(format!("`{name}` is not one number above zero for each axis"));
    }
    Ok(given)
}

/// The spatial extents of the result, from its solved type.
fn output_extents(f: &Form<'_>) -> Lowered<Vec<i64>> {
    let output = f.outputs.first().and_then(Option::as_ref);
    let shape = output.and_then(Operand::shape).unwrap_or_default();
    let extents: Option<Vec<i64>> = shape.get(2..).unwrap_or_default().iter().copied().collect();
    match extents {
        Some(extents) if !extents.is_empty() => Ok(extents),
        Some(_) | None => refuse("the spatial extents of its result are not numbers"),
    }
}

fn spatial_extents(x: &Operand) -> Lowered<Vec<i64>> {
    spatial(x)?.into_iter().map(|axis| x.extent(axis)).collect()
}

fn pooling(f: &mut Form<'_>, x: &Operand) -> Lowered<Windows> {
    let input = spatial_extents(x)?;
    if input.contains(&0) {
        return refuse("a tensor without elements");
    }
    let kernel = per_axis(f, "kernel_shape", input.len())?;
    // This attribute determines the extents of the result, which are solved.
    f.pass_over(&["ceil_mode"]);
    Windows::of(f, &input, kernel, output_extents(f)?)
}

fn max_pool(f: &mut Form<'_>) -> Lowered {
    if f.wants(1) {
        return refuse("its indices have no form");
    }
    // The order of indices.
    f.pass_over(&["storage_order"]);
    let x = f.input(0)?;
    let floats = matches!(x.dtype().class(), DtypeClass::Float);
    let x = if floats { f.real(0)? } else { x };
    let lowest = match x.dtype() {
        Dtype::I8 => f64::from(i8::MIN),
        Dtype::U8 => 0.0,
        _ if floats => f64::NEG_INFINITY,
        other => return refuse(format!("there is no form for {}", other.type_node().id)),
    };
    let windows = pooling(f, &x)?;
    let all = windows.masked(f, &x, lowest);
    Ok(f.reduce("ReduceMax", &all, &windows.taps(), false))
}

fn average_pool(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let windows = pooling(f, &x)?;
    let all = windows.masked(f, &x, 0.0);
    let sum = f.reduce("ReduceSum", &all, &windows.taps(), false);
    // The number of taps inside the input is a product over the axes.
    let padded = f.int("count_include_pad", 0) != 0;
    let rank = windows.kernel.len();
    let mut y = sum;
    for axis in 0..rank {
        let taps = windows.kernel[axis] as usize;
        let counted: Vec<bool> = if padded {
            windows.padded[axis].clone()
        } else {
            windows.positions[axis].iter().map(Option::is_some).collect()
        };
        let counts: Vec<f64> = counted
            .chunks(taps.max(1))
            .map(|window| window.iter().filter(|counts| **counts).count() as f64)
            .collect();
        let mut dims = vec![1; rank];
        dims[axis] = windows.output[axis];
        let counts = f.tensor(x.dtype(), &dims, &counts);
        y = f.div(&y, &counts);
    }
    Ok(y)
}

fn lp_pool(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let windows = pooling(f, &x)?;
    let p = f.int("p", 2) as f64;
    let all = windows.masked(f, &x, 0.0);
    Ok(power_sum(f, &all, p, &windows.taps(), false))
}

/// Windows as columns, times weights `[G, M / G, C / G * K]`, and the bias.
fn multiplied(
    f: &mut Form<'_>,
    x: &Operand,
    weights: &Operand,
    (groups, inputs, outputs): (i64, i64, i64),
    windows: &Windows,
) -> Lowered {
    let batch = x.shape().and_then(|shape| shape[0]);
    let all = windows.masked(f, x, 0.0);
    let perm = [&[0, 1], &windows.taps()[..], &windows.windows()[..]].concat();
    let moved = f.transpose(&all, &perm);
    let taps = total(windows.kernel.iter().copied())?;
    let count = total(windows.output.iter().copied())?;
    let depth = inputs / groups * taps;
    let columns = f.reshape_to(&moved, &[batch, Some(groups), Some(depth), Some(count)])?;
    let product = f.matmul(weights, &columns);
    let mut shape = vec![batch, Some(outputs)];
    shape.extend(windows.output.iter().copied().map(Some));
    let mut y = f.reshape_to(&product, &shape)?;
    if let Some(bias) = f.optional_real(2)? {
        let bias = per_channel(f, &bias, shape.len());
        y = f.add(&y, &bias);
    }
    Ok(y)
}

fn divides(groups: i64, inputs: i64, outputs: i64) -> Lowered<()> {
    if groups < 1 || inputs % groups != 0 || outputs % groups != 0 || inputs < 1 || outputs < 1 {
        return refuse(format!("{groups} groups do not divide {inputs} and {outputs} channels"));
    }
    Ok(())
}

fn conv(f: &mut Form<'_>) -> Lowered {
    let (x, w) = (f.real(0)?, f.real(1)?);
    let input = spatial_extents(&x)?;
    let weights = w.extents()?;
    if w.rank()? != x.rank()? || weights.contains(&0) {
        return refuse("its weights do not fit");
    }
    let (groups, outputs) = (f.int("group", 1), weights[0]);
    let inputs = weights[1] * groups;
    divides(groups, inputs, outputs)?;
    if input.contains(&0) {
        return refuse("a tensor without elements");
    }
    // The attribute repeats the extents of the weights, which the operator's rule checks.
    f.pass_over(&["kernel_shape"]);
    let kernel = weights[2..].to_vec();
    let depth = total(weights[1..].iter().copied())?;
    let windows = Windows::of(f, &input, kernel, output_extents(f)?)?;
    bounded(total(windows.dims())?)?;
    let w = f.reshape(&w, &[groups, outputs / groups, depth]);
    multiplied(f, &x, &w, (groups, inputs, outputs), &windows)
}

/// A window gathers from the positions to which the input is spread.
fn conv_transpose(f: &mut Form<'_>) -> Lowered {
    let (x, w) = (f.real(0)?, f.real(1)?);
    let input = spatial_extents(&x)?;
    let weights = w.extents()?;
    if w.rank()? != x.rank()? || weights.contains(&0) {
        return refuse("its weights do not fit");
    }
    let rank = input.len();
    let groups = f.int("group", 1);
    let (inputs, outputs) = (weights[0], weights[1] * groups);
    divides(groups, inputs, outputs)?;
    let (strides, dilations) = (per_axis(f, "strides", rank)?, per_axis(f, "dilations", rank)?);
    let extra = f.ints("output_padding").unwrap_or_else(|| vec![0; rank]);
    let pads = f.ints("pads").unwrap_or_else(|| vec![0; 2 * rank]);
    f.pass_over(&["kernel_shape"]);
    let (kernel, output) = (weights[2..].to_vec(), output_extents(f)?);
    if extra.len() != rank || pads.len() != 2 * rank || kernel.len() != rank || output.len() != rank {
        return refuse("its window does not fit its axes");
    }
    let auto = f.text("auto_pad", "NOTSET");
    let given = f.has("output_shape") || matches!(auto.as_str(), "SAME_UPPER" | "SAME_LOWER");
    let mut positions = Vec::new();
    for axis in 0..rank {
        let span = (kernel[axis] - 1) * dilations[axis] + 1;
        let total = strides[axis] * (input[axis] - 1) + extra[axis] + span - output[axis];
        let begin = match (given, auto.as_str()) {
            (true, "SAME_UPPER") => total.max(0) / 2,
            (true, _) => total.max(0) - total.max(0) / 2,
            (false, "VALID") => 0,
            (false, _) => pads[axis],
        };
        bounded(output[axis] * kernel[axis])?;
        let (stride, dilation, extent, taps) = (strides[axis], dilations[axis], input[axis], kernel[axis]);
        let position = |window: i64, tap: i64| {
            let spread = window + begin - tap * dilation;
            (spread >= 0 && spread % stride == 0 && spread / stride < extent).then_some(spread / stride)
        };
        let all = (0..output[axis]).flat_map(|window| (0..taps).map(move |tap| position(window, tap)));
        positions.push(all.collect());
    }
    let windows = Windows { kernel, output, positions, padded: Vec::new() };
    bounded(total(windows.dims())?)?;
    let taps = total(windows.kernel.iter().copied())?;
    let (own, made) = (inputs / groups, outputs / groups);
    let w = f.reshape(&w, &[groups, own, made, taps]);
    let w = f.transpose(&w, &[0, 2, 1, 3]);
    let w = f.reshape(&w, &[groups, made, own * taps]);
    multiplied(f, &x, &w, (groups, inputs, outputs), &windows)
}
