//! Sessions: models that are prepared for execution.
//!
//! A model is run many times on inputs of different extents, so all work that depends on the model only is
//! done once:
//!
//! ```text
//! Session::of_checked      names become slots, nodes become kernels, attributes are decoded
//! session.run              x: [2, 3]
//!   inputs                 x fits float[N, 3] and binds N = 2
//!   preconditions          the conditions of operators on symbols, such as N >= 1
//!   plan                   steps in order
//!   outputs                by name, with the values of the symbols
//! ```
//!
//! A [`Session`] is a plan with the ports, limits and memory of its runs. The plan is documented at `plan`,
//! the preparation at `prepare`, and the loop over steps at `execute`.
//!
//! **Invariant:** no kernel starts before all inputs are checked against their solved types. A violated
//! condition is [`RunError::Precondition`] with the values of the symbols, not an error of some kernel.
//!
//! **Invariant:** runs of one session may overlap. Each has its own values and symbols. They share the plan,
//! the memory of dropped results, and a flag that a run had work for several threads; a run that finds it set
//! uses the thread pool.
//!
//! A run costs time linear in ports and steps in addition to the kernels. Memory of one run is kept for the
//! next.
//!
//! Limits: a session of [`Session::new`] takes declared types as solved and has no preconditions. The steps
//! of a run with an observer stay on the calling thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use typeloom_cpu::fast::threads;
use typeloom_onnx::messages::{ModelProto, read};
use typeloom_program::facts::Facts;
use typeloom_program::program::Program;
use typeloom_solver::model::Checked;
use typeloom_solver::model::preconditions::Preconditions;
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::{SymbolBindings, to_declared_form};
use typeloom_tensor::value_type::ValueType;

use crate::error::{PrepareError, RunError};
use crate::execute::{MemoryPool, Run};
use crate::named::Inputs;
use crate::options::{ExternalData, Interrupt, RunLimits, Verify};
use crate::plan::Plan;
use crate::prepare::{Preparation, Types};

/// Receives every value of the main graph when it is computed, with its name.
pub type Observer<'a> = dyn FnMut(&str, &Datum) + 'a;

/// An input or an output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub name: String,
    /// Solved type of the value.
    pub ty: ValueType,
    /// Whether an initializer is the default of an input.
    pub has_default: bool,
}

/// A prepared model. Clones share everything; runs share no mutable state, so a session can run on several
/// threads at a time.
#[derive(Clone, Debug)]
pub struct Session {
    plan: Arc<Plan>,
    inputs: Arc<[Port]>,
    outputs: Arc<[Port]>,
    memory: Arc<MemoryPool>,
    /// Conditions of operators on the extents of inputs.
    preconditions: Arc<Preconditions>,
    limits: RunLimits,
    interrupt: Option<Interrupt>,
    /// Whether a run has had work for several threads; later runs then use the thread pool.
    splits: Arc<AtomicBool>,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// The outputs in the order of the program.
    pub outputs: Vec<(String, Datum)>,
    /// Values of the program's symbols.
    pub symbols: SymbolBindings,
}

impl RunOutcome {
    /// An output by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Datum> {
        self.outputs.iter().find(|(output, _)| output == name).map(|(_, value)| value)
    }
}

/// The inputs and outputs of a plan. Outputs have the names of `names`, which can be aliases of other values.
pub(crate) fn ports(plan: &Plan, names: impl Iterator<Item = String>) -> (Arc<[Port]>, Arc<[Port]>) {
    let input = |(at, slot): (usize, _)| {
        let slot = plan.slot(slot);
        Port { name: slot.name.clone(), ty: slot.ty.clone(), has_default: plan.defaults.contains(&at) }
    };
    let output = |(name, slot): (String, &_)| {
        let has_default = plan.constants.iter().any(|(constant, _)| constant == slot);
        Port { name, ty: plan.slot(*slot).ty.clone(), has_default }
    };
    let inputs = plan.inputs.iter().copied().enumerate().map(input).collect();
    (inputs, names.zip(&plan.outputs).map(output).collect())
}

impl Session {
    /// Prepares a checked model. Values are verified against the solved types.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn of_checked(checked: &mut Checked<'_>, external: &ExternalData<'_>) -> Result<Self, PrepareError> {
        Self::of_checked_file(checked, &Bytes::new(), external, RunLimits::default())
    }

    /// As [`Session::of_checked`], if the bytes that were checked are shared, for example a mapped file:
    /// tensors are views of these bytes. `limits` apply to the preparation and to the runs.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn of_checked_file(
        checked: &mut Checked<'_>,
        file: &Bytes,
        external: &ExternalData<'_>,
        limits: RunLimits,
    ) -> Result<Self, PrepareError> {
        let preconditions = Arc::new(Preconditions::of_checked(checked));
        let types = ValueTypes::proven(checked);
        let bytes = checked.model().ok_or(PrepareError::NoGraph)?.bytes();
        let (own, shared) = (bytes.as_ptr_range(), file.as_ptr_range());
        let is_shared = shared.start <= own.start && own.end <= shared.end;
        let bytes = if is_shared { file.slice_ref(bytes) } else { Bytes::copy_from_slice(bytes) };
        let (program, mut facts) = typeloom_program::read::read(read::<ModelProto>(bytes)?)?;
        facts.types = typeloom_program::facts::Types::of(&program, &types);
        let prepared = limits.within(|| Self::prepare(&program, &facts, Types::Solved, external))?;
        Ok(Self { preconditions, limits, ..prepared })
    }

    /// Prepares a model by its declared types, which count as solved.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn new(model: &ModelProto, external: &ExternalData<'_>) -> Result<Self, PrepareError> {
        let (program, facts) = typeloom_program::read::read(model.clone())?;
        Self::prepare(&program, &facts, Types::Declared, external)
    }

    fn prepare(
        program: &Program,
        facts: &Facts,
        types: Types,
        external: &ExternalData<'_>,
    ) -> Result<Self, PrepareError> {
        let plan = Preparation::new(program, facts, types, external).main()?;
        Ok(Self::of_plan(plan, program))
    }

    pub(crate) fn of_plan(plan: Plan, program: &Program) -> Self {
        let outputs = program[program.main()].outputs.iter();
        let (inputs, outputs) = ports(&plan, outputs.map(|output| program[output.value].name.to_string()));
        Self {
            plan: Arc::new(plan),
            inputs,
            outputs,
            memory: Arc::default(),
            preconditions: Arc::default(),
            limits: RunLimits::default(),
            interrupt: None,
            splits: Arc::default(),
        }
    }

    /// The same session with other limits.
    #[must_use]
    pub fn with_limits(self, limits: RunLimits) -> Self {
        Self { limits, ..self }
    }

    /// The same session, whose runs an interrupt ends.
    #[must_use]
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    /// The inputs in the order of the model.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs in the order of the model.
    #[must_use]
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Runs the model on inputs by name.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run(&self, inputs: impl Into<Inputs>, verify: Verify) -> Result<RunOutcome, RunError> {
        self.run_observed(inputs, verify, None)
    }

    /// Runs the model, and passes every value of the main graph to an observer when it is computed.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_observed<'o>(
        &self,
        inputs: impl Into<Inputs>,
        verify: Verify,
        observer: Option<&'o mut Observer<'o>>,
    ) -> Result<RunOutcome, RunError> {
        self.run_named(inputs.into(), verify, observer)
    }

    fn run_named<'o>(
        &self,
        inputs: Inputs,
        verify: Verify,
        observer: Option<&'o mut Observer<'o>>,
    ) -> Result<RunOutcome, RunError> {
        let mut symbols = SymbolBindings::default();
        let values = take_inputs("model", &self.inputs, inputs, &mut symbols)?;
        if let Some(condition) = self.preconditions.violated(|symbol| symbols.get(symbol)) {
            let symbols = symbols.iter().map(|(name, extent)| (name.to_owned(), extent)).collect();
            return Err(RunError::Precondition { condition, symbols });
        }
        let limits = self.limits;
        let (values, symbols) = match observer {
            // The observer need not be `Send`, so this run stays on this thread.
            Some(observer) => limits.within(|| self.run_plan(values, verify, symbols, Some(observer)))?,
            None if self.splits.load(Ordering::Relaxed) => {
                threads::within(|| limits.within(|| self.run_plan(values, verify, symbols, None)))?
            }
            None => limits.within(|| self.run_plan(values, verify, symbols, None))?,
        };
        let outputs = self.outputs.iter().map(|port| port.name.clone()).zip(values).collect();
        Ok(RunOutcome { outputs, symbols })
    }

    /// Runs the plan on checked inputs in order.
    pub(crate) fn run_plan<'o>(
        &self,
        inputs: Vec<Option<Datum>>,
        verify: Verify,
        symbols: SymbolBindings,
        observer: Option<&'o mut Observer<'o>>,
    ) -> Result<(Vec<Datum>, SymbolBindings), RunError> {
        let run = Run::new(verify, symbols, self.limits, observer.map(|it| it as _));
        let mut run = run.with_interrupt(self.interrupt.clone());
        let plan = |run: &mut Run<'_>| run.plan(&self.plan, inputs, Vec::new());
        let mut values = self.memory.lend(|scratch| run.with_scratch(scratch, plan))?;
        self.memory.expect_back(&mut values);
        if threads::split_any() {
            self.splits.store(true, Ordering::Relaxed);
        }
        Ok((values, run.symbols))
    }
}

/// Takes the values of all inputs and checks them; `None` if the default applies. A misspelt name is reported
/// rather than the missing value of its input.
pub(crate) fn take_inputs(
    owner: &'static str,
    ports: &[Port],
    mut inputs: Inputs,
    symbols: &mut SymbolBindings,
) -> Result<Vec<Option<Datum>>, RunError> {
    let mut values = Vec::with_capacity(ports.len());
    for port in ports {
        match check_input(port, take(port, &mut inputs)?, symbols) {
            Err(missing @ RunError::MissingInput { .. }) => {
                return Err(reject_unknown(owner, ports, &inputs).err().unwrap_or(missing));
            }
            value => values.push(value?),
        }
    }
    reject_unknown(owner, ports, &inputs)?;
    Ok(values)
}

/// Checks the value of an input, and converts it to the form of its type.
pub(crate) fn check_input(
    port: &Port,
    value: Option<Datum>,
    symbols: &mut SymbolBindings,
) -> Result<Option<Datum>, RunError> {
    let name = || port.name.clone();
    match value {
        Some(value) => {
            symbols.check(&value, &port.ty).map_err(|mismatch| RunError::Input { name: name(), mismatch })?;
            Ok(Some(to_declared_form(value, &port.ty)))
        }
        None if port.has_default => Ok(None),
        None => Err(RunError::MissingInput { name: name() }),
    }
}

/// Takes the value of a port.
pub(crate) fn take(port: &Port, inputs: &mut Inputs) -> Result<Option<Datum>, RunError> {
    inputs.take(port).map_err(|error| RunError::Literal { name: port.name.clone(), error })
}

/// Rejects values with a name that no input has, among those that are left.
pub(crate) fn reject_unknown(owner: &'static str, ports: &[Port], rest: &Inputs) -> Result<(), RunError> {
    rest.unknown(ports).map_or(Ok(()), |unknown| Err(RunError::UnknownInput { owner, unknown }))
}
