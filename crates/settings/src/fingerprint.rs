//! Fingerprints of problems, which are equal from one version of a model to the next.
//!
//! A fingerprint is a digest of the code, the function and nested graph without positions, the node (its
//! name, or its operator and first output), and the names that the problem concerns. It contains no position,
//! type, extent or name of a file: inserting nodes, renaming the file or changing a batch size leaves it as
//! it is.

use std::fmt;

use typeloom_solver::diagnostic::{Code, Diagnostic, Location, NodeLocation, ValueLocation};

/// The version of the contents, for formats that name it.
pub const VERSION: u32 = 1;

/// A fingerprint: 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint of a problem at a location.
    #[must_use]
    pub fn new(code: Code, location: &Location) -> Self {
        let Location { function, graph, node, value, offset: _, subjects } = location;
        let mut parts = vec![code.name().to_owned(), function.clone().unwrap_or_default()];
        parts.extend(graph.0.iter().map(|step| format!("{}.{}", step.operator, step.attribute)));
        parts.push(String::new());
        match node {
            Some(NodeLocation { index: _, name, operator, output }) if name.is_empty() => {
                parts.extend(["operator".to_owned(), operator.clone(), output.clone().unwrap_or_default()]);
            }
            Some(NodeLocation { name, .. }) => parts.extend(["node".to_owned(), name.clone()]),
            None => parts.push("none".to_owned()),
        }
        match value {
            Some(ValueLocation { name, role }) => parts.extend([role.name().to_owned(), name.clone()]),
            None => parts.push("none".to_owned()),
        }
        parts.extend(subjects.iter().cloned());
        Self::of_parts(parts.iter().map(String::as_str))
    }

    /// The fingerprint of a list of texts.
    #[must_use]
    pub fn of_parts<'p>(parts: impl IntoIterator<Item = &'p str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(bytes)
    }

    /// The fingerprints of a diagnostic: that of its location, then those of the other locations with the
    /// same cause.
    #[must_use]
    pub fn all(diagnostic: &Diagnostic) -> Vec<Self> {
        let locations = std::iter::once(&diagnostic.location).chain(&diagnostic.also);
        locations.map(|location| Self::new(diagnostic.code, location)).collect()
    }

    /// The fingerprint with these hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        if text.len() != 2 * bytes.len() || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(index: usize, name: &str, output: &str, subjects: &[&str]) -> Location {
        let node = NodeLocation {
            index,
            name: name.to_owned(),
            operator: "Add".to_owned(),
            output: Some(output.to_owned()),
        };
        Location {
            node: Some(node),
            subjects: subjects.iter().map(|it| (*it).to_owned()).collect(),
            ..Location::default()
        }
    }

    fn of(location: &Location) -> Fingerprint {
        Fingerprint::new(Code::DimMismatch, location)
    }

    #[test]
    fn positions_do_not_count_and_names_do() {
        let base = of(&location(3, "/Add_1", "y", &["a", "b"]));
        assert_eq!(base, of(&location(9, "/Add_1", "y", &["a", "b"])));
        assert_eq!(base, of(&location(3, "/Add_1", "renamed", &["a", "b"])), "the name identifies the node");
        assert_ne!(base, of(&location(3, "/Add_2", "y", &["a", "b"])));
        assert_ne!(base, of(&location(3, "/Add_1", "y", &["ab"])));
        assert_ne!(of(&location(3, "", "y", &[])), of(&location(3, "", "z", &[])));
        assert_ne!(base, Fingerprint::new(Code::WrongRank, &location(3, "/Add_1", "y", &["a", "b"])));
    }

    #[test]
    fn the_text_of_a_fingerprint_is_parsed() {
        let fingerprint = of(&location(0, "n", "y", &[]));
        assert_eq!(Fingerprint::parse(&fingerprint.to_string()), Some(fingerprint));
        assert_eq!(Fingerprint::parse("00"), None);
        assert_eq!(Fingerprint::parse(&"zz".repeat(16)), None);
        assert_eq!(Fingerprint::parse(&"é".repeat(16)), None);
    }
}
