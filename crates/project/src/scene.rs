//! The scene of a file, for pages and pictures: its graph with the findings as marks.

use typeloom_report::human::{self, Color};
use typeloom_report::list::unreported;
use typeloom_view::scene::{self, Scene};

use crate::check::Examined;
use crate::file::File;
use crate::findings::Findings;
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
        let mut diagnostics = self.findings.to_vec();
        // The last entry of a list that was cut is the number of the others.
        let listed = diagnostics.len() - self.findings.cut.len();
        diagnostics[..listed].sort_by_key(|it| !it.is_error());
        let mut scene = scene::scene(self.checked.as_mut()?.solved(), &diagnostics);
        scene.about.title.clone_from(&file.name);
        scene.about.sizes.file = file.size();
        let Findings { known, excepted, .. } = &self.findings;
        scene.about.unreported = unreported(*known, &excepted.codes).join(", ");
        scene.set_reports(diagnostics.iter().map(|it| human::diagnostic(&file.name, it, Color::Never)));
        Some(scene)
    }
}
