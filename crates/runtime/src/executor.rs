//! Executors: compiled programs linked with their components.
//!
//! An [`Executor`] is created once, from an artifact and the [`Components`] of its slots, and runs many
//! times, on several threads at a time. Its creation checks that the components have the types that the
//! program was compiled for, and resolves every node: a node on a slot to a method of the slot's component,
//! any other node to an operator of the embedded backend.
//!
//! Inputs and results of components are checked against their types, also without [`Verify::EveryValue`].
//!
//! **Invariant:** a component that fails, panics or returns a value of another type is a [`RunError`] with
//! the name of the node, and the executor stays usable.

use std::fmt;
use std::sync::Arc;

use typeloom_compiler::artifact::Artifact;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::SymbolBindings;

use crate::components::Components;
use crate::error::{LinkError, PrepareError, RunError};
use crate::named::Inputs;
use crate::options::{ExternalData, NO_EXTERNAL_DATA, RunLimits, Verify};
use crate::prepare::{Linked, Preparation, Types};
use crate::session::{Port, RunOutcome, Session, check_input, reject_unknown, take};

pub mod part;

/// A compiled program, linked with its components. Clones share everything, including the state of
/// components.
#[derive(Clone)]
pub struct Executor {
    name: String,
    session: Session,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Executor {
    /// Links a compiled program with the components of its slots.
    ///
    /// # Errors
    /// [`PrepareError`], in particular [`LinkError`] for a slot without a component, a component that the
    /// program was not compiled for, or an operator without an implementation.
    pub fn new(artifact: &Artifact, components: &Components) -> Result<Self, PrepareError> {
        Self::with_external(artifact, components, NO_EXTERNAL_DATA)
    }

    /// As [`Executor::new`], for a program with constants in other files.
    ///
    /// # Errors
    /// As [`Executor::new`].
    pub fn with_external(
        artifact: &Artifact,
        components: &Components,
        external: &ExternalData<'_>,
    ) -> Result<Self, PrepareError> {
        check(artifact, components)?;
        let Artifact { program, facts, .. } = artifact;
        let linked = Linked { components, wires: None };
        let plan = Preparation::new(program, facts, Types::Stated, external).link(linked).main()?;
        Ok(Self { name: program.name().to_owned(), session: Session::of_plan(plan, program) })
    }

    /// The same program with other limits.
    #[must_use]
    pub fn with_limits(self, limits: RunLimits) -> Self {
        Self { session: self.session.with_limits(limits), ..self }
    }

    /// The name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The inputs in the order of the program.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        self.session.inputs()
    }

    /// The outputs in the order of the program.
    #[must_use]
    pub fn outputs(&self) -> &[Port] {
        self.session.outputs()
    }

    /// Runs the program on inputs by name.
    ///
    /// # Errors
    /// [`RunError`]; the executor stays usable.
    pub fn run(&self, inputs: impl Into<Inputs>, verify: Verify) -> Result<RunOutcome, RunError> {
        self.run_named(inputs.into(), verify)
    }

    fn run_named(&self, mut inputs: Inputs, verify: Verify) -> Result<RunOutcome, RunError> {
        let values = self.inputs().iter().map(|port| take(port, &mut inputs)).collect::<Result<_, _>>()?;
        reject_unknown("program", self.inputs(), &inputs)?;
        let (values, symbols) = self.run_in_order(values, verify)?;
        let outputs = self.outputs().iter().map(|port| port.name.clone()).zip(values).collect();
        Ok(RunOutcome { outputs, symbols })
    }

    fn run_in_order(
        &self,
        inputs: Vec<Option<Datum>>,
        verify: Verify,
    ) -> Result<(Vec<Datum>, SymbolBindings), RunError> {
        let mut symbols = SymbolBindings::default();
        let ports = self.inputs().iter().zip(inputs);
        let inputs =
            ports.map(|(port, value)| check_input(port, value, &mut symbols)).collect::<Result<_, _>>()?;
        self.session.run_plan(inputs, verify, symbols, None)
    }
}

impl Components {
    /// Links a program as the implementation of a function that another module exports.
    #[must_use]
    pub fn function(self, name: &str, program: Executor) -> Self {
        let run = move |mut inputs: Vec<Option<Datum>>, verify: Verify| {
            inputs.resize(program.inputs().len(), None);
            program.run_in_order(inputs, verify).map(|(values, _)| values)
        };
        self.with_function(name, Arc::new(run))
    }
}

/// Checks that a program was compiled for these components.
fn check(artifact: &Artifact, components: &Components) -> Result<(), LinkError> {
    if let Some(slot) = components.bindings().bound_twice().first() {
        return Err(LinkError::BoundTwice { slot: slot.clone() });
    }
    let bound = |slot: &str| components.bindings().get(slot).is_some();
    Ok(artifact.check_components(components.bindings(), bound)?)
}
