//! Engines as graph executors of the backend contract.

use std::sync::Arc;

use typeloom_contracts::backend::GraphExecutor;
use typeloom_onnx::messages::{AttributeProto, GraphProto, TypeProto};
use typeloom_onnx::prost::Message as _;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::{Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;

use super::Engine;
use super::error::EngineError;
use super::extents::of_tensor;
use super::recent::Recent;
use super::session::EngineSession;
use crate::backend::model_of;
use crate::options::Verify;

/// The graph half of the backend contract, implemented by an engine.
/// [`ByExecution<Hosted>`](typeloom_contracts::backend::by_execution::ByExecution) implements the whole
/// contract.
///
/// The types of a graph are solved from those of its inputs before the engine loads it. Loaded graphs are
/// cached by the graph and the types of its inputs. A program that runs one model many times avoids the
/// lookup with an [`EngineSession`].
#[derive(Clone)]
pub struct Hosted {
    engine: Arc<dyn Engine>,
    loaded: Arc<Recent<Loaded>>,
}

struct Loaded {
    graph: GraphProto,
    attrs: Vec<AttributeProto>,
    inputs: Vec<TypeProto>,
    session: EngineSession,
}

impl Hosted {
    /// Hosts an engine.
    pub fn new(engine: impl Engine) -> Self {
        Self { engine: Arc::new(engine), loaded: Arc::default() }
    }

    fn load(
        &self,
        graph: &GraphProto,
        inputs: Vec<TypeProto>,
        attrs: &[AttributeProto],
    ) -> Result<Loaded, EngineError> {
        let mut typed = graph.clone();
        for (info, ty) in typed.input.iter_mut().zip(&inputs) {
            info.r#type = Some(ty.clone());
        }
        let model = model_of(typed, attrs);
        let bytes = model.encode_to_vec();
        let mut checked = check(&bytes, &Standard, Universe::standard(), &Options::default())
            .map_err(|error| EngineError::Unsolved(error.to_string()))?;
        if !checked.is_ok() {
            let first = diagnose(&mut checked).into_iter().next();
            let message = first.map_or_else(String::new, |diagnostic| diagnostic.message);
            return Err(EngineError::Unsolved(message));
        }
        let external = |_: &_| Err("a graph by itself has no other files".to_owned());
        let engine = Arc::clone(&self.engine);
        let session = EngineSession::of_checked(engine, &mut checked, &external, Verify::Inputs)?;
        Ok(Loaded { graph: graph.clone(), attrs: attrs.to_vec(), inputs, session })
    }
}

impl GraphExecutor for Hosted {
    type Tensor = AnyTensor;
    type Error = EngineError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, EngineError> {
        if graph.input.len() != inputs.len() {
            return Err(EngineError::InputCount { expected: graph.input.len(), given: inputs.len() });
        }
        let types: Vec<TypeProto> = inputs.iter().map(of_tensor).collect();
        let fits = |it: &Loaded| it.inputs == types && it.attrs == attrs && it.graph == *graph;
        let loaded = self.loaded.get_or_load(fits, || self.load(graph, types.clone(), attrs))?;
        loaded.session.run_in_order(inputs)
    }
}
