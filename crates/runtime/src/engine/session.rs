//! Models that are loaded into engines.
//!
//! An engine is a runtime that this project does not control. A session loads a model into it and runs it,
//! and compares inputs and results with their solved types ([`engine`](super) states the reasons):
//!
//! ```text
//! x: float[N, 3], an engine that loads for fixed extents
//!   run with [2, 3]     loads the model with N = 2, runs it
//!   run with [2, 3]     runs it
//!   run with [5, 3]     loads the model with N = 5, runs it
//! ```
//!
//! 1. `offer` compares every node with the known limits of the engine, and gives it a unique name.
//! 2. [`Engine::load`] gets the model, with numbers for symbols if [`Loads::ForFixedExtents`]. The types that
//!    it reports must agree with the solved ones.
//! 3. A run checks the inputs, which binds the symbols, calls the program, and checks all results.
//!
//! [`Verify::EveryValue`] makes every tensor of the main graph with a known element type an output of the
//! program, so that its type is checked too.
//!
//! **Invariant:** a panic of the engine is an [`EngineError`], which names the node if the message of the
//! engine does. The session stays usable.
//!
//! Checks take time linear in the number of ports. A cache keeps the last 16 programs for fixed extents. Its
//! lock is free while a program is loaded or runs, so two threads with the same new extents may both load.
//!
//! Limits: inputs and outputs are tensors. The default of an input cannot be replaced, because it is a
//! constant of the loaded model.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use typeloom_onnx::messages::{GraphProto, ModelProto, ValueInfoProto, read};
use typeloom_rewrite::annotate::{AnnotationForm, annotate};
use typeloom_solver::model::Checked;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use super::error::EngineError;
use super::extents::{fix, is_fixed};
use super::offer::{Nodes, offer};
use super::recent::Recent;
use super::{Engine, Loads, Program};
use crate::execute::panic_message;
use crate::named::Inputs;
use crate::options::{ExternalData, Verify};
use crate::session::{Port, RunOutcome};
use typeloom_tensor::value_check::{Mismatch, SymbolBindings};
use typeloom_tensor::value_type::ValueType;

/// A model that is loaded into an engine once and run many times, from several threads at a time.
pub struct EngineSession {
    engine: Arc<dyn Engine>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Further values that the engine returns so that their types are checked.
    observed: Vec<Port>,
    nodes: Nodes,
    programs: Programs,
}

/// Loaded programs.
enum Programs {
    /// One program for all extents.
    One(Box<dyn Program>),
    /// The model, and a program for each of the last sets of input extents.
    ByExtents(Box<ModelProto>, Recent<Fixed>),
}

struct Fixed {
    shapes: Vec<Box<[usize]>>,
    program: Box<dyn Program>,
}

impl std::fmt::Debug for EngineSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { engine, inputs, outputs, observed, nodes: _, programs: _ } = self;
        let mut shown = f.debug_struct("EngineSession");
        shown.field("engine", &engine.name()).field("inputs", inputs).field("outputs", outputs);
        shown.field("observed", observed).finish_non_exhaustive()
    }
}

impl EngineSession {
    /// Loads a checked model with its solved types into an engine. With [`Verify::EveryValue`] the engine
    /// returns every value of the main graph, and runs check it against its type.
    ///
    /// # Errors
    /// [`EngineError`]. If the engine loads for fixed extents, a model with symbols is loaded, and possibly
    /// rejected, by its first run.
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

    /// Loads a model into an engine by its declared types, which count as solved.
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
            ty: info.r#type.as_ref().map(ValueType::from_message).unwrap_or_default(),
            has_default: defaults.contains(info.name()),
        };
        let inputs: Vec<Port> = graph.input.iter().map(port).collect();
        let outputs: Vec<Port> = graph.output.iter().map(port).collect();
        for Port { name, ty, has_default: _ } in inputs.iter().chain(&outputs) {
            if !ty.is_tensor() {
                let (engine, found) = (engine.name().to_owned(), ty.to_string());
                return Err(EngineError::NoTensor { engine, name: name.clone(), found });
            }
        }
        graph.input.retain(|info| !defaults.contains(info.name()));
        // Since version 4 of the format, constants need not be inputs.
        model.ir_version = model.ir_version.map(|version| version.max(4));
        let mut observed = Vec::new();
        if verify == Verify::EveryValue {
            observe(graph, &nodes, &mut observed);
        }
        let has_symbols = inputs.iter().any(|port| !port.has_default && !is_fixed(&port.ty));
        let loads_once = match engine.loads() {
            Loads::ForAllExtents => true,
            Loads::ForFixedExtents => !has_symbols,
        };
        let mut session = Self { engine, inputs, outputs, observed, nodes, programs: Programs::empty() };
        session.programs = if loads_once {
            Programs::One(session.load(&model, &SymbolBindings::default())?)
        } else {
            Programs::ByExtents(Box::new(model), Recent::default())
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

    /// Number of results that a run checks against their solved types.
    #[must_use]
    pub fn checked_count(&self) -> usize {
        self.outputs.len() + self.observed.len()
    }

    /// Runs the model on inputs by name. Every input and every result is checked against its solved type.
    ///
    /// # Errors
    /// [`EngineError`]; the session stays usable.
    pub fn run(&self, inputs: impl Into<Inputs>) -> Result<RunOutcome, EngineError> {
        self.run_named(inputs.into())
    }

    fn run_named(&self, mut inputs: Inputs) -> Result<RunOutcome, EngineError> {
        let mut given = Vec::with_capacity(self.inputs.len());
        let mut symbols = SymbolBindings::default();
        for port in &self.inputs {
            let literal = |error| EngineError::Literal { name: port.name.clone(), error };
            match (inputs.take(port).map_err(literal)?, port.has_default) {
                (None, true) => {}
                (None, false) => {
                    let unknown = inputs.unknown(&self.inputs);
                    let missing = || EngineError::MissingInput { name: port.name.clone() };
                    return Err(unknown.map_or_else(missing, |unknown| EngineError::UnknownInput { unknown }));
                }
                (Some(_), true) => {
                    let engine = self.engine.name().to_owned();
                    return Err(EngineError::Default { engine, name: port.name.clone() });
                }
                (Some(value), false) => {
                    symbols
                        .check(&value, &port.ty)
                        .map_err(|mismatch| EngineError::Input { name: port.name.clone(), mismatch })?;
                    // The types of inputs are tensors, so other values have failed the check.
                    if let Datum::Tensor(tensor) = value {
                        given.push(tensor);
                    }
                }
            }
        }
        if let Some(unknown) = inputs.unknown(&self.inputs) {
            return Err(EngineError::UnknownInput { unknown });
        }
        let results = self.results(given, &mut symbols)?;
        let names = self.outputs.iter().map(|port| port.name.clone());
        Ok(RunOutcome { outputs: names.zip(results.into_iter().map(Datum::Tensor)).collect(), symbols })
    }

    /// Runs the model on the inputs without a default, in order.
    ///
    /// # Errors
    /// As [`EngineSession::run`].
    pub fn run_in_order(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, EngineError> {
        let mut symbols = SymbolBindings::default();
        let ports = || self.inputs.iter().filter(|port| !port.has_default);
        if ports().count() != inputs.len() {
            return Err(EngineError::InputCount { expected: ports().count(), given: inputs.len() });
        }
        for (port, tensor) in ports().zip(&inputs) {
            symbols
                .check(&Datum::Tensor(tensor.clone()), &port.ty)
                .map_err(|mismatch| EngineError::Input { name: port.name.clone(), mismatch })?;
        }
        self.results(inputs, &mut symbols)
    }

    /// Runs the program, checks its results and returns the outputs.
    fn results(
        &self,
        inputs: Vec<AnyTensor>,
        symbols: &mut SymbolBindings,
    ) -> Result<Vec<AnyTensor>, EngineError> {
        let mut results = match &self.programs {
            Programs::One(program) => self.call(&**program, inputs)?,
            Programs::ByExtents(model, loaded) => {
                let fixed = self.fixed(model, loaded, &inputs, symbols)?;
                self.call(&*fixed.program, inputs)?
            }
        };
        let expected = self.checked_count();
        if results.len() != expected {
            let engine = self.engine.name().to_owned();
            return Err(EngineError::OutputCount { engine, expected, given: results.len() });
        }
        for (port, tensor) in self.outputs.iter().chain(&self.observed).zip(&results) {
            symbols.check(&Datum::Tensor(tensor.clone()), &port.ty).map_err(|mismatch| {
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
        run.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic)))).map_err(|text| {
            let (node, reason) = self.nodes.find(&text);
            let node = node.map(|node| format!("{} ({} on {})", node.label, node.operator, node.types));
            EngineError::Failed { engine: self.engine.name().to_owned(), node, reason }
        })
    }

    /// The program for the extents of some inputs.
    fn fixed(
        &self,
        model: &ModelProto,
        loaded: &Recent<Fixed>,
        inputs: &[AnyTensor],
        symbols: &SymbolBindings,
    ) -> Result<Arc<Fixed>, EngineError> {
        let fits =
            |fixed: &Fixed| fixed.shapes.iter().zip(inputs).all(|(shape, input)| **shape == *input.shape());
        loaded.get_or_load(fits, || {
            let mut model = model.clone();
            if let Some(graph) = &mut model.graph {
                for (info, input) in graph.input.iter_mut().zip(inputs) {
                    // Unnamed dims have no symbol that could be replaced.
                    info.r#type = Some(super::extents::of_tensor(input));
                }
            }
            let shapes = inputs.iter().map(|input| input.shape().into()).collect();
            Ok(Fixed { shapes, program: self.load(&model, symbols)? })
        })
    }

    /// Loads the model and compares the types that the engine reports with the solved ones.
    fn load(&self, model: &ModelProto, symbols: &SymbolBindings) -> Result<Box<dyn Program>, EngineError> {
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
            .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic))))
            .map_err(|text| self.nodes.refused(engine.name(), &text))?;
        let graph = model.graph.as_ref();
        let infos = graph.iter().flat_map(|graph| graph.value_info.iter().chain(&graph.output));
        let solved: HashMap<&str, ValueType> = infos
            .filter_map(|info| Some((info.name(), ValueType::from_message(info.r#type.as_ref()?))))
            .collect();
        for (value, found) in &loaded.types {
            let Some(expected) = solved.get(value.as_str()).filter(|expected| !agree(found, expected)) else {
                continue;
            };
            return Err(EngineError::NotKept {
                engine: engine.name().to_owned(),
                value: value.clone(),
                operator: self.nodes.maker(value).map_or("the graph", |node| &node.operator).to_owned(),
                mismatch: Mismatch { found: found.to_string(), expected: expected.to_string() },
            });
        }
        Ok(loaded.program)
    }
}

impl Programs {
    fn empty() -> Self {
        Self::ByExtents(Box::default(), Recent::default())
    }
}

/// Adds every tensor of a known element type to the outputs of a graph.
fn observe(graph: &mut GraphProto, nodes: &Nodes, observed: &mut Vec<Port>) {
    let outputs: std::collections::HashSet<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
    let mut extra = Vec::new();
    for info in &graph.value_info {
        let ty = info.r#type.as_ref().map(ValueType::from_message).unwrap_or_default();
        let is_made = nodes.maker(info.name()).is_some();
        if is_made && !outputs.contains(info.name()) && ty.dtype().is_some() {
            observed.push(Port { name: info.name().to_owned(), ty, has_default: false });
            extra.push(info.clone());
        }
    }
    graph.output.extend(extra);
}

/// Whether two tensor types have a common value, as far as their constant dims determine it.
fn agree(found: &ValueType, expected: &ValueType) -> bool {
    if !found.is_tensor() || !expected.is_tensor() {
        return true;
    }
    let (a, b) = (found.dtype(), expected.dtype());
    let dtypes_agree = a.is_none() || b.is_none() || a == b;
    let shapes_agree = match (found.shape.as_deref(), expected.shape.as_deref()) {
        (Some(a), Some(b)) => {
            let dims_agree = a.iter().zip(b).all(|(a, b)| match (a.fixed(), b.fixed()) {
                (Some(a), Some(b)) => a == b,
                (None, _) | (_, None) => true,
            });
            a.len() == b.len() && dims_agree
        }
        (None, _) | (_, None) => true,
    };
    dtypes_agree && shapes_agree
}
