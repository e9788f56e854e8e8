//! Running compiled programs with their components.
//!
//! An [`Executor`] is made of an artifact and of [`Components`] for its slots, once, and run many times, from several threads at
//! once. Making it holds the components to what the program was compiled for, and resolves every node by its stamps: a node
//! on a slot to a call of the component's method, another to the embedded backend's kernel. Running it solves nothing and
//! looks nothing up by name.
//!
//! Inputs are held to their stamps before anything runs, and so is every result of a component: what a component gives is
//! what it said that it would, or the run ends with the node's name and slot.
//!
//! **Invariant:** a component that fails, panics or gives something else than it declared is an
//! [`ExecuteError`], and the executor stays usable.
//!
//! **Invariant:** recursion is over nested graphs, functions and linked programs only, and bounded when the executor is made.

pub mod declared;

pub mod error;

pub mod part;

mod plan;

mod prepare;

mod run;

mod structural;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use typeloom_compiler::artifact::Artifact;
use typeloom_onnx::messages::{GraphProto, ModelProto};

use crate::components::Components;
use crate::error::PrepareError;
use crate::execute::{Run, Spare};
use crate::plan::Plan;
use crate::prepare::Preparation;
use crate::session::{ExternalData, Limits, Verify};
use declared::Declared;
use error::{ExecuteError, LinkError};
use plan::Data;
use prepare::Linked;
use typeloom_wire::datum::Datum;
use typeloom_wire::stamp::Symbols;

/// An input or an output of a program.
#[derive(Clone, Debug)]
pub struct ProgramPort {
    /// Its name.
    pub name: String,
    /// Its type.
    pub declared: Declared,
    /// Whether an input may be left out, because an initializer has its name.
    pub has_default: bool,
}

/// A compiled program with its components, ready to run. Clones share everything; the components keep what they keep.
#[derive(Clone)]
pub struct Executor {
    name: String,
    plan: Arc<Plan<Data>>,
    inputs: Arc<[ProgramPort]>,
    outputs: Arc<[ProgramPort]>,
    memory: Arc<Spare<Data>>,
    limits: Limits,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a run of a program gives.
#[derive(Clone, Debug)]
pub struct ProgramOutcome {
    /// The outputs, in the order of the program.
    pub outputs: Vec<(String, Datum)>,
    /// What the symbols of the program stood for.
    pub symbols: Symbols,
}

impl ProgramOutcome {
    /// An output by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Datum> {
        self.outputs.iter().find(|(output, _)| output == name).map(|(_, value)| value)
    }
}

impl Executor {
    /// Links a compiled program with the components of its slots.
    ///
    /// # Errors
    /// [`LinkError`]: a slot without a component, a component that the program was not compiled for, an operator that nothing runs.
    pub fn new(artifact: &Artifact, components: &Components) -> Result<Self, LinkError> {
        Self::with_external(artifact, components, &|_| Err("no other files are read".to_owned()))
    }

    /// As [`Executor::new`], for a program whose constants lie in other files.
    ///
    /// # Errors
    /// As [`Executor::new`].
    pub fn with_external(
        artifact: &Artifact,
        components: &Components,
        external: &ExternalData<'_>,
    ) -> Result<Self, LinkError> {
        check(artifact, components)?;
        Self::of_model(&artifact.model, components, external)
    }

    fn of_model(
        model: &ModelProto,
        components: &Components,
        external: &ExternalData<'_>,
    ) -> Result<Self, LinkError> {
        let graph = model.graph.as_ref().ok_or(PrepareError::NoGraph)?;
        let plan =
            Preparation::<Data>::new(model, Linked { components, wires: None }, external).main(graph)?;
        let constants: Vec<_> = plan.constants.iter().map(|(slot, _)| *slot).collect();
        let port = |slot: &crate::plan::SlotId| {
            let info = plan.slot(*slot);
            let has_default = constants.contains(slot);
            ProgramPort { name: info.name.clone(), declared: Declared::clone(&info.proved), has_default }
        };
        let inputs = plan.inputs.iter().map(port).collect();
        let mut outputs: Vec<ProgramPort> = plan.outputs.iter().map(port).collect();
        for (port, declared) in outputs.iter_mut().zip(&graph.output) {
            declared.name().clone_into(&mut port.name);
        }
        let name = GraphProto::name(graph).to_owned();
        let (plan, memory, limits) = (Arc::new(plan), Arc::default(), Limits::default());
        Ok(Self { name, plan, inputs, outputs: outputs.into(), memory, limits })
    }

    /// The same program, whose runs may do so much.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The inputs, in the order of the program.
    #[must_use]
    pub fn inputs(&self) -> &[ProgramPort] {
        &self.inputs
    }

    /// The outputs, in the order of the program.
    #[must_use]
    pub fn outputs(&self) -> &[ProgramPort] {
        &self.outputs
    }

    /// Runs the program on inputs by name.
    ///
    /// # Errors
    /// [`ExecuteError`]; the executor stays usable.
    pub fn run(
        &self,
        mut inputs: HashMap<String, Datum>,
        verify: Verify,
    ) -> Result<ProgramOutcome, ExecuteError> {
        let given = self.inputs.iter().map(|port| inputs.remove(&port.name)).collect();
        if let Some(name) = inputs.into_keys().min() {
            return Err(ExecuteError::UnknownInput { name });
        }
        let (values, symbols) = self.run_on(given, verify)?;
        let outputs = self.outputs.iter().map(|port| port.name.clone()).zip(values).collect();
        Ok(ProgramOutcome { outputs, symbols })
    }

    /// Runs the program as a node of another one: inputs in order.
    pub(crate) fn call(
        &self,
        mut inputs: Vec<Option<Datum>>,
        verify: Verify,
    ) -> Result<Vec<Datum>, ExecuteError> {
        inputs.resize(self.inputs.len(), None);
        self.run_on(inputs, verify).map(|(values, _)| values)
    }

    fn run_on(
        &self,
        inputs: Vec<Option<Datum>>,
        verify: Verify,
    ) -> Result<(Vec<Datum>, Symbols), ExecuteError> {
        let mut symbols = Symbols::default();
        let mut given = Vec::with_capacity(inputs.len());
        for (port, value) in self.inputs.iter().zip(inputs) {
            let name = || port.name.clone();
            match &value {
                Some(value) => port
                    .declared
                    .check(value, &mut symbols)
                    .map_err(|mismatch| ExecuteError::Input { name: name(), mismatch })?,
                None if port.has_default => {}
                None => return Err(ExecuteError::MissingInput { name: name() }),
            }
            given.push(value.map(|value| port.declared.settled(value)));
        }
        let mut run = Run::<Data>::new(verify, symbols, self.limits, None);
        let plan = |run: &mut Run<'_, _>| run.plan(&self.plan, given, Vec::new());
        let values = self.memory.lend(|rooms| run.in_rooms(rooms, plan))?;
        Ok((values, run.symbols))
    }
}

/// That the components are what a program was compiled for. A slot without one is said with the node that needs it.
fn check(artifact: &Artifact, components: &Components) -> Result<(), LinkError> {
    if let Some(slot) = components.bindings().bound_twice().first() {
        return Err(LinkError::BoundTwice { slot: slot.clone() });
    }
    let bound = |slot: &str| components.bindings().get(slot).is_some();
    Ok(artifact.check_components(components.bindings(), bound)?)
}
