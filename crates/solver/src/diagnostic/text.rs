//! Fragments of messages: quoted names, lists, counts, articles, element types and suggestions.

use typeloom_onnx::text::is_unsafe;

use crate::elem::{Elem, ElemSet};
use crate::signature::AllowedTypes;
use crate::universe::Universe;

/// Maximum length of a displayed name, in characters.
pub(super) const MAX_NAME: usize = 96;

/// Maximum length of a displayed expression, in characters. Dims are smaller, unless the model has symbols
/// with huge names.
const MAX_EXPRESSION: usize = 1 << 14;

/// Maximum number of displayed items of a list.
const MAX_ITEMS: usize = 8;

/// Maximum number of displayed nodes of a way.
const MAX_NAMED: usize = 3;

/// Number of displayed items at each end of a long path.
const MAX_ENDS: usize = 4;

/// A name of the model in backticks, on one line; the middle of a very long name is left out.
pub fn quote(name: &str) -> String {
    format!("`{}`", clip(name, MAX_NAME))
}

/// An expression or a condition in backticks, on one line and in full.
pub(super) fn quote_whole(text: &str) -> String {
    format!("`{}`", clip(text, MAX_EXPRESSION))
}

/// Text of the model on one line, with its middle left out beyond `max` characters.
pub fn clip(text: &str, max: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    let count = text.chars().count();
    let hidden = if count > max { max / 2..count - max / 2 } else { 0..0 };
    for (at, c) in text.chars().enumerate() {
        if hidden.contains(&at) {
            if at == hidden.start {
                shown.push('…');
            }
        } else if is_unsafe(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `1 input`, `2 inputs`.
pub fn count(count: usize, noun: &str) -> String {
    typeloom_types::plural::counted(count, noun)
}

/// `a`, `a or b`, `a, b or c`; a long list ends with the number of omitted items.
pub fn list(items: &[String], conjunction: &str) -> String {
    match items {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        _ if items.len() > MAX_ITEMS => {
            format!("{} {conjunction} {} more", items[..MAX_ITEMS].join(", "), items.len() - MAX_ITEMS)
        }
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// The nodes on the way from a source to a value; the middle of a long one is left out.
pub fn way(mut names: Vec<String>) -> String {
    let hidden = names.len().saturating_sub(MAX_NAMED);
    if hidden < 2 {
        return list(&names, "and");
    }
    let last = names.pop().unwrap_or_default();
    names.truncate(MAX_NAMED - 1);
    format!("{}, {hidden} more and {last}", names.join(", "))
}

/// Whether a node makes and reads a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// Whether the value is an output of the node.
    pub makes: bool,
    /// Whether the value is an input of the node.
    pub reads: bool,
}

/// The verb for a node that relates the types of a value and of another one: the node "takes it from" the
/// other value.
pub fn verb(value: Ports, other: Ports) -> &'static str {
    match (value.makes, other.makes, value.reads, other.reads) {
        (true, false, _, true) => "takes it from",
        (false, true, true, _) => "passes it on to",
        (true, true, _, _) => "gives it the type of",
        (_, _, _, _) => "requires it to match",
    }
}

/// The name of the versions of a domain: `opset`, `ai.onnx.ml opset`.
pub(super) fn opset_of(domain: &str) -> String {
    if domain.is_empty() { "opset".to_owned() } else { format!("{domain} opset") }
}

/// `did you mean a or b?`, with the names in backticks; `None` without names.
#[must_use]
pub fn did_you_mean(names: &[String]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", list(&quoted, "or")))
}

/// [`did_you_mean`] as the end of an error message: `; did you mean a?`, or nothing.
#[must_use]
pub fn suggestion(names: &[String]) -> String {
    did_you_mean(names).map_or_else(String::new, |question| format!("; {question}"))
}

/// The indefinite article of a noun: `a` or `an`.
pub fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) { "an" } else { "a" }
}

/// `a -> b -> c`; of a long path, its ends. `hidden` is the number of items that `items` already leaves out
/// in its middle.
pub fn arrow_list(items: &[String], hidden: usize) -> String {
    let length = items.len() + hidden;
    if length <= 2 * MAX_ENDS {
        return items.join(" -> ");
    }
    let end = MAX_ENDS.min(items.len() / 2);
    let (head, tail) = (items[..end].join(" -> "), items[items.len() - end..].join(" -> "));
    format!("{head} -> … {} more … -> {tail}", length - 2 * end)
}

/// Element types: a list, or the exceptions from all of them.
pub fn element_types(universe: &Universe, set: ElemSet) -> String {
    let names = |set: ElemSet| -> Vec<String> {
        set.iter().map(|elem| universe.elem_name(elem).to_owned()).filter(|name| !name.is_empty()).collect()
    };
    let missing = ElemSet::from_bits(onnx_elems().bits() & !set.bits());
    if missing.is_empty() {
        return "any element type".to_owned();
    }
    if missing.len() <= 3 && set.len() > 3 {
        return format!("any element type but {}", list(&names(missing), "and"));
    }
    list(&names(set), "or")
}

fn onnx_elems() -> ElemSet {
    (1..=Elem::LAST_ONNX).filter_map(Elem::new).collect()
}

/// The types that a port may have: `float, double or float16`, `a sequence of ...`.
pub fn allowed_types(universe: &Universe, allowed: &AllowedTypes) -> String {
    let before =
        ["", "a sequence of ", "an optional of ", "an optional sequence of ", "map", "a sequence of map"];
    let name = |elem: Elem| universe.elem_name(elem);
    let elems = |before: &str, set: ElemSet| format!("{before}{}", element_types(universe, set));
    let pairs = |before: &str, pairs: &[(Elem, Elem)]| {
        let pair = |(key, value): &(Elem, Elem)| format!("{before}({}, {})", name(*key), name(*value));
        list(&pairs.iter().map(pair).collect::<Vec<_>>(), "or")
    };
    list(&allowed.texts(before.map(|before| (before, "")), elems, pairs), "or")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn lists_read_like_sentences_and_end() {
        assert_eq!(list(&strings(&["a"]), "or"), "a");
        assert_eq!(list(&strings(&["a", "b"]), "or"), "a or b");
        assert_eq!(list(&strings(&["a", "b", "c"]), "and"), "a, b and c");
        assert_eq!(list(&vec!["a".to_owned(); 10], "and"), "a, a, a, a, a, a, a, a and 2 more");
    }

    #[test]
    fn a_long_path_shows_its_ends() {
        assert_eq!(arrow_list(&strings(&["a", "b", "a"]), 0), "a -> b -> a");
        let steps: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        let shown = "0 -> 1 -> 2 -> 3 -> … 12 more … -> 16 -> 17 -> 18 -> 19";
        assert_eq!(arrow_list(&steps, 0), shown);
        let ends = [&steps[..4], &steps[16..]].concat();
        assert_eq!(arrow_list(&ends, 12), shown);
    }

    #[test]
    fn a_large_set_of_element_types_names_its_exceptions() {
        let universe = Universe::standard().clone();
        assert_eq!(element_types(&universe, ElemSet::ALL), "any element type");
        let no_text = ElemSet::from_bits(ElemSet::ALL.bits() & !ElemSet::of(Elem::STRING).bits());
        assert_eq!(element_types(&universe, no_text), "any element type but string");
        assert_eq!(element_types(&universe, ElemSet::of_all(&[Elem::INT32, Elem::INT64])), "int32 or int64");
        let sequences = AllowedTypes { seq_tensor: ElemSet::of(Elem::FLOAT), ..AllowedTypes::default() };
        assert_eq!(allowed_types(&universe, &sequences), "a sequence of float");
    }
}
