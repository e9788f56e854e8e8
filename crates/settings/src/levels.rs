//! Severities that a caller chooses: [`Levels`] is a list of rules, of which the last that matches a code
//! decides.
//!
//! A rule selects codes by name, by glob (`*-mismatch`), by group (`types`), all of them (`all`), or the
//! codes that the rules before it leave as warnings (`warnings`). A code without a rule keeps the severity
//! that the solver gives it, which depends on the mode and on the error.

use std::fmt;

use std::sync::Arc;

use crate::glob::{Glob, GlobError, Subject};
use typeloom_solver::diagnostic::text::suggestion;
use typeloom_solver::diagnostic::{Code, Diagnostic, Group, Severity};
use typeloom_types::suggest::nearest;

/// The selector of all codes.
const ALL: &str = "all";

/// The selector of codes that are warnings.
const WARNINGS: &str = "warnings";

/// The effect of a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// The problem is not reported.
    Allow,
    /// The problem is a warning.
    Warn,
    /// The problem is an error.
    Deny,
}

impl Level {
    /// Every level.
    pub const ALL: &[Self] = &[Self::Allow, Self::Warn, Self::Deny];

    /// `allow`, `warn` or `deny`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Deny => "deny",
        }
    }

    /// The level with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|level| level.name() == name)
    }

    /// The severity of reported problems; `None` if they are not reported.
    #[must_use]
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Allow => None,
            Self::Warn => Some(Severity::Warning),
            Self::Deny => Some(Severity::Error),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of codes.
#[derive(Clone, Debug)]
pub enum Selector {
    /// All codes.
    All,
    /// The codes that are warnings without this rule.
    Warnings,
    /// The codes of a group.
    Group(Group),
    /// The codes whose names match a glob, with its text.
    Glob(Arc<str>, Arc<[Code]>),
    /// One code.
    Code(Code),
}

/// A text that selects no code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectorError {
    /// No code or group has the name.
    #[error("there is no diagnostic code or group `{name}`{}", suggestion(.near))]
    Unknown {
        /// The text.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// The glob is malformed.
    #[error("`{glob}` is not a glob: {reason}")]
    Glob {
        /// The text.
        glob: String,
        /// The syntax error.
        reason: GlobError,
    },
    /// The glob matches no code.
    #[error("no diagnostic code matches `{glob}`")]
    Empty {
        /// The text.
        glob: String,
    },
}

impl Selector {
    /// Parses a code, a group, `all`, `warnings`, or a glob.
    ///
    /// # Errors
    /// If the text selects no code.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let text = text.trim();
        if let Some(selector) = Self::named(text) {
            return Ok(selector);
        }
        if Self::is_glob(text) {
            let glob = Glob::parse(text, Subject::Names)
                .map_err(|reason| SelectorError::Glob { glob: text.to_owned(), reason })?;
            let codes: Arc<[Code]> =
                Code::ALL.iter().copied().filter(|code| glob.matches(code.name())).collect();
            return if codes.is_empty() {
                Err(SelectorError::Empty { glob: text.to_owned() })
            } else {
                Ok(Self::Glob(text.into(), codes))
            };
        }
        let groups = Group::ALL.iter().map(|group| group.name());
        let names = Code::ALL.iter().map(|code| code.name()).chain(groups).chain([ALL, WARNINGS]);
        Err(SelectorError::Unknown { name: text.to_owned(), near: nearest(text, names) })
    }

    /// The selector with a name: all but globs.
    pub(crate) fn named(text: &str) -> Option<Self> {
        match text {
            ALL => Some(Self::All),
            WARNINGS => Some(Self::Warnings),
            _ => Group::from_name(text).map(Self::Group).or_else(|| Code::from_name(text).map(Self::Code)),
        }
    }

    /// Whether a text has a character with a meaning in globs.
    pub(crate) fn is_glob(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Whether it selects a code that has this level without the rule.
    fn selects(&self, code: Code, level: Level) -> bool {
        match self {
            Self::All => true,
            Self::Warnings => level == Level::Warn,
            Self::Group(group) => code.group() == *group,
            Self::Glob(_, codes) => codes.contains(&code),
            Self::Code(other) => code == *other,
        }
    }

    /// How narrow it is. In a settings file, in which order has no meaning, a narrower selector precedes a
    /// wider one.
    pub(crate) fn precision(&self) -> (u8, usize) {
        match self {
            Self::All => (0, 0),
            Self::Warnings => (1, 0),
            Self::Group(_) => (2, 0),
            Self::Glob(text, _) => (3, text.len()),
            Self::Code(_) => (4, 0),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => ALL,
            Self::Warnings => WARNINGS,
            Self::Group(group) => group.name(),
            Self::Glob(text, _) => text,
            Self::Code(code) => code.name(),
        })
    }
}

/// One rule: the level of some codes.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The codes.
    pub selector: Selector,
    /// Their level.
    pub level: Level,
}

/// Rules, of which the last that matches decides.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    rules: Vec<Rule>,
}

impl Levels {
    /// Adds a rule, which precedes all rules added before.
    pub fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// The level of a problem to which the solver gives a severity.
    #[must_use]
    pub fn level(&self, code: Code, severity: Severity) -> Level {
        let default = match severity {
            Severity::Error => Level::Deny,
            Severity::Warning => Level::Warn,
        };
        let selected = |level, rule: &Rule| {
            if rule.selector.selects(code, level) { rule.level } else { level }
        };
        self.rules.iter().fold(default, selected)
    }

    /// Sets the severities of diagnostics and removes those that are not reported.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        if self.rules.is_empty() {
            return;
        }
        diagnostics.retain_mut(|diagnostic| {
            let severity = self.level(diagnostic.code, diagnostic.severity).severity();
            diagnostic.severity = severity.unwrap_or(diagnostic.severity);
            severity.is_some()
        });
    }
}

impl FromIterator<Rule> for Levels {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self { rules: rules.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(rules: &[(&str, Level)]) -> Levels {
        let rule = |(text, level): &(&str, Level)| Rule {
            selector: Selector::parse(text).unwrap_or_else(|error| panic!("{error}")),
            level: *level,
        };
        rules.iter().map(rule).collect()
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        let levels =
            levels(&[("all", Level::Allow), ("*-mismatch", Level::Warn), ("dim-mismatch", Level::Deny)]);
        let level = |code| levels.level(code, Severity::Error);
        assert_eq!(level(Code::WrongRank), Level::Allow);
        assert_eq!(level(Code::ShapeMismatch), Level::Warn);
        assert_eq!(level(Code::DimMismatch), Level::Deny);
    }

    #[test]
    fn the_selector_of_warnings_depends_on_the_rules_before_it() {
        let level = |rules: &[(&str, Level)], severity| levels(rules).level(Code::AssumedType, severity);
        let (warning, error) = (Severity::Warning, Severity::Error);
        assert_eq!(level(&[("warnings", Level::Deny)], warning), Level::Deny);
        assert_eq!(level(&[("warnings", Level::Allow)], error), Level::Deny);
        assert_eq!(level(&[("types", Level::Warn), ("warnings", Level::Deny)], error), Level::Deny);
        assert_eq!(level(&[("warnings", Level::Deny), ("types", Level::Warn)], warning), Level::Warn);
    }

    #[test]
    fn codes_without_a_rule_keep_their_severity() {
        let levels = levels(&[("shapes", Level::Allow)]);
        assert_eq!(levels.level(Code::AssumedType, Severity::Warning), Level::Warn);
        assert_eq!(levels.level(Code::AssumedType, Severity::Error), Level::Deny);
    }

    #[test]
    fn names_without_a_code_are_errors_with_a_suggestion() {
        let error = |text: &str| Selector::parse(text).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(
            error("dim-mismach"),
            Err("there is no diagnostic code or group `dim-mismach`; did you mean `dim-mismatch`?".to_owned())
        );
        assert_eq!(
            error("shape"),
            Err("there is no diagnostic code or group `shape`; did you mean `shapes`?".to_owned())
        );
        assert_eq!(error("zz-*"), Err("no diagnostic code matches `zz-*`".to_owned()));
        assert!(error("[").is_err());
    }
}
