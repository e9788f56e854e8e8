//! Equivalence of the optimized and the written schedule for quantised graphs: dynamically quantised products
//! and convolutions give equal bits, and dequantised ones results within the stated rounding. Fixed seeds.

use std::collections::HashMap;
use std::fmt::Write as _;

use typeloom_cpu::ops::generate::Random;
use typeloom_onnx::messages::{ModelProto, TensorProto};
use typeloom_onnx::text::parse_model;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_testing::number;

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

const F32: i32 = 1;
const U8: i32 = 2;
const I8: i32 = 3;
const I32: i32 = 6;

fn stored(name: &str, data_type: i32, shape: &[usize], bytes: Vec<u8>) -> TensorProto {
    TensorProto {
        name: name.into(),
        data_type: Some(data_type),
        dims: shape.iter().map(|extent| *extent as i64).collect(),
        raw_data: Some(bytes.into()),
        ..TensorProto::default()
    }
}

fn bytes(name: &str, data_type: i32, shape: &[usize], random: &mut Random) -> TensorProto {
    let data = (0..shape.iter().product()).map(|_| below(random, 256) as u8).collect();
    stored(name, data_type, shape, data)
}

/// Zero points near the middle of the range.
fn zeros(name: &str, data_type: i32, shape: &[usize], random: &mut Random) -> TensorProto {
    let middle = if data_type == U8 { 120 } else { 0 };
    let data = (0..shape.iter().product()).map(|_| middle + below(random, 9) as u8).collect();
    stored(name, data_type, shape, data)
}

fn floats(name: &str, shape: &[usize], random: &mut Random) -> TensorProto {
    let value = |_| (below(random, 1000) + 1) as f32 / 40_000.0;
    let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
    stored(name, F32, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// Lines of a graph and its initializers.
#[derive(Default)]
struct Graph {
    lines: String,
    weights: Vec<TensorProto>,
    count: usize,
}

impl Graph {
    fn add(&mut self, line: impl Fn(&str) -> String) -> String {
        self.count += 1;
        let result = format!("v{}", self.count);
        writeln!(self.lines, "  {}", line(&result)).expect("text grows");
        result
    }

    fn finish(self, head: &str, shape: &str, result: &str) -> ModelProto {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : 21]>\nmain (float{shape} x) => (float{shape} {result})\n{head}\n{{\n{}}}",
            self.lines
        );
        let mut model = parse_model(&text).expect("the text is a model");
        if let Some(graph) = &mut model.graph {
            graph.initializer.extend(self.weights);
        }
        model
    }
}

/// Shapes of the weights, and of the bias as an operand of `Add`.
struct Shapes {
    weights: Vec<usize>,
    operand: Vec<usize>,
}

/// A chain of dynamically quantised nodes.
fn dynamic(random: &mut Random, is_conv: bool, channels: usize) -> ModelProto {
    let mut graph = Graph::default();
    let mut current = "x".to_owned();
    for layer in 0..3 {
        let (y, s, z) = (format!("y{layer}"), format!("s{layer}"), format!("z{layer}"));
        writeln!(graph.lines, "  {y}, {s}, {z} = DynamicQuantizeLinear({current})").expect("text grows");
        let shapes = shapes(is_conv, channels, random);
        let data_type = [U8, I8][below(random, 2)];
        graph.weights.push(bytes(&format!("w{layer}"), data_type, &shapes.weights, random));
        let per_lane = below(random, 2) == 0;
        let zero_shape = if per_lane { vec![channels] } else { Vec::new() };
        graph.weights.push(zeros(&format!("wz{layer}"), data_type, &zero_shape, random));
        // A scale with an element per index of another axis cannot be fused.
        let scale_shape: &[usize] = match below(random, 4) {
            0 => &[],
            1 => &shapes.operand,
            2 => &[1],
            _ => &[5, 1],
        };
        let scale_shape = if is_conv && scale_shape == [5, 1] { &[][..] } else { scale_shape };
        graph.weights.push(floats(&format!("ws{layer}"), scale_shape, random));
        let op = if is_conv { "ConvInteger<pads = [1, 1, 1, 1]>" } else { "MatMulInteger" };
        let sums = graph.add(|r| format!("{r} = {op}({y}, w{layer}, {z}, wz{layer})"));
        let scale = graph.add(|r| format!("{r} = Mul({s}, ws{layer})"));
        let cast = graph.add(|r| format!("{r} = Cast<to = 1>({sums})"));
        current = graph.add(|r| format!("{r} = Mul({cast}, {scale})"));
        if below(random, 2) == 0 {
            graph.weights.push(floats(&format!("b{layer}"), &shapes.operand, random));
            current = graph.add(|r| format!("{r} = Add(b{layer}, {current})"));
        }
        match below(random, 3) {
            0 => current = graph.add(|r| format!("{r} = Relu({current})")),
            1 => current = graph.add(|r| format!("{r} = Clip({current}, low, high)")),
            _ => {}
        }
    }
    let shape = if is_conv { format!("[N, {channels}, 4, 5]") } else { format!("[N, 5, {channels}]") };
    graph.finish("<float low = {-2.5}, float high = {40.0}>", &shape, &current)
}

fn shapes(is_conv: bool, channels: usize, random: &mut Random) -> Shapes {
    if is_conv {
        let operand = [vec![channels, 1, 1], vec![1, channels, 1, 1]][below(random, 2)].clone();
        return Shapes { weights: vec![channels, channels, 3, 3], operand };
    }
    let operand = [vec![channels], vec![1, channels]][below(random, 2)].clone();
    Shapes { weights: vec![channels, channels], operand }
}

/// A chain of float nodes between dequantisation and quantisation.
fn dequantised(random: &mut Random, is_conv: bool, channels: usize, layers: usize) -> ModelProto {
    let mut graph = Graph::default();
    graph.weights.push(stored("scale", F32, &[], 0.02_f32.to_le_bytes().to_vec()));
    graph.weights.push(stored("zero", U8, &[], vec![117]));
    let mut integers = graph.add(|r| format!("{r} = QuantizeLinear(x, scale, zero)"));
    for layer in 0..layers {
        let shapes = shapes(is_conv, channels, random);
        let data_type = [U8, I8][below(random, 2)];
        let gemm = !is_conv && below(random, 2) == 0;
        let op = match (is_conv, gemm) {
            (true, _) => "Conv<pads = [1, 1, 1, 1]>",
            (false, true) => "Gemm<transB = 1>",
            (false, false) => "MatMul",
        };
        let axis = usize::from(!is_conv && !gemm);
        let lanes = if below(random, 2) == 0 { vec![channels] } else { Vec::new() };
        graph.weights.push(bytes(&format!("w{layer}"), data_type, &shapes.weights, random));
        graph.weights.push(floats(&format!("ws{layer}"), &lanes, random));
        graph.weights.push(zeros(&format!("wz{layer}"), data_type, &lanes, random));
        let bias: Vec<u8> =
            (0..channels).flat_map(|_| (below(random, 900) as i32 - 450).to_le_bytes()).collect();
        graph.weights.push(stored(&format!("b{layer}"), I32, &[channels], bias));
        let x = graph.add(|r| format!("{r} = DequantizeLinear({integers}, scale, zero)"));
        let w =
            graph.add(|r| format!("{r} = DequantizeLinear<axis = {axis}>(w{layer}, ws{layer}, wz{layer})"));
        let b = graph.add(|r| format!("{r} = DequantizeLinear(b{layer}, scale)"));
        let mut current = match (is_conv || gemm, below(random, 2)) {
            (true, 0) => graph.add(|r| format!("{r} = {op}({x}, {w}, {b})")),
            (true, _) => graph.add(|r| format!("{r} = {op}({x}, {w})")),
            (false, 0) => graph.add(|r| format!("{r} = {op}({x}, {w})")),
            (false, _) => {
                let product = graph.add(|r| format!("{r} = {op}({x}, {w})"));
                graph.add(|r| format!("{r} = Add({product}, {b})"))
            }
        };
        if below(random, 2) == 0 {
            current = graph.add(|r| format!("{r} = Relu({current})"));
        }
        if below(random, 3) == 0 {
            // Another reader of the dequantised input.
            current = graph.add(|r| format!("{r} = Add({current}, {x})"));
        }
        integers = graph.add(|r| format!("{r} = QuantizeLinear({current}, scale, zero)"));
    }
    let last = graph.add(|r| format!("{r} = DequantizeLinear({integers}, scale, zero)"));
    let shape = if is_conv { format!("[N, {channels}, 4, 5]") } else { format!("[N, {channels}]") };
    graph.finish("", &shape, &last)
}

fn input(shape: &[usize], random: &mut Random) -> Datum {
    let values: Vec<f32> =
        (0..shape.iter().product()).map(|_| below(random, 800) as f32 / 100.0 - 4.0).collect();
    AnyTensor::from_vec(shape, values).expect("as many elements as the shape requires").into()
}

/// The outputs of the optimized and of the written schedule.
fn both(model: &ModelProto, x: Datum) -> [Vec<f32>; 2] {
    let session = Session::new(model, &|_| Err("there are no other files".to_owned()))
        .expect("the model can be prepared");
    let inputs = HashMap::from([("x".to_owned(), x)]);
    [Verify::Inputs, Verify::EveryValue].map(|verify| {
        let results = session.run(inputs.clone(), verify).expect("the model runs");
        let first = results.outputs[0].1.as_tensor().and_then(|tensor| tensor.to_vec().ok());
        first.expect("the output holds floats")
    })
}

#[test]
fn dynamically_quantised_nodes_give_equal_bits() {
    let mut random = Random::new(Some(41.0));
    for round in 0..number(20, 60) {
        let (is_conv, channels) = (round % 2 == 0, 1 + below(&mut random, 60));
        let model = dynamic(&mut random, is_conv, channels);
        let shape = if is_conv { vec![2, channels, 4, 5] } else { vec![2, 5, channels] };
        let [fast, plain] = both(&model, input(&shape, &mut random));
        let bits = |list: &[f32]| list.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        assert_eq!(bits(&fast), bits(&plain), "round {round}");
    }
}

#[test]
fn nodes_between_dequantisation_and_quantisation_differ_by_at_most_one_unit() {
    let mut random = Random::new(Some(42.0));
    let (mut count, mut different) = (0, 0);
    for round in 0..number(20, 60) {
        let (is_conv, channels) = (round % 2 == 0, 1 + below(&mut random, 60));
        let layers = if round < 30 { 1 } else { 3 };
        let model = dequantised(&mut random, is_conv, channels, layers);
        let shape = if is_conv { vec![2, channels, 4, 5] } else { vec![3, channels] };
        let [fast, plain] = both(&model, input(&shape, &mut random));
        assert_eq!(fast.len(), plain.len());
        for (fast, plain) in fast.iter().zip(&plain) {
            // With several layers, a unit of an earlier one is multiplied by the weights of the next ones.
            assert!(layers > 1 || (fast - plain).abs() < 0.0201, "round {round}: {fast} is not {plain}");
            count += 1;
            different += usize::from(fast != plain);
        }
    }
    assert!(different * 100 <= count, "{different} of {count} results differ");
}

/// A chain of nodes between dequantisations and quantisations: functions, arithmetic, and movement of
/// elements.
fn elementwise(random: &mut Random, layers: usize) -> ModelProto {
    let mut graph = Graph::default();
    let scales = [0.02_f32, 0.05, 0.013];
    for (at, scale) in scales.iter().enumerate() {
        graph.weights.push(stored(&format!("scale{at}"), F32, &[], scale.to_le_bytes().to_vec()));
    }
    graph.weights.push(stored("zero0", U8, &[], vec![117]));
    graph.weights.push(stored("zero1", I8, &[], vec![250]));
    graph.weights.push(stored("zero2", U8, &[], vec![0]));
    graph.weights.push(stored("part", U8, &[], vec![131]));
    graph.weights.push(bytes("channel", I8, &[1, 6, 1, 1], random));
    let last: Vec<u8> = [0_i64, 6, -1].iter().flat_map(|it| it.to_le_bytes()).collect();
    graph.weights.push(stored("last", 7, &[3], last));
    let mut kept: Vec<(String, usize)> = (0..3)
        .map(|at| (graph.add(|r| format!("{r} = QuantizeLinear(x, scale{at}, zero{at})")), at))
        .collect();
    for _ in 0..layers {
        let mut floats = Vec::new();
        for _ in 0..2 {
            let (integers, at) = kept[below(random, kept.len())].clone();
            floats.push(graph.add(|r| format!("{r} = DequantizeLinear({integers}, scale{at}, zero{at})")));
        }
        let [x, y] = [&floats[0], &floats[1]];
        let number = graph.add(|r| format!("{r} = DequantizeLinear(part, scale0, zero0)"));
        let channel = graph.add(|r| format!("{r} = DequantizeLinear(channel, scale1, zero1)"));
        let arithmetic = ["Add", "Sub", "Mul", "Div"][below(random, 4)];
        let mut current = match below(random, 9) {
            0 => graph.add(|r| format!("{r} = {arithmetic}({x}, {number})")),
            1 => graph.add(|r| format!("{r} = {arithmetic}({number}, {x})")),
            2 => graph.add(|r| format!("{r} = {arithmetic}({x}, {channel})")),
            3 => graph.add(|r| format!("{r} = HardSigmoid<alpha = 0.3>({x})")),
            4 => graph.add(|r| format!("{r} = Sigmoid({x})")),
            5 => {
                let turned = graph.add(|r| format!("{r} = Transpose<perm = [0, 1, 3, 2]>({x})"));
                graph.add(|r| format!("{r} = Reshape({turned}, last)"))
            }
            6 => graph.add(|r| format!("{r} = Concat<axis = 1>({x}, {y})")),
            _ => graph.add(|r| format!("{r} = {arithmetic}({x}, {y})")),
        };
        current = match below(random, 5) {
            0 => graph.add(|r| format!("{r} = Relu({current})")),
            1 => graph.add(|r| format!("{r} = Clip({current}, low, high)")),
            2 => graph.add(|r| format!("{r} = Tanh({current})")),
            _ => current,
        };
        let at = below(random, 3);
        let integers = graph.add(|r| format!("{r} = QuantizeLinear({current}, scale{at}, zero{at})"));
        // Results of other shapes are read by the last nodes only.
        if !graph.lines.lines().rev().take(4).any(|line| line.contains("Concat") || line.contains("Reshape"))
        {
            kept.push((integers, at));
        } else {
            let back = graph.add(|r| format!("{r} = DequantizeLinear({integers}, scale{at}, zero{at})"));
            let sum = graph.add(|r| format!("{r} = ReduceMean<keepdims = 0>({back})"));
            let again = graph.add(|r| format!("{r} = QuantizeLinear({sum}, scale0, zero0)"));
            let wide = graph.add(|r| format!("{r} = DequantizeLinear({again}, scale0, zero0)"));
            let (other, kind) = kept[0].clone();
            let x = graph.add(|r| format!("{r} = DequantizeLinear({other}, scale{kind}, zero{kind})"));
            let sum = graph.add(|r| format!("{r} = Sub({x}, {wide})"));
            kept.push((graph.add(|r| format!("{r} = QuantizeLinear({sum}, scale1, zero1)")), 1));
        }
    }
    let (integers, at) = kept[kept.len() - 1].clone();
    let last = graph.add(|r| format!("{r} = DequantizeLinear({integers}, scale{at}, zero{at})"));
    graph.finish("<float low = {-0.5}, float high = {1.5}>", "[N, 6, H, W]", &last)
}

#[test]
fn elementwise_nodes_on_integers_give_equal_bits() {
    let mut random = Random::new(Some(43.0));
    for round in 0..number(50, 200) {
        let model = elementwise(&mut random, 1 + round % 5);
        let shape = [2, 6, 1 + below(&mut random, 9), 1 + below(&mut random, 300)];
        let [fast, plain] = both(&model, input(&shape, &mut random));
        let bits = |list: &[f32]| list.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        assert_eq!(bits(&fast), bits(&plain), "round {round}");
    }
}
