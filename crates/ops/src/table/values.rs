//! Enumerated string attributes: the accepted values, which the operator table does not contain.
//!
//! `data/attribute_values.txt` lists them by operator, attribute and range of versions, and describes its
//! format. They are stored in a schema when it is decoded, so each schema needs one lookup.
//!
//! **Invariant:** the file is parsed once per process. A malformed line fails a test and never panics.

use std::collections::HashMap;
use std::sync::OnceLock;

use typeloom_solver::signature::Choices;

const TEXT: &str = include_str!("../../data/attribute_values.txt");
const HEADER: &str = "typeloom-attribute-values 1";

/// One line for one operator.
struct Line {
    since: u32,
    until: u32,
    choices: Choices,
}

type Lines = HashMap<(&'static str, &'static str, &'static str), Vec<Line>>;

/// The accepted values of an attribute of an operator version; `None` for an arbitrary string.
pub(crate) fn choices(domain: &str, operator: &str, version: u32, attribute: &str) -> Option<Choices> {
    static LINES: OnceLock<Lines> = OnceLock::new();
    let lines = LINES.get_or_init(|| read(TEXT).unwrap_or_default());
    // The key has a static lifetime; that of a lookup is shorter.
    let key: (&str, &str, &str) = (domain, operator, attribute);
    let found = lines.get(&key)?.iter().find(|line| (line.since..=line.until).contains(&version))?;
    Some(found.choices)
}

/// Parses the text; the error is the first malformed line.
fn read(text: &'static str) -> Result<Lines, &'static str> {
    let mut lines = Lines::new();
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
            domain = super::in_memory(name);
            continue;
        }
        let (head, values) = line.split_once(" = ").ok_or(line)?;
        let mut words = head.split(' ');
        let (operators, attribute) = (words.next().ok_or(line)?, words.next().ok_or(line)?);
        let (mut since, mut until, mut any_case) = (0, u32::MAX, false);
        for word in words {
            if word == "any-case" {
                any_case = true;
                continue;
            }
            let (from, to) = word.split_once("..").ok_or(line)?;
            let bound =
                |text: &str, open| if text.is_empty() { Ok(open) } else { text.parse().map_err(|_| line) };
            (since, until) = (bound(from, 0)?, bound(to, u32::MAX)?);
        }
        let values: Vec<&'static str> =
            values.split(' ').map(|value| if value == "\"\"" { "" } else { value }).collect();
        let choices = Choices { values: values.leak(), any_case };
        for operator in operators.split(',') {
            lines.entry((domain, operator, attribute)).or_default().push(Line { since, until, choices });
        }
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
        for ((domain, operator, attribute), lines) in &lines {
            for line in lines {
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
