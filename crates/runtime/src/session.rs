//! A model that is ready to run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use typeloom_cpu::threads;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::{ModelProto, TensorProto, read, read_pieces};
use typeloom_rewrite::annotate::{AnnotationForm, annotate};
use typeloom_solver::model::Checked;
use typeloom_solver::model::preconditions::Preconditions;
use typeloom_types::any_tensor::budget;

use crate::error::{PrepareError, RunError};
use crate::execute::{Run, Spare};
use crate::flow::Tensors;
use crate::plan::Plan;
use crate::prepare::Preparation;
use typeloom_wire::stamp::{Stamp, Symbols};

/// Reads the bytes of a tensor that is kept in another file; the reason where that cannot be done.
pub type ExternalData<'a> = dyn Fn(&TensorProto) -> Result<Bytes, String> + 'a;

/// Told of values as they are made, by name.
pub type Observer<'a> = dyn FnMut(&str, &Value) + 'a;

/// What is held against the solved types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// The inputs.
    #[default]
    Inputs,
    /// The inputs and every value that a node makes.
    EveryValue,
}

/// How much one run may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many turns all loops may take together. A loop whose condition never fails has no end of its own.
    pub turns: u64,
    /// How many steps the run may take: each node counts as one each time it runs, and so does each turn of a loop. In graphs
    /// inside and in functions, which can run any number of times, so do each [`STEP_BYTES`] of tensors that a node reads or a
    /// turn makes. A tree of function calls can be exponential in its depth.
    pub steps: u64,
    /// How many bytes the tensors of the process may hold while the model is prepared and run, see
    /// [`budget`]. Weights that are read from a mapped file do not count.
    pub memory: usize,
}

/// How many bytes count as one step.
pub const STEP_BYTES: u64 = 1 << 12;

impl Default for Limits {
    fn default() -> Self {
        Self { turns: 1 << 26, steps: u64::MAX, memory: usize::MAX }
    }
}

/// An input or an output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its solved type.
    pub stamp: Stamp,
    /// Whether an input may be left out, because an initializer has its name.
    pub has_default: bool,
}

/// A model that is ready to run. Clones share everything; runs share nothing that changes, so that a session can
/// be run from several threads at once.
#[derive(Clone, Debug)]
pub struct Session {
    plan: Arc<Plan<Tensors>>,
    inputs: Arc<[Port]>,
    outputs: Arc<[Port]>,
    memory: Arc<Spare<Tensors>>,
    /// What operators need of the extents of inputs.
    preconditions: Arc<Preconditions>,
    limits: Limits,
    /// Whether a run had work for several threads, so that the next is better done among them.
    splits: Arc<AtomicBool>,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The outputs, in the order of the model.
    pub outputs: Vec<(String, Value)>,
    /// What the symbols of the model stood for.
    pub symbols: Symbols,
}

impl Session {
    /// Prepares a model with the types that were solved for it.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn of_checked(checked: &mut Checked<'_>, external: &ExternalData<'_>) -> Result<Self, PrepareError> {
        let preconditions = Arc::new(Preconditions::of_checked(checked));
        let annotated = annotate(checked, AnnotationForm::Solved)?;
        let bytes = annotated.file.pieces().concat();
        let session = Self::new(&read::<ModelProto>(Bytes::from(bytes))?, external)?;
        Ok(Self { preconditions, ..session })
    }

    /// As [`Session::of_checked`], where the bytes that were checked are shared (a mapped file, say): stored tensors are
    /// looked at in them, and none of them is copied for being read.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn of_checked_file(
        checked: &mut Checked<'_>,
        file: &Bytes,
        external: &ExternalData<'_>,
    ) -> Result<Self, PrepareError> {
        Self::of_checked_file_within(checked, file, external, Limits::default())
    }

    /// As [`Session::of_checked_file`], with limits for preparing the model and for its runs.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn of_checked_file_within(
        checked: &mut Checked<'_>,
        file: &Bytes,
        external: &ExternalData<'_>,
        limits: Limits,
    ) -> Result<Self, PrepareError> {
        let preconditions = Arc::new(Preconditions::of_checked(checked));
        let annotated = annotate(checked, AnnotationForm::Solved)?;
        let own = file.as_ptr_range();
        let pieces = annotated.file.pieces().iter().map(|piece| {
            // What was kept of the file is a part of it, unless other bytes were checked.
            let range = piece.as_ptr_range();
            let is_part = own.start <= range.start && range.end <= own.end && !piece.is_empty();
            if is_part { file.slice_ref(piece) } else { Bytes::copy_from_slice(piece) }
        });
        let model = read_pieces::<ModelProto>(pieces.collect())?;
        let prepared = budget::within(limits.memory, || Self::new(&model, external))?;
        Ok(Self { preconditions, ..prepared.with_limits(limits) })
    }

    /// Prepares a model; what it declares of its values is taken for their solved types.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn new(model: &ModelProto, external: &ExternalData<'_>) -> Result<Self, PrepareError> {
        let Some(graph) = &model.graph else { return Err(PrepareError::NoGraph) };
        let plan = Preparation::<Tensors>::new(model, (), external).main(graph)?;
        let port = |slot: &crate::plan::SlotId| {
            let info = plan.slot(*slot);
            let has_default = plan.constants.iter().any(|(constant, _)| constant == slot);
            Port { name: info.name.clone(), stamp: Stamp::clone(&info.proved), has_default }
        };
        let inputs = plan.inputs.iter().map(port).collect();
        let mut outputs: Vec<Port> = plan.outputs.iter().map(port).collect();
        for (port, declared) in outputs.iter_mut().zip(&graph.output) {
            declared.name().clone_into(&mut port.name);
        }
        Ok(Self {
            plan: Arc::new(plan),
            inputs,
            outputs: outputs.into(),
            memory: Arc::default(),
            preconditions: Arc::default(),
            limits: Limits::default(),
            splits: Arc::default(),
        })
    }

    /// The same session with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
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

    /// Runs the model on inputs by name.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run(&self, inputs: HashMap<String, Value>, verify: Verify) -> Result<Outcome, RunError> {
        self.run_observed(inputs, verify, None)
    }

    /// Runs the model and tells an observer of every value of the main graph as it is made.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_observed<'o>(
        &self,
        mut inputs: HashMap<String, Value>,
        verify: Verify,
        observer: Option<&'o mut Observer<'o>>,
    ) -> Result<Outcome, RunError> {
        let mut symbols = Symbols::default();
        let mut given = Vec::with_capacity(self.inputs.len());
        for port in &*self.inputs {
            let value = inputs.remove(&port.name);
            match &value {
                Some(value) => symbols
                    .check(value, &port.stamp)
                    .map_err(|mismatch| RunError::Input { name: port.name.clone(), mismatch })?,
                None if port.has_default => {}
                None => return Err(RunError::MissingInput { name: port.name.clone() }),
            }
            given.push(value);
        }
        if let Some(name) = inputs.into_keys().min() {
            return Err(RunError::UnknownInput { name });
        }
        if let Some(condition) = self.preconditions.violated(|symbol| symbols.get(symbol)) {
            let symbols = symbols.iter().map(|(name, extent)| (name.to_owned(), extent)).collect();
            return Err(RunError::Precondition { condition, symbols });
        }
        let memory = self.limits.memory;
        let (values, symbols) = match observer {
            // Whoever watches may be bound to this thread.
            Some(observer) => {
                budget::within(memory, || self.run_plan(given, verify, symbols, Some(observer)))?
            }
            None if self.splits.load(Ordering::Relaxed) => {
                threads::within(|| budget::within(memory, || self.run_plan(given, verify, symbols, None)))?
            }
            None => budget::within(memory, || self.run_plan(given, verify, symbols, None))?,
        };
        let outputs = self.outputs.iter().map(|port| port.name.clone()).zip(values).collect();
        Ok(Outcome { outputs, symbols })
    }

    /// The outputs, and what the symbols stood for.
    fn run_plan<'o>(
        &self,
        given: Vec<Option<Value>>,
        verify: Verify,
        symbols: Symbols,
        observer: Option<&'o mut Observer<'o>>,
    ) -> Result<(Vec<Value>, Symbols), RunError> {
        let mut run = Run::new(verify, symbols, self.limits, observer.map(|it| it as _));
        let plan = |run: &mut Run<'_, _>| run.plan(&self.plan, given, Vec::new());
        let values = self.memory.lend(|rooms| run.in_rooms(rooms, plan))?;
        if threads::split_any() {
            self.splits.store(true, Ordering::Relaxed);
        }
        Ok((values, run.symbols))
    }
}
