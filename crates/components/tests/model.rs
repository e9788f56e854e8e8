//! Networks: gradients compared with finite differences, training, and rejected models.

use typeloom_components::dense::{Dense, Floats, tensor_of};
use typeloom_components::model::gradient::{GradientError, OPERATORS};
use typeloom_components::model::{Loss, ModelError, Network, Settings};
use typeloom_components::seeded::Seeded;
use typeloom_contracts::model::Model;
use typeloom_onnx::text::parse_model;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// Builds a network of 64-bit floats; `graph` is the text from the inputs on.
fn network<S: ?Sized + Dense>(graph: &str, loss: Loss) -> Network<S> {
    network_with(graph, Settings { loss, frozen: Vec::new() })
        .unwrap_or_else(|error| panic!("{graph}: {error}"))
}

fn network_with<S: ?Sized + Dense>(graph: &str, settings: Settings) -> Result<Network<S>, ModelError> {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 18]> g {graph}");
    Network::new(parse_model(&text).unwrap_or_else(|error| panic!("{text}: {error}")), &settings)
}

fn random(shape: &[usize], seed: u64) -> AnyTensor {
    let (mut seeded, count) = (Seeded::new(seed), shape.iter().product::<usize>());
    // Values of both signs, away from 0, where some operators are not differentiable.
    let mut number = || (0.3 + seeded.unit()) * if seeded.bits() % 2 == 0 { 1.0 } else { -1.0 };
    let values: Vec<f64> = (0..count).map(|_| number()).collect();
    tensor_of(Dtype::F64, shape, &values).expect("floats")
}

fn numbers(tensor: &AnyTensor) -> Vec<f64> {
    Floats::of(tensor).expect("floats").iter().collect()
}

/// Compares the gradient of `loss(forward(input), target)` with finite differences.
fn assert_gradient_matches_differences(graph: &str, loss: Loss, input: &AnyTensor) {
    let mut network: Network = network(graph, loss);
    assert_eq!(network.not_differentiable(), None, "{graph}");
    let count = network.params().len();
    let start = numbers(&random(&[count], 17));
    let set = |network: &mut Network, values: &[f64]| {
        let tensor = tensor_of(Dtype::F64, &[count], values).expect("floats");
        network.load_parameters(&tensor).expect("they fit");
    };
    set(&mut network, &start);
    let prediction = network.forward(input).expect("it runs");
    let target = random(prediction.shape(), 23);
    let gradient = network.loss_gradient(&prediction, &target).expect("they can be compared");
    let gradient = numbers(&network.backward(&gradient).expect("it was differentiated"));
    assert_eq!(gradient.len(), count);
    let mut at = |which: usize, step: f64| {
        let mut values = start.clone();
        values[which] += step;
        set(&mut network, &values);
        let prediction = network.forward(input).expect("it runs");
        numbers(&network.compute_loss(&prediction, &target).expect("they can be compared"))[0]
    };
    let step = 1e-5;
    for (which, found) in gradient.iter().enumerate() {
        let expected = (at(which, step) - at(which, -step)) / (2.0 * step);
        let off = (found - expected).abs();
        assert!(off <= 1e-6 * expected.abs().max(1.0), "{graph}: parameter {which}: {found}, not {expected}");
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    // Every operator with a rule, in its supported forms. `w` and `b` are parameters, `x` is float64[N, 3].
    let graphs = [
        ("w[3,4] b[4]", "h = MatMul(x, w)  y = Add(h, b)"),
        ("w[2,3,3] b[1]", "h = MatMul(x, w)  y = Sub(h, b)"),
        ("w[3,4] b[4]", "y = Gemm <alpha = 0.5, beta = 2.0> (x, w, b)"),
        ("w[4,3] b[1,4]", "y = Gemm <transB = 1> (x, w, b)"),
        ("w[3,4] b[1]", "t = Transpose(x)  y = Gemm <transA = 1> (t, w, b)"),
        (
            "w[4,3] b[4]",
            "h = Transpose(x)  m = MatMul(w, h)  t = Transpose <perm = [1, 0]> (m)  y = Add(t, b)",
        ),
        ("w[3,4] b[2,3]", "y = Gemm <transA = 1, transB = 1> (w, b)"),
        ("w[3] b[3]", "m = Mul(x, w)  s = Sigmoid(m)  y = Div(s, b)"),
        ("w[3] b[3]", "m = Mul(w, x)  t = Tanh(m)  y = Div(b, t)"),
        (
            "w[3] b[1,3]",
            "m = Mul(x, w)  r = Relu(m)  l = LeakyRelu <alpha = 0.2> (m)  s = Sum(r, l, b)  y = Neg(s)",
        ),
        ("w[3] b[3]", "e = Exp(w)  q = Sqrt(e)  a = Abs(b)  l = Log(a)  m = Mul(x, q)  y = Add(m, l)"),
        ("w[3] b[3]", "m = Mul(x, w)  s = Softplus(m)  y = Mul(s, b)"),
        ("w[3,3] b[3]", "m = MatMul(x, w)  s = Softmax(m)  y = Mul(s, b)"),
        ("w[3,3] b[3]", "m = MatMul(x, w)  s = LogSoftmax <axis = 0> (m)  y = Mul(s, b)"),
        (
            "w[3] b[3]",
            "m = Mul(x, w)  p = Identity(m)  c = Constant <value = double {3.0}> ()  q = Pow(p, c)  y = Add(q, b)",
        ),
        ("w[3] b[1]", "m = Mul(x, w)  s = ReduceSum <keepdims = 0> (m)  y = Add(s, b)"),
        (
            "w[3] b[1]",
            "m = Mul(x, w)  a = Constant <value_ints = [-1]> ()  s = ReduceMean(m, a)  y = Mul(s, b)",
        ),
        (
            "w[3] b[1]",
            "m = Mul(x, w)  a = Constant <value_ints = [0]> ()  s = ReduceSum <keepdims = 0> (m, a)  y = Mul(s, b)",
        ),
        ("w[3,4] b[12]", "a = Constant <value_ints = [12]> ()  f = Reshape(w, a)  y = Mul(f, b)"),
        ("w[3,4] b[4,3]", "t = Transpose(w)  y = Mul(t, b)"),
        (
            "w[3,1] b[3]",
            "a = Constant <value_ints = [1]> ()  s = Squeeze(w, a)  m = Mul(x, s)  y = Add(m, b)",
        ),
        ("w[3] b[3,2]", "a = Constant <value_ints = [0]> ()  s = Unsqueeze(w, a)  y = MatMul(s, b)"),
        ("w[2,3] b[1]", "f = Flatten <axis = 0> (w)  y = Mul(f, b)"),
        (
            "w[3] b[3]",
            "z = Constant <value = double {0.0}> ()  c = Greater(x, z)  u = Where(c, w, b)  y = Mul(x, u)",
        ),
        (
            "w[3] b[3]",
            "i = Cast <to = 1> (w)  o = Cast <to = 11> (i)  m = Mul(o, b)  d = Sub(m, o)  y = Mul(d, x)",
        ),
        ("w[3] b[3]", "m = Mul(x, w)  c = Greater(m, b)  u = Where(c, m, b)  y = Mul(u, u)"),
        ("w[3] b[1,3]", "m = Mul(x, w)  e = Erf(m)  s = Shape(m)  f = Expand(b, s)  y = Mul(e, f)"),
        (
            "w[3] b[3]",
            "m = Mul(x, w)  l = Constant <value = double {-0.9}> ()  h = Constant <value = double {0.5}> ()  c = Clip(m, l, h)  y = Mul(c, b)",
        ),
        (
            "w[3] b[2,2]",
            "m = Mul(x, w)  s = Sigmoid(m)  p = Concat <axis = -1> (m, s)  a = Constant <value_ints = [1]> ()  r = ReduceSum(p, a)  y = Concat <axis = 1> (r, p)  f = Flatten(b)",
        ),
        ("w[3,5] b[5]", "h = MatMul(x, w)  s = Add(h, b)  t = Tanh(s)  v = Transpose(w)  y = MatMul(t, v)"),
    ];
    let input = random(&[4, 3], 5);
    for (parameters, body) in graphs {
        let declared: Vec<String> = parameters.split(' ').map(initializer).collect();
        let body = if body.contains(" x") || body.contains("(x") || body.contains("x)") {
            body.to_owned()
        } else {
            // A network needs an input, even an unused one.
            format!("{body}  unused = Neg(x)")
        };
        let graph = format!("(double[N, 3] x) => (y) <{}> {{ {body} }}", declared.join(", "));
        if body.contains("Cast <to = 1>") {
            // Finite differences in 32 bits are too coarse; the rule is that of Identity.
            let mut network: Network = network(&graph, Loss::MeanSquaredError);
            let prediction = network.forward(&input).expect("it runs");
            network.backward(&prediction).expect("it was differentiated");
            continue;
        }
        assert_gradient_matches_differences(&graph, Loss::MeanSquaredError, &input);
    }
    let classifier =
        "(double[N, 3] x) => (y) <double[3, 4] w = {1,1,1,1,1,1,1,1,1,1,1,1}> { y = MatMul(x, w) }";
    assert_gradient_matches_differences(classifier, Loss::CrossEntropy, &input);
}

#[test]
fn gradients_of_convolutions_are_those_of_finite_differences() {
    let kernels = [
        ("2, 2, 3, 3", 3 * 3 * 4, ""),
        ("3, 2, 2, 3", 2 * 3 * 6, "<pads = [1, 0, 2, 1]>"),
        ("2, 2, 3, 2", 3 * 2 * 4, "<strides = [2, 3], pads = [0, 1, 1, 1]>"),
        ("2, 2, 2, 2", 2 * 2 * 4, "<dilations = [2, 3], strides = [3, 2]>"),
        ("2, 2, 3, 3", 3 * 3 * 4, "<auto_pad = \"VALID\">"),
        ("2, 1, 3, 3", 3 * 3 * 2, "<group = 2, pads = [1, 1, 1, 1]>"),
        ("6, 1, 2, 3", 2 * 3 * 6, "<group = 2, strides = [2, 3], dilations = [2, 1], pads = [0, 1, 1, 1]>"),
    ];
    let input = random(&[3, 2, 7, 8], 31);
    for (shape, count, attributes) in kernels {
        let ones = |count: usize| vec!["1"; count].join(", ");
        let channels = shape.split(',').next().expect("the number of channels");
        // The input of the first convolution has a gradient because of the scale; both convolutions have
        // weight and bias gradients.
        let graph = format!(
            "(double[N, 2, 7, 8] x) => (y)
             <double[2, 1, 1] scale = {{1, 1}}, double[{shape}] w = {{{}}}, double[{channels}] b = {{{}}}>
             {{ s = Mul(x, scale)  c = Conv {attributes} (s, w, b)  t = Tanh(c)  y = GlobalAveragePool(t) }}",
            ones(count),
            ones(channels.parse().expect("a number")),
        );
        assert_gradient_matches_differences(&graph, Loss::MeanSquaredError, &input);
    }
    let groups = "(double[N, 6, 5] x) => (y)
        <double[6, 1] scale = {1, 1, 1, 1, 1, 1}, double[4, 3, 2] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}>
        { s = Mul(x, scale)  y = Conv <group = 2, strides = [2]> (s, w) }";
    assert_gradient_matches_differences(groups, Loss::MeanSquaredError, &random(&[3, 6, 5], 33));
}

#[test]
fn gradients_of_pooling_are_those_of_finite_differences() {
    let pools = [
        "p = AveragePool <kernel_shape = [3, 2]>",
        "p = AveragePool <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 1, 0, 1]>",
        "p = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>",
        "p = AveragePool <kernel_shape = [2, 3], strides = [2, 1]>",
        "p = MaxPool <kernel_shape = [3, 2]>",
        "p = MaxPool <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 1, 0, 1]>",
        "p = MaxPool <kernel_shape = [3, 3], ceil_mode = 1, strides = [2, 2], dilations = [1, 2]>",
    ];
    for pool in pools {
        let graph = format!(
            "(double[N, 2, 7, 8] x) => (y)
             <double[2, 1, 1] scale = {{1, 1}}, double[7, 8] offset = {{{}}}>
             {{ s = Mul(x, scale)  o = Add(s, offset)  t = Tanh(o)  {pool} (t)  y = Tanh(p) }}",
            vec!["1"; 56].join(", "),
        );
        assert_gradient_matches_differences(&graph, Loss::MeanSquaredError, &random(&[2, 2, 7, 8], 37));
    }
    for (pool, reason) in [
        ("p = AveragePool <kernel_shape = [2], ceil_mode = 1>", "its windows extend beyond its padding"),
        ("p = MaxPool <kernel_shape = [2], storage_order = 1>", "its indices are not in row-major order"),
    ] {
        let graph = format!(
            "(double[N, 2, 5] x) => (y) <double[1] w = {{1}}> {{ s = Mul(x, w) {pool} (s)  y = Neg(p) }}"
        );
        let network: Network = network(&graph, Loss::MeanSquaredError);
        let found = network.not_differentiable().expect("there is no rule for it").to_string();
        assert!(found.ends_with(reason), "{found}");
    }
}

#[test]
fn gradients_of_normalization_are_those_of_finite_differences() {
    // The variance is computed from a parameter, because it must not be negative.
    let batch = "(double[N, 3, 4] x) => (y)
        <double[3, 1] w = {1, 1, 1}, double[3] s = {1, 1, 1}, double[3] b = {1, 1, 1}, double[3] m = {1, 1, 1}, double[3] l = {1, 1, 1}>
        { h = Mul(x, w)  v = Exp(l)  n = BatchNormalization <epsilon = 0.01> (h, s, b, m, v)  y = Tanh(n) }";
    assert_gradient_matches_differences(batch, Loss::MeanSquaredError, &random(&[2, 3, 4], 41));
    let flat = "(double[N, 3] x) => (y)
        <double[3] w = {1, 1, 1}, double[3] s = {1, 1, 1}, double[3] b = {1, 1, 1}, double[3] m = {1, 1, 1}, double[3] l = {1, 1, 1}>
        { h = Mul(x, w)  v = Exp(l)  y = BatchNormalization(h, s, b, m, v) }";
    assert_gradient_matches_differences(flat, Loss::MeanSquaredError, &random(&[4, 3], 42));
    for (axis, shape) in [("-1", "4"), ("1", "3, 4"), ("2", "4"), ("1", "3, 1")] {
        let ones = vec!["1"; shape.split(", ").map(|it| it.parse::<usize>().expect("a number")).product()]
            .join(", ");
        let layer = format!(
            "(double[N, 3, 4] x) => (y)
             <double[3, 4] w = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, double[{shape}] s = {{{ones}}}, double[{shape}] b = {{{ones}}}>
             {{ h = Mul(x, w)  n = LayerNormalization <axis = {axis}, epsilon = 0.01, stash_type = 11> (h, s, b)  y = Tanh(n) }}"
        );
        assert_gradient_matches_differences(&layer, Loss::MeanSquaredError, &random(&[2, 3, 4], 43));
    }
}

#[test]
fn every_operator_with_a_rule_is_compared_with_differences() {
    let source = include_str!("model.rs");
    let untested: Vec<&&str> = OPERATORS
        .iter()
        .filter(|op| !source.contains(&format!("= {op}(")) && !source.contains(&format!("= {op} <")))
        .collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn the_documents_list_the_operators_with_a_rule() {
    let text = include_str!("../../../docs/components.md");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&format!("`{}`", OPERATORS.join(", "))));
}

fn initializer(declared: &str) -> String {
    let (name, shape) = declared.split_once('[').expect("a shape");
    let extents: Vec<usize> =
        shape.trim_end_matches(']').split(',').map(|extent| extent.parse().expect("an extent")).collect();
    let count: usize = extents.iter().product();
    format!("double[{}] {name} = {{{}}}", shape.trim_end_matches(']'), vec!["1"; count].join(", "))
}

const LINE: &str =
    "(float[N, 2] x) => (y) <float[2, 1] w = {0, 0}, float[1] b = {0}> { h = MatMul(x, w)  y = Add(h, b) }";

#[test]
fn a_network_of_slices_learns_a_line() {
    let mut network: Network<[f32]> = network(LINE, Loss::MeanSquaredError);
    let input: Vec<f32> = vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let target: Vec<f32> = input.chunks(2).map(|x| 2.0 * x[0] - 3.0 * x[1] + 0.5).collect();
    let mut losses = Vec::new();
    for _ in 0..400 {
        let prediction = network.forward(&input).expect("it runs");
        losses.push(network.compute_loss(&prediction, &target).expect("they can be compared")[0]);
        let gradient = network.loss_gradient(&prediction, &target).expect("they can be compared");
        let gradient = network.backward(&gradient).expect("it was differentiated");
        let delta: Vec<f32> = gradient.iter().map(|slope| -0.3 * slope).collect();
        network.apply_delta(&delta).expect("it fits");
    }
    assert!(losses.windows(2).all(|pair| pair[1] <= pair[0]), "the loss falls");
    assert!(losses[399] < 1e-6, "{}", losses[399]);
    let learned = network.params();
    for (found, expected) in learned.iter().zip([2.0, -3.0, 0.5]) {
        assert!((found - expected).abs() < 1e-2, "{learned:?}");
    }
}

#[test]
fn parameters_are_one_tensor_in_the_order_of_the_file() {
    let mut network: Network = network(LINE, Loss::MeanSquaredError);
    let names: Vec<&str> = network.parameters().iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["w", "b"]);
    network.load_parameters(&AnyTensor::from([1.0_f32, 2.0, 3.0])).expect("they fit");
    let input = AnyTensor::from_slice(&[1, 2], &[10.0_f32, 100.0]).expect("it fits");
    let prediction = network.forward(&input).expect("it runs");
    assert_eq!(*prediction, AnyTensor::from_slice(&[1, 1], &[213.0_f32]).expect("it fits"));
    network.apply_delta(&AnyTensor::from([0.0_f32, 0.0, -3.0])).expect("it fits");
    assert_eq!(network.params(), &AnyTensor::from([1.0_f32, 2.0, 0.0]));
    let few = network.load_parameters(&AnyTensor::from([1.0_f32]));
    assert_eq!(few, Err(ModelError::ParameterCount { expected: 3, found: 1 }));
    let doubles = network.apply_delta(&AnyTensor::from([1.0_f64, 2.0, 3.0]));
    assert_eq!(doubles, Err(ModelError::ParameterType { expected: Dtype::F32, found: Dtype::F64 }));
    let nan = network.apply_delta(&AnyTensor::from([0.0_f32, f32::NAN, 0.0]));
    assert_eq!(nan, Err(ModelError::NotFinite { at: 1 }));
    assert_eq!(network.params(), &AnyTensor::from([1.0_f32, 2.0, 0.0]));
}

#[test]
fn frozen_initializers_are_no_parameters() {
    let settings = |frozen: &str| Settings { frozen: vec![frozen.to_owned()], ..Settings::default() };
    let network: Network = network_with(LINE, settings("w")).expect("it is a network");
    assert_eq!(network.params(), &AnyTensor::from([0.0_f32]));
    let missing = network_with::<AnyTensor>(LINE, settings("v")).expect_err("there is no `v`");
    assert_eq!(missing, ModelError::NoParameter { name: "v".to_owned() });
}

#[test]
fn a_network_without_derivative_predicts_and_fails_in_training() {
    let graph = "(float[N, 2] x) => (y) <float[2] w = {1, 2}> { m = Mul(x, w)  [steps] y = Floor(m) }";
    let mut network: Network = network(graph, Loss::MeanSquaredError);
    let input = AnyTensor::from_slice(&[1, 2], &[1.5_f32, 1.5]).expect("it fits");
    let prediction = network.forward(&input).expect("it runs");
    assert_eq!(*prediction, AnyTensor::from_slice(&[1, 2], &[1.0_f32, 3.0]).expect("it fits"));
    let error = network.backward(&prediction).expect_err("a step has no derivative");
    assert!(matches!(error, ModelError::Gradient(GradientError::Operator { .. })));
    assert_eq!(error.to_string(), "node `steps` (#1): operator `Floor` cannot be differentiated");
}

#[test]
fn a_path_through_integers_has_no_derivative() {
    let graph = "(float[N, 2] x) => (y) <float[2] w = {1, 2}> { m = Mul(x, w)  i = Cast <to = 7> (m)  y = Cast <to = 1> (i) }";
    let network: Network = network(graph, Loss::MeanSquaredError);
    assert!(matches!(network.not_differentiable(), Some(GradientError::Form { .. })));
}

#[test]
fn invalid_calls_are_typed_errors() {
    let mut network: Network<[f32]> = network(LINE, Loss::MeanSquaredError);
    assert_eq!(network.backward(&[1.0]), Err(ModelError::NothingPredicted));
    assert!(matches!(network.forward(&[1.0, 2.0, 3.0]), Err(ModelError::Elements { length: 3, .. })));
    assert!(matches!(network.compute_loss(&[1.0], &[1.0, 2.0]), Err(ModelError::Elements { .. })));
    let of_any: Network = self::network(LINE, Loss::MeanSquaredError);
    assert!(matches!(of_any.forward(&AnyTensor::from([1.0_f32, 2.0])), Err(ModelError::Run(_))));
    let ill = network_with::<AnyTensor>(
        "(float[N, 2] x) => (y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }",
        Settings::default(),
    );
    assert!(matches!(ill, Err(ModelError::IllTyped { .. })), "{ill:?}");
    let two =
        network_with::<AnyTensor>("(float[2] x, float[2] z) => (y) { y = Add(x, z) }", Settings::default());
    assert_eq!(two.expect_err("two inputs"), ModelError::Ports { inputs: 2, outputs: 1 });
    let mixed = "(float[1] x) => (y) <float[1] w = {1}, double[1] v = {1}> { a = Mul(x, w)  c = Cast<to = 11>(a)  y = Mul(c, v) }";
    let mixed = network_with::<AnyTensor>(mixed, Settings::default());
    assert!(matches!(mixed, Err(ModelError::MixedParameters { .. })));
    assert!(matches!(
        Network::<[f32]>::from_bytes(b"no model", &Settings::default()),
        Err(ModelError::Prepare(_))
    ));
}
