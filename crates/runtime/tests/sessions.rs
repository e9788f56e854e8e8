//! Guarantees of sessions besides results: errors that name nodes, isolated memory, concurrent runs.

use std::collections::HashMap;
use std::sync::Arc;

use typeloom_onnx::prost::Message as _;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::error::{PrepareError, RunError};
use typeloom_runtime::options::{Interrupt, RunLimits, Verify};
use typeloom_runtime::session::{RunOutcome, Session};
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::MapDatum;
use typeloom_types::dtype::Dtype;

fn universe() -> Arc<Universe> {
    Universe::standard().clone()
}

fn prepared(text: &str) -> Result<Session, PrepareError> {
    let bytes = typeloom_onnx::text::parse_model(text).expect("the text is a model").encode_to_vec();
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let universe = universe();
    let mut checked = check(&bytes, &Standard, &universe, &options).expect("the bytes are a model");
    Session::of_checked(&mut checked, &|_| Err("there are no other files".to_owned()))
}

fn session(text: &str) -> Session {
    prepared(text).expect("the model can be prepared")
}

fn run(session: &Session, inputs: &[(&str, AnyTensor)]) -> Result<RunOutcome, RunError> {
    let inputs: HashMap<String, Datum> =
        inputs.iter().map(|(name, tensor)| ((*name).to_owned(), Datum::Tensor(tensor.clone()))).collect();
    session.run(inputs, Verify::EveryValue)
}

fn floats(outcome: &RunOutcome, at: usize) -> Vec<f32> {
    outcome.outputs[at].1.as_tensor().expect("the output is a tensor").to_vec().expect("it holds floats")
}

const HEADER: &str = r#"<ir_version: 10, opset_import: ["" : 21]>"#;

#[test]
fn a_value_that_is_read_twice_is_not_overwritten_by_its_first_reader() {
    let text =
        format!("{HEADER} g (float[n] x) => (a, b, x2) {{ a = Add(x, x)  b = Mul(a, x)  x2 = Neg(x) }}");
    let outcome = run(&session(&text), &[("x", AnyTensor::from([2.0_f32, 3.0]))]).unwrap();
    assert_eq!(floats(&outcome, 0), [4.0, 6.0]);
    assert_eq!(floats(&outcome, 1), [8.0, 18.0]);
    assert_eq!(floats(&outcome, 2), [-2.0, -3.0]);
}

#[test]
fn inputs_of_callers_and_initializers_survive_a_run() {
    let text =
        format!("{HEADER} g (float[2] x) => (y) <float[2] w = {{1, 2}}> {{ h = Add(w, x)  y = Add(h, w) }}");
    let session = session(&text);
    let x = AnyTensor::from([10.0_f32, 20.0]);
    for _ in 0..3 {
        assert_eq!(floats(&run(&session, &[("x", x.clone())]).unwrap(), 0), [12.0, 24.0]);
    }
    assert_eq!(x, AnyTensor::from([10.0_f32, 20.0]));
}

#[test]
fn a_failing_node_is_named_and_the_session_stays_usable() {
    let text = format!("{HEADER} g (int32[n] x, int32[n] y) => (z) {{ z = Div(x, y) }}");
    let session = session(&text);
    let (x, zero, one) = (AnyTensor::from([4_i32]), AnyTensor::from([0_i32]), AnyTensor::from([1_i32]));
    let error = run(&session, &[("x", x.clone()), ("y", zero)]).unwrap_err().to_string();
    assert_eq!(error, "`Div`, which makes `z`: `Div`: integer division by zero");
    assert!(run(&session, &[("x", x), ("y", one)]).is_ok());
}

#[test]
fn a_classifier_returns_maps_of_its_solved_type() {
    let header = r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]>"#;
    let classifier = r#"label, scores = "ai.onnx.ml".LinearClassifier <classlabels_ints = [7, 5], coefficients = [1.0, 0.0, 0.0, 1.0],
            intercepts = [0.0, 0.0], post_transform = "SOFTMAX"> (x)"#;
    let zip = r#"maps = "ai.onnx.ml".ZipMap <classlabels_int64s = [7, 5]> (scores)"#;
    let text = format!("{header} g (float[n, 2] x) => (label, maps) {{ {classifier} {zip} }}");
    let x = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 1.0, 2.0, -2.0]).expect("four elements");
    let outcome = run(&session(&text), &[("x", x)]).expect("it runs");
    let maps = outcome.outputs[1].1.as_sequence().expect("a sequence");
    let keys = AnyTensor::from([5_i64, 7]);
    let map = |map: &Datum| {
        let map = map.as_map().expect("a map");
        assert_eq!(map.keys(), &keys);
        map.values().to_vec::<f32>().expect("floats")
    };
    assert_eq!(map(&maps[0]), [0.5, 0.5]);
    assert!(maps.len() == 2 && map(&maps[1])[1] > 0.95, "{maps:?}");

    let row = r#"row = "ai.onnx.ml".DictVectorizer <int64_vocabulary = [7, 5]> (counts)"#;
    let session = session(&format!("{header} g (map(int64, float) counts) => (row) {{ {row} }}"));
    let given = |value: &Datum| {
        session.run(HashMap::from([("counts".to_owned(), value.clone())]), Verify::EveryValue)
    };
    assert_eq!(floats(&given(&maps[0]).expect("it runs"), 0), [0.5, 0.5]);
    let wrong = |value: Datum, found: &str| {
        let expected = format!("input `counts`: {found} is not map(int64, float)");
        assert_eq!(given(&value).unwrap_err().to_string(), expected);
    };
    wrong(keys.clone().into(), "int64[2]");
    let map_to =
        |values: AnyTensor| Datum::Map(Box::new(MapDatum::new(keys.clone(), values).expect("a map")));
    wrong(map_to(keys.clone()), "map(int64, int64) of 2");
    let pairs = AnyTensor::zeros(Dtype::F32, &[2, 2]).expect("a small tensor");
    wrong(map_to(pairs), "map(int64, float[2]) of 2");
    wrong(outcome.outputs[1].1.clone(), "a sequence of 2 of map(int64, float) of 2, ...");
}

#[test]
fn inputs_have_solved_types_and_symbols_have_one_value() {
    let text = format!("{HEADER} g (float[n] x, float[n] y) => (z) {{ z = Add(x, y) }}");
    let session = session(&text);
    let (two, three) = (AnyTensor::from([1.0_f32; 2]), AnyTensor::from([1.0_f32; 3]));
    let error = run(&session, &[("x", two.clone()), ("y", three)]).unwrap_err();
    assert_eq!(error.to_string(), "input `y`: float[3] is not float[n], where n = 2");
    let error = run(&session, &[("x", two.clone()), ("y", AnyTensor::from([1_i64; 2]))]).unwrap_err();
    assert_eq!(error.to_string(), "input `y`: int64[2] is not float[n], where n = 2");
    let error = run(&session, &[("x", two.clone())]).unwrap_err();
    assert_eq!(error, RunError::MissingInput { name: "y".to_owned() });
    // The misspelt name explains why `y` is missing.
    let error = run(&session, &[("x", two.clone()), ("why", two)]).unwrap_err();
    assert_eq!(error.to_string(), "the model has no input `why`; it has `x` and `y`");
}

#[test]
fn a_misspelt_input_has_a_suggestion() {
    let session = session(&format!("{HEADER} g (float[n] image) => (y) {{ y = Neg(image) }}"));
    let error = run(&session, &[("imgae", AnyTensor::from([1.0_f32]))]).unwrap_err();
    assert_eq!(error.to_string(), "the model has no input `imgae`; it has `image`; did you mean `image`?");
}

#[test]
fn unsupported_operators_are_named_with_their_domain() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
        g (float[n] x) => (y) { y = com.example.Fold(x) }"#;
    let error = run(&session(text), &[("x", AnyTensor::from([1.0_f32]))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Fold`, which makes `y`: operator `Fold` of domain `com.example` is not supported"
    );
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        g (float[n] x) => (y) { y = own.f(x) }
        <domain: "own", opset_import: ["" : 21, "own" : 1]>
        f (a) => (b) { b = own.f(a) }"#;
    let bytes = typeloom_onnx::text::parse_model(text).expect("the text is a model");
    let error = Session::new(&bytes, &|_| Err(String::new())).unwrap_err();
    assert!(matches!(error, PrepareError::TooDeep { .. }), "{error}");
}

#[test]
fn a_shape_beyond_memory_is_an_error() {
    let text = format!("{HEADER} g (int64[2] s) => (y) {{ y = ConstantOfShape(s) }}");
    let error = run(&session(&text), &[("s", AnyTensor::from([1_i64 << 40, 1 << 20]))]).unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
}

#[test]
fn branches_see_values_around_them_and_functions_take_attributes() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        g (float[n] x, bool c) => (y) {
            h = own.leaky <slope = 0.5> (x)
            y = If (c) <
                then_branch = t () => (p) { p = Add(h, x) },
                else_branch = e () => (q) { q = Sub(h, x) }
            >
        }
        <domain: "own", opset_import: ["" : 21]>
        leaky <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }"#;
    let session = session(text);
    let x = AnyTensor::from([-2.0_f32, 3.0]);
    let outcome = run(&session, &[("x", x.clone()), ("c", AnyTensor::from_scalar(true))]).unwrap();
    assert_eq!(floats(&outcome, 0), [-3.0, 6.0]);
    let outcome = run(&session, &[("x", x), ("c", AnyTensor::from_scalar(false))]).unwrap();
    assert_eq!(floats(&outcome, 0), [1.0, 0.0]);
}

#[test]
fn one_session_runs_in_several_threads_at_once() {
    let text = format!("{HEADER} g (float[n, n] x) => (y) {{ h = MatMul(x, x)  y = Softmax(h) }}");
    let session = session(&text);
    let input = |seed: usize| {
        let elements: Vec<f32> = (0..64).map(|at| ((at * 7 + seed) % 13) as f32 / 13.0).collect();
        AnyTensor::from_slice(&[8, 8], &elements).unwrap()
    };
    let alone: Vec<_> =
        (0..4).map(|seed| floats(&run(&session, &[("x", input(seed))]).unwrap(), 0)).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|seed| {
                let session = session.clone();
                scope.spawn(move || floats(&run(&session, &[("x", input(seed))]).unwrap(), 0))
            })
            .collect();
        for (thread, expected) in threads.into_iter().zip(&alone) {
            assert_eq!(&thread.join().unwrap(), expected);
        }
    });
}

#[test]
fn a_loop_without_an_end_is_stopped_by_the_limit() {
    let text = format!(
        "{HEADER}
main (float[1] x) => (float[1] y)
<bool go = {{1}}>
{{
  y = Loop(, go, x) <body = forever (int64 turn, bool on, float[1] a) => (bool on_out, float[1] b) {{
    on_out = Identity(on)
    b = Add(a, a)
  }}>
}}"
    );
    let session = session(&text).with_limits(RunLimits { iterations: 1000, ..RunLimits::default() });
    let x = AnyTensor::from([0.0_f32]);
    let error = run(&session, &[("x", x.clone())]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Loop`, which makes `y`: the loops of the model took more iterations than the limit of 1000"
    );
    assert_eq!(run(&session, &[("x", x)]).unwrap_err(), error);
}

#[test]
fn an_interrupt_ends_a_loop_on_another_thread() {
    let text = format!(
        "{HEADER} g (float[1] x) => (y) <int64 n = {{9223372036854775807}}, bool c = {{1}}> {{
            y = Loop (n, c, x) <body = b (int64 i, bool k, float[1] s) => (k2, t) {{ k2 = Identity(k)  t = Add(s, s) }}>
        }}"
    );
    let interrupt = Interrupt::default();
    let limits = RunLimits { iterations: u64::MAX, ..RunLimits::default() };
    let session = session(&text).with_limits(limits).with_interrupt(interrupt.clone());
    let error = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&session, &[("x", AnyTensor::from([1.0_f32]))]).unwrap_err());
        interrupt.trigger();
        running.join().unwrap()
    });
    assert!(error.to_string().ends_with("the run was interrupted"), "{error}");
    assert!(error.diagnostics().is_empty());
}

/// Functions that each call the next one twice, `depth` deep.
fn tree(depth: usize) -> String {
    let mut text = format!("{HEADER}\nmain (float[1] x) => (float[1] y) {{ y = l.f0 (x) }}\n");
    text = text.replacen("opset_import: [", "opset_import: [\"l\": 1, ", 1);
    for at in 0..depth {
        let body = if at + 1 == depth {
            "b = Relu (a)".to_owned()
        } else {
            format!("c = l.f{0} (a) b = l.f{0} (c)", at + 1)
        };
        text +=
            &format!("<domain: \"l\", opset_import: [\"\": 18, \"l\": 1]> f{at} (a) => (b) {{ {body} }}\n");
    }
    text
}

#[test]
fn a_tree_of_calls_is_stopped_at_its_limit_and_not_before() {
    let x = AnyTensor::from([1.0_f32]);
    // Ten levels: 2^10 - 1 calls with two steps each, except for the leaves, and the step of the model.
    let session = session(&tree(10));
    let steps = |steps| session.clone().with_limits(RunLimits { steps, ..RunLimits::default() });
    let taken = (1 << 10) - 2 + (1 << 9) + 1;
    assert!(run(&steps(taken), &[("x", x.clone())]).is_ok());
    let error = run(&steps(taken - 1), &[("x", x)]).unwrap_err();
    assert!(
        error.to_string().ends_with(&format!("the run took more steps than the limit of {}", taken - 1)),
        "{error}"
    );
    assert!(error.exceeds_budget());
}

#[test]
fn a_run_that_exceeds_its_memory_ends_before_it_allocates() {
    let text = format!(
        "{HEADER}
main (float[1] x) => (y)
<int64[1] shape = {{1099511627776}}>
{{
  y = Expand(x, shape)
}}"
    );
    let x = AnyTensor::from([0.0_f32]);
    let session = session(&text);
    for memory in [usize::MAX, 1 << 20] {
        let limited = session.clone().with_limits(RunLimits { memory, ..RunLimits::default() });
        let error = run(&limited, &[("x", x.clone())]).unwrap_err();
        assert!(error.to_string().contains("bytes"), "{error}");
    }
}

#[test]
fn nested_graphs_are_prepared_once_at_any_depth() {
    let mut body = "t0 = Identity (x)".to_owned();
    for depth in 1..=30 {
        let inner = depth - 1;
        body = format!(
            "t{depth} = If (c) <then_branch = then{depth} () => (float[2] t{inner}) {{ {body} }}, \
             else_branch = else{depth} () => (float[2] e{depth}) {{ e{depth} = Neg (x) }}>"
        );
    }
    let text = format!(
        r#"<ir_version: 10, opset_import: ["" : 21]> g (bool c, float[2] x) => (float[2] t30) {{ {body} }}"#
    );
    let session = session(&text);
    let x = AnyTensor::from([1.0_f32, 2.0]);
    let outcome = run(&session, &[("c", AnyTensor::from_scalar(true)), ("x", x)]);
    assert_eq!(floats(&outcome.expect("it runs"), 0), [1.0, 2.0]);
}
