//! The difference of two texts as readable text.

use similar::{ChangeTag, TextDiff};

/// The lines of both texts, those of only one marked with `-` or `+`.
pub(crate) fn lines(written: &str, found: &str) -> String {
    let diff = TextDiff::from_lines(written, found);
    let mut text = String::new();
    for change in diff.iter_all_changes() {
        text.push_str(match change.tag() {
            ChangeTag::Delete => "- ",
            ChangeTag::Insert => "+ ",
            ChangeTag::Equal => "  ",
        });
        text.push_str(change.value().trim_end_matches('\n'));
        text.push('\n');
    }
    text
}
