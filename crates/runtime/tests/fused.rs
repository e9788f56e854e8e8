//! Equivalence of the optimized and the written schedule: random graphs of convolutions and fusible
//! operators, with fixed seeds.

use std::collections::HashMap;
use std::fmt::Write as _;

use typeloom_cpu::ops::generate::Random;
use typeloom_onnx::messages::{ModelProto, TensorProto};
use typeloom_onnx::text::parse_model;
use typeloom_runtime::error::RunError;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

fn stored(name: &str, shape: &[usize], random: &mut Random) -> TensorProto {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|_| (random.bits() % 9) as f32 / 4.0 + 0.25).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    TensorProto {
        name: name.into(),
        data_type: Some(1),
        dims: shape.iter().map(|extent| *extent as i64).collect(),
        raw_data: Some(bytes.into()),
        ..TensorProto::default()
    }
}

fn with_weights(text: &str, weights: Vec<TensorProto>) -> ModelProto {
    let mut model = parse_model(text).expect("the text is a model");
    if let Some(graph) = &mut model.graph {
        graph.initializer.extend(weights);
    }
    model
}

/// A chain of convolutions, each followed by some fusible operators, and sums with earlier values.
fn model(random: &mut Random) -> ModelProto {
    let channels = 1 + below(random, 20);
    let mut lines = String::new();
    let mut weights = Vec::new();
    let mut values = vec!["x".to_owned()];
    for layer in 0..3 {
        let mut current = values.last().cloned().unwrap_or_default();
        let mut count = 0;
        let mut add = |line: &dyn Fn(&str, &str) -> String, current: &mut String| {
            count += 1;
            let result = format!("v{layer}_{count}");
            writeln!(lines, "  {}", line(&result, current)).expect("text grows");
            *current = result;
        };
        weights.push(stored(&format!("w{layer}"), &[channels, channels, 3, 3], random));
        weights.push(stored(&format!("b{layer}"), &[channels], random));
        let bias = if below(random, 2) == 0 { format!(", b{layer}") } else { String::new() };
        add(&|y, x| format!("{y} = Conv<pads = [1, 1, 1, 1]>({x}, w{layer}{bias})"), &mut current);
        if below(random, 2) == 0 {
            for part in ["s", "o", "m", "d"] {
                weights.push(stored(&format!("{part}{layer}"), &[channels], random));
            }
            let parts = format!("s{layer}, o{layer}, m{layer}, d{layer}");
            add(&|y, x| format!("{y} = BatchNormalization({x}, {parts})"), &mut current);
        }
        match below(random, 4) {
            0 => {
                weights.push(stored(&format!("c{layer}"), &[1, channels, 1, 1], random));
                add(&|y, x| format!("{y} = Mul(c{layer}, {x})"), &mut current);
            }
            1 => {
                weights.push(stored(&format!("c{layer}"), &[channels, 1, 1], random));
                add(&|y, x| format!("{y} = Add({x}, c{layer})"), &mut current);
            }
            2 => {
                // One number per index of the last axis, not per channel.
                weights.push(stored(&format!("c{layer}"), &[5], random));
                add(&|y, x| format!("{y} = Add({x}, c{layer})"), &mut current);
            }
            _ => {}
        }
        match below(random, 3) {
            0 => {
                let other = values[below(random, values.len())].clone();
                add(&|y, x| format!("{y} = Add({other}, {x})"), &mut current);
            }
            // Another shape, known only at run time.
            1 => add(&|y, x| format!("{y} = Add({x}, small)"), &mut current),
            _ => {}
        }
        match below(random, 4) {
            0 => add(&|y, x| format!("{y} = Relu({x})"), &mut current),
            1 => add(&|y, x| format!("{y} = Clip({x}, low, high)"), &mut current),
            2 => add(&|y, x| format!("{y} = Clip({x}, , high)"), &mut current),
            _ => {}
        }
        values.push(current);
    }
    let last = values.last().cloned().unwrap_or_default();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]>\nmain (float[N, {channels}, 4, 5] x, float[N, 1, 4, 5] small) => (float[N, {channels}, 4, 5] {last})\n<float low = {{-2.5}}, float high = {{40.0}}>\n{{\n{lines}}}"
    );
    with_weights(&text, weights)
}

fn input(shape: &[usize], random: &mut Random) -> Datum {
    let values: Vec<f32> =
        (0..shape.iter().product()).map(|_| (random.bits() % 17) as f32 / 8.0 - 1.0).collect();
    AnyTensor::from_vec(shape, values).expect("as many elements as the shape requires").into()
}

fn session(model: &ModelProto) -> Session {
    Session::new(model, &|_| Err("there are no other files".to_owned())).expect("the model can be prepared")
}

#[test]
fn the_fast_path_and_the_plan_compute_equal_results() {
    let mut random = Random::new(Some(21.0));
    for round in 0..60 {
        let model = model(&mut random);
        let session = session(&model);
        let channels =
            model.graph.as_ref().and_then(|graph| graph.initializer.get(2)).map_or(1, |w| w.dims[0]);
        let channels = usize::try_from(channels).expect("an extent");
        let batches = 1 + below(&mut random, 2);
        let inputs = HashMap::from([
            ("x".to_owned(), input(&[batches, channels, 4, 5], &mut random)),
            ("small".to_owned(), input(&[batches, 1, 4, 5], &mut random)),
        ]);
        let fast = session.run(inputs.clone(), Verify::Inputs).expect("the fast form runs");
        let plain = session.run(inputs.clone(), Verify::EveryValue).expect("the plan runs");
        let (fast_again, list) = (session.run(inputs, Verify::Inputs), |value: &Datum| -> Vec<f32> {
            value.as_tensor().and_then(|tensor| tensor.to_vec().ok()).expect("the output holds floats")
        });
        let (found, expected) = (list(&fast.outputs[0].1), list(&plain.outputs[0].1));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            let close = (found - expected).abs() <= 1e-4 * expected.abs().max(1.0);
            assert!(close, "round {round}: {found} is not {expected}");
        }
        assert_eq!(fast_again.expect("it runs again").outputs, fast.outputs);
    }
}

/// Convolutions of one tensor with different windows, groups and numbers of channels, whose results are
/// concatenated.
fn fan(random: &mut Random) -> ModelProto {
    let (mut lines, mut weights, mut branches) = (String::new(), Vec::new(), Vec::new());
    for branch in 0..2 + below(random, 2) {
        let (edge, group) = (1 + 2 * below(random, 2), [1, 2, 4][below(random, 3)]);
        let channels = group * below(random, 5);
        weights.push(stored(&format!("w{branch}"), &[channels, 4 / group, edge, edge], random));
        let pads = if edge == 3 { ", pads = [1, 1, 1, 1]" } else { "" };
        let relu = below(random, 2) == 0;
        let name = if relu { "c" } else { "r" };
        let conv = format!("Conv<group = {group}{pads}>(x, w{branch})");
        writeln!(lines, "  {name}{branch} = {conv}").expect("text grows");
        if relu {
            writeln!(lines, "  r{branch} = Relu(c{branch})").expect("text grows");
        }
        branches.push(format!("r{branch}"));
    }
    if below(random, 4) == 0 {
        branches.push("x".to_owned());
    }
    let (axis, branches) = ([1, -3, 2][below(random, 3)], branches.join(", "));
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]>\nmain (float[N, 4, 5, 6] x) => (y)\n{{\n{lines}  y = Concat<axis = {axis}>({branches})\n}}"
    );
    with_weights(&text, weights)
}

#[test]
fn concatenated_convolutions_equal_separate_ones() {
    let mut random = Random::new(Some(23.0));
    let (mut compared, mut failed) = (0, 0);
    for round in 0..200 {
        let session = session(&fan(&mut random));
        let batches = below(&mut random, 3);
        let inputs = HashMap::from([("x".to_owned(), input(&[batches, 4, 5, 6], &mut random))]);
        let fast = session.run(inputs.clone(), Verify::Inputs);
        match (fast, session.run(inputs, Verify::EveryValue)) {
            (Ok(fast), Ok(plain)) => {
                let tensor = |outcome: &Datum| outcome.as_tensor().cloned().expect("a tensor");
                let (fast, plain) = (tensor(&fast.outputs[0].1), tensor(&plain.outputs[0].1));
                assert_eq!(fast.shape(), plain.shape(), "round {round}");
                let (found, expected): (Vec<f32>, Vec<f32>) =
                    (fast.to_vec().expect("floats"), plain.to_vec().expect("floats"));
                for (found, expected) in found.iter().zip(&expected) {
                    let close = (found - expected).abs() <= 1e-4 * expected.abs().max(1.0);
                    assert!(close, "round {round}: {found} is not {expected}");
                }
                compared += 1;
            }
            // Shapes differ along another axis than that of the concatenation.
            (Err(fast), Err(plain)) => {
                assert_eq!(fast.to_string(), plain.to_string(), "round {round}");
                failed += 1;
            }
            (fast, plain) => panic!("round {round}: {:?} is not {:?}", fast.is_ok(), plain.is_ok()),
        }
    }
    assert!(compared > 50 && failed > 10, "{compared} runs and {failed} failures");
}

#[test]
fn a_fused_node_fails_under_its_own_name() {
    let text = "<ir_version: 10, opset_import: [\"\" : 21]>
main (float[N, 2, 4, 4] x, float[A, B, C, D] other) => (float[E, F, G, H] y)
<float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}>
{
  c = Conv(x, w)
  s = Add(c, other)
  y = Relu(s)
}";
    let session = session(&parse_model(text).expect("the text is a model"));
    let mut random = Random::new(Some(22.0));
    let mut failure = |x: &[usize], other: &[usize]| {
        let inputs = HashMap::from([
            ("x".to_owned(), input(x, &mut random)),
            ("other".to_owned(), input(other, &mut random)),
        ]);
        match session.run(inputs, Verify::Inputs) {
            Ok(outcome) => {
                Ok(outcome.outputs[0].1.as_tensor().map(|y| y.shape().to_vec()).unwrap_or_default())
            }
            Err(RunError::Node { node, .. }) => Err(node),
            Err(other) => Err(other.to_string()),
        }
    };
    assert_eq!(failure(&[1, 2, 4, 4], &[1, 3, 4, 4]), Ok(vec![1, 3, 4, 4]));
    // An operand that broadcasts but cannot be fused into the kernel.
    assert_eq!(failure(&[1, 2, 4, 4], &[2, 1, 1, 1]), Ok(vec![2, 3, 4, 4]));
    assert_eq!(failure(&[1, 2, 4, 4], &[1, 3, 4, 3]), Err("`Add`, which makes `s`".to_owned()));
}

#[test]
fn a_default_that_is_built_in_can_still_be_replaced() {
    let text = "<ir_version: 3, opset_import: [\"\" : 9]>
main (float[1, 1, 2, 2] x, float[1, 1, 1, 1] w) => (float[1, 1, 2, 2] y)
<float[1, 1, 1, 1] w = {2}>
{ y = Conv(x, w) }";
    let session = session(&parse_model(text).expect("the text is a model"));
    let x = Datum::from(AnyTensor::from_slice(&[1, 1, 2, 2], &[1.0_f32, 2.0, 3.0, 4.0]).expect("four"));
    let w = Datum::from(AnyTensor::from_slice(&[1, 1, 1, 1], &[-1.0_f32]).expect("one"));
    let mut inputs = HashMap::from([("x".to_owned(), x)]);
    let y = |inputs: HashMap<String, Datum>| -> Vec<f32> {
        let outcome = session.run(inputs, Verify::Inputs).expect("the model runs");
        outcome.outputs[0].1.as_tensor().and_then(|y| y.to_vec().ok()).expect("it holds floats")
    };
    assert_eq!(y(inputs.clone()), [2.0, 4.0, 6.0, 8.0]);
    inputs.insert("w".to_owned(), w);
    assert_eq!(y(inputs), [-1.0, -2.0, -3.0, -4.0]);
}
