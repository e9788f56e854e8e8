//! Identifiers of generated code: conversion of names, and a set of those in use.

use std::collections::HashMap;

/// Maximum number of characters of a name that becomes part of an identifier.
const MAX_LENGTH: usize = 100;

/// Keywords of C and C++ that a lower-case identifier can be, one a line.
const KEYWORDS_C: &str = include_str!("identifier/keywords_c.txt");

/// The identifiers in use, each with the next number for a duplicate.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<String, usize>);

impl Names {
    /// Names that code must not declare.
    pub fn reserving<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        Self(words.into_iter().map(|word| (word.to_owned(), 2)).collect())
    }

    /// Declares a name; `false` if it is in use.
    pub fn declare(&mut self, name: &str) -> bool {
        let is_new = !self.0.contains_key(name);
        if is_new {
            self.0.insert(name.to_owned(), 2);
        }
        is_new
    }

    /// Declares a name, with the first free number if it is in use.
    pub fn declare_numbered(&mut self, name: String) -> String {
        if self.declare(&name) {
            return name;
        }
        let mut number = self.0.get(&name).copied().unwrap_or(2);
        let numbered = loop {
            let numbered = format!("{name}_{number}");
            number += 1;
            if self.declare(&numbered) {
                break numbered;
            }
        };
        self.0.insert(name, number);
        numbered
    }
}

/// Whether a program in C and C++ may declare a name: names with `__`, or with `_` at the start, are
/// reserved.
#[must_use]
pub fn is_c_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    starts && plain && !name.contains("__") && c_keywords().all(|word| word != name)
}

/// The keywords of C and C++ in lower case.
pub fn c_keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS_C.lines()
}

/// A name as part of a constant: upper case, with one `_` in place of other characters; `other` if nothing is
/// left.
#[must_use]
pub fn constant(name: &str, other: &str) -> String {
    joined(name, other).to_ascii_uppercase()
}

/// A name as that of a variable: lower case, with one `_` in place of other characters; `other` if nothing is
/// left. It begins with a letter.
#[must_use]
pub fn variable(name: &str, other: &str) -> String {
    let name = joined(name, other).to_ascii_lowercase();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("{other}_{name}") } else { name }
}

/// The letters and digits of ASCII in a name, with one `_` in place of other characters between them.
fn joined(name: &str, other: &str) -> String {
    let mut written = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            written.push(c);
        } else if !written.ends_with('_') && !written.is_empty() {
            written.push('_');
        }
        if written.len() >= MAX_LENGTH {
            break;
        }
    }
    let written = written.trim_end_matches('_');
    if written.is_empty() { other.to_owned() } else { written.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_constants() {
        for (name, expected) in [
            ("input_ids", "INPUT_IDS"),
            ("past.0.key", "PAST_0_KEY"),
            ("/model/layers.0/Add_output", "MODEL_LAYERS_0_ADD_OUTPUT"),
            ("__x__", "X"),
            ("7", "7"),
            ("\u{e9}\u{4e2d}", "PORT"),
            ("", "PORT"),
        ] {
            assert_eq!(constant(name, "PORT"), expected, "{name}");
        }
        assert_eq!(constant(&"ab".repeat(1_000), "PORT").len(), MAX_LENGTH);
    }

    #[test]
    fn variables_begin_with_a_letter() {
        assert_eq!(variable("Past.0", "port"), "past_0");
        assert_eq!(variable("0.Key", "port"), "port_0_key");
        assert_eq!(variable("\u{4e2d}", "port"), "port");
    }

    #[test]
    fn equal_names_are_numbered_and_numbers_avoid_names() {
        let mut names = Names::default();
        let mut declare = |name: &str| names.declare_numbered(name.to_owned());
        assert_eq!([declare("A"), declare("A_2"), declare("A"), declare("A")], ["A", "A_2", "A_3", "A_4"]);
        assert_eq!(declare("A_2"), "A_2_2");
    }

    #[test]
    fn many_equal_names_take_linear_time() {
        let mut names = Names::default();
        for number in 2..50_002 {
            let expected = if number == 2 { "P".to_owned() } else { format!("P_{}", number - 1) };
            assert_eq!(names.declare_numbered("P".to_owned()), expected);
        }
    }

    #[test]
    fn reserved_names_and_keywords_are_no_identifiers_of_c() {
        for name in ["", "_x", "a__b", "1a", "a-b", "class", "double", "caf\u{e9}"] {
            assert!(!is_c_identifier(name), "{name}");
        }
        assert!(is_c_identifier("bb_tensor_f32_t") && is_c_identifier("a"));
    }
}
