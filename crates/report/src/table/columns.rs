//! Rows of names, types and notes in aligned columns.
//!
//! Without a width, every line has the whole name of a value, so that a search of lines finds it. If lines
//! would exceed a given width, consecutive rows whose names begin with the same scopes are printed under a
//! heading with these scopes, and a row that still exceeds the width takes two lines:
//!
//! ```text
//! values
//!   /model/layers.0/self_attn/
//!     q_proj/MatMul_output_0  float[batch, sequence, 64]  MatMul
//!     k_proj/MatMul_output_0  float[batch, sequence, 64]  MatMul
//! ```
//!
//! **Invariant:** no text is left out. The name of a row is its heading and its own text together.

/// The name, type and note of a value.
pub(crate) type Row = [String; 3];

/// Maximum width of a column, in characters; wider entries are not aligned.
const MAX_WIDTH: usize = 48;

/// Minimum width that remains for names if types are long, in characters.
const MIN_NAMES: usize = 24;

/// Maximum width of the column of notes if a line is limited, in characters; names of most operators fit.
const MAX_NOTES: usize = 20;

/// Maximum width of a line, in characters. Widths of formats have 16 bits.
const MAX_LINE: usize = 1000;

/// Two columns: the indent of rows, of rows under a heading, and the space between the parts of a row.
const GAP: &str = "  ";

/// Adds rows under their titles, with names and types aligned. If a width is given and lines would exceed it,
/// names of the same scopes have a heading.
pub(crate) fn push_sections(
    text: &mut String,
    indent: &str,
    sections: &[(&str, Vec<Row>)],
    width: Option<usize>,
) {
    let longest = |column: usize, max| {
        let all = sections.iter().flat_map(|(_, rows)| rows);
        fitting(all.map(|row| length(&row[column])), max)
    };
    let gaps = indent.len() + 3 * GAP.len();
    let widest: usize = [0, 1, 2].map(|column| longest(column, usize::MAX)).iter().sum();
    let (columns, groups) = match width.filter(|width| gaps + widest > *width) {
        None => {
            let columns = Columns { names: longest(0, MAX_WIDTH), types: longest(1, MAX_WIDTH), width: None };
            let whole = sections.iter().map(|(_, rows)| vec![Group { scope: "", rows }]);
            (columns, whole.collect::<Vec<_>>())
        }
        Some(width) => {
            let width = width.min(MAX_LINE);
            let available = width.saturating_sub(gaps + longest(2, MAX_NOTES));
            let names = MIN_NAMES.min(longest(0, usize::MAX));
            let types = longest(1, available.saturating_sub(names).min(MAX_WIDTH));
            let max = available.saturating_sub(types);
            let groups: Vec<Vec<Group<'_>>> = sections.iter().map(|(_, rows)| groups(rows, max)).collect();
            let names = fitting(groups.iter().flatten().flat_map(Group::lengths), max);
            (Columns { names, types, width: Some(width) }, groups)
        }
    };
    for ((title, _), groups) in sections.iter().zip(groups) {
        text.push_str(&format!("{indent}{title}\n"));
        let indent = format!("{indent}{GAP}");
        for Group { scope, rows } in groups {
            if scope.is_empty() {
                rows.iter().for_each(|row| columns.push(text, &indent, &row[0], row));
                continue;
            }
            text.push_str(&format!("{indent}{scope}\n"));
            for row in rows {
                columns.push(text, &indent, &format!("{GAP}{}", &row[0][scope.len()..]), row);
            }
        }
    }
}

/// The largest number that is at most `max`, or 0.
fn fitting(numbers: impl Iterator<Item = usize>, max: usize) -> usize {
    numbers.filter(|number| *number <= max).max().unwrap_or(0)
}

/// Consecutive rows under a heading; without one if the scope is empty.
struct Group<'r> {
    /// The beginning of all names.
    scope: &'r str,
    rows: &'r [Row],
}

impl Group<'_> {
    /// The columns of the names.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let scope = length(self.scope);
        let indent = if scope == 0 { 0 } else { GAP.len() };
        self.rows.iter().map(move |row| indent + length(&row[0]) - scope)
    }
}

/// Groups of rows whose names fit into `max` columns, as far as headings make them fit. Names that fit
/// without a heading have none.
fn groups(mut rows: &[Row], max: usize) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    while let Some([name, ..]) = rows.first() {
        let mut scope = common_scope(name, name);
        let (mut longest, mut count) = (0, 0);
        for [name, ..] in rows {
            let shared = common_scope(scope, name);
            let longer = longest.max(length(name));
            if shared.is_empty() || (count > 0 && GAP.len() + longer - length(shared) > max) {
                break;
            }
            (scope, longest, count) = (shared, longer, count + 1);
        }
        let (group, rest) = rows.split_at(count.max(1));
        groups.push(Group { scope: if longest > max { scope } else { "" }, rows: group });
        rows = rest;
    }
    groups
}

#[derive(Clone, Copy)]
struct Columns {
    names: usize,
    types: usize,
    /// The columns of a line, if they are limited.
    width: Option<usize>,
}

impl Columns {
    /// Adds a row with this part of its name, in two lines if they are too long for one.
    fn push(self, text: &mut String, indent: &str, name: &str, [_, ty, note]: &Row) {
        let Self { names, types, width } = self;
        let fits = |line: &str| width.is_none_or(|width| length(line) <= width);
        let rest = format!("{GAP}{ty:types$}{GAP}{note}");
        let line = format!("{indent}{name:names$}{}", rest.trim_end());
        if fits(&line) {
            text.push_str(line.trim_end());
        } else {
            let aligned = format!("{indent}{:names$}{}", "", rest.trim_end());
            let second = if names >= GAP.len() && fits(&aligned) {
                aligned
            } else {
                format!("{indent}{GAP}{GAP}{ty}{GAP}{note}")
            };
            text.push_str(&format!("{indent}{name}\n{}", second.trim_end()));
        }
        text.push('\n');
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The longest beginning that two names share and that ends in a separator: `/`, or `.` in a name without
/// `/`. Empty if it is only a separator.
fn common_scope<'n>(a: &'n str, b: &str) -> &'n str {
    let separator = if a.contains('/') { '/' } else { '.' };
    let shared = a.char_indices().zip(b.chars()).take_while(|((_, a), b)| a == b);
    let end = shared.filter(|((_, a), _)| *a == separator).last().map_or(0, |((at, _), _)| at + 1);
    let scope = &a[..end];
    if scope.chars().all(|letter| letter == separator) { "" } else { scope }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]], width: Option<usize>) -> String {
        let rows = rows.iter().map(|row| row.map(str::to_owned)).collect();
        let mut text = String::new();
        push_sections(&mut text, "", &[("values", rows)], width);
        text
    }

    const LAYERS: [[&str; 3]; 5] = [
        ["ids", "int64[batch, sequence]", ""],
        ["/model/layers.0/self_attn/q_proj/MatMul_output_0", "float[batch, sequence, 64]", "MatMul"],
        ["/model/layers.0/self_attn/k_proj/MatMul_output_0", "float[batch, sequence, 64]", "MatMul"],
        ["/model/layers.1/self_attn/q_proj/MatMul_output_0", "float[batch, sequence, 64]", "MatMul"],
        ["logits", "float[batch, sequence, 100]", "MatMul"],
    ];

    #[test]
    fn names_of_the_same_scopes_have_a_heading_if_lines_are_too_long() {
        assert_eq!(
            table(&LAYERS, Some(70)),
            "\
values
  ids                       int64[batch, sequence]
  /model/layers.0/self_attn/
    q_proj/MatMul_output_0  float[batch, sequence, 64]   MatMul
    k_proj/MatMul_output_0  float[batch, sequence, 64]   MatMul
  /model/layers.1/self_attn/q_proj/
    MatMul_output_0         float[batch, sequence, 64]   MatMul
  logits                    float[batch, sequence, 100]  MatMul
"
        );
    }

    #[test]
    fn a_line_has_the_whole_name_without_a_width_and_in_a_wide_table() {
        let full = table(&LAYERS, None);
        assert_eq!(table(&LAYERS, Some(200)), full);
        assert!(LAYERS.iter().all(|[name, ..]| full.contains(&format!("\n  {name}  "))), "{full}");
    }

    #[test]
    fn a_row_that_is_too_long_takes_two_lines_and_no_text_is_left_out() {
        let name = "a_name_without_any_scope_that_is_long";
        assert_eq!(
            table(&[[name, "float[2]", "Add"], ["x", "float[batch, sequence, channels]", "Mul"]], Some(34)),
            format!(
                "values\n  {name}\n      float[2]  Add\n  x\n      float[batch, sequence, channels]  Mul\n"
            )
        );
    }

    #[test]
    fn scopes_end_at_separators() {
        for (a, b, expected) in [
            ("/a/b/c", "/a/b/d", "/a/b/"),
            ("/a/bc", "/a/bd", "/a/"),
            ("/a", "/b", ""),
            ("m.0.w", "m.0.b", "m.0."),
            ("m.0/w", "m.0/b", "m.0/"),
            ("ä/ö/x", "ä/ö/y", "ä/ö/"),
            ("same/name", "same/name", "same/"),
        ] {
            assert_eq!(common_scope(a, b), expected, "{a} {b}");
        }
    }
}
