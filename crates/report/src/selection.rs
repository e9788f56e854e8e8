//! A selection of the values of a model: by name, by patterns for names and operators, and by patterns for
//! types.
//!
//! | filter | selects |
//! |---|---|
//! | `*attention*`, `{Conv,MatMul}` | values whose name or operator matches the glob |
//! | `name:GLOB`, `op:GLOB` | only by name, only by operator |
//! | `float16` | values of an element type, of any shape |
//! | `float[batch, *]`, `[*, seq, *]`, `[..., 8]` | values of a shape: `*` is any dim, `...` any number of dims |
//! | `float[]` | scalars; `[...]`: tensors of any rank, known or not |
//! | `seq(float*)`, `optional([...])` | containers, with a pattern for the content |
//! | `type:GLOB` | a type that is none of these forms, such as `type:peer_*` |
//!
//! Types are matched as they are printed, with dims compared as text without spaces. The part before the
//! brackets is a glob. A value matches several filters if it matches all of them.

use std::collections::BTreeSet;

use typeloom_settings::glob::{Glob, GlobError, Subject};
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Origin, ValueId};
use typeloom_types::dtype::Dtype;

/// Error of a filter.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A glob has a syntax error.
    #[error("`{text}`: {error}")]
    Glob { text: String, error: GlobError },
    /// Brackets do not match.
    #[error("`{text}`: a type is written as it is printed, such as `float16`, `[*, seq, *]` or `seq(float)`")]
    Type { text: String },
}

/// The selected values; by default all.
#[derive(Debug, Default)]
pub struct Selection {
    names: BTreeSet<String>,
    filters: Vec<Filter>,
}

impl Selection {
    /// The values with one of the names, or all if there are none, that match all filters.
    ///
    /// # Errors
    /// [`FilterError`] for a filter that is neither a glob nor a type.
    pub fn new(
        names: impl IntoIterator<Item = String>,
        filters: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, FilterError> {
        let filters = filters.into_iter().map(|text| Filter::parse(text.as_ref()));
        Ok(Self { names: names.into_iter().collect(), filters: filters.collect::<Result<_, _>>()? })
    }

    /// Whether every value is selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.names.is_empty() && self.filters.is_empty()
    }

    /// The first name that no value of the main graph or of a graph in it has.
    #[must_use]
    pub fn missing(&self, checked: &Checked<'_>) -> Option<&str> {
        if self.names.is_empty() {
            return None;
        }
        let body = checked.body();
        let mut missing: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        for value in body.values() {
            if !matches!(body.value(value).origin, Origin::Undefined) {
                missing.remove(body.value_name(value));
            }
        }
        missing.first().copied()
    }

    /// Whether a value is selected.
    pub(crate) fn contains(&self, checked: &mut Checked<'_>, value: ValueId) -> bool {
        if self.is_all() {
            return true;
        }
        let name = checked.body().value_name(value);
        if !(self.names.is_empty() || self.names.contains(name)) {
            return false;
        }
        self.filters.iter().all(|filter| filter.matches(checked, value))
    }
}

#[derive(Debug)]
enum Filter {
    Name(Glob),
    Operator(Glob),
    NameOrOperator(Glob),
    Type(TypePattern),
}

impl Filter {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix("name:") {
            return glob(name).map(Self::Name);
        }
        if let Some(operator) = text.strip_prefix("op:") {
            return glob(operator).map(Self::Operator);
        }
        if let Some(ty) = text.strip_prefix("type:") {
            return TypePattern::parse(ty).map(Self::Type);
        }
        if text.contains(['[', '(']) || text.parse::<Dtype>().is_ok() {
            return TypePattern::parse(text).map(Self::Type);
        }
        glob(text).map(Self::NameOrOperator)
    }

    fn matches(&self, checked: &mut Checked<'_>, value: ValueId) -> bool {
        if let Self::Type(pattern) = self {
            return pattern.matches(&checked.display_type(value));
        }
        let body = checked.body();
        let operator = match body.value(value).origin {
            Origin::Step(step) => body.op_name(step),
            Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => "",
        };
        let name = body.value_name(value);
        match self {
            Self::Name(glob) => glob.matches(name),
            Self::Operator(glob) => glob.matches(operator),
            Self::NameOrOperator(glob) => glob.matches(name) || glob.matches(operator),
            Self::Type(_) => false,
        }
    }
}

fn glob(text: &str) -> Result<Glob, FilterError> {
    // Names of values contain slashes, which a `*` matches like other characters.
    Glob::parse(text, Subject::Names).map_err(|error| FilterError::Glob { text: text.to_owned(), error })
}

/// The containers around a printed type or a pattern, the outermost first, and their content.
fn containers(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut rest = text.trim();
    let mut containers = Vec::new();
    // A dim such as `min(a, b)` also has parentheses, but within the brackets of a shape.
    while let Some(open) = rest.find(['(', '[']).filter(|at| rest[*at..].starts_with('(')) {
        containers.push(rest[..open].trim());
        rest = rest[open + 1..].strip_suffix(')')?.trim();
    }
    Some((containers, rest))
}

/// The element type and the axes of `head[axis, axis]`; without brackets, there are no axes.
fn parts(text: &str) -> Option<(&str, Option<Vec<String>>)> {
    match text.split_once('[') {
        None => (!text.contains([']', ')'])).then_some((text.trim(), None)),
        Some((head, axes)) => Some((head.trim(), Some(split(axes.trim_end().strip_suffix(']')?)?))),
    }
}

/// The axes of a shape, without spaces; `None` if brackets do not match.
fn split(text: &str) -> Option<Vec<String>> {
    let mut axes = Vec::new();
    let (mut depth, mut axis) = (0_usize, String::new());
    for c in text.chars() {
        match c {
            '[' | ']' => return None,
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                axes.push(std::mem::take(&mut axis));
                continue;
            }
            _ => {}
        }
        if !c.is_whitespace() {
            axis.push(c);
        }
    }
    if !(axes.is_empty() && axis.is_empty()) {
        axes.push(axis);
    }
    (depth == 0 && !axes.contains(&String::new())).then_some(axes)
}

#[derive(Debug)]
struct TypePattern {
    containers: Vec<String>,
    /// `None` matches every head.
    head: Option<Glob>,
    /// `None` matches every shape, also an unknown one.
    axes: Option<Vec<String>>,
}

/// Any dim, in a pattern.
const ANY_DIM: &str = "*";

/// Any number of dims, in a pattern; an unknown rank, in a type.
const ANY_DIMS: &str = "...";

impl TypePattern {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let text = text.parse::<Dtype>().map_or(text, |dtype| dtype.onnx_name());
        let pattern = containers(text).and_then(|(containers, content)| Some((containers, parts(content)?)));
        let Some((containers, (head, axes))) = pattern else {
            return Err(FilterError::Type { text: text.to_owned() });
        };
        if head.is_empty() && axes.is_none() {
            return Err(FilterError::Type { text: text.to_owned() });
        }
        let head = head.parse::<Dtype>().map_or(head, |dtype| dtype.onnx_name());
        let head = if head.is_empty() { None } else { Some(glob(head)?) };
        Ok(Self { containers: containers.into_iter().map(str::to_owned).collect(), head, axes })
    }

    /// Whether a printed type matches; one that depends on a branch matches if one of its cases does.
    fn matches(&self, ty: &str) -> bool {
        let Some((containers, content)) = containers(ty) else { return false };
        containers.iter().eq(&self.containers) && content.split(" | ").any(|case| self.matches_case(case))
    }

    fn matches_case(&self, ty: &str) -> bool {
        let Some((head, axes)) = parts(ty) else { return false };
        let mut heads = head.split('|');
        if !self.head.as_ref().is_none_or(|glob| heads.any(|head| glob.matches(head))) {
            return false;
        }
        match &self.axes {
            None => true,
            Some(pattern)
                if axes.is_none() && head.split('|').all(|it| Dtype::from_onnx_name(it).is_none()) =>
            {
                // Only tensors have a shape; that of a node above all tensors is unknown.
                head.starts_with("tensor") && *pattern == [ANY_DIMS]
            }
            Some(pattern) => match_axes(pattern, &axes.unwrap_or_default()),
        }
    }
}

/// Matches axes with a pattern. After a mismatch, the last `...` takes one more axis, so the cost is the
/// product of the lengths.
fn match_axes(pattern: &[String], axes: &[String]) -> bool {
    if axes == [ANY_DIMS] {
        return pattern == [ANY_DIMS];
    }
    let (mut at, mut axis) = (0, 0);
    let mut run: Option<(usize, usize)> = None;
    while axis < axes.len() {
        match (pattern.get(at), run) {
            (Some(any), _) if any == ANY_DIMS => {
                run = Some((at, axis));
                at += 1;
            }
            (Some(dim), _) if dim == ANY_DIM || axes[axis].split('|').any(|it| it == dim) => {
                at += 1;
                axis += 1;
            }
            (_, Some((start, taken))) => {
                run = Some((start, taken + 1));
                at = start + 1;
                axis = taken + 1;
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|dim| dim == ANY_DIMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, ty: &str) -> bool {
        TypePattern::parse(pattern).unwrap_or_else(|error| panic!("{error}")).matches(ty)
    }

    #[test]
    fn types_match_patterns_in_the_printed_notation() {
        for (pattern, ty) in [
            ("float16", "float16"),
            ("float16", "float16[N, 4]"),
            ("float16", "float16[...]"),
            ("half", "float16[N]"),
            ("fp16[N]", "float16[N]"),
            ("seq(FLOAT)", "seq(float)"),
            ("tensor(float)", "float[2]"),
            ("float*", "float16[2]"),
            ("float[]", "float"),
            ("float[batch, *]", "float[batch, 4]"),
            ("[*, seq, *]", "int64[2, seq, ?]"),
            ("[...]", "float"),
            ("[...]", "float[...]"),
            ("[..., 8]", "float[8]"),
            ("[..., a, ..., b]", "float[x, a, y, a, z, b]"),
            ("[past+seq]", "float[past + seq]"),
            ("float[*, min(a, b)]", "float[2, min(a, b)]"),
            ("seq(float)", "seq(float[2])"),
            ("optional(seq([2]))", "optional(seq(int64[2]))"),
            ("peer_*", "peer_id"),
            ("[4, *]", "float[2|4, 3]"),
            ("[*, *]", "float[3] | float[2, 3]"),
            ("double", "float|double[2]"),
        ] {
            assert!(matches(pattern, ty), "{pattern} {ty}");
        }
        for (pattern, ty) in [
            ("float", "float16"),
            ("float", "seq(float)"),
            ("float[]", "float[...]"),
            ("float[*]", "float[2, 3]"),
            ("float[*, *]", "float[...]"),
            ("[*, seq, *]", "float[seq, 2]"),
            ("[..., 8]", "float[8, 2]"),
            ("[seq]", "float[past + seq]"),
            ("[...]", "peer_id"),
            ("seq(float)", "float"),
        ] {
            assert!(!matches(pattern, ty), "{pattern} {ty}");
        }
    }

    #[test]
    fn a_filter_that_is_no_type_and_no_glob_is_an_error() {
        for text in ["[a", "float[a,]", "seq(float", "type:", "float[a]]", "float[(a]"] {
            assert!(matches!(Filter::parse(text), Err(FilterError::Type { .. })), "{text}");
        }
        assert!(matches!(Filter::parse("{a"), Err(FilterError::Glob { .. })));
    }

    #[test]
    fn element_types_and_brackets_make_a_type_and_other_words_a_glob() {
        for text in ["float16", "[2]", "seq(float)", "type:peer_id"] {
            assert!(matches!(Filter::parse(text), Ok(Filter::Type(_))), "{text}");
        }
        for text in ["MatMul", "float1*", "/layers.0/*", "tensor"] {
            assert!(matches!(Filter::parse(text), Ok(Filter::NameOrOperator(_))), "{text}");
        }
    }
}
