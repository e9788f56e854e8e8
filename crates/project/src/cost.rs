//! The cost of a file: the step that faces share.

use typeloom::check::{Checked, Diagnostic};
use typeloom_cost::executor::Executor;
use typeloom_cost::fit::{FitError, fit};
use typeloom_cost::{Cost, cost};
use typeloom_report::cost::Solved;

use crate::check::SideFiles;
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;

/// A file with its cost.
pub struct Costed<'a> {
    /// The types, with the table of the dims in the cost.
    pub checked: Checked<'a>,
    /// The cost.
    pub cost: Cost<'a>,
}

impl Plan {
    /// The plan of a check for costs, which keeps the types inside functions.
    #[must_use]
    pub fn for_costs(&self) -> Self {
        let mut plan = self.clone();
        plan.options.functions = true;
        plan
    }

    /// The cost of a file, or the problems of a file with errors. The plan is one [for
    /// costs](Plan::for_costs).
    ///
    /// # Errors
    /// If an option is wrong for the model.
    pub fn cost<'a>(&'a self, file: &'a File) -> Result<Result<Costed<'a>, Vec<Diagnostic>>, Error> {
        Ok(self.well_typed(file, SideFiles::Unchecked)?.map(|mut checked| {
            let cost = cost(checked.solved());
            Costed { checked, cost }
        }))
    }
}

impl Costed<'_> {
    /// The largest value of a symbol for which both executors need at most this many bytes.
    ///
    /// # Errors
    /// If the memory is no function of this symbol alone.
    pub fn solve(&mut self, symbol: &str, memory: u64) -> Result<Solved, FitError> {
        let checked = &*self.checked.solved();
        let most = |executor| fit(checked, &self.cost, executor, symbol, memory);
        let (plain, embedded) = (most(Executor::Plain)?, most(Executor::Embedded)?);
        Ok(Solved { symbol: symbol.to_owned(), memory, plain, embedded })
    }
}
