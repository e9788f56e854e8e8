//! Helpers to build modules from functions, and to compile, link and run them.

use std::collections::HashMap;
use std::fmt;

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::error::BuildError;
use typeloom_module::graph::Graph;
use typeloom_module::module::Module;
use typeloom_onnx::messages::NodeProto;
use typeloom_runtime::components::Components;
use typeloom_runtime::error::RunError;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::RunOutcome;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// An error of a test component with a fixed message.
#[derive(Debug)]
pub(crate) struct TestError(pub(crate) String);

impl fmt::Display for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TestError {}

/// A module whose body is a function.
pub(crate) struct Body(pub(crate) &'static str, pub(crate) fn(&mut Graph));

impl Module for Body {
    fn name(&self) -> &str {
        self.0
    }

    fn body(&self, g: &mut Graph) {
        (self.1)(g);
    }
}

pub(crate) fn compile(components: &Components, body: fn(&mut Graph)) -> Result<Artifact, BuildError> {
    components.compiler().compile(Body("module", body))
}

pub(crate) fn linked(
    components: &Components,
    body: fn(&mut Graph),
) -> Result<Executor, Box<dyn std::error::Error>> {
    Ok(Executor::new(&compile(components, body)?, components)?)
}

pub(crate) fn floats(shape: &[usize], elements: &[f32]) -> Datum {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires").into()
}

pub(crate) fn run(
    executor: &Executor,
    inputs: impl IntoIterator<Item = (&'static str, Datum)>,
) -> Result<RunOutcome, RunError> {
    let inputs: HashMap<String, Datum> =
        inputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    executor.run(inputs, Verify::EveryValue)
}

/// The seeds of a test: `TYPELOOM_SEED` is the first one, `TYPELOOM_SEEDS` the number of them.
pub(crate) fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("TYPELOOM_SEED");
    let count = number("TYPELOOM_SEEDS").unwrap_or(if first.is_some() { 1 } else { count });
    let first = first.unwrap_or(1);
    first..first + count
}

/// The value of a key in the metadata of a node.
pub(super) fn metadata<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    let entry = node.metadata_props.iter().find(|entry| entry.key() == key)?;
    Some(entry.value())
}
