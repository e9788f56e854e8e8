//! Baselines: the known problems of a set of models, which are not reported again.
//!
//! ```json
//! {
//!   "format": "typeloom-baseline",
//!   "version": 1,
//!   "problems": [
//!     {"file":"models/a.onnx","code":"dim-mismatch","node":"/Add_3","fingerprint":"0f..","count":1}
//!   ]
//! }
//! ```
//!
//! An entry belongs to a file, because the models of one exporter have nodes with the same names. An entry
//! whose file no longer exists is matched by any file: so a renamed model keeps its entries. `code` and
//! `node` are for people. A diagnostic of several nodes is known if each of them is.
//!
//! **Invariant:** the text of a baseline depends on its set of entries only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use typeloom_solver::diagnostic::{Diagnostic, Location};

use crate::fingerprint::Fingerprint;

/// The value of `format` in a file.
const FORMAT: &str = "typeloom-baseline";

/// The version of the format.
const VERSION: u64 = 1;

/// An error of a baseline file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BaselineError {
    /// The text is not JSON.
    #[error("not a baseline: {0}")]
    Json(String),
    /// The text is another JSON document.
    #[error("not a baseline: `format` is not \"{FORMAT}\"")]
    Format,
    /// The version is unknown.
    #[error("the version of the baseline is {found}, but this version of typeloom reads version {VERSION}")]
    Version {
        /// The version of the file, as text.
        found: String,
    },
    /// An entry is malformed.
    #[error("entry {position} of the baseline has no valid `{key}`")]
    Entry {
        /// The position, from 1.
        position: usize,
        /// The key.
        key: &'static str,
    },
}

/// Equal problems of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    code: String,
    node: String,
    count: usize,
}

/// The known problems, by file and fingerprint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Baseline {
    files: BTreeMap<String, BTreeMap<Fingerprint, Entry>>,
}

impl Baseline {
    /// Parses the text of a baseline.
    ///
    /// # Errors
    /// If the text is not a baseline of a known version.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let root: Value =
            serde_json::from_str(text).map_err(|error| BaselineError::Json(error.to_string()))?;
        if root["format"] != FORMAT {
            return Err(BaselineError::Format);
        }
        if root["version"] != VERSION {
            return Err(BaselineError::Version { found: root["version"].to_string() });
        }
        let mut baseline = Self::default();
        let problems = root["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (at, entry) in problems.iter().enumerate() {
            let wrong = |key| BaselineError::Entry { position: at + 1, key };
            let text = |key: &'static str| entry[key].as_str().ok_or(wrong(key)).map(str::to_owned);
            let fingerprint = Fingerprint::parse(&text("fingerprint")?).ok_or(wrong("fingerprint"))?;
            let count = entry["count"].as_u64().and_then(|count| usize::try_from(count).ok());
            let count = count.filter(|count| *count > 0).ok_or(wrong("count"))?;
            let (file, code, node) = (text("file")?, text("code")?, text("node")?);
            baseline.add(file, fingerprint, Entry { code, node, count });
        }
        Ok(baseline)
    }

    /// The text of the baseline.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut sorted = BTreeMap::new();
        for (file, entries) in &self.files {
            for (fingerprint, Entry { code, node, count }) in entries {
                sorted.insert((file, code, node, *fingerprint), *count);
            }
        }
        let mut text =
            format!("{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n  \"problems\": [");
        for (at, ((file, code, node, fingerprint), count)) in sorted.into_iter().enumerate() {
            let entry = json!({
                "file": file,
                "code": code,
                "node": node,
                "fingerprint": fingerprint.to_string(),
                "count": count,
            });
            text.push_str(if at == 0 { "\n    " } else { ",\n    " });
            text.push_str(&entry.to_string());
        }
        text.push_str(if self.files.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" });
        text
    }

    /// Replaces the entries of a file by its diagnostics.
    pub fn record(&mut self, file: &str, diagnostics: &[Diagnostic]) {
        self.files.remove(file);
        for diagnostic in diagnostics {
            let locations = std::iter::once(&diagnostic.location).chain(&diagnostic.also);
            for location in locations {
                let code = diagnostic.code.name().to_owned();
                let entry = Entry { code, node: node(location), count: 1 };
                self.add(file.to_owned(), Fingerprint::new(diagnostic.code, location), entry);
            }
        }
    }

    fn add(&mut self, file: String, fingerprint: Fingerprint, entry: Entry) {
        let count = entry.count;
        let known =
            self.files.entry(file).or_default().entry(fingerprint).or_insert(Entry { count: 0, ..entry });
        known.count = known.count.saturating_add(count);
    }

    /// Removes the entries of a file.
    pub fn remove(&mut self, file: &str) {
        self.files.remove(file);
    }

    /// The files with entries.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The number of problems.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.values().flat_map(BTreeMap::values).map(|entry| entry.count).sum()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Prepares the comparison with the problems of files. `gone` are the files of the baseline that no
    /// longer exist.
    #[must_use]
    pub fn comparison(&self, gone: &BTreeSet<String>) -> Comparison {
        let mut comparison = Comparison::default();
        for (file, entries) in &self.files {
            let known = if gone.contains(file) {
                &mut comparison.unowned
            } else {
                comparison.owned.entry(file.clone()).or_default()
            };
            for (fingerprint, entry) in entries {
                *known.entry(*fingerprint).or_insert(0) += entry.count;
            }
        }
        comparison
    }
}

/// The name of a node for people; empty for a problem of the model.
fn node(location: &Location) -> String {
    match (&location.node, &location.value) {
        (Some(node), _) if node.name.is_empty() => match &node.output {
            Some(output) => format!("{} -> {output}", node.operator),
            None => node.operator.clone(),
        },
        (Some(node), _) => node.name.clone(),
        (None, Some(value)) => value.name.clone(),
        (None, None) => String::new(),
    }
}

/// Numbers of problems that were not found yet.
type Counts = BTreeMap<Fingerprint, usize>;

/// The entries of a baseline that were not found yet.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    owned: BTreeMap<String, Counts>,
    /// The entries of files that no longer exist.
    unowned: Counts,
    /// The number of entries that were not found in files that were compared.
    fixed: usize,
}

impl Comparison {
    /// Removes the known diagnostics of a file from the lists that contain all of them. Returns their number.
    pub fn remove_known<'d>(
        &mut self,
        file: &str,
        lists: impl IntoIterator<Item = &'d mut Vec<Diagnostic>>,
    ) -> usize {
        let mut own = self.owned.remove(file).unwrap_or_default();
        let mut known = 0;
        for list in lists {
            let before = list.len();
            list.retain(|diagnostic| !take(&mut own, &mut self.unowned, &Fingerprint::all(diagnostic)));
            known += before - list.len();
        }
        self.fixed += own.values().sum::<usize>();
        known
    }

    /// The number of entries that no longer occur: those of compared files and those of files that no longer
    /// exist.
    #[must_use]
    pub fn fixed(&self) -> usize {
        self.fixed + self.unowned.values().sum::<usize>()
    }
}

/// Takes all of the fingerprints out of the counts, or none of them.
fn take(own: &mut Counts, unowned: &mut Counts, fingerprints: &[Fingerprint]) -> bool {
    let mut taken: Vec<(Fingerprint, bool)> = Vec::with_capacity(fingerprints.len());
    for fingerprint in fingerprints {
        let is_own = decrement(own, *fingerprint);
        if is_own || decrement(unowned, *fingerprint) {
            taken.push((*fingerprint, is_own));
            continue;
        }
        for (fingerprint, is_own) in taken {
            let counts = if is_own { &mut *own } else { &mut *unowned };
            *counts.entry(fingerprint).or_insert(0) += 1;
        }
        return false;
    }
    true
}

fn decrement(counts: &mut Counts, fingerprint: Fingerprint) -> bool {
    match counts.get_mut(&fingerprint) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests;
