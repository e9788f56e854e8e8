//! The closed sets of values of string attributes: facts that the operator table does not have.
//!
//! `data/attribute_values.txt` lists them by operator, attribute and range of versions; the file describes its format. A schema
//! gets its sets when it is decoded, so that a lookup happens once for each schema that a model uses.
//!
//! **Invariant:** the file is read once per process, and a line that does not parse is a failing test, never a panic.

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

/// The values that an attribute of an operator in this version takes; `None` where any string is a value.
pub(crate) fn choices(domain: &str, operator: &str, version: u32, attribute: &str) -> Option<Choices> {
    static LINES: OnceLock<Lines> = OnceLock::new();
    let lines = LINES.get_or_init(|| read(TEXT).unwrap_or_default());
    // The key borrows from the text for as long as the process runs; a lookup borrows for less.
    let key: (&str, &str, &str) = (domain, operator, attribute);
    let found = lines.get(&key)?.iter().find(|line| (line.since..=line.until).contains(&version))?;
    Some(found.choices)
}

/// Reads the text; the first line that is not understood is the error.
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
    fn every_line_is_about_string_attributes_of_operators_that_exist() {
        let lines = read(TEXT).unwrap_or_else(|line| panic!("`{line}` is not understood"));
        let operators = Operators::standard();
        for ((domain, operator, attribute), lines) in &lines {
            for line in lines {
                let version = i64::from(line.until.min(1000));
                let Lookup::Found(found) = operators.lookup(domain, operator, version) else {
                    // The last versions of some operators withdraw them.
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

    /// String attributes that take any string, or that a rule reads as a language of its own.
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
