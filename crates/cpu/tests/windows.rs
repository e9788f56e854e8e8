//! Convolutions, pooling and large products compared with elementwise definitions. Shapes and attributes are
//! drawn with fixed seeds. Elements are small integers, so sums are exact in any order.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_testing::number;
use typeloom_types::dtype::Dtype;

/// The number of random calls of a test.
fn rounds() -> usize {
    number(30, 150)
}

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

fn numbers(shape: &[usize], random: &mut Random) -> Vec<f64> {
    (0..shape.iter().product()).map(|_| (random.bits() % 7) as f64 - 3.0).collect()
}

fn tensor(dtype: Dtype, shape: &[usize], elements: &[f64]) -> AnyTensor {
    let wide = AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires");
    run("Cast", Attributes::default().with("to", Attribute::Int(i64::from(dtype.onnx_number()))), &[wide])
}

fn run(op: &str, attributes: Attributes, inputs: &[AnyTensor]) -> AnyTensor {
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 21, attributes: &attributes, inputs, outputs: 1 };
    let results = ops::find("", op).expect("the operator is known").run(call).expect("the call is right");
    results[0].as_tensor().expect("the result is a tensor").clone()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |before, extent| {
        before.iter().flat_map(|index| (0..*extent).map(move |at| [&index[..], &[at]].concat())).collect()
    })
}

fn flat(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |sum, (extent, at)| sum * extent + at)
}

/// Window attributes of convolution and pooling.
#[derive(Debug)]
struct Windows {
    input: Vec<usize>,
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    pads: Vec<usize>,
    output: Vec<usize>,
}

impl Windows {
    /// Random windows that fit. With `shallow`, pads are smaller than the kernel, so that no window is
    /// entirely padding.
    fn random(random: &mut Random, shallow: bool) -> Self {
        let rank = 1 + below(random, 3);
        let largest = [30, 9, 5][rank - 1];
        loop {
            let mut draw = |from: usize, to: usize| -> Vec<usize> {
                (0..rank).map(|_| from + below(random, to - from)).collect()
            };
            let (input, kernel) = (draw(1, largest), draw(1, 4));
            let (strides, dilations) = (draw(1, 4), draw(1, 3));
            let (begin, end) = (draw(0, 3), draw(0, 3));
            let span = |axis: usize| (kernel[axis] - 1) * dilations[axis] + 1;
            let fits = (0..rank).all(|axis| {
                let pads_fit = !shallow || (begin[axis] < kernel[axis] && end[axis] < kernel[axis]);
                input[axis] + begin[axis] + end[axis] >= span(axis) && pads_fit
            });
            if !fits || (shallow && dilations.iter().any(|dilation| *dilation > 1)) {
                continue;
            }
            let output = (0..rank)
                .map(|axis| (input[axis] + begin[axis] + end[axis] - span(axis)) / strides[axis] + 1)
                .collect();
            return Self { input, kernel, strides, dilations, pads: [begin, end].concat(), output };
        }
    }

    fn attributes(&self) -> Attributes {
        let ints =
            |list: &[usize]| Attribute::Ints(list.iter().map(|value| *value as i64).collect::<Vec<i64>>());
        Attributes::default()
            .with("kernel_shape", ints(&self.kernel))
            .with("strides", ints(&self.strides))
            .with("dilations", ints(&self.dilations))
            .with("pads", ints(&self.pads))
    }

    /// Input element of a window at a kernel position; `None` in the padding.
    fn at(&self, window: &[usize], place: &[usize]) -> Option<usize> {
        let mut index = Vec::new();
        for axis in 0..self.input.len() {
            let at = window[axis] * self.strides[axis] + place[axis] * self.dilations[axis];
            index.push(at.checked_sub(self.pads[axis]).filter(|at| *at < self.input[axis])?);
        }
        Some(flat(&self.input, &index))
    }
}

/// Convolution by its definition.
struct Convolution {
    windows: Windows,
    batches: usize,
    groups: usize,
    /// Input and output channels per group.
    own: usize,
    made: usize,
}

impl Convolution {
    fn equals_the_result_of_the_kernel(&self, dtypes: &[Dtype], random: &mut Random) {
        let Self { windows, batches, groups, own, made } = self;
        let (groups, own, made) = (*groups, *own, *made);
        let x_shape = [&[*batches, groups * own], &windows.input[..]].concat();
        let w_shape = [&[groups * made, own], &windows.kernel[..]].concat();
        let (x, w) = (numbers(&x_shape, random), numbers(&w_shape, random));
        let bias = numbers(&[groups * made], random);
        let shape = [&[*batches, groups * made], &windows.output[..]].concat();
        let plane: usize = windows.input.iter().product();
        let places = indices(&windows.kernel);
        let expected: Vec<f64> = indices(&shape)
            .iter()
            .map(|index| {
                let (batch, channel) = (index[0], index[1]);
                let mut sum = bias[channel];
                for (at, place) in places.iter().enumerate() {
                    let Some(offset) = windows.at(&index[2..], place) else { continue };
                    for inner in 0..own {
                        let from = (batch * groups + channel / made) * own + inner;
                        sum += x[from * plane + offset] * w[(channel * own + inner) * places.len() + at];
                    }
                }
                sum
            })
            .collect();
        for dtype in dtypes.iter().copied() {
            let attributes = windows.attributes().with("group", Attribute::Int(groups as i64));
            let inputs = [
                tensor(dtype, &x_shape, &x),
                tensor(dtype, &w_shape, &w),
                tensor(dtype, &[bias.len()], &bias),
            ];
            let found = run("Conv", attributes, &inputs);
            assert_eq!(found, tensor(dtype, &shape, &expected), "{dtype} {windows:?} groups {groups}");
        }
    }
}

#[test]
fn convolutions_are_sums_over_windows_in_any_number_of_axes_and_groups() {
    let mut random = Random::new(Some(11.0));
    for _ in 0..rounds() {
        let windows = Windows::random(&mut random, false);
        let (batches, groups) = (1 + below(&mut random, 2), 1 + below(&mut random, 3));
        let (own, made) = (1 + below(&mut random, 3), 1 + below(&mut random, 6));
        let convolution = Convolution { windows, batches, groups, own, made };
        convolution.equals_the_result_of_the_kernel(&[Dtype::F32, Dtype::F64, Dtype::F16], &mut random);
    }
}

#[test]
fn convolutions_larger_than_a_tile_and_a_block_are_sums_over_windows() {
    let mut random = Random::new(Some(15.0));
    // Covers rows of windows shorter and longer than a tile, sums longer than a block, partial panels of
    // weights, parallel execution, and strides above 1.
    let cases = [
        (vec![3, 101], vec![3, 3], [1, 1], 2, [3, 19]),
        (vec![14, 14], vec![3, 3], [1, 1], 1, [40, 70]),
        (vec![7, 7], vec![3, 3], [1, 1], 2, [90, 9]),
        (vec![200], vec![5], [1, 1], 1, [70, 17]),
        (vec![5, 6, 7], vec![3, 2, 3], [1, 1], 1, [20, 8]),
        (vec![31, 33], vec![3, 3], [2, 2], 1, [9, 33]),
        (vec![40, 40], vec![1, 1], [2, 2], 1, [33, 33]),
        (vec![40, 40], vec![1, 1], [1, 1], 1, [33, 33]),
    ];
    for (input, kernel, [stride, pad], groups, [own, made]) in cases {
        let rank = input.len();
        let pad = if kernel.iter().all(|extent| *extent == 1) { 0 } else { pad };
        let extents = input.iter().zip(&kernel);
        let output = extents.map(|(input, kernel)| (input + 2 * pad - kernel) / stride + 1).collect();
        let (strides, dilations, pads) = (vec![stride; rank], vec![1; rank], vec![pad; 2 * rank]);
        let windows = Windows { input, kernel, strides, dilations, pads, output };
        let convolution = Convolution { windows, batches: 2, groups, own, made };
        convolution.equals_the_result_of_the_kernel(&[Dtype::F32, Dtype::F64], &mut random);
    }
}

#[test]
fn pooling_takes_the_maximum_and_the_mean_of_each_window() {
    let mut random = Random::new(Some(12.0));
    for _ in 0..rounds() {
        let windows = Windows::random(&mut random, true);
        let lanes = [1 + below(&mut random, 2), 1 + below(&mut random, 3)];
        let x_shape = [&lanes[..], &windows.input[..]].concat();
        let x = numbers(&x_shape, &mut random);
        let shape = [&lanes[..], &windows.output[..]].concat();
        let plane: usize = windows.input.iter().product();
        let seen = |index: &[usize]| -> Vec<f64> {
            let lane = index[0] * lanes[1] + index[1];
            let places = indices(&windows.kernel);
            let offsets = places.iter().filter_map(|place| windows.at(&index[2..], place));
            offsets.map(|offset| x[lane * plane + offset]).collect()
        };
        let all = indices(&shape);
        let most: Vec<f64> =
            all.iter().map(|index| seen(index).into_iter().fold(f64::NEG_INFINITY, f64::max)).collect();
        for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::I8] {
            let found = run("MaxPool", windows.attributes(), &[tensor(dtype, &x_shape, &x)]);
            assert_eq!(found, tensor(dtype, &shape, &most), "{dtype} {windows:?}");
        }
        let kernel: usize = windows.kernel.iter().product();
        for include in [false, true] {
            let means: Vec<f64> = all
                .iter()
                .map(|index| {
                    let seen = seen(index);
                    let count = if include { kernel } else { seen.len() };
                    seen.iter().sum::<f64>() / count as f64
                })
                .collect();
            let attributes =
                windows.attributes().with("count_include_pad", Attribute::Int(i64::from(include)));
            let found = run("AveragePool", attributes, &[tensor(Dtype::F64, &x_shape, &x)]);
            assert_eq!(found, tensor(Dtype::F64, &shape, &means), "{windows:?} {include}");
        }
    }
}

#[test]
fn products_larger_than_a_panel_are_those_of_the_definition() {
    let mut random = Random::new(Some(13.0));
    // Extents above the panel depth, the block width and the share of one thread, and products with few rows
    // or columns.
    let extents = [
        [1, 300, 1100],
        [9, 257, 49],
        [3, 512, 97],
        [70, 40, 600],
        [67, 600, 1],
        [5, 1, 7],
        [2, 0, 3],
        [65, 513, 33],
    ];
    for [m, k, n] in extents {
        let (a, b, c) =
            (numbers(&[m, k], &mut random), numbers(&[k, n], &mut random), numbers(&[n], &mut random));
        let products: Vec<f64> = indices(&[m, n])
            .iter()
            .map(|index| {
                // `Iterator::sum` starts at -0.0.
                (0..k).fold(0.0, |sum, inner| sum + a[index[0] * k + inner] * b[inner * n + index[1]])
            })
            .collect();
        let transposed = |rows: usize, columns: usize, list: &[f64]| -> Vec<f64> {
            indices(&[columns, rows]).iter().map(|index| list[index[1] * columns + index[0]]).collect()
        };
        for dtype in [Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64] {
            let (left, right) = (tensor(dtype, &[m, k], &a), tensor(dtype, &[k, n], &b));
            let expected = tensor(dtype, &[m, n], &products);
            let found = run("MatMul", Attributes::default(), &[left.clone(), right.clone()]);
            assert_eq!(found, expected, "{m} {k} {n} {dtype}");
            let affine: Vec<f64> =
                products.iter().enumerate().map(|(at, sum)| 2.0 * sum + 3.0 * c[at % n]).collect();
            let flipped = [
                tensor(dtype, &[k, m], &transposed(m, k, &a)),
                tensor(dtype, &[n, k], &transposed(k, n, &b)),
            ];
            let attributes = Attributes::default()
                .with("alpha", Attribute::Float(2.0))
                .with("beta", Attribute::Float(3.0))
                .with("transA", Attribute::Int(1))
                .with("transB", Attribute::Int(1));
            let [left, right] = flipped;
            let found = run("Gemm", attributes, &[left, right, tensor(dtype, &[n], &c)]);
            assert_eq!(found, tensor(dtype, &[m, n], &affine), "{m} {k} {n} {dtype}, transposed");
        }
    }
}

#[test]
fn elements_are_gathered_scattered_and_joined_as_the_definitions_do() {
    let mut random = Random::new(Some(14.0));
    for _ in 0..rounds() {
        let rank = 1 + below(&mut random, 3);
        let shape: Vec<usize> = (0..rank).map(|_| 1 + below(&mut random, 4)).collect();
        let x = numbers(&shape, &mut random);
        let axis = below(&mut random, rank);
        let mut picked_shape: Vec<usize> =
            shape.iter().map(|extent| 1 + below(&mut random, *extent)).collect();
        picked_shape[axis] = 1 + below(&mut random, 5);
        let all = indices(&picked_shape);
        let places: Vec<usize> = all.iter().map(|_| below(&mut random, shape[axis])).collect();
        let signed: Vec<i64> = places
            .iter()
            .map(|place| {
                let below_zero = random.bits().is_multiple_of(2);
                if below_zero { *place as i64 - shape[axis] as i64 } else { *place as i64 }
            })
            .collect();
        let source = |index: &[usize], place: usize| {
            let mut index = index.to_vec();
            index[axis] = place;
            flat(&shape, &index)
        };
        let picked: Vec<f64> =
            all.iter().zip(&places).map(|(index, place)| x[source(index, *place)]).collect();
        let updates = numbers(&picked_shape, &mut random);
        let mut added = x.clone();
        for ((index, place), update) in all.iter().zip(&places).zip(&updates) {
            added[source(index, *place)] += update;
        }
        let joined_shape: Vec<usize> = shape
            .iter()
            .enumerate()
            .map(|(at, extent)| if at == axis { 2 * extent } else { *extent })
            .collect();
        let joined: Vec<f64> =
            indices(&joined_shape).iter().map(|index| x[source(index, index[axis] % shape[axis])]).collect();
        let on_axis = || Attributes::default().with("axis", Attribute::Int(axis as i64));
        let at =
            AnyTensor::from_slice(&picked_shape, &signed).expect("as many elements as the shape requires");
        for dtype in [Dtype::F32, Dtype::F16, Dtype::I8, Dtype::I64] {
            let data = tensor(dtype, &shape, &x);
            let found = run("GatherElements", on_axis(), &[data.clone(), at.clone()]);
            assert_eq!(found, tensor(dtype, &picked_shape, &picked), "{dtype}");
            let add = on_axis().with("reduction", Attribute::Bytes(b"add".to_vec()));
            let found = run(
                "ScatterElements",
                add,
                &[data.clone(), at.clone(), tensor(dtype, &picked_shape, &updates)],
            );
            assert_eq!(found, tensor(dtype, &shape, &added), "{dtype}");
            let found = run("Concat", on_axis(), &[data.clone(), data]);
            assert_eq!(found, tensor(dtype, &joined_shape, &joined), "{dtype}");
        }
    }
}
