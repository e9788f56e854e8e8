//! Numbers of things, for messages.

use std::fmt::Display;

/// A number with its noun: `1 axis`, `2 axes`.
///
/// ```
/// use typeloom_types::plural::counted;
///
/// assert_eq!(counted(1, "input"), "1 input");
/// assert_eq!([counted(0, "axis"), counted(2, "entry"), counted(3, "child")], ["0 axes", "2 entries", "3 children"]);
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    let with = |ending: &str, new: &str| noun.strip_suffix(ending).map(|stem| format!("{stem}{new}"));
    let other =
        with("axis", "axes").or_else(|| with("index", "indices")).or_else(|| with("child", "children"));
    let other = other.or_else(|| with("ss", "sses")).or_else(|| with("batch", "batches"));
    let is_vowel = |letter: char| "aeiou".contains(letter);
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(is_vowel));
    other.or_else(|| stem.map(|stem| format!("{stem}ies"))).unwrap_or_else(|| format!("{noun}s"))
}
