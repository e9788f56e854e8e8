//! The scene of a file, for pages and pictures: its graph with the findings as marks.

use typeloom_report::human::{self, Color};
use typeloom_view::scene::{self, Scene};

use crate::check::Examined;
use crate::file::File;
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
    /// The scene, with each finding as a mark and as the text that the command prints; `None` for a file that
    /// is not a model.
    pub fn scene(&mut self, file: &File) -> Option<Scene> {
        let diagnostics = self.findings.to_vec();
        let mut scene = scene::scene(self.checked.as_mut()?.solved(), &diagnostics);
        scene.about.title.clone_from(&file.name);
        scene.set_reports(diagnostics.iter().map(|it| human::diagnostic(&file.name, it, Color::Never)));
        Some(scene)
    }
}
