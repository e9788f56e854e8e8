//! Enumerated string attributes: the accepted values, which the operator table does not contain.
//!
//! `data/attribute_values.txt` lists them by operator, attribute and range of versions, and describes its
//! format. They are stored in a schema when it is decoded, so each schema needs one lookup.
//!
//! **Invariant:** a malformed line fails a test and never panics. The lines are split once per process, and
//! the values of a line at its first use.

use std::sync::OnceLock;

use typeloom_onnx::domain::canonical;
use typeloom_solver::signature::Choices;

const TEXT: &str = include_str!("../../data/attribute_values.txt");
const HEADER: &str = "typeloom-attribute-values 1";

/// The values of one attribute of some operators in a range of versions.
struct Line {
    domain: &'static str,
    /// The names, separated by commas.
    operators: &'static str,
    attribute: &'static str,
    since: u32,
    until: u32,
    any_case: bool,
    /// The values, separated by spaces.
    values: &'static str,
    choices: OnceLock<Choices>,
}

impl Line {
    /// Parses a line of operators of a domain; `None` if it is malformed.
    fn read(domain: &'static str, line: &'static str) -> Option<Self> {
        let (head, values) = line.split_once(" = ")?;
        let mut words = head.split(' ');
        let (operators, attribute) = (words.next()?, words.next()?);
        let (mut since, mut until, mut any_case) = (0, u32::MAX, false);
        for word in words {
            if word == "any-case" {
                any_case = true;
                continue;
            }
            let (from, to) = word.split_once("..")?;
            let bound = |text: &str, open| if text.is_empty() { Some(open) } else { text.parse().ok() };
            (since, until) = (bound(from, 0)?, bound(to, u32::MAX)?);
        }
        let choices = OnceLock::new();
        Some(Self { domain, operators, attribute, since, until, any_case, values, choices })
    }

    fn operators(&self) -> impl Iterator<Item = &'static str> {
        self.operators.split(',')
    }

    fn choices(&self) -> Choices {
        *self.choices.get_or_init(|| {
            let value = |value| if value == "\"\"" { "" } else { value };
            let values: Vec<&'static str> = self.values.split(' ').map(value).collect();
            Choices { values: values.leak(), any_case: self.any_case }
        })
    }
}

/// The accepted values of an attribute of an operator version; `None` for an arbitrary string.
pub(crate) fn choices(domain: &str, operator: &str, version: u32, attribute: &str) -> Option<Choices> {
    static LINES: OnceLock<Vec<Line>> = OnceLock::new();
    let lines = LINES.get_or_init(|| read(TEXT).unwrap_or_default());
    let fits = |line: &&Line| {
        line.attribute == attribute
            && (line.since..=line.until).contains(&version)
            && line.domain == domain
            && line.operators().any(|known| known == operator)
    };
    lines.iter().find(fits).map(Line::choices)
}

/// Parses the text; the error is the first malformed line.
fn read(text: &'static str) -> Result<Vec<Line>, &'static str> {
    let mut lines = Vec::new();
    let mut domain = "";
    for (at, line) in text.lines().enumerate() {
        if at == 0 {
            if line != HEADER {
                return Err(line);
            }
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("domain ") {
            domain = canonical(name);
            continue;
        }
        lines.push(Line::read(domain, line).ok_or(line)?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::Operators;
    use crate::table::Table;
    use typeloom_solver::catalogue::{Catalogue as _, Lookup};
    use typeloom_solver::signature::{AttributeDefault, AttributeKind};

    #[test]
    fn every_line_lists_string_attributes_of_existing_operators() {
        let lines = read(TEXT).unwrap_or_else(|line| panic!("`{line}` is not understood"));
        let operators = Operators::standard();
        for line in &lines {
            let Line { domain, attribute, .. } = *line;
            for operator in line.operators() {
                let version = i64::from(line.until.min(1000));
                let Lookup::Found(found) = operators.lookup(domain, operator, version) else {
                    // The newest versions of some operators are deprecated.
                    panic!("{domain}.{operator} does not exist");
                };
                let decl = found.schema.attribute(attribute);
                let schema = Table::get()
                    .versions(domain, operator)
                    .filter(|schema| (line.since..=line.until).contains(&schema.since_version))
                    .find_map(|schema| schema.attribute(attribute));
                let decl = decl.or(schema);
                let kind = decl.map(|decl| decl.kind);
                assert!(
                    matches!(kind, Some(AttributeKind::String | AttributeKind::Strings)),
                    "{domain}.{operator} has no string attribute {attribute} in version {version}"
                );
            }
        }
    }

    #[test]
    fn every_default_is_one_of_the_values() {
        for schema in Table::get().schemas() {
            for decl in &schema.attributes {
                let (Some(choices), Some(AttributeDefault::String(default))) = (decl.choices, &decl.default)
                else {
                    continue;
                };
                assert!(choices.contain(default), "{} {}: {default}", schema.name, schema.since_version);
            }
        }
    }

    /// String attributes that accept any string, or a language that a rule parses.
    const OPEN: &[&str] = &[
        "cats_strings",
        "classes_strings",
        "classlabels_strings",
        "default_string",
        "delimiter",
        "equation",
        "keys_strings",
        "locale",
        "pattern",
        "pool_strings",
        "stopwords",
        "string_vocabulary",
        "to",
        "value_string",
        "value_strings",
        "values_strings",
        "xs",
        "y",
        "zs",
    ];

    #[test]
    fn every_string_attribute_of_onnx_is_listed_or_open() {
        for schema in Table::get().schemas().filter(|schema| !schema.deprecated) {
            for decl in &schema.attributes {
                let is_string = matches!(decl.kind, AttributeKind::String | AttributeKind::Strings);
                let known = decl.choices.is_some() || OPEN.contains(&&*decl.name);
                assert!(!is_string || known, "{} {} {}", schema.name, schema.since_version, decl.name);
            }
        }
    }
}
