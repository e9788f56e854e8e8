//! Engine sessions: offered nodes and checked results. The test engine is the embedded backend with
//! deliberate errors.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::backend::{Backend as _, GraphExecutor as _};
use typeloom_onnx::messages::{GraphProto, ModelProto};
use typeloom_onnx::prost::Message as _;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::engine::error::EngineError;
use typeloom_runtime::engine::executor::Hosted;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::engine::{Engine, Loaded, Loads, Offer, Program};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;

/// A deliberate error of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trick {
    None,
    /// Reports `h` as 64-bit floats.
    Promotes,
    /// Returns tensors of another element type.
    ReturnsIntegers,
    /// Returns too few outputs.
    ReturnsTooFew,
    /// Panics during a run.
    Panics,
    /// Panics during loading with a message that names a node.
    PanicsWhileLoading,
}

/// The embedded backend as an engine.
struct Mirror {
    trick: Trick,
    loads: Loads,
    loaded: Arc<AtomicUsize>,
}

struct Mirrored {
    session: Session,
    trick: Trick,
}

impl Mirror {
    fn new(trick: Trick) -> Self {
        Self { trick, loads: Loads::ForFixedExtents, loaded: Arc::default() }
    }
}

impl Engine for Mirror {
    fn name(&self) -> &str {
        "mirror"
    }

    fn dtypes(&self) -> &[Dtype] {
        &[Dtype::F32, Dtype::I64]
    }

    fn loads(&self) -> Loads {
        self.loads
    }

    fn objection(&self, offer: &Offer<'_>) -> Option<String> {
        let is_integer_division = offer.node.op_type() == "Div" && offer.input_dtype(0) == Some(Dtype::I64);
        is_integer_division.then(|| "it rounds".to_owned())
    }

    fn load(&self, model: &ModelProto) -> Result<Loaded, String> {
        self.loaded.fetch_add(1, Ordering::Relaxed);
        let graph = model.graph.as_ref().ok_or("no graph")?;
        assert!(self.trick != Trick::PanicsWhileLoading, "there is no kernel for {}", graph.node[1].name());
        let session = Session::new(model, &|_| Err("no files".to_owned())).map_err(|it| it.to_string())?;
        let mut types: Vec<(String, ValueType)> =
            session.outputs().iter().map(|port| (port.name.clone(), port.ty.clone())).collect();
        if self.trick == Trick::Promotes {
            let ty = ValueType::tensor(Dtype::F64, [Dim::Unknown, Dim::Fixed(2)]);
            types.push(("h".to_owned(), ty));
        }
        Ok(Loaded { program: Box::new(Mirrored { session, trick: self.trick }), types })
    }
}

impl Program for Mirrored {
    fn run(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, String> {
        assert!(self.trick != Trick::Panics, "out of order");
        let names = self.session.inputs().iter().filter(|port| !port.has_default).map(|it| it.name.clone());
        let given: Vec<_> = names.zip(inputs.into_iter().map(Datum::Tensor)).collect();
        let outcome = self.session.run(given, Verify::Inputs).map_err(|error| error.to_string())?;
        let mut outputs: Vec<AnyTensor> =
            outcome.outputs.into_iter().filter_map(|(_, value)| value.as_tensor().cloned()).collect();
        match self.trick {
            Trick::ReturnsTooFew => drop(outputs.pop()),
            Trick::ReturnsIntegers => {
                let shape = outputs[0].shape().to_vec();
                outputs[0] = AnyTensor::zeros(Dtype::I64, &shape).map_err(|error| error.to_string())?;
            }
            Trick::None | Trick::Promotes | Trick::Panics | Trick::PanicsWhileLoading => {}
        }
        Ok(outputs)
    }
}

const MODEL: &str = r#"<ir_version: 10, opset_import: ["" : 18]>
    g (float[N, 2] x) => (y) <float[2] w = {1, 2}> {
        [add] h = Add(x, w)
        [relu] y = Relu(h)
    }"#;

fn session_of(text: &str, engine: Mirror, verify: Verify) -> Result<EngineSession, EngineError> {
    let bytes = typeloom_onnx::text::parse_model(text).expect("the text is a model").encode_to_vec();
    let universe = Universe::standard().clone();
    let mut checked = check(&bytes, &Standard, &universe, &Options::default()).expect("a model");
    assert!(checked.is_ok(), "the model checks");
    EngineSession::of_checked(Arc::new(engine), &mut checked, &|_| Err("no files".to_owned()), verify)
}

fn run(session: &EngineSession, rows: usize) -> Result<Vec<AnyTensor>, EngineError> {
    let x = AnyTensor::from_vec(&[rows, 2], vec![-3.0_f32; rows * 2]).expect("a tensor");
    let outcome = session.run(HashMap::from([("x".to_owned(), Datum::Tensor(x))]))?;
    Ok(outcome.outputs.into_iter().filter_map(|(_, value)| value.as_tensor().cloned()).collect())
}

#[test]
fn graphs_whose_types_the_engine_keeps_are_run() {
    for verify in [Verify::Inputs, Verify::EveryValue] {
        let session = session_of(MODEL, Mirror::new(Trick::None), verify).expect("it is taken");
        assert_eq!(session.checked_count(), if verify == Verify::Inputs { 1 } else { 2 });
        let outputs = run(&session, 3).expect("it runs");
        assert_eq!(outputs, [AnyTensor::zeros(Dtype::F32, &[3, 2]).expect("a tensor")]);
    }
}

#[test]
fn a_model_is_loaded_once_for_each_set_of_extents() {
    for (loads, expected) in [(Loads::ForFixedExtents, 2), (Loads::ForAllExtents, 1)] {
        let engine = Mirror { loads, ..Mirror::new(Trick::None) };
        let loaded = Arc::clone(&engine.loaded);
        let session = session_of(MODEL, engine, Verify::Inputs).expect("it is taken");
        for rows in [1, 4, 1, 4, 4] {
            run(&session, rows).expect("it runs");
        }
        assert_eq!(loaded.load(Ordering::Relaxed), expected, "{loads:?}");
    }
}

#[test]
fn an_operator_that_the_engine_objects_to_is_named_with_its_types() {
    let text = r#"<ir_version: 10, opset_import: ["" : 18]>
        g (int64[2] x) => (y) { [halve] y = Div(x, x) }"#;
    let error = session_of(text, Mirror::new(Trick::None), Verify::Inputs).expect_err("it is refused");
    let message = "mirror does not run `Div` on (int64, int64) -> (int64) (`halve`): it rounds";
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_element_type_that_the_engine_lacks_is_named_with_the_operator() {
    let text = r#"<ir_version: 10, opset_import: ["" : 18]>
        g (float[2] x) => (y) { d = Cast<to = 11>(x)  y = Cast<to = 1>(d) }"#;
    let error = session_of(text, Mirror::new(Trick::None), Verify::Inputs).expect_err("it is refused");
    assert_eq!(
        error.to_string(),
        "mirror does not run `Cast` on (float) -> (double) (node 0): it has no double"
    );
}

#[test]
fn a_value_whose_type_the_engine_does_not_keep_is_named_before_anything_runs() {
    let engine = Mirror { loads: Loads::ForAllExtents, ..Mirror::new(Trick::Promotes) };
    let error = session_of(MODEL, engine, Verify::Inputs).expect_err("it is refused");
    let message = "mirror does not keep the type of `h`, which `Add` makes: double[?, 2] is not float[N, 2]";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_result_of_another_type_is_an_error_and_the_session_stays_usable() {
    let session =
        session_of(MODEL, Mirror::new(Trick::ReturnsIntegers), Verify::Inputs).expect("it is taken");
    for _ in 0..2 {
        let error = run(&session, 1).expect_err("the result is refused");
        assert!(error.is_contradiction(), "{error}");
        assert_eq!(
            error.to_string(),
            "mirror returned `y` with another type: int64[1, 2] is not float[N, 2], where N = 1"
        );
    }
    let session = session_of(MODEL, Mirror::new(Trick::ReturnsTooFew), Verify::Inputs).expect("it is taken");
    assert_eq!(run(&session, 1).expect_err("one is missing").to_string(), "mirror returned 0 results, not 1");
}

#[test]
fn a_panic_of_an_engine_is_an_error_with_its_message() {
    let session = session_of(MODEL, Mirror::new(Trick::Panics), Verify::Inputs).expect("it is taken");
    let error = run(&session, 1).expect_err("it panics");
    assert_eq!(error.to_string(), "mirror failed: it panicked: out of order");
    let engine = Mirror { loads: Loads::ForAllExtents, ..Mirror::new(Trick::PanicsWhileLoading) };
    let error = session_of(MODEL, engine, Verify::Inputs).expect_err("it panics");
    assert_eq!(
        error.to_string(),
        "mirror does not run `Relu` on (float) -> (float) (`relu`): it panicked: there is no kernel for `relu`"
    );
}

#[test]
fn inputs_are_checked_against_their_solved_types_first() {
    let session = session_of(MODEL, Mirror::new(Trick::Panics), Verify::Inputs).expect("it is taken");
    let x = Datum::Tensor(AnyTensor::from_slice(&[1, 3], &[0.0_f32; 3]).expect("a tensor"));
    let error = session.run(HashMap::from([("x".to_owned(), x.clone())])).expect_err("it does not fit");
    assert_eq!(error.to_string(), "input `x`: float[1, 3] is not float[N, 2], where N = 1");
    let error = session.run(HashMap::new()).expect_err("it is missing");
    assert_eq!(error, EngineError::MissingInput { name: "x".to_owned() });
}

#[test]
fn an_engine_implements_the_whole_backend_contract() {
    let engine = Mirror::new(Trick::None);
    let loaded = Arc::clone(&engine.loaded);
    let hosted = Hosted::new(engine);
    let backend = ByExecution(hosted.clone());
    let a = AnyTensor::from([1.0_f32, 2.0]);
    let sum = backend.reduce_sum(&backend.add(&a, &a).expect("it adds"), None, false).expect("it sums");
    assert_eq!(sum, AnyTensor::from_scalar(6.0_f32));
    assert_eq!(loaded.load(Ordering::Relaxed), 2);
    // The same graph with the same input types is not loaded again.
    backend.add(&a, &a).expect("it adds");
    assert_eq!(loaded.load(Ordering::Relaxed), 2);
    let error = backend.add(&a, &AnyTensor::from([1_i64])).expect_err("the types do not fit");
    assert!(matches!(error, EngineError::Unsolved(_)), "{error}");
    let error = hosted.execute(&GraphProto::default(), vec![a], &[]).expect_err("there is no such input");
    assert_eq!(error, EngineError::InputCount { expected: 0, given: 1 });
}
