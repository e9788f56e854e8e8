//! Baseline files: reads them, compares the problems of each model with them, and writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use typeloom_settings::baseline::{Baseline, Comparison};
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::diagnostic::text::count;

use crate::input::{Source, read};
use crate::output::note;
use crate::settings::{normal, relative};
use crate::target::Target;

/// The use of baseline files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BaselineMode {
    /// Known problems are removed from the report.
    Compare,
    /// All problems become known ones.
    Update,
}

/// The baselines of a run, by path.
pub(crate) struct Baselines {
    mode: BaselineMode,
    current: PathBuf,
    open: BTreeMap<PathBuf, Open>,
}

/// A baseline that was read.
struct Open {
    /// The text of the file; `None` if there is no file.
    text: Option<String>,
    baseline: Baseline,
    comparison: Comparison,
    folder: PathBuf,
    gone: BTreeSet<String>,
    new: usize,
}

impl Baselines {
    pub(crate) fn new(mode: BaselineMode) -> Self {
        Self { mode, current: std::env::current_dir().unwrap_or_default(), open: BTreeMap::new() }
    }

    /// Removes the known problems of a model. Returns their number.
    pub(crate) fn apply(
        &mut self,
        path: &Path,
        source: &Source,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> anyhow::Result<usize> {
        if !self.open.contains_key(path) {
            let open = self.read(path)?;
            self.open.insert(path.to_owned(), open);
        }
        let Some(open) = self.open.get_mut(path) else { return Ok(0) };
        let name = match source.path() {
            Some(path) => relative(&normal(&self.current.join(path)), &open.folder),
            None => source.name.clone(),
        };
        match self.mode {
            BaselineMode::Compare => Ok(open.comparison.remove_known(&name, diagnostics)),
            BaselineMode::Update => {
                open.baseline.record(&name, diagnostics);
                let total = diagnostics.len();
                open.comparison.remove_known(&name, diagnostics);
                open.new += diagnostics.len();
                diagnostics.clear();
                Ok(total)
            }
        }
    }

    fn read(&self, path: &Path) -> anyhow::Result<Open> {
        let name = path.display();
        let text = match read(path) {
            Ok(bytes) => {
                Some(String::from_utf8(bytes).with_context(|| format!("cannot read the baseline `{name}`"))?)
            }
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound && self.mode == BaselineMode::Update =>
            {
                None
            }
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("cannot read the baseline `{name}`; --update-baseline writes a new one")
                });
            }
        };
        let baseline = text.as_deref().map(Baseline::parse).transpose();
        let baseline = baseline.with_context(|| format!("`{name}`"))?.unwrap_or_default();
        let folder = normal(&self.current.join(path)).parent().map(Path::to_owned).unwrap_or_default();
        let is_gone = |file: &&str| !(file.starts_with('<') || folder.join(file).exists());
        let gone: BTreeSet<String> = baseline.files().filter(is_gone).map(str::to_owned).collect();
        let comparison = baseline.comparison(&gone);
        Ok(Open { text, comparison, baseline, folder, gone, new: 0 })
    }

    /// The number of known problems that no longer occur; `None` if there is no baseline.
    pub(crate) fn fixed(&self) -> Option<usize> {
        (!self.open.is_empty()).then(|| self.open.values().map(|open| open.comparison.fixed()).sum())
    }

    /// Writes the baselines that change.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        if self.mode == BaselineMode::Compare {
            return Ok(());
        }
        for (path, mut open) in self.open {
            for file in &open.gone {
                open.baseline.remove(file);
            }
            let text = open.baseline.to_text();
            if open.text.as_ref() != Some(&text) {
                Target::replacing(&path.display().to_string()).write(text.as_bytes())?;
            }
            let total = count(open.baseline.len(), "problem");
            note(&format!(
                "{}: {total}, {} new, {} fixed",
                path.display(),
                open.new,
                open.comparison.fixed()
            ));
        }
        Ok(())
    }
}
