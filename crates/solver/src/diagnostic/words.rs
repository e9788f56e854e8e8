//! Small words that all diagnostics share: quoted names, lists, counts, element types.

use typeloom_onnx::text::is_unsafe;

use crate::elem::{Elem, ElemSet};
use crate::signature::AllowedTypes;
use crate::universe::Universe;

/// The longest name that is shown whole, in characters.
const MAX_CHARS: usize = 96;

/// The most items of a list that are written out.
const MAX_ITEMS: usize = 8;

/// A name of the model in backticks, on one line, clipped in its middle where it is very long.
pub(super) fn tick(name: &str) -> String {
    format!("`{}`", plain(name, MAX_CHARS))
}

/// Text of the model on one line, with its middle left out beyond `most` characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    let count = text.chars().count();
    let hidden = if count > most { most / 2..count - most / 2 } else { 0..0 };
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
pub(super) fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `a`, `a or b`, `a, b or c`; of a long list, the first items and how many more there are.
pub(super) fn list(items: &[String], conjunction: &str) -> String {
    match items {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        _ if items.len() > MAX_ITEMS => {
            format!("{} {conjunction} {} more", items[..MAX_ITEMS].join(", "), items.len() - MAX_ITEMS)
        }
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// `a` or `an`.
pub(super) fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" }
}

/// How many steps of a path are written out, from each of its ends.
const MAX_STEPS: usize = 4;

/// `a -> b -> c`; of a long path, its ends. `hidden` items were left out in the middle before.
pub(super) fn arrows(items: &[String], hidden: usize) -> String {
    let length = items.len() + hidden;
    if length <= 2 * MAX_STEPS {
        return items.join(" -> ");
    }
    let end = MAX_STEPS.min(items.len() / 2);
    let (head, tail) = (items[..end].join(" -> "), items[items.len() - end..].join(" -> "));
    format!("{head} -> … {} more … -> {tail}", length - 2 * end)
}

/// Element types in words: a list, or what is missing from the list of all.
pub(super) fn elems(universe: &Universe, set: ElemSet) -> String {
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
    (1..=Elem::LAST_ONNX).filter_map(Elem::new).fold(ElemSet::EMPTY, |set, elem| set.union(ElemSet::of(elem)))
}

/// The types that a port may have, in words: `float, double or float16`, `a sequence of ...`.
pub(super) fn allowed(universe: &Universe, allowed: &AllowedTypes) -> String {
    let AllowedTypes { tensor, seq_tensor, opt_tensor, opt_seq_tensor, map, seq_map } = allowed;
    let mut kinds = Vec::new();
    if !tensor.is_empty() {
        kinds.push(elems(universe, *tensor));
    }
    for (set, kind) in [
        (seq_tensor, "a sequence of"),
        (opt_tensor, "an optional of"),
        (opt_seq_tensor, "an optional sequence of"),
    ] {
        if !set.is_empty() {
            kinds.push(format!("{kind} {}", elems(universe, *set)));
        }
    }
    for (pairs, kind) in [(map, ""), (seq_map, "a sequence of ")] {
        kinds.extend(pairs.iter().map(|(key, value)| {
            format!("{kind}map({}, {})", universe.elem_name(*key), universe.elem_name(*value))
        }));
    }
    list(&kinds, "or")
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
    fn a_long_way_shows_its_ends() {
        assert_eq!(arrows(&strings(&["a", "b", "a"]), 0), "a -> b -> a");
        let way: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        let shown = "0 -> 1 -> 2 -> 3 -> … 12 more … -> 16 -> 17 -> 18 -> 19";
        assert_eq!(arrows(&way, 0), shown);
        let ends = [&way[..4], &way[16..]].concat();
        assert_eq!(arrows(&ends, 12), shown);
    }

    #[test]
    fn a_large_set_of_element_types_is_told_by_what_is_missing() {
        let universe = Universe::of_default_lattice().unwrap();
        assert_eq!(elems(&universe, ElemSet::ALL), "any element type");
        let no_text = ElemSet::from_bits(ElemSet::ALL.bits() & !ElemSet::of(Elem::STRING).bits());
        assert_eq!(elems(&universe, no_text), "any element type but string");
        assert_eq!(elems(&universe, ElemSet::of_all(&[Elem::INT32, Elem::INT64])), "int32 or int64");
        let sequences = AllowedTypes { seq_tensor: ElemSet::of(Elem::FLOAT), ..AllowedTypes::default() };
        assert_eq!(allowed(&universe, &sequences), "a sequence of float");
    }
}
