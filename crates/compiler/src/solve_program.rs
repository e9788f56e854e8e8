//! The solver on the IR.
//!
//! The IR is encoded and checked as every ONNX model is, with the operators of modules in addition to ONNX's. The result is a
//! type for every value, or diagnostics.

use std::sync::{Arc, OnceLock};

use typeloom_interface::Interface;
use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::prost::Message as _;
use typeloom_solver::diagnostic::{Code, Diagnostic, SourceLine, diagnose};
use typeloom_solver::model::{self, Mode, Options};
use typeloom_solver::universe::Universe;
use typeloom_solver::value_type::ValueTypes;
use typeloom_types::lattice::Lattice;

use crate::bindings::Bindings;
use crate::program_operators::Operators;
use crate::error::BuildError;
use crate::unit::Unit;

/// The element types of the default type tree.
pub(crate) fn universe() -> Result<&'static Arc<Universe>, BuildError> {
    static UNIVERSE: OnceLock<Result<Arc<Universe>, String>> = OnceLock::new();
    let built = UNIVERSE.get_or_init(|| {
        Lattice::try_get().map_err(ToString::to_string)?;
        Universe::of_default_lattice().map_err(|error| error.to_string())
    });
    built.as_ref().map_err(|message| BuildError::InvalidProgram { message: message.clone() })
}

/// The result of solving a program.
pub(crate) struct Solution {
    pub(crate) types: ValueTypes,
    /// Warnings, or what is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) interface: Interface,
}

impl Solution {
    pub(crate) fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Solves a program.
pub(crate) fn solve(model: &ModelProto, bindings: &Bindings, mode: Mode) -> Result<Solution, BuildError> {
    let universe = universe()?;
    let bytes = model.encode_to_vec();
    let operators = Operators::of(model, bindings, universe);
    let options = Options { mode, ..Options::default() };
    let mut checked = model::check(&bytes, &operators, universe, &options)
        .map_err(|error| BuildError::InvalidProgram { message: error.to_string() })?;
    let diagnostics = if checked.is_ok() { Vec::new() } else { diagnose(&mut checked) };
    let interface = Interface::of_checked(&mut checked);
    Ok(Solution { types: ValueTypes::of_program(&mut checked), diagnostics, interface })
}

/// What is wrong, as the error of a compilation, with the author's lines put in.
pub(crate) fn failed(unit: &Unit, mut diagnostics: Vec<Diagnostic>) -> BuildError {
    diagnostics.retain(Diagnostic::is_error);
    for diagnostic in &mut diagnostics {
        let value = diagnostic.location.value.as_ref().map(|value| value.name.clone());
        if let (None, Some(name)) = (&diagnostic.source, &value) {
            let place = unit.places.get(name);
            diagnostic.source = place.and_then(|place| SourceLine::at(&place.to_string()));
        }
        if diagnostic.code == Code::UnresolvedType
            && let Some(help) = crate::unresolved_help::help(unit, diagnostic)
        {
            diagnostic.help = Some(help);
        }
    }
    match diagnostics.iter().all(|diagnostic| diagnostic.code == Code::UnresolvedType) {
        true => BuildError::UnresolvedType(diagnostics),
        false => BuildError::TypeConstraintFailed(diagnostics),
    }
}
