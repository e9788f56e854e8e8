//! Solving the types of the IR.
//!
//! The program is written as bytes and checked as every ONNX model is, with the operators of modules in
//! addition to ONNX's. The result is a type for every value, by its id, or diagnostics.

use typeloom_interface::Interface;
use typeloom_module::bindings::Bindings;
use typeloom_program::facts::{Facts, Types};
use typeloom_program::program::Program;
use typeloom_program::write::encode;
use typeloom_solver::diagnostic::{Code, Diagnostic, SourceLine, diagnose};
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_solver::model::{self, Mode, Options};
use typeloom_solver::universe::Universe;

use crate::error::BuildError;
use crate::error::invalid_program::InvalidProgram;
use crate::program_operators::Operators;
use crate::unit::Unit;

/// The result of solving a program.
pub(crate) struct Solution {
    pub(crate) types: Types,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) interface: Interface,
}

impl Solution {
    pub(crate) fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Solves a program.
pub(crate) fn solve(
    program: &Program,
    facts: &Facts,
    bindings: &Bindings,
    mode: Mode,
) -> Result<Solution, BuildError> {
    let universe = Universe::try_standard().map_err(|error| InvalidProgram::from(error.clone()))?;
    let bytes = encode(program, facts);
    let operators = Operators::of(program, facts, bindings, universe)?;
    let options = Options { mode, ..Options::default() };
    let mut checked = model::check(&bytes, &operators, universe, &options).map_err(InvalidProgram::from)?;
    let diagnostics = if checked.is_ok() { Vec::new() } else { diagnose(&mut checked) };
    let interface = Interface::of_checked(&mut checked);
    let types = Types::of(program, &ValueTypes::of_program(&mut checked));
    Ok(Solution { types, diagnostics, interface })
}

/// Converts diagnostics to the error of a compilation and adds source locations.
pub(crate) fn failed(unit: &Unit, mut diagnostics: Vec<Diagnostic>) -> BuildError {
    diagnostics.retain(Diagnostic::is_error);
    for diagnostic in &mut diagnostics {
        let value = diagnostic.location.value.as_ref().map(|value| value.name.clone());
        if let (None, Some(name)) = (&diagnostic.source, &value) {
            let location = unit.locations.get(name);
            diagnostic.source = location.and_then(|location| SourceLine::at(&location.to_string()));
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
