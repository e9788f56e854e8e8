//! Type-checked models, with the solved type of every value.

use std::sync::Arc;

use prost::Message as _;
use typeloom_onnx::messages::ModelProto;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::session::Session;
use typeloom_solver::diagnostic::{Diagnostic, diagnose};
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_solver::model::{Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::value_type::ValueType;

use super::ModelError;

/// A model with a type for every value, prepared for execution.
pub(super) struct Solved {
    pub(super) model: ModelProto,
    types: ValueTypes,
    pub(super) session: Session,
}

impl Solved {
    /// The type of a value of the main graph, if anything is known about it.
    pub(super) fn type_of(&self, value: &str) -> Option<&ValueType> {
        self.types.get(0, value).filter(|ty| !ty.is_unknown())
    }
}

fn universe() -> Result<&'static Arc<Universe>, ModelError> {
    Universe::try_standard().map_err(|error| ModelError::IllTyped { message: error.to_string() })
}

/// Type-checks a model and returns the first error, if any.
pub(super) fn solve(model: ModelProto) -> Result<Solved, ModelError> {
    let bytes = model.encode_to_vec();
    let mut checked = check(&bytes, &Standard, universe()?, &Options::default())
        .map_err(|error| ModelError::IllTyped { message: error.to_string() })?;
    if !checked.is_ok() {
        let first = diagnose(&mut checked).into_iter().find(Diagnostic::is_error);
        let message = first.map_or_else(String::new, |diagnostic| diagnostic.message);
        return Err(ModelError::IllTyped { message });
    }
    let types = ValueTypes::of_program(&mut checked);
    let no_files = |_: &_| Err("a model by itself has no other files".to_owned());
    let session = Session::of_checked(&mut checked, &no_files)?;
    Ok(Solved { model, types, session })
}
