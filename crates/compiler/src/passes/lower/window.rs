//! Convolutions and pooling: windows are gathered along each axis, and reduced or multiplied.
//!
//! `Gather` with a matrix of indices splits an axis into windows and the taps in each window. Taps outside of
//! the input are gathered from its edge and masked. So the batch and the channels need not be numbers, and no
//! padding is inserted.

use typeloom_types::dtype::Dtype;

use super::form::{
    Form, Lowered, Operand, OrRefusal, along, bounded, fixed, number_of, refuse, refuse_dtype, total,
};
use super::normalization::per_channel;
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("GlobalAveragePool", |f| global(f, "ReduceMean")),
    rule("GlobalMaxPool", |f| global(f, "ReduceMax")),
    rule("GlobalLpPool", |f| f.real(0).and_then(|x| Ok(power_sum(x, &spatial(x)?, true)))),
    rule("AveragePool", average_pool),
    rule("MaxPool", max_pool),
    rule("LpPool", lp_pool),
    rule("Conv", conv),
    rule("ConvTranspose", conv_transpose),
];

fn spatial(x: Operand<'_>) -> OrRefusal<Vec<usize>> {
    let axes: Vec<usize> = (2..x.rank()?).collect();
    if axes.is_empty() { refuse("its input has no spatial axes") } else { Ok(axes) }
}

fn global<'f>(f: Form<'f>, op: &str) -> Lowered<'f> {
    let x = f.real(0)?;
    Ok(x.reduce(op, &spatial(x)?, true))
}

fn power_sum<'f>(x: Operand<'f>, axes: &[usize], keep: bool) -> Operand<'f> {
    let p = x.form.int("p", 2) as f64;
    x.abs().pow(p).reduce("ReduceSum", axes, keep).pow(1.0 / p)
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
    fn of(f: Form<'_>, input: &[i64], kernel: Vec<i64>, output: Vec<i64>) -> OrRefusal<Self> {
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

    /// The input as windows `[N, C, O1, K1, O2, K2, ..]`, with a value at taps outside of it.
    fn gathered<'f>(&self, mut x: Operand<'f>, outside: f64) -> Operand<'f> {
        let rank = self.kernel.len();
        for axis in (0..rank).rev() {
            let indices: Vec<i64> = self.positions[axis].iter().map(|at| at.unwrap_or(0)).collect();
            x = x.gather(axis + 2, &[self.output[axis], self.kernel[axis]], &indices);
        }
        for (axis, positions) in self.positions.iter().enumerate() {
            let inside: Vec<bool> = positions.iter().map(Option::is_some).collect();
            if inside.contains(&false) {
                let mut dims = vec![1; 2 * rank];
                (dims[2 * axis], dims[2 * axis + 1]) = (self.output[axis], self.kernel[axis]);
                x = x.form.mask(&dims, &inside).select(x, outside);
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

fn per_axis(f: Form<'_>, name: &str, rank: usize) -> OrRefusal<Vec<i64>> {
    let given = f.ints(name).unwrap_or_else(|| vec![1; rank]);
    if given.len() != rank || given.iter().any(|number| *number < 1) {
        return refuse(format!("`{name}` is not one number above zero for each axis"));
    }
    Ok(given)
}

/// The spatial extents of the result, from its solved type.
fn output_extents(f: Form<'_>) -> OrRefusal<Vec<i64>> {
    let shape = f.output_shape().unwrap_or_default();
    let extents: Option<Vec<i64>> = shape.get(2..).unwrap_or_default().iter().map(number_of).collect();
    match extents {
        Some(extents) if !extents.is_empty() => Ok(extents),
        Some(_) | None => refuse("the spatial extents of its result are not numbers"),
    }
}

fn spatial_extents(x: Operand<'_>) -> OrRefusal<Vec<i64>> {
    spatial(x)?.into_iter().map(|axis| x.extent(axis)).collect()
}

fn pooling(x: Operand<'_>) -> OrRefusal<Windows> {
    let input = spatial_extents(x)?;
    if input.contains(&0) {
        return refuse("a tensor without elements");
    }
    let kernel = per_axis(x.form, "kernel_shape", input.len())?;
    // This attribute determines the extents of the result, which are solved.
    x.form.ignore_attributes(&["ceil_mode"]);
    Windows::of(x.form, &input, kernel, output_extents(x.form)?)
}

fn max_pool(f: Form<'_>) -> Lowered<'_> {
    if f.is_output_used(1) {
        return refuse("primitives cannot compute its indices");
    }
    // The order of indices.
    f.ignore_attributes(&["storage_order"]);
    let x = f.widened(0)?;
    let lowest = match x.dtype() {
        Dtype::I8 => f64::from(i8::MIN),
        Dtype::U8 => 0.0,
        Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 => f64::NEG_INFINITY,
        other => return refuse_dtype(other),
    };
    let windows = pooling(x)?;
    Ok(windows.gathered(x, lowest).reduce("ReduceMax", &windows.taps(), false))
}

fn average_pool(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let windows = pooling(x)?;
    let mut y = windows.gathered(x, 0.0).reduce("ReduceSum", &windows.taps(), false);
    // The number of taps inside the input is a product over the axes.
    let counts_padding = f.int("count_include_pad", 0) != 0;
    let rank = windows.kernel.len();
    for axis in 0..rank {
        let counted: Vec<bool> = if counts_padding {
            windows.padded[axis].clone()
        } else {
            windows.positions[axis].iter().map(Option::is_some).collect()
        };
        let windows_of_axis = counted.chunks((windows.kernel[axis] as usize).max(1));
        let counts: Vec<f64> =
            windows_of_axis.map(|window| window.iter().filter(|counts| **counts).count() as f64).collect();
        y = y / f.tensor(x.dtype(), &along(rank, axis, windows.output[axis]), &counts);
    }
    Ok(y)
}

fn lp_pool(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let windows = pooling(x)?;
    Ok(power_sum(windows.gathered(x, 0.0), &windows.taps(), false))
}

/// The weights of a convolution.
struct Weights<'f> {
    w: Operand<'f>,
    extents: Vec<i64>,
    groups: i64,
    inputs: i64,
    outputs: i64,
}

impl<'f> Weights<'f> {
    /// Reads the weights, whose axes of inputs and outputs have these positions.
    fn of(x: Operand<'f>, inputs_at: usize, outputs_at: usize) -> OrRefusal<Self> {
        let f = x.form;
        let w = f.real(1)?;
        let extents = w.extents()?;
        if w.rank()? != x.rank()? || extents.contains(&0) {
            return refuse("its weights do not fit");
        }
        // The attribute repeats the extents of the weights, which the operator's rule checks.
        f.ignore_attributes(&["kernel_shape"]);
        let groups = f.int("group", 1);
        let channels = |at: usize| if at == 0 { extents[0] } else { extents[1] * groups };
        let (inputs, outputs) = (channels(inputs_at), channels(outputs_at));
        if groups < 1 || inputs % groups != 0 || outputs % groups != 0 || inputs < 1 || outputs < 1 {
            return refuse(format!("{groups} groups do not divide {inputs} and {outputs} channels"));
        }
        Ok(Self { w, extents, groups, inputs, outputs })
    }

    /// Windows as columns, times weights `[G, M / G, C / G * K]`, and the bias.
    fn multiply(&self, x: Operand<'f>, w: Operand<'f>, windows: &Windows) -> Lowered<'f> {
        let batch = x.shape().map(|shape| shape[0].clone()).unwrap_or_default();
        let perm = [&[0, 1], &windows.taps()[..], &windows.windows()[..]].concat();
        let moved = windows.gathered(x, 0.0).transpose(&perm);
        let taps = total(windows.kernel.iter().copied())?;
        let count = total(windows.output.iter().copied())?;
        let depth = self.inputs / self.groups * taps;
        let columns = [batch.clone(), fixed(self.groups), fixed(depth), fixed(count)];
        let product = w.matmul(moved.reshape_to(&columns)?);
        let mut shape = vec![batch, fixed(self.outputs)];
        shape.extend(windows.output.iter().copied().map(fixed));
        let y = product.reshape_to(&shape)?;
        Ok(match x.form.optional_real(2)? {
            Some(bias) => y + per_channel(bias, shape.len()),
            None => y,
        })
    }
}

fn conv(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let input = spatial_extents(x)?;
    let weights = Weights::of(x, 1, 0)?;
    if input.contains(&0) {
        return refuse("a tensor without elements");
    }
    let Weights { w, extents, groups, outputs, .. } = &weights;
    let depth = total(extents[1..].iter().copied())?;
    let windows = Windows::of(f, &input, extents[2..].to_vec(), output_extents(f)?)?;
    bounded(total(windows.dims())?)?;
    weights.multiply(x, w.reshape(&[*groups, outputs / groups, depth]), &windows)
}

/// A window gathers from the positions to which the input is spread.
fn conv_transpose(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let input = spatial_extents(x)?;
    let weights = Weights::of(x, 0, 1)?;
    let rank = input.len();
    let (strides, dilations) = (per_axis(f, "strides", rank)?, per_axis(f, "dilations", rank)?);
    let extra = f.ints("output_padding").unwrap_or_else(|| vec![0; rank]);
    let pads = f.ints("pads").unwrap_or_else(|| vec![0; 2 * rank]);
    let (kernel, output) = (weights.extents[2..].to_vec(), output_extents(f)?);
    if extra.len() != rank || pads.len() != 2 * rank || kernel.len() != rank || output.len() != rank {
        return refuse("its window does not fit its axes");
    }
    let auto = f.text("auto_pad", "NOTSET");
    let given = f.has("output_shape") || matches!(auto.as_str(), "SAME_UPPER" | "SAME_LOWER");
    let mut positions = Vec::new();
    for axis in 0..rank {
        let span = (kernel[axis] - 1) * dilations[axis] + 1;
        let total = (strides[axis] * (input[axis] - 1) + extra[axis] + span - output[axis]).max(0);
        let begin = match (given, auto.as_str()) {
            (true, "SAME_UPPER") => total / 2,
            (true, _) => total - total / 2,
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
    let Weights { w, groups, .. } = weights;
    let (own, made) = (weights.inputs / groups, weights.outputs / groups);
    let w = w.reshape(&[groups, own, made, taps]).transpose(&[0, 2, 1, 3]);
    weights.multiply(x, w.reshape(&[groups, made, own * taps]), &windows)
}
