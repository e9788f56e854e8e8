//! A prepared model on the embedded backend or on an engine.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use typeloom_project::parts::runtime::engine::Engine;
use typeloom_project::parts::runtime::engine::error::EngineError;
use typeloom_project::parts::runtime::engine::session::EngineSession;
use typeloom_project::parts::runtime::error::{PrepareError, RunError};
use typeloom_project::parts::runtime::options::{ExternalData, RunLimits, Verify};
use typeloom_project::parts::runtime::session::{Port, RunOutcome, Session};
use typeloom_project::parts::solver::diagnostic::Diagnostic;
use typeloom_project::parts::solver::model::Checked;
use typeloom_project::parts::tensor::datum::Datum;

use crate::exit::Outcome;

pub(crate) enum Prepared {
    Embedded(Session, Verify),
    Hosted(EngineSession),
}

/// Error of preparing or running a model.
pub(crate) struct RunFailure {
    /// Empty if the error does not concern the model.
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) message: String,
    pub(crate) outcome: Outcome,
}

impl From<RunError> for RunFailure {
    fn from(error: RunError) -> Self {
        let message = with_remedy(error.to_string(), error.exceeds_budget());
        Self { diagnostics: error.diagnostics(), message, outcome: Outcome::Problems }
    }
}

impl From<PrepareError> for RunFailure {
    fn from(error: PrepareError) -> Self {
        let exceeds = error.exceeds_budget();
        let outcome = if exceeds { Outcome::Problems } else { Outcome::Unusable };
        Self { diagnostics: error.diagnostics(), message: with_remedy(error.to_string(), exceeds), outcome }
    }
}

impl From<EngineError> for RunFailure {
    fn from(error: EngineError) -> Self {
        let outcome = match error {
            EngineError::ExternalData { .. } | EngineError::Malformed(_) => Outcome::Unusable,
            _ => Outcome::Problems,
        };
        Self { diagnostics: error.diagnostics(), message: error.to_string(), outcome }
    }
}

impl Prepared {
    pub(crate) fn embedded(
        checked: &mut Checked<'_>,
        file: &Bytes,
        external: &ExternalData<'_>,
        limits: RunLimits,
        verify: bool,
    ) -> Result<Self, RunFailure> {
        let session = Session::of_checked_file(checked, file, external, limits)?;
        Ok(Self::Embedded(session, verification(verify)))
    }

    pub(crate) fn hosted(
        engine: Arc<dyn Engine>,
        checked: &mut Checked<'_>,
        external: &ExternalData<'_>,
        verify: bool,
    ) -> Result<Self, RunFailure> {
        Ok(Self::Hosted(EngineSession::of_checked(engine, checked, external, verification(verify))?))
    }

    /// The inputs, in the order of the model.
    pub(crate) fn inputs(&self) -> &[Port] {
        match self {
            Self::Embedded(session, _) => session.inputs(),
            Self::Hosted(session) => session.inputs(),
        }
    }

    /// The outputs, in the order of the model.
    pub(crate) fn outputs(&self) -> &[Port] {
        match self {
            Self::Embedded(session, _) => session.outputs(),
            Self::Hosted(session) => session.outputs(),
        }
    }

    /// Runs the model. Returns the result and a line that describes the verification.
    pub(crate) fn run(&self, inputs: HashMap<String, Datum>) -> Result<(RunOutcome, String), RunFailure> {
        match self {
            // Intermediate values are only needed if every value is verified.
            Self::Embedded(session, Verify::Inputs) => {
                Ok((session.run(inputs, Verify::Inputs)?, String::new()))
            }
            Self::Embedded(session, Verify::EveryValue) => {
                let mut values = 0_usize;
                let mut count = |_: &str, _: &Datum| values += 1;
                let outcome = session.run_observed(inputs, Verify::EveryValue, Some(&mut count))?;
                let line = format!(
                    "verified: {values} values of the main graph, and those of graphs inside, have their solved types\n"
                );
                Ok((outcome, line))
            }
            Self::Hosted(session) => {
                let (outcome, values) = (session.run(inputs)?, session.checked_count());
                let line = format!("verified: {values} values of the main graph have their solved types\n");
                Ok((outcome, line))
            }
        }
    }
}

fn with_remedy(message: String, exceeds_budget: bool) -> String {
    if exceeds_budget { message + "; --max-memory, --max-work and --max-steps allow more" } else { message }
}

fn verification(verify: bool) -> Verify {
    if verify { Verify::EveryValue } else { Verify::Inputs }
}
