//! Patterns of types, see the parent module.

use crate::scene::{Extent, ExtentId, Type};
use crate::text::{MAX_DETAIL, short};

/// A pattern of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The element type in lower case; `None` for any.
    element: Option<String>,
    /// The axes; `None` for any shape.
    axes: Option<Axes>,
}

/// The axes before and after `...`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Axes {
    head: Vec<Axis>,
    /// The axes after `...`; `None` without it.
    tail: Option<Vec<Axis>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Axis {
    /// `*`: any extent.
    Any,
    /// This extent.
    Equal(String),
    /// `~N`: an extent with this symbol or number in it.
    Mentions(String),
}

impl Pattern {
    /// Reads `float16`, `[*, seq]`, `float[1, ...]`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_end_matches(')');
        let (element, shape) = match text.split_once('[') {
            None => (text, None),
            Some((element, rest)) => match rest.strip_suffix(']') {
                Some(shape) => (element, Some(shape)),
                None => return Err(format!("`{}` has no `]`", short(text, MAX_DETAIL))),
            },
        };
        let element = Some(element.trim().to_ascii_lowercase()).filter(|it| !it.is_empty() && it != "*");
        let axes = shape.map(Axes::parse).transpose()?;
        Ok(Self { element, axes })
    }

    /// Whether a type matches. A type with several tensors matches if one of them does.
    pub(super) fn matches(&self, ty: &Type, extents: &[Extent]) -> bool {
        let Type { texts, shapes } = ty;
        if shapes.is_empty() {
            return self.axes.is_none()
                && texts.iter().any(|text| self.is_element(text.trim_end_matches(')')));
        }
        let mut tensors = texts.iter().zip(shapes);
        tensors.any(|(text, shape)| {
            let own = text.rsplit(" | ").next().unwrap_or(text);
            self.is_element(own) && self.axes.as_ref().is_none_or(|axes| axes.matches(shape, extents))
        })
    }

    /// Whether the text before a shape matches, in whole or one of its names.
    fn is_element(&self, text: &str) -> bool {
        let Some(element) = &self.element else { return true };
        let own = text.to_ascii_lowercase();
        let mut names = own.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
        is_match(element, &own) || names.any(|name| is_match(element, name))
    }
}

/// Whether a name matches a pattern, in which `*` is any text. After a mismatch, the last `*` takes one more
/// character.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at, from));
                at += 1;
            }
            (Some(byte), _) if *byte == name[from] => {
                at += 1;
                from += 1;
            }
            (_, Some((start, taken))) => {
                star = Some((start, taken + 1));
                (at, from) = (start + 1, taken + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl Axes {
    fn parse(text: &str) -> Result<Self, String> {
        let mut axes = Self { head: Vec::new(), tail: None };
        for extent in extents(text) {
            if extent == "..." || extent == "\u{2026}" {
                if axes.tail.replace(Vec::new()).is_some() {
                    return Err("a shape has more than one `...`".to_owned());
                }
                continue;
            }
            let axis = match extent.strip_prefix('~') {
                _ if extent == "*" || extent == "_" => Axis::Any,
                Some(symbol) => Axis::Mentions(symbol.trim().to_owned()),
                None => Axis::Equal(without_spaces(extent)),
            };
            axes.tail.as_mut().unwrap_or(&mut axes.head).push(axis);
        }
        Ok(axes)
    }

    fn matches(&self, shape: &[ExtentId], extents: &[Extent]) -> bool {
        let Self { head, tail } = self;
        let shape: Vec<&Extent> = shape.iter().map(|extent| &extents[extent.index()]).collect();
        if shape == [&Extent::Rest] {
            // An unknown rank.
            return head.is_empty() && tail.as_ref().is_some_and(Vec::is_empty);
        }
        let last = tail.as_ref().map_or(0, Vec::len);
        let is_length = match tail {
            None => shape.len() == head.len(),
            Some(_) => shape.len() >= head.len() + last,
        };
        let ends = tail.iter().flatten().zip(&shape[shape.len().saturating_sub(last)..]);
        is_length && head.iter().zip(&shape).chain(ends).all(|(axis, extent)| axis.matches(&extent.text()))
    }
}

impl Axis {
    /// An extent that depends on branches is written `2|4`.
    fn matches(&self, extent: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Equal(text) => {
                let extent = without_spaces(extent);
                extent == *text || extent.split('|').any(|part| part == text)
            }
            Self::Mentions(text) => {
                extent.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').any(|name| name == text)
            }
        }
    }
}

/// The extents in the text of a shape. They are separated by commas outside of parentheses.
fn extents(shape: &str) -> Vec<&str> {
    let (mut depth, mut from) = (0_usize, 0);
    let mut found = Vec::new();
    let mut end = shape.len();
    for (at, c) in shape.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => {
                end = at;
                break;
            }
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(shape[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(shape[from..end].trim());
    found.retain(|extent| !extent.is_empty());
    found
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of the list that match a pattern, as text.
    fn matching(pattern: &str) -> Vec<&'static str> {
        let pattern = Pattern::parse(pattern).expect("the pattern is well-formed");
        let matches = |parts: &[&str]| {
            let mut known = Vec::new();
            let (mut texts, mut shapes) = (Vec::new(), Vec::new());
            for (at, part) in parts.iter().enumerate() {
                if at % 2 == 0 {
                    texts.push((*part).to_owned());
                    continue;
                }
                let mut id = |text: &str| {
                    known.push(match text {
                        "..." => Extent::Rest,
                        text => Extent::Expression(text.to_owned()),
                    });
                    ExtentId::new(known.len() - 1)
                };
                shapes.push(extents(part).into_iter().map(&mut id).collect());
            }
            pattern.matches(&Type { texts, shapes }, &known)
        };
        TYPES.into_iter().filter(|(_, parts)| matches(parts)).map(|(text, _)| text).collect()
    }

    /// Types as texts with shapes between them.
    const TYPES: [(&str, &[&str]); 13] = [
        ("float", &["float", "", ""]),
        ("float16[N]", &["float16", "N", ""]),
        ("float[N, seq, 8]", &["float", "N, seq, 8", ""]),
        ("int64[2, seq + 1]", &["int64", "2, seq + 1", ""]),
        ("float[2|4, 3]", &["float", "2|4, 3", ""]),
        ("float[3] | float[2, 3]", &["float", "3", " | float", "2, 3", ""]),
        ("seq(float[N])", &["seq(float", "N", ")"]),
        ("?", &["?"]),
        ("error", &["error"]),
        ("int8[...]", &["int8", "...", ""]),
        ("peer_id", &["peer_id"]),
        ("seq(bool)", &["seq(bool", "", ")"]),
        ("composite{a: bool[N], b: int8[5]}", &["composite{a: bool", "N", ", b: int8", "5", "}"]),
    ];

    #[test]
    fn an_element_type_matches_any_shape() {
        assert_eq!(matching("float16"), ["float16[N]"]);
        let floats =
            ["float", "float[N, seq, 8]", "float[2|4, 3]", "float[3] | float[2, 3]", "seq(float[N])"];
        assert_eq!(matching("Float"), floats);
        assert_eq!(matching("seq"), ["seq(float[N])", "seq(bool)"]);
        assert_eq!(matching("seq(float)"), ["seq(float[N])"]);
        assert_eq!(matching("int*"), ["int64[2, seq + 1]", "int8[...]", TYPES[12].0]);
        assert_eq!(matching("peer_*"), ["peer_id"]);
        assert_eq!(matching("error"), ["error"]);
    }

    #[test]
    fn a_shape_matches_axis_by_axis() {
        assert_eq!(matching("[*, seq, *]"), ["float[N, seq, 8]"]);
        assert_eq!(matching("[N]"), ["float16[N]", "seq(float[N])", TYPES[12].0]);
        assert_eq!(matching("float[4, *]"), ["float[2|4, 3]"]);
        assert_eq!(matching("[*, 3]"), ["float[2|4, 3]", "float[3] | float[2, 3]"]);
        assert_eq!(matching("[*, ~seq]"), ["int64[2, seq + 1]"]);
        assert_eq!(matching("float[]"), ["float"]);
        assert_eq!(matching("[]"), ["float", "seq(bool)"]);
        assert_eq!(matching("[*, seq+1]"), ["int64[2, seq + 1]"]);
    }

    #[test]
    fn the_tensors_of_a_composite_match_one_by_one() {
        assert_eq!(matching("int8[5]"), [TYPES[12].0]);
        assert_eq!(matching("bool[5]"), [""; 0]);
    }

    #[test]
    fn dots_match_any_number_of_axes() {
        assert_eq!(matching("[..., 3]"), ["float[2|4, 3]", "float[3] | float[2, 3]"]);
        assert_eq!(matching("[N, ...]"), ["float16[N]", "float[N, seq, 8]", "seq(float[N])", TYPES[12].0]);
        assert_eq!(matching("[N, ..., 8]"), ["float[N, seq, 8]"]);
        assert_eq!(matching("[N, seq, ..., seq, 8]"), [""; 0]);
        // Also tensors of unknown rank and scalars.
        let tensors = TYPES.iter().filter(|(_, parts)| parts.len() > 1).map(|(text, _)| *text);
        assert_eq!(matching("[...]"), tensors.collect::<Vec<_>>());
    }

    #[test]
    fn malformed_patterns_are_errors() {
        assert!(Pattern::parse("float[1").is_err() && Pattern::parse("[..., ...]").is_err());
    }
}
