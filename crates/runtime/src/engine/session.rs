//! A model in an engine, ready to run.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::{GraphProto, ModelProto, ValueInfoProto, read};
use typeloom_rewrite::annotate::{AnnotationForm, annotate};
use typeloom_solver::model::Checked;
use typeloom_types::any_tensor::AnyTensor;

use super::error::EngineError;
use super::extents::{fix, is_fixed};
use super::offer::{Nodes, offer};
use super::{Engine, Loads, Program};
use crate::execute::words;
use crate::session::{ExternalData, Outcome, Port, Verify};
use typeloom_wire::stamp::{Extent, Mismatch, Stamp, Symbols};

/// For how many sets of extents a session keeps what the engine loaded.
const KEPT: usize = 16;

/// A model in an engine, prepared once and run many times, from several threads at once.
pub struct EngineSession {
    engine: Arc<dyn Engine>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Values beside the outputs that the engine gives so that they can be held against their types.
    watched: Vec<Port>,
    nodes: Nodes,
    programs: Programs,
}

/// What an engine loaded.
enum Programs {
    /// For all extents that the model can have.
    One(Box<dyn Program>),
    /// For the extents of some inputs each, the last used last, and the model for further ones.
    ByExtents(Box<ModelProto>, RwLock<Vec<Arc<Fixed>>>),
}

struct Fixed {
    shapes: Vec<Box<[usize]>>,
    program: Box<dyn Program>,
}

impl std::fmt::Debug for EngineSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { engine, inputs, outputs, watched, nodes: _, programs: _ } = self;
        let mut shown = f.debug_struct("EngineSession");
        shown.field("engine", &engine.name()).field("inputs", inputs).field("outputs", outputs);
        shown.field("watched", watched).finish_non_exhaustive()
    }
}

impl EngineSession {
    /// Offers a checked model to an engine with the types that were solved for it. With [`Verify::EveryValue`] the engine
    /// has to give every value of the main graph, so that runs hold it against its type.
    ///
    /// # Errors
    /// [`EngineError`]. A model with symbols is refused by its first run where the engine loads for fixed extents.
    pub fn of_checked(
        engine: Arc<dyn Engine>,
        checked: &mut Checked<'_>,
        external: &ExternalData<'_>,
        verify: Verify,
    ) -> Result<Self, EngineError> {
        let annotated = annotate(checked, AnnotationForm::Untagged)?;
        let bytes = Bytes::from(annotated.file.pieces().concat());
        Self::new(engine, read::<ModelProto>(bytes)?, external, verify)
    }

    /// Offers a model to an engine; what the model declares of its values is taken for their solved types.
    ///
    /// # Errors
    /// As [`EngineSession::of_checked`].
    pub fn new(
        engine: Arc<dyn Engine>,
        mut model: ModelProto,
        external: &ExternalData<'_>,
        verify: Verify,
    ) -> Result<Self, EngineError> {
        let nodes = offer(&mut model, &*engine, external)?;
        let Some(graph) = &mut model.graph else { return Err(EngineError::NoGraph) };
        let defaults: std::collections::HashSet<String> =
            graph.initializer.iter().map(|it| it.name().to_owned()).collect();
        let port = |info: &ValueInfoProto| Port {
            name: info.name().to_owned(),
            stamp: info.r#type.as_ref().map_or(Stamp::Open, Stamp::of),
            has_default: defaults.contains(info.name()),
        };
        let inputs: Vec<Port> = graph.input.iter().map(port).collect();
        let outputs: Vec<Port> = graph.output.iter().map(port).collect();
        for Port { name, stamp, has_default: _ } in inputs.iter().chain(&outputs) {
            if !matches!(stamp, Stamp::Tensor { .. }) {
                let (engine, found) = (engine.name().to_owned(), stamp.to_string());
                return Err(EngineError::NoTensor { engine, name: name.clone(), found });
            }
        }
        graph.input.retain(|info| !defaults.contains(info.name()));
        // Constants that are no inputs exist from this version of the format on.
        model.ir_version = model.ir_version.map(|version| version.max(4));
        let mut watched = Vec::new();
        if verify == Verify::EveryValue {
            watch(graph, &nodes, &mut watched);
        }
        let has_symbols = inputs.iter().any(|port| !port.has_default && !is_fixed(&port.stamp));
        let loads_once = match engine.loads() {
            Loads::ForAllExtents => true,
            Loads::ForFixedExtents => !has_symbols,
        };
        let mut session = Self { engine, inputs, outputs, watched, nodes, programs: Programs::empty() };
        session.programs = if loads_once {
            Programs::One(session.load(&model, &Symbols::default())?)
        } else {
            Programs::ByExtents(Box::new(model), RwLock::default())
        };
        Ok(session)
    }

    /// The inputs, in the order of the model.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs, in the order of the model.
    #[must_use]
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// How many values a run holds against their solved types.
    #[must_use]
    pub fn held(&self) -> usize {
        self.outputs.len() + self.watched.len()
    }

    /// Runs the model on inputs by name. Every input and every result is held against its solved type.
    ///
    /// # Errors
    /// [`EngineError`]; the session stays usable.
    pub fn run(&self, mut inputs: HashMap<String, Value>) -> Result<Outcome, EngineError> {
        let mut given = Vec::with_capacity(self.inputs.len());
        let mut symbols = Symbols::default();
        for port in &self.inputs {
            match (inputs.remove(&port.name), port.has_default) {
                (None, true) => {}
                (None, false) => return Err(EngineError::MissingInput { name: port.name.clone() }),
                (Some(_), true) => {
                    let engine = self.engine.name().to_owned();
                    return Err(EngineError::Default { engine, name: port.name.clone() });
                }
                (Some(value), false) => {
                    symbols
                        .check(&value, &port.stamp)
                        .map_err(|mismatch| EngineError::Input { name: port.name.clone(), mismatch })?;
                    // A stamp of a tensor is met by tensors only.
                    given.extend(match value {
                        Value::Tensor(tensor) => Some(tensor),
                        Value::Sequence(_) | Value::Optional(_) => None,
                    });
                }
            }
        }
        let mut unknown: Vec<String> = inputs.into_keys().collect();
        unknown.sort();
        if let Some(name) = unknown.into_iter().next() {
            return Err(EngineError::UnknownInput { name });
        }
        let results = self.results(given, &mut symbols)?;
        let names = self.outputs.iter().map(|port| port.name.clone());
        Ok(Outcome { outputs: names.zip(results.into_iter().map(Value::Tensor)).collect(), symbols })
    }

    /// Runs the model on inputs without a default, in order.
    ///
    /// # Errors
    /// As [`EngineSession::run`].
    pub fn run_in_order(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, EngineError> {
        let mut symbols = Symbols::default();
        let ports = || self.inputs.iter().filter(|port| !port.has_default);
        if ports().count() != inputs.len() {
            return Err(EngineError::InputCount { expected: ports().count(), given: inputs.len() });
        }
        for (port, tensor) in ports().zip(&inputs) {
            symbols
                .check(&Value::Tensor(tensor.clone()), &port.stamp)
                .map_err(|mismatch| EngineError::Input { name: port.name.clone(), mismatch })?;
        }
        self.results(inputs, &mut symbols)
    }

    /// The outputs alone, held against their types together with what is watched.
    fn results(&self, inputs: Vec<AnyTensor>, symbols: &mut Symbols) -> Result<Vec<AnyTensor>, EngineError> {
        let mut results = match &self.programs {
            Programs::One(program) => self.call(&**program, inputs)?,
            Programs::ByExtents(model, loaded) => {
                let fixed = self.fixed(model, loaded, &inputs, symbols)?;
                self.call(&*fixed.program, inputs)?
            }
        };
        let expected = self.held();
        if results.len() != expected {
            let engine = self.engine.name().to_owned();
            return Err(EngineError::OutputCount { engine, expected, given: results.len() });
        }
        for (port, tensor) in self.outputs.iter().chain(&self.watched).zip(&results) {
            symbols.check(&Value::Tensor(tensor.clone()), &port.stamp).map_err(|mismatch| {
                EngineError::Output {
                    engine: self.engine.name().to_owned(),
                    name: port.name.clone(),
                    mismatch,
                }
            })?;
        }
        results.truncate(self.outputs.len());
        Ok(results)
    }

    fn call(&self, program: &dyn Program, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, EngineError> {
        let run = catch_unwind(AssertUnwindSafe(|| program.run(inputs)));
        run.unwrap_or_else(|panic| Err(format!("it panicked: {}", words(&*panic)))).map_err(|text| {
            let (told, reason) = self.nodes.find(&text);
            let node = told.map(|told| format!("{} ({} on {})", told.words, told.operator, told.types));
            EngineError::Failed { engine: self.engine.name().to_owned(), node, reason }
        })
    }

    /// The program for the extents of some inputs.
    fn fixed(
        &self,
        model: &ModelProto,
        loaded: &RwLock<Vec<Arc<Fixed>>>,
        inputs: &[AnyTensor],
        symbols: &Symbols,
    ) -> Result<Arc<Fixed>, EngineError> {
        let fits = |fixed: &&Arc<Fixed>| {
            fixed.shapes.iter().zip(inputs).all(|(shape, input)| **shape == *input.shape())
        };
        {
            // A panic while it was held leaves a list that is whole: it is written to in one step.
            let list = loaded.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = list.iter().rev().find(fits) {
                return Ok(Arc::clone(found));
            }
        }
        let mut model = model.clone();
        if let Some(graph) = &mut model.graph {
            for (info, input) in graph.input.iter_mut().zip(inputs) {
                // Extents that nobody named are fixed by the input alone.
                info.r#type = Some(super::extents::of_tensor(input));
            }
        }
        let shapes = inputs.iter().map(|input| input.shape().into()).collect();
        let fixed = Arc::new(Fixed { shapes, program: self.load(&model, symbols)? });
        let mut list = loaded.write().unwrap_or_else(PoisonError::into_inner);
        if list.len() == KEPT {
            list.remove(0);
        }
        list.push(Arc::clone(&fixed));
        Ok(fixed)
    }

    /// Loads the model and compares what the engine says of its values with what was solved.
    fn load(&self, model: &ModelProto, symbols: &Symbols) -> Result<Box<dyn Program>, EngineError> {
        let engine = &*self.engine;
        let mut fixed;
        let model = match engine.loads() {
            Loads::ForAllExtents => model,
            Loads::ForFixedExtents => {
                fixed = model.clone();
                if let Some(graph) = &mut fixed.graph {
                    fix(graph, symbols, 0)?;
                }
                &fixed
            }
        };
        let loaded = catch_unwind(AssertUnwindSafe(|| engine.load(model)))
            .unwrap_or_else(|panic| Err(format!("it panicked: {}", words(&*panic))))
            .map_err(|text| self.nodes.refused(engine.name(), &text))?;
        let graph = model.graph.as_ref();
        let infos = graph.iter().flat_map(|graph| graph.value_info.iter().chain(&graph.output));
        let stamps: HashMap<&str, Stamp> =
            infos.filter_map(|info| Some((info.name(), Stamp::of(info.r#type.as_ref()?)))).collect();
        for (value, found) in &loaded.types {
            let Some(proved) = stamps.get(value.as_str()).filter(|proved| !agree(found, proved)) else {
                continue;
            };
            return Err(EngineError::NotKept {
                engine: engine.name().to_owned(),
                value: value.clone(),
                operator: self.nodes.maker(value).map_or("the graph", |told| &told.operator).to_owned(),
                mismatch: Mismatch { found: found.to_string(), proved: proved.to_string() },
            });
        }
        Ok(loaded.program)
    }
}

impl Programs {
    fn empty() -> Self {
        Self::ByExtents(Box::default(), RwLock::default())
    }
}

/// Makes every value of a graph that is a tensor of a known element type an output.
fn watch(graph: &mut GraphProto, nodes: &Nodes, watched: &mut Vec<Port>) {
    let outputs: std::collections::HashSet<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
    let mut extra = Vec::new();
    for info in &graph.value_info {
        let stamp = info.r#type.as_ref().map_or(Stamp::Open, Stamp::of);
        let is_made = nodes.maker(info.name()).is_some();
        if is_made && !outputs.contains(info.name()) && matches!(stamp, Stamp::Tensor { dtype: Some(_), .. })
        {
            watched.push(Port { name: info.name().to_owned(), stamp, has_default: false });
            extra.push(info.clone());
        }
    }
    graph.output.extend(extra);
}

/// Whether two types can be the type of one value.
fn agree(found: &Stamp, proved: &Stamp) -> bool {
    let (Stamp::Tensor { dtype: a, shape: one }, Stamp::Tensor { dtype: b, shape: other }) = (found, proved)
    else {
        return true;
    };
    let dtypes = a.is_none() || b.is_none() || a == b;
    let shapes = match (one, other) {
        (Some(one), Some(other)) => {
            let known = |pair: (&Extent, &Extent)| match pair {
                (Extent::Known(a), Extent::Known(b)) => a == b,
                (Extent::Known(_) | Extent::Open | Extent::Symbol(_) | Extent::Expression(_), _) => true,
            };
            one.len() == other.len() && one.iter().zip(other).all(known)
        }
        (None, _) | (_, None) => true,
    };
    dtypes && shapes
}
