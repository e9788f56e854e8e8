//! Components that fail, panic or return values that contradict their declaration.

use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::SplitAttrs;
use typeloom_onnx::messages::{AttributeProto, GraphProto};
use typeloom_runtime::components::Components;
use typeloom_runtime::error::{ComponentError, NodeError, RunError};
use typeloom_tensor::any_tensor::AnyTensor;

use crate::modules::support::{Outcome, TestError, floats, linked, run};

/// A model that succeeds, fails or panics, depending on the first number of its input.
struct Misbehaving(Vec<f32>);

impl Model for Misbehaving {
    type Tensor = AnyTensor;
    type Error = TestError;

    fn forward(&self, input: &AnyTensor) -> Result<Box<AnyTensor>, TestError> {
        match input.as_slice::<f32>() {
            Ok([0.0, ..]) => panic!("not today"),
            Ok([1.0, ..]) => Err(TestError("no".into())),
            Ok([2.0, ..]) => Ok(Box::new(AnyTensor::from([1_i64]))),
            Ok(_) | Err(_) => Ok(Box::new(input.clone())),
        }
    }

    fn load_parameters(&mut self, _: &AnyTensor) -> Result<(), TestError> {
        self.0.push(1.0);
        panic!("while it is written to")
    }

    fn backward(&mut self, gradient: &AnyTensor) -> Result<Box<AnyTensor>, TestError> {
        Ok(Box::new(gradient.clone()))
    }

    fn apply_delta(&mut self, _: &AnyTensor) -> Result<(), TestError> {
        Ok(())
    }

    fn compute_loss(&self, prediction: &AnyTensor, _: &AnyTensor) -> Result<Box<AnyTensor>, TestError> {
        Ok(Box::new(prediction.clone()))
    }

    fn params(&self) -> &AnyTensor {
        panic!("none")
    }
}

fn node_error(error: RunError) -> (String, Option<String>, NodeError) {
    match error {
        RunError::Node { node, slot, error } => (node, slot, error),
        other => panic!("{other}"),
    }
}

#[test]
fn errors_of_components_name_the_node_and_the_executor_stays_usable() -> Outcome {
    let components = Components::new().model("net", Misbehaving(Vec::new()));
    let executor = linked(&components, |g| {
        let x = g.input("x").of("float[2]");
        g.output("y", &g.model("net").forward(&x).of("float[2]"));
    })?;
    let with = |first: f32| run(&executor, [("x", floats(&[2], &[first, 9.0]))]);
    for _ in 0..2 {
        let (node, slot, panicked) = node_error(with(0.0).unwrap_err());
        assert_eq!((node.as_str(), slot.as_deref()), ("`Forward`, which makes `y`", Some("net")));
        assert!(matches!(panicked, NodeError::ComponentPanicked(message) if message == "not today"));
        let (.., failed) = node_error(with(1.0).unwrap_err());
        assert!(
            matches!(failed, NodeError::Component(ComponentError::Failed(error)) if error.to_string() == "no")
        );
        let (.., wrong) = node_error(with(2.0).unwrap_err());
        let NodeError::Mismatch { value, mismatch } = wrong else { panic!("{wrong}") };
        assert_eq!(
            (value.as_str(), mismatch.found.as_str(), mismatch.expected.as_str()),
            ("y", "int64[1]", "float[2]")
        );
        assert_eq!(with(5.0)?.get("y"), Some(&floats(&[2], &[5.0, 9.0])));
    }
    Ok(())
}

#[test]
fn a_component_that_panicked_while_it_was_written_to_is_called_again() -> Outcome {
    let components = Components::new().model("net", Misbehaving(Vec::new()));
    let load = linked(&components, |g| {
        g.output("done", &g.model("net").load_parameters(&g.input("x").of("float[2]")));
    })?;
    let forward = linked(&components, |g| {
        g.output("y", &g.model("net").forward(&g.input("x").of("float[2]")).of("float[2]"));
    })?;
    let x = || [("x", floats(&[2], &[5.0, 5.0]))];
    let (.., panicked) = node_error(run(&load, x()).unwrap_err());
    assert!(matches!(panicked, NodeError::ComponentPanicked(_)));
    assert!(run(&forward, x()).is_ok());
    Ok(())
}

/// Returns too few results, or results of another shape.
struct Short;

impl GraphExecutor for Short {
    type Tensor = AnyTensor;
    type Error = TestError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        _: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, TestError> {
        match graph.node[0].op_type() {
            "Split" => Ok(Vec::new()),
            _ => Ok(vec![AnyTensor::from_slice(&[1, 1], &[0.0_f32]).unwrap_or_else(|_| inputs[0].clone())]),
        }
    }
}

#[test]
fn too_few_results_and_other_shapes_are_errors() -> Outcome {
    let components = Components::new().backend("compute", ByExecution(Short));
    let split = linked(&components, |g| {
        let x = g.input("x").of("float[4]");
        let parts =
            g.backend("compute").split(&x, None, SplitAttrs { axis: Some(0), num_outputs: Some(2) }, 2);
        g.output("left", &parts[0]);
        g.output("right", &parts[1]);
    })?;
    let x = || [("x", floats(&[4], &[0.0; 4]))];
    let (.., short) = node_error(run(&split, x()).unwrap_err());
    assert!(
        matches!(short, NodeError::Component(ComponentError::Count { expected: 2, found: 0 })),
        "{short}"
    );
    let shaped = linked(&components, |g| {
        let x = g.input("x").of("float[N]");
        g.output("y", &g.backend("compute").add(&x, &x));
    })?;
    let text = run(&shaped, x()).unwrap_err().to_string();
    assert_eq!(
        text,
        "`Add`, which makes `y` on slot `compute`: output `y`: float[1, 1] is not float[N], where N = 4"
    );
    Ok(())
}

struct Uneven;

impl Index for Uneven {
    type Vector = [f32];
    type Error = TestError;

    fn add(&mut self, _: u64, _: &[f32]) -> Result<(), TestError> {
        Ok(())
    }

    fn search(&self, query: &[f32], _: usize) -> Result<Vec<(u64, f32)>, TestError> {
        Ok(if query.contains(&0.0) { Vec::new() } else { vec![(1, 0.0)] })
    }

    fn remove(&mut self, _: u64) -> Result<bool, TestError> {
        Ok(false)
    }

    fn train(&mut self, _: &[&[f32]]) -> Result<(), TestError> {
        Ok(())
    }
}

#[test]
fn rows_of_different_lengths_are_no_tensor() -> Outcome {
    let components = Components::new().index("near", Uneven);
    let find = linked(&components, |g| {
        let (ids, _) = g.index("near").search(&g.input("query"), 1);
        g.output("ids", &ids);
    })?;
    let uneven = run(&find, [("query", floats(&[2, 1], &[0.0, 1.0]))]);
    assert!(uneven.is_err_and(|error| error.to_string().contains("1 vectors for one of 2 queries")));
    let typed = run(&find, [("query", AnyTensor::from([1.0_f64]).into())]);
    assert!(typed.is_err_and(|error| error.to_string().contains("input `query`: double[1] is not")));
    Ok(())
}
