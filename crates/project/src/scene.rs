//! The scene of a file, for pages and pictures: its graph with the findings as marks.

use typeloom::check::Diagnostic;
use typeloom::targets::{Assignment, Outcome, PlacedNode, Placement, Target};
use typeloom_report::human::{self, Color};
use typeloom_report::list::unreported;
use typeloom_view::scene::{self, MarkId, Scene};

use crate::check::Examined;
use crate::file::File;
use crate::findings::{Findings, Verdict};
use crate::plan::Plan;

impl Plan {
    /// The plan of a check for a page, which explains types and shows the graphs inside functions.
    #[must_use]
    pub fn for_pages(&self) -> Self {
        let mut plan = self.clone();
        plan.options.functions = true;
        plan.options.trace = true;
        plan
    }
}

impl Examined<'_> {
    /// The scene, with each finding as a mark and as the text that the command prints, errors before warnings;
    /// `None` for a file that is not a model.
    pub fn scene(&mut self, file: &File) -> Option<Scene> {
        let targets = self.findings.targets().map(|target| target.map(Target::name));
        let mut found: Vec<(Option<&str>, Diagnostic)> =
            targets.zip(self.findings.diagnostics().cloned()).collect();
        // The last entry of a list that was cut is the number of the others.
        let listed = found.len() - self.findings.cut.len();
        found[..listed].sort_by_key(|(_, it)| !it.is_error());
        let (targets, diagnostics): (Vec<Option<&str>>, Vec<Diagnostic>) = found.into_iter().unzip();
        let mut scene = scene::scene(self.checked.as_mut()?.solved(), &diagnostics);
        scene.about.title.clone_from(&file.name);
        scene.about.sizes.file = file.size();
        let Findings { known, excepted, .. } = &self.findings;
        scene.about.unreported = unreported(*known, &excepted.codes).join(", ");
        scene.set_reports(diagnostics.iter().map(|it| human::diagnostic(&file.name, it, Color::Never)));
        for verdict in &self.findings.verdicts {
            let of_target =
                targets.iter().enumerate().filter(|(_, name)| **name == Some(verdict.target.name()));
            add_target(&mut scene, verdict, of_target.map(|(at, _)| MarkId::new(at)).collect());
        }
        Some(scene)
    }
}

/// Adds the verdict of a target with its diagnostics.
fn add_target(scene: &mut Scene, verdict: &Verdict, marks: Vec<MarkId>) {
    let Verdict { target, outcome, reasons: _, placement } = verdict;
    let outcome = match outcome {
        Outcome::Runs => scene::Verdict::Runs,
        Outcome::RunsWithFallback => scene::Verdict::RunsWithFallback,
        Outcome::Rejected => scene::Verdict::Rejected,
        Outcome::Undecided => scene::Verdict::Undecided,
    };
    let is_measured = placement.is_some();
    let Placement { nodes, partitions: _, crossing, conditions, fixed } =
        placement.clone().unwrap_or_default();
    let placed = nodes.into_iter().map(|PlacedNode { position, place, partition }| {
        let place = match place {
            Assignment::Device => scene::Assignment::Device,
            Assignment::Cpu => scene::Assignment::Cpu,
            Assignment::Nowhere => scene::Assignment::Nowhere,
            Assignment::Unknown => scene::Assignment::Unknown,
        };
        (position, place, partition.and_then(|number| u32::try_from(number).ok()))
    });
    let name = target.name().to_owned();
    let target = scene::Target {
        name,
        verdict: outcome,
        is_measured,
        places: Vec::new(),
        crossing,
        conditions,
        fixed,
        marks,
    };
    scene.add_target(target, placed);
}
