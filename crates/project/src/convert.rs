//! Conversions of a model to another floating-point precision.

#[cfg(feature = "run")]
pub mod measure;
#[cfg(feature = "run")]
mod shown;

use std::collections::BTreeSet;

use typeloom_io::files::SideFiles;
use typeloom_rewrite::convert::{ConvertError, Converted, Request, convert};
use typeloom_solver::diagnostic::TargetSite;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::GraphId;
use typeloom_solver::universe::Universe;
use typeloom_targets::Target;

use crate::file::File;
use crate::plan::Plan;

/// The parameters of [`Plan::convert`].
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The new element type.
    pub to: Elem,
    /// Whether inputs and outputs keep their types.
    pub keep_io: bool,
    /// Operators, names and globs that keep their types.
    pub keep: Vec<String>,
}

impl Conversion {
    /// A conversion into the type of this name.
    ///
    /// # Errors
    /// If there is no conversion into it.
    pub fn to(name: &str) -> Result<Self, ConvertError> {
        let to = Elem::from_onnx_name(name).filter(|elem| typeloom_rewrite::convert::TYPES.contains(elem));
        let to = to.ok_or_else(|| ConvertError::NoConversion(name.to_owned()))?;
        Ok(Self { to, keep_io: false, keep: Vec::new() })
    }
}

impl Plan {
    /// Converts a model without errors. Nodes whose converted form a target of the plan rejects keep their
    /// types.
    ///
    /// # Errors
    /// [`ConvertError`]
    pub fn convert(&self, file: &File, conversion: &Conversion) -> Result<Converted, ConvertError> {
        let options = self.options_of(self.small_tensors(file).as_ref());
        let side = SideFiles::new(file.folder().filter(|_| self.uses_side_files()));
        let read = |tensor: &_| side.read(tensor);
        let Conversion { to, keep_io, keep } = conversion;
        let request = Request { to: Some(*to), keep_io: *keep_io, keep, side: Some(&read) };
        let targets: Vec<&'static Target> = self.targets.iter().map(|target| (*target).into()).collect();
        let mut judge = |checked: &mut Checked<'_>| rejected(&targets, checked);
        let (operators, universe) = (&*self.operators, Universe::standard());
        let judge: Option<&mut typeloom_rewrite::convert::Judge<'_>> =
            if targets.is_empty() { None } else { Some(&mut judge) };
        convert(file.model(), operators, universe, &options, &request, judge)
    }
}

/// The nodes of the main graph, and of graphs nested in it, that a target rejects.
fn rejected(targets: &[&'static Target], checked: &mut Checked<'_>) -> BTreeSet<(GraphId, usize)> {
    let mut nodes = BTreeSet::new();
    for target in targets {
        for (site, issue) in target.check(checked).issues {
            if let TargetSite::Node(body, step) = &site
                && body.is_main()
                && issue.is_rejection()
            {
                let step = body.body.step(*step);
                nodes.insert((step.graph, step.position as usize));
            }
        }
    }
    nodes
}
