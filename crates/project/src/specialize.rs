//! Models for given sizes.

use typeloom::check::Diagnostic;
use typeloom_report as report;
use typeloom_rewrite::coerce::{Repair, RepairError};
use typeloom_rewrite::mend::AppliedFix;
use typeloom_rewrite::specialize::{Evaluate, SpecializeError, Specialized, specialize};
use typeloom_solver::universe::Universe;

use crate::check::{SideFiles, problem};
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;

impl Plan {
    /// A model for the sizes that the options [assume](typeloom_solver::model::Options::assume), or the
    /// problems of a model that has errors for these sizes.
    ///
    /// # Errors
    /// If an assumption is wrong for the model, or the result cannot be written.
    pub fn specialize(&self, file: &File) -> Result<Result<Specialized, Vec<Diagnostic>>, Error> {
        if let Some(problem) = file.problem() {
            return Ok(Err(vec![problem.clone()]));
        }
        let options = self.options_of(self.small_tensors(file).as_ref());
        match specialize(file.model(), &*self.operators, Universe::standard(), &options, EVALUATE) {
            Ok(specialized) => Ok(Ok(specialized)),
            Err(SpecializeError::Errors) => match self.well_typed(file, SideFiles::Unchecked)? {
                Ok(_) => Ok(Err(Vec::new())),
                Err(problems) => Ok(Err(problems)),
            },
            Err(SpecializeError::Check(error)) => Ok(Err(vec![problem(file, error)?])),
            Err(error) => Err(Error::Change { name: file.name.clone(), source: Box::new(error) }),
        }
    }
    /// Fixes the symbols of a model after a repair that leaves no errors.
    pub(crate) fn specialize_repaired(&self, file: &File, repair: &mut Repair) -> Result<(), RepairError> {
        if !repair.is_ok || self.options.assume.is_empty() {
            return Ok(());
        }
        let mut options = self.options_of(self.small_tensors(file).as_ref());
        if repair.file.is_some() {
            // A repaired file contains the assumptions instead of the symbols.
            options.assume.clear();
        }
        let bytes = repair.file.as_deref().unwrap_or(file.model());
        match specialize(bytes, &*self.operators, Universe::standard(), &options, EVALUATE) {
            Ok(specialized) => {
                let changes = report::specialize::changes(&specialized);
                let fixes = changes.into_iter().map(|change| AppliedFix { graph: String::new(), change });
                repair.fixed.extend(fixes);
                repair.file = Some(specialized.file);
                Ok(())
            }
            Err(SpecializeError::Check(error)) => Err(RepairError::Check(error)),
            Err(SpecializeError::Write(error)) => Err(RepairError::Write(error)),
            // The repair without this step is a valid one.
            Err(SpecializeError::Errors | SpecializeError::Unsound(_)) => Ok(()),
        }
    }
}

/// Runs nodes on constants.
#[cfg(feature = "run")]
const EVALUATE: Option<&Evaluate<'static>> = Some(&crate::run::constants::evaluate);
/// Runs nodes on constants; not in this build.
#[cfg(not(feature = "run"))]
const EVALUATE: Option<&Evaluate<'static>> = None;
