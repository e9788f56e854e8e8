//! Identifiers of a header: conversion, and a set of those in use.

use std::collections::HashMap;

/// Maximum number of characters of a name that becomes part of an identifier.
const MAX_LENGTH: usize = 100;

/// Keywords of C and C++ that a lower-case identifier can be, one a line.
const KEYWORDS: &str = include_str!("keywords.txt");

/// The identifiers in use, each with the next number for a duplicate.
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// The identifiers of a C text outside comments, and those that the rest of a header uses.
    pub(super) fn new(text: &str) -> Self {
        let code: String =
            text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
        let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let fixed =
            ["TYPELOOM_HEADER_H", "TYPELOOM_BASE_H", "UINT64_C", "int64_t", "int16_t", "int8_t", "uint16_t"];
        Self(words.chain(fixed).filter(|word| is_identifier(word)).map(|word| (word.to_owned(), 2)).collect())
    }

    /// Declares a name; `false` if it is in use.
    pub(super) fn declare(&mut self, name: &str) -> bool {
        let is_new = !self.0.contains_key(name);
        if is_new {
            self.0.insert(name.to_owned(), 2);
        }
        is_new
    }

    /// Declares a name, with the first free number if it is in use.
    pub(super) fn declare_numbered(&mut self, name: String) -> String {
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
pub(super) fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    starts && plain && !name.contains("__") && KEYWORDS.lines().all(|word| word != name)
}

/// A name as part of a constant: upper case, with one `_` in place of other characters; `other` if nothing is left.
pub(super) fn constant(name: &str, other: &str) -> String {
    let mut written = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            written.push(c.to_ascii_uppercase());
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
    fn equal_names_are_numbered_and_numbers_avoid_names() {
        let mut names = Names::new("");
        let mut declare = |name: &str| names.declare_numbered(name.to_owned());
        assert_eq!([declare("A"), declare("A_2"), declare("A"), declare("A")], ["A", "A_2", "A_3", "A_4"]);
        assert_eq!(declare("A_2"), "A_2_2");
    }

    #[test]
    fn many_equal_names_take_linear_time() {
        let mut names = Names::new("");
        for number in 2..50_002 {
            let expected = if number == 2 { "P".to_owned() } else { format!("P_{}", number - 1) };
            assert_eq!(names.declare_numbered("P".to_owned()), expected);
        }
    }

    #[test]
    fn words_of_the_text_are_in_use() {
        let mut names = Names::new("typedef int typeloom_status; /* the first */ #define TYPELOOM_OK 0");
        assert!(names.declare("first"));
        assert!(!names.declare("typeloom_status"));
        assert!(!names.declare("TYPELOOM_OK"));
        assert!(names.declare("typeloom"));
    }

    #[test]
    fn reserved_names_and_keywords_are_no_identifiers() {
        for name in ["", "_x", "a__b", "1a", "a-b", "class", "double", "caf\u{e9}"] {
            assert!(!is_identifier(name), "{name}");
        }
        assert!(is_identifier("bb_tensor_f32_t") && is_identifier("a"));
    }
}
