//! Patterns of types, see the parent module.

use typeloom_types::dtype::Dtype;

use super::super::extents::extents;
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

    /// Whether a type matches. A type with alternatives matches if one of them does.
    pub(super) fn matches(&self, ty: &str) -> bool {
        let Self { element, axes } = self;
        ty.split(" | ").any(|ty| {
            let (own, shape) = match ty.split_once('[') {
                None => (ty.trim_end_matches(')'), None),
                Some((own, shape)) => (own, Some(shape)),
            };
            let is_element = element.as_ref().is_none_or(|element| {
                let own = own.to_ascii_lowercase();
                let mut names = own.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
                is_match(element, &own) || names.any(|name| is_match(element, name))
            });
            let is_shape = || match (axes, shape) {
                (None, _) => true,
                (Some(axes), None) => is_tensor(own) && axes.matches(&[]),
                (Some(axes), Some(shape)) => axes.matches(&extents(shape)),
            };
            is_element && is_shape()
        })
    }
}

/// Whether a type without brackets is a scalar tensor.
fn is_tensor(ty: &str) -> bool {
    ty.rsplit('(').next().is_some_and(|ty| ty.split('|').all(|name| Dtype::from_onnx_name(name).is_some()))
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

    fn matches(&self, extents: &[&str]) -> bool {
        let Self { head, tail } = self;
        if extents == ["..."] {
            // An unknown rank.
            return head.is_empty() && tail.as_ref().is_some_and(Vec::is_empty);
        }
        let last = tail.as_ref().map_or(0, Vec::len);
        let is_length = match tail {
            None => extents.len() == head.len(),
            Some(_) => extents.len() >= head.len() + last,
        };
        let ends = tail.iter().flatten().zip(&extents[extents.len().saturating_sub(last)..]);
        is_length && head.iter().zip(extents).chain(ends).all(|(axis, extent)| axis.matches(extent))
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

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching<'t>(pattern: &str, types: &[&'t str]) -> Vec<&'t str> {
        let pattern = Pattern::parse(pattern).expect("the pattern is well-formed");
        types.iter().copied().filter(|ty| pattern.matches(ty)).collect()
    }

    const TYPES: [&str; 11] = [
        "float",
        "float16[N]",
        "float[N, seq, 8]",
        "int64[2, seq + 1]",
        "float[2|4, 3]",
        "float[3] | float[2, 3]",
        "seq(float[N])",
        "?",
        "error",
        "int8[...]",
        "peer_id",
    ];

    #[test]
    fn an_element_type_matches_any_shape() {
        assert_eq!(matching("float16", &TYPES), ["float16[N]"]);
        assert_eq!(matching("Float", &TYPES), ["float", TYPES[2], TYPES[4], TYPES[5], TYPES[6]]);
        assert_eq!(matching("seq", &TYPES), [TYPES[6]]);
        assert_eq!(matching("seq(float)", &TYPES), [TYPES[6]]);
        assert_eq!(matching("int*", &TYPES), [TYPES[3], "int8[...]"]);
        assert_eq!(matching("peer_*", &TYPES), ["peer_id"]);
        assert_eq!(matching("error", &TYPES), ["error"]);
    }

    #[test]
    fn a_shape_matches_axis_by_axis() {
        assert_eq!(matching("[*, seq, *]", &TYPES), ["float[N, seq, 8]"]);
        assert_eq!(matching("[N]", &TYPES), ["float16[N]", "seq(float[N])"]);
        assert_eq!(matching("float[4, *]", &TYPES), ["float[2|4, 3]"]);
        assert_eq!(matching("[*, 3]", &TYPES), [TYPES[4], TYPES[5]]);
        assert_eq!(matching("[*, ~seq]", &TYPES), ["int64[2, seq + 1]"]);
        assert_eq!(matching("float[]", &TYPES), ["float"]);
        assert_eq!(matching("[*, seq+1]", &TYPES), ["int64[2, seq + 1]"]);
    }

    #[test]
    fn dots_match_any_number_of_axes() {
        assert_eq!(matching("[..., 3]", &TYPES), [TYPES[4], TYPES[5]]);
        assert_eq!(matching("[N, ...]", &TYPES), [TYPES[1], TYPES[2], TYPES[6]]);
        assert_eq!(matching("[N, ..., 8]", &TYPES), [TYPES[2]]);
        assert_eq!(matching("[N, seq, ..., seq, 8]", &TYPES), [""; 0]);
        // Also tensors of unknown rank and scalars.
        assert_eq!(matching("[...]", &TYPES), [&TYPES[..7], &["int8[...]"]].concat());
    }

    #[test]
    fn malformed_patterns_are_errors() {
        assert!(Pattern::parse("float[1").is_err() && Pattern::parse("[..., ...]").is_err());
    }
}
