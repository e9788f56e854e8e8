//! The findings of a command: problems of a model, or differences between two interfaces.
//!
//! The formats for lists of findings use this common view of both.

use typeloom_onnx::text::escape;
use typeloom_settings::fingerprint::Fingerprint;
use typeloom_solver::diagnostic::{Code, Diagnostic, Location, Severity};

/// The page of the kinds of differences.
const CHANGE_PAGE: &str = "https://docs.rs/typeloom/latest/typeloom/interface/enum.InterfaceChange.html";

/// A problem or a difference.
#[derive(Clone, Copy, Debug)]
pub enum Finding<'f> {
    /// A problem of a model.
    Problem(&'f Diagnostic),
    /// A difference between two files.
    Difference(&'f Difference),
}

/// A difference between two versions of an interface, a type, or a set of files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The function or type that differs; empty if there is only one.
    pub export: String,
    /// The part of it that differs; may be empty.
    pub path: String,
    /// The kind of difference, such as `extent-changed`.
    pub code: &'static str,
    /// The change in one sentence, without the path.
    pub message: String,
    /// Whether the new version cannot replace the old one for its callers.
    pub breaks_backward: bool,
    /// Whether the old version cannot replace the new one.
    pub breaks_forward: bool,
    /// Whether it breaks the direction that was compared.
    pub breaking: bool,
}

/// The kind of a finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rule {
    /// The stable name.
    pub name: &'static str,
    /// The kind of problem in general.
    pub summary: &'static str,
    /// A page in Markdown.
    pub page: Option<&'static str>,
    /// The address of the documentation.
    pub uri: String,
    /// The severity unless settings change it.
    pub severity: Severity,
}

impl Rule {
    fn of_code(code: Code) -> Self {
        Self {
            name: code.name(),
            summary: code.summary(),
            page: Some(code.page()),
            uri: code.uri(),
            severity: code.severity(),
        }
    }

    fn of_change(name: &'static str) -> Self {
        let summary = "two versions of an interface differ";
        Self { name, summary, page: None, uri: CHANGE_PAGE.to_owned(), severity: Severity::Error }
    }
}

/// A name such as `dim-mismatch` as `DimMismatch`.
pub(crate) fn pascal(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    name.split('-').map(capitalized).collect()
}

impl<'f> Finding<'f> {
    /// The kind.
    #[must_use]
    pub fn rule(self) -> Rule {
        match self {
            Self::Problem(diagnostic) => Rule::of_code(diagnostic.code),
            Self::Difference(difference) => Rule::of_change(difference.code),
        }
    }

    /// The name of the kind.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Problem(diagnostic) => diagnostic.code.name(),
            Self::Difference(difference) => difference.code,
        }
    }

    /// The severity. A difference is an error if it breaks the compared direction.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::Problem(diagnostic) => diagnostic.severity,
            Self::Difference(difference) if difference.breaking => Severity::Error,
            Self::Difference(_) => Severity::Warning,
        }
    }

    /// The location in the file: the name of a node or value; `model` for the file as a whole.
    #[must_use]
    pub fn at(self) -> String {
        match self {
            Self::Problem(diagnostic) => at(&diagnostic.location),
            Self::Difference(Difference { export, path, .. }) => match (export.as_str(), path.as_str()) {
                ("", "") => "model".to_owned(),
                (export, "") => export.to_owned(),
                ("", path) => path.to_owned(),
                (export, path) => format!("{export}: {path}"),
            },
        }
    }

    /// The problem in one sentence.
    #[must_use]
    pub fn message(self) -> &'f str {
        match self {
            Self::Problem(diagnostic) => &diagnostic.message,
            Self::Difference(difference) => &difference.message,
        }
    }

    /// Lines that explain the message.
    #[must_use]
    pub fn details(self) -> Vec<String> {
        let Self::Problem(diagnostic) = self else { return Vec::new() };
        let mut lines = Vec::new();
        let location = diagnostic.location.to_string();
        if !location.is_empty() {
            lines.push(format!("at {location}"));
        }
        for snippet in &diagnostic.snippets {
            lines.push(format!("  {}", snippet.text));
            lines.extend(snippet.labelled().map(|(part, label)| format!("    {part}: {label}")));
        }
        lines.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
        lines.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
        lines.extend(diagnostic.source.iter().map(|source| format!("from {source}")));
        lines
    }

    /// The fingerprint, which does not depend on positions.
    #[must_use]
    pub fn fingerprint(self) -> Fingerprint {
        match self {
            Self::Problem(diagnostic) => Fingerprint::new(diagnostic.code, &diagnostic.location),
            Self::Difference(it) => Fingerprint::of_parts([it.code, &it.export, &it.path]),
        }
    }
}

/// A location as a short text: the name of the node or value, and the graph and function that contain it.
pub(crate) fn at(location: &Location) -> String {
    let Location { function, graph, node, value, offset, subjects: _ } = location;
    let mut text = match (node, value) {
        (Some(node), _) if node.name.is_empty() => format!("#{} {}", node.index, node.operator),
        (Some(node), _) => node.name.clone(),
        (None, Some(value)) => value.name.clone(),
        (None, None) => String::new(),
    };
    let others = [
        offset.map(|offset| format!("byte {offset}")),
        Some(graph).filter(|graph| !graph.is_empty()).map(|graph| format!("in {graph}")),
        function.as_ref().map(|function| format!("in function {function}")),
    ];
    for other in others.into_iter().flatten() {
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str(&other);
    }
    if text.is_empty() { "model".to_owned() } else { text }
}

/// Differences for people, one line each.
#[must_use]
pub fn differences(differences: &[Difference]) -> String {
    let line = |it: &Difference| {
        format!("{}\n", escape(&format!("{}: {}", Finding::Difference(it).at(), it.message)))
    };
    differences.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use typeloom_solver::diagnostic::Code;

    use super::Rule;

    #[test]
    fn the_address_of_each_code_is_a_file_of_the_package_with_its_page() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../solver");
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"typeloom-solver\"") && Code::PAGES.contains("/typeloom-solver/"));
        // Without these keys a package contains all files.
        assert!(manifest.lines().all(|line| !line.starts_with("include") && !line.starts_with("exclude")));
        let (_, folder) = Code::PAGES.split_once("/source/").unwrap();
        for code in Code::ALL {
            let rule = Rule::of_code(*code);
            let file = rule.uri.strip_prefix(Code::PAGES).and_then(|rest| rest.strip_prefix('/')).unwrap();
            let text = std::fs::read_to_string(package.join(folder).join(file)).unwrap();
            assert_eq!(Some(text.as_str()), rule.page, "{}", code.name());
        }
    }
}
