//! Kernels with loops for adjacent elements, compared with definitions that compute one element after the
//! other. Shapes and attributes are drawn with fixed seeds.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_testing::number;
use typeloom_types::element::Element;

/// The number of random calls of a test.
fn rounds() -> usize {
    number(30, 200)
}

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

fn draw(random: &mut Random, rank: usize, limit: usize) -> Vec<usize> {
    (0..rank).map(|_| 1 + below(random, limit)).collect()
}

fn floats(shape: &[usize], random: &mut Random) -> AnyTensor {
    let elements: Vec<f32> =
        (0..shape.iter().product()).map(|_| (random.uniform() * 8.0 - 4.0) as f32).collect();
    AnyTensor::from_slice(shape, &elements).expect("as many elements as the shape requires")
}

fn ints(values: &[usize]) -> AnyTensor {
    AnyTensor::from(&values.iter().map(|value| *value as i64).collect::<Vec<_>>()[..])
}

fn run(op: &str, attributes: &Attributes, inputs: &[Option<AnyTensor>], outputs: usize) -> Vec<AnyTensor> {
    let inputs = inputs.iter().map(|input| input.clone().map(Into::into)).collect();
    let call = Call { version: 21, attributes, inputs, outputs };
    let results = ops::find("", op).expect("the operator is known").run(call);
    let results = results.unwrap_or_else(|error| panic!("{op} with {attributes:?}: {error}"));
    results.iter().map(|result| result.as_tensor().expect("a tensor").clone()).collect()
}

fn values<T: Element>(tensor: &AnyTensor) -> Vec<T> {
    tensor.to_vec().expect("of this element type")
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |before, extent| {
        before.iter().flat_map(|index| (0..*extent).map(move |at| [&index[..], &[at]].concat())).collect()
    })
}

fn flat(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |sum, (extent, at)| sum * extent + at)
}

fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (f64::from(*found) - expected).abs();
        let bound = tolerance * expected.abs().max(1.0);
        assert!(difference <= bound, "{what}: element {at} is {found}, not {expected}");
    }
}

fn permutation(random: &mut Random, rank: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    for at in (1..rank).rev() {
        order.swap(at, below(random, at + 1));
    }
    order
}

#[test]
fn transposes_move_every_element() {
    let mut random = Random::new(Some(1.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 5);
        let shape = draw(&mut random, rank, if rank < 3 { 70 } else { 9 });
        let order = permutation(&mut random, rank);
        let x = floats(&shape, &mut random);
        let perm = order.iter().map(|axis| *axis as i64).collect();
        let attributes = Attributes::default().with("perm", Attribute::Ints(perm));
        let y = run("Transpose", &attributes, &[Some(x.clone())], 1).remove(0);
        let target: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
        assert_eq!(y.shape(), &target[..], "round {round}");
        let (from, to) = (values::<f32>(&x), values::<f32>(&y));
        for index in indices(&target) {
            let mut source = vec![0; rank];
            order.iter().zip(&index).for_each(|(axis, at)| source[*axis] = *at);
            assert_eq!(
                to[flat(&target, &index)],
                from[flat(&shape, &source)],
                "round {round}: {shape:?} {order:?}"
            );
        }
    }
}

#[test]
fn slices_with_steps_read_the_listed_elements() {
    let mut random = Random::new(Some(2.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 4);
        let shape = draw(&mut random, rank, 12);
        let x = floats(&shape, &mut random);
        let mut lists = Vec::new();
        let (mut starts, mut ends, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for extent in &shape {
            let step = [1, 2, 3, -1, -2][below(&mut random, 5)];
            let (start, end) = if step > 0 {
                let start = below(&mut random, *extent) as i64;
                (start, start + 1 + below(&mut random, *extent) as i64)
            } else {
                (below(&mut random, *extent) as i64, -(*extent as i64) - 1)
            };
            let inside = |at: &i64| *at >= 0 && *at < *extent as i64 && (step < 0 || *at < end);
            lists.push((0..).map(|at| start + at * step).take_while(inside).collect::<Vec<i64>>());
            starts.push(start);
            ends.push(end);
            steps.push(step);
        }
        let inputs =
            [starts, ends, (0..rank as i64).collect(), steps].map(|list| Some(AnyTensor::from(&list[..])));
        let y =
            run("Slice", &Attributes::default(), &[&[Some(x.clone())], &inputs[..]].concat(), 1).remove(0);
        let target: Vec<usize> = lists.iter().map(Vec::len).collect();
        assert_eq!(y.shape(), &target[..], "round {round}");
        let (from, to) = (values::<f32>(&x), values::<f32>(&y));
        for index in indices(&target) {
            let source: Vec<usize> = index
                .iter()
                .zip(&lists)
                .map(|(at, list)| usize::try_from(list[*at]).expect("inside"))
                .collect();
            assert_eq!(to[flat(&target, &index)], from[flat(&shape, &source)], "round {round}");
        }
    }
}

#[test]
fn padding_modes_map_indices_back_into_the_input() {
    let mut random = Random::new(Some(3.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 3);
        let shape: Vec<usize> = draw(&mut random, rank, 9).iter().map(|extent| extent + 3).collect();
        let pads: Vec<i64> = (0..2 * rank).map(|_| below(&mut random, 4) as i64).collect();
        let mode = ["constant", "reflect", "edge", "wrap"][below(&mut random, 4)];
        let x = floats(&shape, &mut random);
        let attributes = Attributes::default().with("mode", Attribute::Bytes(mode.as_bytes().to_vec()));
        let inputs =
            [Some(x.clone()), Some(AnyTensor::from(&pads[..])), Some(AnyTensor::from_scalar(7.0_f32))];
        let y = run("Pad", &attributes, &inputs, 1).remove(0);
        let (from, to) = (values::<f32>(&x), values::<f32>(&y));
        for index in indices(y.shape()) {
            let mut outside = false;
            let source: Vec<usize> = (0..rank)
                .map(|axis| {
                    let extent = shape[axis] as i64;
                    let at = index[axis] as i64 - pads[axis];
                    outside |= at < 0 || at >= extent;
                    let at = match mode {
                        "wrap" => at.rem_euclid(extent),
                        "reflect" if at < 0 => -at,
                        "reflect" if at >= extent => 2 * (extent - 1) - at,
                        _ => at.clamp(0, extent - 1),
                    };
                    usize::try_from(at).expect("inside")
                })
                .collect();
            let expected = if outside && mode == "constant" { 7.0 } else { from[flat(&shape, &source)] };
            assert_eq!(to[flat(y.shape(), &index)], expected, "round {round}: {mode} {shape:?} {pads:?}");
        }
    }
}

#[test]
fn choices_broadcast_their_operands() {
    let mut random = Random::new(Some(4.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 3);
        let shape = draw(&mut random, rank, 6);
        let mut part = || -> Vec<usize> {
            let dropped = below(&mut random, rank + 1);
            shape[dropped..]
                .iter()
                .map(|extent| if below(&mut random, 3) == 0 { 1 } else { *extent })
                .collect()
        };
        let shapes = [part(), part(), shape.clone()];
        let flags: Vec<bool> =
            (0..shapes[0].iter().product()).map(|_| random.bits().is_multiple_of(2)).collect();
        let condition = AnyTensor::from_slice(&shapes[0], &flags).expect("fits");
        let (a, b) = (floats(&shapes[1], &mut random), floats(&shapes[2], &mut random));
        let inputs = [Some(condition), Some(a.clone()), Some(b.clone())];
        let y = run("Where", &Attributes::default(), &inputs, 1).remove(0);
        let (a, b, found) = (values::<f32>(&a), values::<f32>(&b), values::<f32>(&y));
        assert_eq!(y.shape(), &shape[..]);
        for index in indices(&shape) {
            let at = |of: &[usize]| {
                let own = &index[rank - of.len()..];
                let clipped: Vec<usize> =
                    own.iter().zip(of).map(|(at, extent)| (*at).min(extent - 1)).collect();
                flat(of, &clipped)
            };
            let expected = if flags[at(&shapes[0])] { a[at(&shapes[1])] } else { b[at(&shapes[2])] };
            assert_eq!(found[flat(&shape, &index)], expected, "round {round}: {shapes:?}");
        }
    }
}

#[test]
fn reductions_over_any_axes_equal_their_definitions() {
    let mut random = Random::new(Some(5.0));
    let kinds = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp"];
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 4);
        let shape = draw(&mut random, rank, if rank == 1 { 60 } else { 20 / rank });
        let axes: Vec<usize> = (0..rank).filter(|_| random.bits().is_multiple_of(2)).collect();
        let axes = if axes.is_empty() { vec![below(&mut random, rank)] } else { axes };
        let kind = kinds[below(&mut random, kinds.len())];
        let x = floats(&shape, &mut random);
        let inputs = [Some(x.clone()), Some(ints(&axes))];
        let y = run(&format!("Reduce{kind}"), &Attributes::default(), &inputs, 1).remove(0);
        let target: Vec<usize> =
            (0..rank).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect();
        assert_eq!(y.shape(), &target[..]);
        let mut rows = vec![Vec::new(); target.iter().product()];
        for (at, index) in indices(&shape).iter().enumerate() {
            let row: Vec<usize> =
                (0..rank).map(|axis| if axes.contains(&axis) { 0 } else { index[axis] }).collect();
            rows[flat(&target, &row)].push(f64::from(values::<f32>(&x)[at]));
        }
        let expected: Vec<f64> = rows
            .iter()
            .map(|row| {
                let sum = |each: fn(f64) -> f64| row.iter().map(|value| each(*value)).sum::<f64>();
                match kind {
                    "Sum" => sum(|x| x),
                    "Mean" => sum(|x| x) / row.len() as f64,
                    "Max" => row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    "Min" => row.iter().copied().fold(f64::INFINITY, f64::min),
                    "Prod" => row.iter().product(),
                    "L1" => sum(f64::abs),
                    "L2" => sum(|x| x * x).sqrt(),
                    "SumSquare" => sum(|x| x * x),
                    _ => sum(f64::exp).ln(),
                }
            })
            .collect();
        let tolerance = if kind == "Prod" { 1e-4 } else { 1e-6 };
        assert_close(&values(&y), &expected, tolerance, &format!("round {round}: {kind} {shape:?} {axes:?}"));
    }
}

#[test]
fn softmax_along_any_axis_equals_its_definition() {
    let mut random = Random::new(Some(6.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 3);
        let shape = draw(&mut random, rank, if rank == 1 { 300 } else { 12 });
        let axis = below(&mut random, rank);
        let x = floats(&shape, &mut random);
        let attributes = Attributes::default().with("axis", Attribute::Int(axis as i64));
        let inner: usize = shape[axis + 1..].iter().product();
        let data: Vec<f64> = values::<f32>(&x).iter().map(|x| f64::from(*x)).collect();
        let sum_of = |at: usize| {
            let first = at / (inner * shape[axis]) * inner * shape[axis] + at % inner;
            (0..shape[axis]).map(|step| data[first + step * inner].exp()).sum::<f64>()
        };
        let softmax: Vec<f64> = (0..data.len()).map(|at| data[at].exp() / sum_of(at)).collect();
        let log: Vec<f64> = softmax.iter().map(|value| value.ln()).collect();
        for (op, expected) in [("Softmax", &softmax), ("LogSoftmax", &log)] {
            let y = run(op, &attributes, &[Some(x.clone())], 1).remove(0);
            assert_close(&values(&y), expected, 2e-6, &format!("round {round}: {op} {shape:?} {axis}"));
        }
    }
}

#[test]
fn linear_resizes_equal_interpolation_of_every_element() {
    let mut random = Random::new(Some(7.0));
    for round in 0..rounds() / 2 {
        let rank = 2 + below(&mut random, 3);
        let shape = draw(&mut random, rank, 9);
        let sizes = draw(&mut random, rank, 20);
        let x = floats(&shape, &mut random);
        let attributes = Attributes::default().with("mode", Attribute::Bytes(b"linear".to_vec()));
        let inputs = [Some(x.clone()), None, None, Some(ints(&sizes))];
        let y = run("Resize", &attributes, &inputs, 1).remove(0);
        let data = values::<f32>(&x);
        let mut expected = Vec::new();
        for index in indices(&sizes) {
            let mut sum = 0.0;
            for corner in indices(&vec![2; rank]) {
                let (mut weight, mut at) = (1.0, Vec::new());
                for axis in 0..rank {
                    let scale = sizes[axis] as f64 / shape[axis] as f64;
                    let place = (index[axis] as f64 + 0.5) / scale - 0.5;
                    let fraction = place - place.floor();
                    weight *= if corner[axis] == 1 { fraction } else { 1.0 - fraction };
                    let element = place.floor() as i64 + corner[axis] as i64;
                    at.push(usize::try_from(element.clamp(0, shape[axis] as i64 - 1)).expect("inside"));
                }
                sum += weight * f64::from(data[flat(&shape, &at)]);
            }
            expected.push(sum);
        }
        assert_close(&values(&y), &expected, 2e-6, &format!("round {round}: {shape:?} to {sizes:?}"));
    }
}

#[test]
fn transposed_convolutions_scatter_every_product() {
    let mut random = Random::new(Some(8.0));
    for round in 0..rounds() / 2 {
        let rank = 1 + below(&mut random, 2);
        let group = 1 + below(&mut random, 2);
        let (channels, outputs) = (group * (1 + below(&mut random, 3)), 1 + below(&mut random, 3));
        let input = draw(&mut random, rank, 7);
        let (kernel, strides) = (draw(&mut random, rank, 4), draw(&mut random, rank, 3));
        let dilations = draw(&mut random, rank, 2);
        let full: Vec<usize> = (0..rank)
            .map(|axis| (input[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1)
            .collect();
        let pads: Vec<usize> =
            full.iter().map(|extent| below(&mut random, (extent - 1) / 2 + 1).min(2)).collect();
        let spatial: Vec<usize> = full.iter().zip(&pads).map(|(extent, pad)| extent - 2 * pad).collect();
        let x = floats(&[&[2, channels], &input[..]].concat(), &mut random);
        let w = floats(&[&[channels, outputs], &kernel[..]].concat(), &mut random);
        let bias = floats(&[outputs * group], &mut random);
        let list = |values: &[usize]| Attribute::Ints(values.iter().map(|value| *value as i64).collect());
        let attributes = Attributes::default()
            .with("strides", list(&strides))
            .with("dilations", list(&dilations))
            .with("pads", list(&[&pads[..], &pads[..]].concat()))
            .with("group", Attribute::Int(group as i64));
        let inputs = [Some(x.clone()), Some(w.clone()), Some(bias.clone())];
        let y = run("ConvTranspose", &attributes, &inputs, 1).remove(0);
        let shape = [&[2, outputs * group], &spatial[..]].concat();
        assert_eq!(y.shape(), &shape[..], "round {round}");
        let (x_data, w_data, bias) = (values::<f32>(&x), values::<f32>(&w), values::<f32>(&bias));
        let mut expected: Vec<f64> = indices(&shape).iter().map(|index| f64::from(bias[index[1]])).collect();
        for from in indices(x.shape()) {
            let own = from[1] / (channels / group);
            for tap in indices(&[&[outputs], &kernel[..]].concat()) {
                let mut to = vec![from[0], own * outputs + tap[0]];
                for axis in 0..rank {
                    let at = from[axis + 2] * strides[axis] + tap[axis + 1] * dilations[axis];
                    to.push(at.wrapping_sub(pads[axis]));
                }
                if to.iter().zip(&shape).all(|(at, extent)| at < extent) {
                    let weight = w_data[flat(w.shape(), &[&[from[1]], &tap[..]].concat())];
                    expected[flat(&shape, &to)] +=
                        f64::from(x_data[flat(x.shape(), &from)]) * f64::from(weight);
                }
            }
        }
        assert_close(&values(&y), &expected, 1e-5, &format!("round {round}"));
    }
}

#[test]
fn the_greatest_elements_are_those_of_a_stable_sort() {
    let mut random = Random::new(Some(9.0));
    for round in 0..rounds() {
        let shape = [1 + below(&mut random, 4), 1 + below(&mut random, 60)];
        let k = below(&mut random, shape[1] + 1);
        // Few distinct numbers, so that there are ties.
        let elements: Vec<f32> = (0..shape[0] * shape[1]).map(|_| below(&mut random, 6) as f32).collect();
        let x = AnyTensor::from_slice(&shape, &elements).expect("fits");
        let results = run("TopK", &Attributes::default(), &[Some(x), Some(ints(&[k]))], 2);
        let (found, positions) = (values::<f32>(&results[0]), values::<i64>(&results[1]));
        for (row, elements) in elements.chunks_exact(shape[1]).enumerate() {
            let mut order: Vec<usize> = (0..shape[1]).collect();
            order.sort_by(|a, b| elements[*b].total_cmp(&elements[*a]));
            for (at, index) in order.iter().take(k).enumerate() {
                assert_eq!(found[row * k + at], elements[*index], "round {round}");
                assert_eq!(positions[row * k + at], *index as i64, "round {round}");
            }
        }
    }
}

#[test]
fn the_least_and_greatest_of_all_types_are_those_of_a_stable_sort() {
    fn check<T: Element + PartialOrd + std::fmt::Debug>(elements: &[T], random: &mut Random) {
        let k = below(random, elements.len().min(9));
        let x = AnyTensor::from_slice(&[elements.len()], elements).expect("fits");
        for largest in [false, true] {
            let attributes = Attributes::default().with("largest", Attribute::Int(i64::from(largest)));
            let results = run("TopK", &attributes, &[Some(x.clone()), Some(ints(&[k]))], 2);
            let mut order: Vec<usize> = (0..elements.len()).collect();
            order.sort_by(|a, b| {
                let order = elements[*a].partial_cmp(&elements[*b]).expect("no NaN");
                if largest { order.reverse() } else { order }
            });
            let expected: Vec<i64> = order.iter().take(k).map(|at| *at as i64).collect();
            assert_eq!(values::<i64>(&results[1]), expected, "{elements:?}");
        }
    }
    let mut random = Random::new(Some(19.0));
    for _ in 0..rounds() {
        let len = 2 + below(&mut random, 120);
        let bits: Vec<u64> = (0..len).map(|_| random.bits() >> [0, 0, 60][below(&mut random, 3)]).collect();
        check(&bits, &mut random);
        check(&bits.iter().map(|it| *it as i64).collect::<Vec<_>>(), &mut random);
        check(&bits.iter().map(|it| *it as i32).collect::<Vec<_>>(), &mut random);
        check(&bits.iter().map(|it| *it as i8).collect::<Vec<_>>(), &mut random);
        check(&bits.iter().map(|it| *it as u16).collect::<Vec<_>>(), &mut random);
        let zeros = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY];
        let real = |bits: &u64| if bits & 7 < 4 { zeros[(bits & 3) as usize] } else { (*bits as i64) as f64 };
        check(&bits.iter().map(real).collect::<Vec<_>>(), &mut random);
    }
}

#[test]
fn elements_are_gathered_along_any_axis() {
    let mut random = Random::new(Some(20.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 4);
        let (shape, axis) = (draw(&mut random, rank, 6), below(&mut random, rank));
        let mut of_indices: Vec<usize> = shape.iter().map(|extent| below(&mut random, extent + 1)).collect();
        of_indices[axis] = below(&mut random, 8);
        let x = floats(&shape, &mut random);
        let extent = shape[axis] as i64;
        let list: Vec<i64> = (0..of_indices.iter().product())
            .map(|_| below(&mut random, 2 * shape[axis]) as i64 - extent)
            .collect();
        let given = if round % 2 == 0 {
            AnyTensor::from_slice(&of_indices, &list).expect("fits")
        } else {
            let narrow: Vec<i32> = list.iter().map(|at| *at as i32).collect();
            AnyTensor::from_slice(&of_indices, &narrow).expect("fits")
        };
        let attributes = Attributes::default().with("axis", Attribute::Int(axis as i64));
        let y = run("GatherElements", &attributes, &[Some(x.clone()), Some(given)], 1).remove(0);
        assert_eq!(y.shape(), &of_indices[..]);
        let (x, found) = (values::<f32>(&x), values::<f32>(&y));
        for (at, mut index) in indices(&of_indices).into_iter().enumerate() {
            index[axis] = list[at].rem_euclid(extent) as usize;
            assert_eq!(found[at], x[flat(&shape, &index)], "round {round}");
        }
    }
}

#[test]
fn indices_outside_of_the_axis_are_refused() {
    let x = AnyTensor::from(&[1_i64, 2, 3][..]);
    for index in [3_i64, -4, i64::MIN, i64::MAX] {
        let inputs = [Some(x.clone().into()), Some(AnyTensor::from(&[0, index][..]).into())];
        let call =
            Call { version: 21, attributes: &Attributes::default(), inputs: inputs.to_vec(), outputs: 1 };
        let error = ops::find("", "GatherElements").expect("known").run(call).expect_err("it is outside");
        assert!(error.to_string().contains("outside"), "{error}");
    }
}

#[test]
fn comparisons_broadcast_their_operands() {
    let mut random = Random::new(Some(21.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 3);
        let shape = draw(&mut random, rank, 40);
        let part = |random: &mut Random| -> Vec<usize> {
            shape.iter().map(|extent| if below(random, 3) == 0 { 1 } else { *extent }).collect()
        };
        let (of_a, of_b) =
            (part(&mut random), if round % 4 == 0 { shape.clone() } else { part(&mut random) });
        let wide: Vec<usize> = of_a.iter().zip(&of_b).map(|(a, b)| *a.max(b)).collect();
        let draw_from = |random: &mut Random, shape: &[usize]| -> Vec<f32> {
            let few = [f32::NAN, -1.0, 0.0, -0.0, 2.0];
            (0..shape.iter().product()).map(|_| few[below(random, few.len())]).collect()
        };
        let (a, b) = (draw_from(&mut random, &of_a), draw_from(&mut random, &of_b));
        let inputs = [(&of_a, &a), (&of_b, &b)].map(|(of, it)| AnyTensor::from_slice(of, it).ok());
        let op = ["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"][round % 5];
        let expected = |a: f32, b: f32| match op {
            "Greater" => a > b,
            "Less" => a < b,
            "GreaterOrEqual" => a >= b,
            "LessOrEqual" => a <= b,
            _ => a == b,
        };
        let y = run(op, &Attributes::default(), &inputs, 1).remove(0);
        assert_eq!(y.shape(), &wide[..]);
        let found = values::<bool>(&y);
        for (at, index) in indices(&wide).into_iter().enumerate() {
            let of = |shape: &[usize]| {
                let own: Vec<usize> =
                    index.iter().zip(shape).map(|(at, extent)| *at.min(&(extent - 1))).collect();
                flat(shape, &own)
            };
            assert_eq!(found[at], expected(a[of(&of_a)], b[of(&of_b)]), "round {round}: {op}");
        }
    }
}

#[test]
fn distinct_slices_have_their_first_position_and_their_number() {
    let mut random = Random::new(Some(22.0));
    for round in 0..rounds() {
        let rank = 1 + below(&mut random, 3);
        let shape = draw(&mut random, rank, 5);
        let axis = (round % 3 != 0).then(|| below(&mut random, rank));
        let sorted = round % 2 == 0;
        let elements: Vec<f32> =
            (0..shape.iter().product()).map(|_| [0.0, -0.0, 1.5, -2.0][below(&mut random, 4)]).collect();
        let x = AnyTensor::from_slice(&shape, &elements).expect("fits");
        let mut attributes = Attributes::default().with("sorted", Attribute::Int(i64::from(sorted)));
        if let Some(axis) = axis {
            attributes = attributes.with("axis", Attribute::Int(axis as i64));
        }
        let results = run("Unique", &attributes, &[Some(x)], 4);
        let (of, axis) = axis.map_or((vec![elements.len()], 0), |axis| (shape.clone(), axis));
        let slice = |at: usize| -> Vec<f32> {
            let all = indices(&of).into_iter().filter(|index| index[axis] == at);
            all.map(|index| elements[flat(&of, &index)]).collect()
        };
        let all: Vec<Vec<f32>> = (0..of[axis]).map(slice).collect();
        let mut distinct: Vec<usize> = (0..all.len()).filter(|at| !all[..*at].contains(&all[*at])).collect();
        if sorted {
            distinct.sort_by(|a, b| all[*a].partial_cmp(&all[*b]).expect("no NaN"));
        }
        let number = |slice: &Vec<f32>| distinct.iter().position(|first| all[*first] == *slice);
        let inverse: Vec<i64> = all.iter().map(|it| number(it).expect("one is equal") as i64).collect();
        let counts: Vec<i64> = (0..distinct.len())
            .map(|at| inverse.iter().filter(|it| **it == at as i64).count() as i64)
            .collect();
        let firsts: Vec<i64> = distinct.iter().map(|at| *at as i64).collect();
        assert_eq!(values::<i64>(&results[1]), firsts, "round {round}");
        assert_eq!(values::<i64>(&results[2]), inverse, "round {round}");
        assert_eq!(values::<i64>(&results[3]), counts, "round {round}");
        assert_eq!(results[0].shape()[axis], distinct.len());
        let found = values::<f32>(&results[0]);
        for (at, index) in indices(results[0].shape()).into_iter().enumerate() {
            let mut from = index.clone();
            from[axis] = distinct[index[axis]];
            assert_eq!(found[at], elements[flat(&of, &from)], "round {round}");
        }
    }
}

/// One step after the other of an LSTM or GRU, in `f64`.
fn recurrent(
    op: &str,
    x: &[f32],
    w: &[f32],
    r: &[f32],
    b: &[f32],
    [steps, batches, width, n]: [usize; 4],
) -> Vec<f64> {
    let gates = if op == "LSTM" { 4 } else { 3 };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (mut h, mut c) = (vec![0.0; batches * n], vec![0.0; batches * n]);
    let mut all = Vec::new();
    for step in 0..steps {
        let before = h.clone();
        for batch in 0..batches {
            let token = &x[(step * batches + batch) * width..][..width];
            let state = &before[batch * n..][..n];
            let of_input = |row: usize| {
                let sum: f64 =
                    token.iter().zip(&w[row * width..]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                sum + f64::from(b[row])
            };
            let of_state = |row: usize, state: &[f64]| {
                let sum: f64 = state.iter().zip(&r[row * n..]).map(|(a, b)| a * f64::from(*b)).sum();
                sum + f64::from(b[gates * n + row])
            };
            let both = |row: usize| of_input(row) + of_state(row, state);
            let reset: Vec<f64> = (0..n).map(|at| sigmoid(both(n + at)) * state[at]).collect();
            for (at, before) in state.iter().enumerate() {
                let slot = batch * n + at;
                if op == "LSTM" {
                    c[slot] =
                        sigmoid(both(2 * n + at)) * c[slot] + sigmoid(both(at)) * both(3 * n + at).tanh();
                    h[slot] = sigmoid(both(n + at)) * c[slot].tanh();
                } else {
                    let update = sigmoid(both(at));
                    let candidate = (of_input(2 * n + at) + of_state(2 * n + at, &reset)).tanh();
                    h[slot] = (1.0 - update) * candidate + update * before;
                }
            }
        }
        all.extend_from_slice(&h);
    }
    all
}

#[test]
fn recurrent_networks_equal_their_equations() {
    let mut random = Random::new(Some(10.0));
    for round in 0..rounds() / 4 {
        let op = ["LSTM", "GRU"][below(&mut random, 2)];
        let gates = if op == "LSTM" { 4 } else { 3 };
        let sizes = [7, 10, 20, 30].map(|limit| 1 + below(&mut random, limit));
        let [steps, batches, width, n] = sizes;
        let x = floats(&[steps, batches, width], &mut random);
        let w = floats(&[1, gates * n, width], &mut random);
        let r = floats(&[1, gates * n, n], &mut random);
        let b = floats(&[1, 2 * gates * n], &mut random);
        let attributes = Attributes::default().with("hidden_size", Attribute::Int(n as i64));
        let inputs = [&x, &w, &r, &b].map(|tensor| Some(tensor.clone()));
        let y = run(op, &attributes, &inputs, 1).remove(0);
        let [x, w, r, b] = [&x, &w, &r, &b].map(values::<f32>);
        let expected = recurrent(op, &x, &w, &r, &b, sizes);
        // The weights are large, so that rounding errors grow from step to step.
        assert_close(&values(&y), &expected, 1e-3, &format!("round {round}: {op} {sizes:?}"));
    }
}

/// Computes `transB`, which reads columns without packing if there are few rows or few columns.
fn product_of_columns<T: Element + Into<f64>>(
    (rows, depth, columns): (usize, usize, usize),
    [a, b, c]: &[AnyTensor; 3],
) -> (Vec<T>, Vec<f64>) {
    let attributes =
        Attributes::default().with("transB", Attribute::Int(1)).with("alpha", Attribute::Float(0.5));
    let inputs = [Some(a.clone()), Some(b.clone()), Some(c.clone())];
    let y = run("Gemm", &attributes, &inputs, 1).remove(0);
    assert_eq!(y.shape(), [rows, columns]);
    let (a, b, c) = (values::<T>(a), values::<T>(b), values::<T>(c));
    let mut expected = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let steps = (0..depth).map(|k| a[row * depth + k].into() * b[column * depth + k].into());
            expected.push(0.5 * steps.sum::<f64>() + c[column].into());
        }
    }
    (values::<T>(&y), expected)
}

#[test]
fn products_of_few_rows_with_columns_are_those_of_the_definition() {
    let mut random = Random::new(Some(11.0));
    // Below, at and above the sizes of tiles, vectors and blocks of the inner axis, and of the choice of the
    // loop.
    let rows = [1, 2, 3, 4, 5, 7, 63, 64, 65, 130];
    let depths = [0, 1, 5, 63, 64, 65, 130, 1025];
    let columns = [1, 2, 3, 5, 9, 67];
    for index in indices(&[rows.len(), depths.len(), columns.len()]) {
        let shape = (rows[index[0]], depths[index[1]], columns[index[2]]);
        let (rows, depth, columns) = shape;
        let given = [floats(&[rows, depth], &mut random), floats(&[columns, depth], &mut random)];
        let [a, b] = given;
        let c = floats(&[columns], &mut random);
        let (found, expected) = product_of_columns::<f32>(shape, &[a, b, c]);
        // The terms are at most 16, so a sum has an error of at most the depth times 16 units of 2^-24.
        let tolerance = 1e-6 * depth.max(1) as f64;
        assert_close(&found, &expected, tolerance, &format!("{shape:?}"));
    }
}

#[test]
fn products_of_few_rows_and_a_long_inner_axis_are_added_block_by_block() {
    let mut random = Random::new(Some(12.0));
    for shape in [(1, 70_001, 3), (3, 40_003, 5), (33, 2_055, 34)] {
        let (rows, depth, columns) = shape;
        let doubles = |shape: &[usize], random: &mut Random| {
            let elements: Vec<f64> = (0..shape.iter().product()).map(|_| random.uniform() - 0.5).collect();
            AnyTensor::from_slice(shape, &elements).expect("as many elements as the shape requires")
        };
        let a = doubles(&[rows, depth], &mut random);
        let b = doubles(&[columns, depth], &mut random);
        let c = doubles(&[columns], &mut random);
        let (found, expected) = product_of_columns::<f64>(shape, &[a, b, c]);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-10, "{shape:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_row_times_a_matrix_adds_all_steps() {
    let mut random = Random::new(Some(13.0));
    for (depth, columns) in [(1, 7), (3, 70), (4, 65), (6, 1100), (131, 33)] {
        let (a, b) = (floats(&[1, depth], &mut random), floats(&[depth, columns], &mut random));
        let y = run("MatMul", &Attributes::default(), &[Some(a.clone()), Some(b.clone())], 1).remove(0);
        let (a, b) = (values::<f32>(&a), values::<f32>(&b));
        let expected: Vec<f64> = (0..columns)
            .map(|column| {
                (0..depth).map(|k| f64::from(a[k]) * f64::from(b[k * columns + column])).sum::<f64>()
            })
            .collect();
        assert_close(&values::<f32>(&y), &expected, 1e-6 * depth as f64, &format!("{depth}x{columns}"));
    }
}

#[test]
fn sines_do_not_depend_on_large_neighbours() {
    let angles = [0.5_f32, -2.0, 1e5, f32::MAX, 3.0, f32::INFINITY, -0.0, f32::NAN];
    for (op, exact) in [("Sin", f64::sin as fn(f64) -> f64), ("Cos", f64::cos)] {
        let all = run(op, &Attributes::default(), &[Some(AnyTensor::from(&angles[..]))], 1).remove(0);
        for (x, found) in angles.iter().zip(values::<f32>(&all)) {
            let alone = run(op, &Attributes::default(), &[Some(AnyTensor::from(&[*x][..]))], 1).remove(0);
            assert_eq!(found.to_bits(), values::<f32>(&alone)[0].to_bits(), "{op}({x})");
            let expected = exact(f64::from(*x));
            let is_close = (f64::from(found) - expected).abs() <= 1e-7 || found.is_nan() && expected.is_nan();
            assert!(is_close, "{op}({x}) = {found}, not {expected}");
        }
    }
}
