//! Repairs, followed by the exact changes that the targets and assumptions of a plan require.

use std::collections::BTreeSet;

use typeloom::check::{Checked as Checks, Diagnostic};
use typeloom_rewrite::coerce::{Preferences, Repair, RepairError};
use typeloom_rewrite::retarget::{Retargeted, Standing, retarget};
use typeloom_solver::diagnostic::{Code, TargetIssue, TargetSite};
use typeloom_solver::model::Checked;
use typeloom_solver::universe::Universe;
use typeloom_targets::Target;

use crate::check::SideFiles;
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;

impl Plan {
    /// Repairs a model, makes the changes that the targets require, and [fixes](Plan::specialize) the symbols
    /// with assumptions.
    ///
    /// # Errors
    /// If the model cannot be checked or written. [`Repair::is_ok`] states whether errors remain.
    pub fn fix(&self, file: &File, preferences: Preferences) -> Result<Repair, RepairError> {
        let mut repair = self.repair(file, preferences)?;
        self.retarget(file, &mut repair)?;
        self.specialize_repaired(file, &mut repair)?;
        Ok(repair)
    }

    /// Adds the [exact changes](typeloom_rewrite::retarget) that the targets require to a repair after which
    /// no errors remain.
    ///
    /// # Errors
    /// If the model cannot be checked or written.
    pub fn retarget(&self, file: &File, repair: &mut Repair) -> Result<(), RepairError> {
        if !repair.is_ok || self.targets.is_empty() {
            return Ok(());
        }
        let mut options = self.options_of(self.small_tensors(file).as_ref());
        if repair.file.is_some() {
            // A repaired file contains the assumptions instead of the symbols.
            options.assume.clear();
        }
        let targets: Vec<&'static Target> = self.targets.iter().map(|target| (*target).into()).collect();
        let mut judge = |checked: &mut Checked<'_>| standing(&targets, checked);
        let bytes = repair.file.as_deref().unwrap_or(file.model());
        let Retargeted { file, fixed, hunks } =
            retarget(bytes, &*self.operators, Universe::standard(), &options, &mut judge)?;
        let names: Vec<&str> = targets.iter().map(|target| target.name()).collect();
        let why = format!(" (for {})", names.join(", "));
        repair.fixed.extend(fixed.into_iter().map(|mut fix| {
            fix.change.push_str(&why);
            fix
        }));
        repair.hunks.extend(hunks);
        repair.file = file.or(repair.file.take());
        Ok(())
    }

    /// The issues that the targets have with a model after a repair.
    ///
    /// # Errors
    /// If an option is wrong for the model.
    pub fn target_issues(&self, file: &File, repair: &Repair) -> Result<Vec<Diagnostic>, Error> {
        let mut found = Vec::new();
        if self.targets.is_empty() {
            return Ok(found);
        }
        let mut plan = self.clone();
        if repair.file.is_some() {
            plan.options.assume.clear();
        }
        let Ok(mut checked) = plan.solve(file, SideFiles::Unchecked)? else { return Ok(found) };
        for target in &self.targets {
            let checked: &mut Checks<'_> = &mut checked;
            let verdict =
                target.check(checked).map_err(|source| Error::Check { name: file.name.clone(), source })?;
            found.extend(verdict.diagnostics);
        }
        Ok(found)
    }
}

/// The issues of targets with a model that was solved with its functions.
fn standing(targets: &[&'static Target], checked: &mut Checked<'_>) -> Standing {
    let mut standing = Standing::default();
    let mut nodes = BTreeSet::new();
    for target in targets {
        let mut counts = [0; 3];
        for (site, issue) in target.check(checked).issues {
            match issue.code() {
                _ if issue.is_rejection() => counts[0] += 1,
                Code::TargetUndecided => counts[1] += 1,
                Code::TargetFallback => counts[2] += 1,
                _ => {}
            }
            if let TargetSite::Node(body, step) = &site
                && body.is_main()
            {
                let step = body.body.step(*step);
                nodes.insert((step.graph, step.position as usize));
            }
            if let TargetIssue::IrVersion { newest, .. } = issue {
                standing.newest_ir = Some(standing.newest_ir.map_or(newest, |known| known.min(newest)));
            }
        }
        standing.counts.push(counts);
    }
    standing.nodes = nodes;
    standing
}
