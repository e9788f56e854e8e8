//! A model that is ready to run, on the embedded backend or on an engine.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use typeloom_cpu::value::Value;
use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::error::EngineError;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::error::RunError;
use typeloom_runtime::options::{ExternalData, RunLimits, Verify};
use typeloom_runtime::session::{Port, RunOutcome, Session};
use typeloom_solver::model::Checked;

pub(crate) enum Prepared {
    Embedded(Session, Verify),
    Hosted(EngineSession),
}

/// Error of preparing a model.
pub(crate) enum RunFault {
    /// The backend rejects the model.
    OfModel(String),
    /// A file cannot be read.
    OfFiles(anyhow::Error),
}

impl Prepared {
    pub(crate) fn embedded(
        checked: &mut Checked<'_>,
        file: &Bytes,
        external: &ExternalData<'_>,
        limits: RunLimits,
        verify: bool,
    ) -> Result<Self, RunFault> {
        let session = Session::of_checked_file(checked, file, external, limits).map_err(|error| {
            let text = with_remedy(error.to_string(), error.exceeds_budget());
            if error.exceeds_budget() { RunFault::OfModel(text) } else { RunFault::OfFiles(error.into()) }
        })?;
        Ok(Self::Embedded(session, held(verify)))
    }

    pub(crate) fn hosted(
        engine: Arc<dyn Engine>,
        checked: &mut Checked<'_>,
        external: &ExternalData<'_>,
        verify: bool,
    ) -> Result<Self, RunFault> {
        match EngineSession::of_checked(engine, checked, external, held(verify)) {
            Ok(session) => Ok(Self::Hosted(session)),
            Err(error @ (EngineError::ExternalData { .. } | EngineError::Malformed(_))) => {
                Err(RunFault::OfFiles(error.into()))
            }
            Err(error) => Err(RunFault::OfModel(error.to_string())),
        }
    }

    /// The inputs, in the order of the model.
    pub(crate) fn inputs(&self) -> &[Port] {
        match self {
            Self::Embedded(session, _) => session.inputs(),
            Self::Hosted(session) => session.inputs(),
        }
    }

    /// Runs the model. Returns the result and a line that describes the verification.
    pub(crate) fn run(&self, inputs: HashMap<String, Value>) -> Result<(RunOutcome, String), String> {
        match self {
            // Intermediate values are only needed if every value is verified.
            Self::Embedded(session, Verify::Inputs) => {
                let outcome = session.run(inputs, Verify::Inputs).map_err(|error| failed(&error))?;
                Ok((outcome, String::new()))
            }
            Self::Embedded(session, Verify::EveryValue) => {
                let mut values = 0_usize;
                let mut count = |_: &str, _: &Value| values += 1;
                let outcome = session.run_observed(inputs, Verify::EveryValue, Some(&mut count));
                let outcome = outcome.map_err(|error| failed(&error))?;
                let line = format!(
                    "verified: {values} values of the main graph, and those of graphs inside, have their solved types\n"
                );
                Ok((outcome, line))
            }
            Self::Hosted(session) => {
                let outcome = session.run(inputs).map_err(|error| error.to_string())?;
                let values = session.checked_count();
                Ok((
                    outcome,
                    format!("verified: {values} values of the main graph have their solved types\n"),
                ))
            }
        }
    }
}

fn failed(error: &RunError) -> String {
    with_remedy(error.to_string(), error.exceeds_budget())
}

fn with_remedy(message: String, exceeds_budget: bool) -> String {
    if exceeds_budget { message + "; --max-memory and --max-steps allow more" } else { message }
}

fn held(verify: bool) -> Verify {
    if verify { Verify::EveryValue } else { Verify::Inputs }
}
