//! Text with elisions: `...` matches anything.

/// Matches any text within a line, and any number of lines if it is alone on a line.
const ELISION: &str = "...";

/// Whether a line matches a pattern in which each `...` matches any text.
pub(crate) fn line_matches(written: &str, found: &str) -> bool {
    let mut parts = written.split(ELISION);
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether lines match a pattern in which `...` alone on a line matches any number of lines.
///
/// Greedy matching with one backtracking point, as for globs: linear in practice, and never worse than the
/// product of the lengths.
pub(crate) fn lines_match(written: &[&str], found: &[&str]) -> bool {
    let (mut w, mut f) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        if written.get(w).is_some_and(|line| line.trim() == ELISION) {
            back = Some((w, f));
            w += 1;
        } else if f == found.len() {
            return w == written.len();
        } else if written.get(w).is_some_and(|line| line_matches(line, found[f])) {
            w += 1;
            f += 1;
        } else if let Some((elision, from)) = back {
            back = Some((elision, from + 1));
            w = elision + 1;
            f = from + 1;
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_elision_matches_any_text_in_a_line() {
        assert!(line_matches("checked 3 files in ... ms", "checked 3 files in 12.5 ms"));
        assert!(line_matches("...", ""));
        assert!(line_matches("a...b...c", "a--b--b-c"));
        assert!(!line_matches("a...b", "a--c"));
        assert!(!line_matches("a", "ab"));
        assert!(!line_matches("ab...b", "ab"), "parts do not overlap");
    }

    #[test]
    fn an_elision_alone_matches_any_number_of_lines() {
        assert!(lines_match(&["a", "...", "d"], &["a", "b", "c", "d"]));
        assert!(lines_match(&["a", "...", "b"], &["a", "b"]));
        assert!(lines_match(&["...", "x", "..."], &["1", "x", "x", "2"]));
        assert!(lines_match(&["..."], &[]));
        assert!(!lines_match(&["a", "...", "d"], &["a", "b", "c"]));
        assert!(!lines_match(&["a"], &["a", "b"]));
        assert!(!lines_match(&["a", "b"], &["a"]));
    }
}
