//! Baselines: files with the known problems of several models.
//!
//! A baseline is the last step of a check. It is applied to the files in their order, because a problem of a
//! file that was renamed is looked for among those of files that no longer exist, and each entry counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use typeloom_settings::baseline::{Baseline, Comparison};

use crate::error::Error;
use crate::file::Source;
use crate::findings::Findings;
use crate::settings::{ReadFile, normal, relative, text_of};

/// The use of baselines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaselineMode {
    /// Known problems are removed from the findings.
    Compare,
    /// All problems become known ones.
    Update,
}

/// The baselines of a run, by path.
pub struct Baselines {
    mode: BaselineMode,
    current: PathBuf,
    open: BTreeMap<PathBuf, Open>,
    read: ReadFile,
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

/// A baseline after a run that updates it.
pub struct Updated {
    /// The file.
    pub path: PathBuf,
    /// The new text; `None` if it is that of the file.
    pub text: Option<String>,
    /// The number of problems in it.
    pub total: usize,
    /// The number of problems that were not in the old one.
    pub new: usize,
    /// The number of problems of the old one that no longer occur.
    pub fixed: usize,
}

impl Baselines {
    /// No baseline is open. Paths are relative to the folder `current`.
    #[must_use]
    pub fn new(mode: BaselineMode, current: PathBuf, read: ReadFile) -> Self {
        Self { mode, current, open: BTreeMap::new(), read }
    }

    /// Removes the known problems of a model from its findings.
    ///
    /// # Errors
    /// If the baseline cannot be read.
    pub fn apply(&mut self, baseline: &Path, model: &Source, findings: &mut Findings) -> Result<(), Error> {
        if !self.open.contains_key(baseline) {
            let open = self.read(baseline)?;
            self.open.insert(baseline.to_owned(), open);
        }
        let Some(open) = self.open.get_mut(baseline) else { return Ok(()) };
        let name = match model.path() {
            Some(path) => relative(&normal(&self.current.join(path)), &open.folder),
            None => model.name.clone(),
        };
        if self.mode == BaselineMode::Update {
            open.baseline.record(&name, &findings.to_vec());
        }
        findings.known = open.comparison.remove_known(&name, findings.all_lists_mut());
        if self.mode == BaselineMode::Update {
            let new: usize = findings.all_lists_mut().map(|list| std::mem::take(list).len()).sum();
            open.new += new;
            findings.known += new;
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Open, Error> {
        let text = match text_of(path, self.read) {
            Ok(text) => Some(text),
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound && self.mode == BaselineMode::Update =>
            {
                None
            }
            Err(source) => return Err(Error::ReadBaseline { path: path.to_owned(), source }),
        };
        let baseline = text.as_deref().map(Baseline::parse).transpose();
        let baseline =
            baseline.map_err(|source| Error::Baseline { path: path.to_owned(), source })?.unwrap_or_default();
        let folder = normal(&self.current.join(path)).parent().map(Path::to_owned).unwrap_or_default();
        let is_gone = |file: &&str| !(file.starts_with('<') || folder.join(file).exists());
        let gone: BTreeSet<String> = baseline.files().filter(is_gone).map(str::to_owned).collect();
        let comparison = baseline.comparison(&gone);
        Ok(Open { text, comparison, baseline, folder, gone, new: 0 })
    }

    /// The number of known problems that no longer occur; `None` if there is no baseline.
    #[must_use]
    pub fn fixed(&self) -> Option<usize> {
        (!self.open.is_empty()).then(|| self.open.values().map(|open| open.comparison.fixed()).sum())
    }

    /// The baselines that a run has updated; none in a run that compares.
    #[must_use]
    pub fn updated(self) -> Vec<Updated> {
        if self.mode == BaselineMode::Compare {
            return Vec::new();
        }
        let updated = |(path, mut open): (PathBuf, Open)| {
            for file in &open.gone {
                open.baseline.remove(file);
            }
            let text = Some(open.baseline.to_text()).filter(|text| open.text.as_ref() != Some(text));
            let (total, new, fixed) = (open.baseline.len(), open.new, open.comparison.fixed());
            Updated { path, text, total, new, fixed }
        };
        self.open.into_iter().map(updated).collect()
    }
}
