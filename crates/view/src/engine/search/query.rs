//! The terms of a query, see the parent module.

use super::pattern::Pattern;
use crate::text::{MAX_DETAIL, short};

/// Maximum size of a query, in bytes.
pub(super) const MAX_QUERY: usize = 1 << 10;

/// Maximum number of terms.
pub(super) const MAX_TERMS: usize = 16;

/// The term of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// Any text of an item; the pattern of types that it is, too.
    Any {
        text: String,
        pattern: Option<Pattern>,
    },
    Name(String),
    Operator(String),
    Type(Pattern),
    Code(String),
    Source(String),
    Is(Property),
}

/// A property of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Error,
    Warning,
    Source,
    Node,
    Value,
    Group,
    Diagnostic,
    Input,
    Output,
    Stored,
    Assumed,
    Incomplete,
}

/// The names of properties.
const PROPERTIES: [(&str, Property); 12] = [
    ("error", Property::Error),
    ("warning", Property::Warning),
    ("source", Property::Source),
    ("node", Property::Node),
    ("value", Property::Value),
    ("group", Property::Group),
    ("diagnostic", Property::Diagnostic),
    ("input", Property::Input),
    ("output", Property::Output),
    ("stored", Property::Stored),
    ("assumed", Property::Assumed),
    ("incomplete", Property::Incomplete),
];

/// The terms of a query.
pub(super) fn parse(query: &str) -> Result<Vec<Term>, String> {
    if query.len() > MAX_QUERY {
        return Err(format!("the query has more than {MAX_QUERY} bytes"));
    }
    let words = words(query);
    if words.len() > MAX_TERMS {
        return Err(format!("the query has more than {MAX_TERMS} terms"));
    }
    words.iter().map(term).collect()
}

fn term(word: &Word) -> Result<Term, String> {
    let Word { text, is_quoted } = word;
    let lower = text.to_ascii_lowercase();
    if *is_quoted {
        return Ok(Term::Any { text: lower, pattern: None });
    }
    let any = || {
        let pattern = match text.contains('[') {
            true => Some(Pattern::parse(text)?),
            false => Pattern::parse(text).ok(),
        };
        Ok(Term::Any { text: lower.clone(), pattern })
    };
    let Some((key, rest)) = lower.split_once(':') else { return any() };
    let rest = rest.to_owned();
    match key {
        "name" => Ok(Term::Name(rest)),
        "op" | "operator" => Ok(Term::Operator(rest)),
        // Symbols are case-sensitive.
        "type" => Ok(Term::Type(Pattern::parse(&text[text.len() - rest.len()..])?)),
        "code" => Ok(Term::Code(rest)),
        "source" => Ok(Term::Source(rest)),
        "has" | "is" => match PROPERTIES.iter().find(|(name, _)| *name == rest) {
            Some((_, property)) => Ok(Term::Is(*property)),
            None => {
                let names: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
                let shown = short(&rest, MAX_DETAIL);
                Err(format!("there is no property `{shown}`; known ones are {}", names.join(", ")))
            }
        },
        // Names contain colons, such as `onnx::Add_1`.
        _ => any(),
    }
}

struct Word {
    text: String,
    /// Whether the word begins with a quote.
    is_quoted: bool,
}

/// Splits a query at spaces outside of quotes and brackets.
fn words(query: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut is_open, mut quote, mut depth) = (false, false, 0_usize);
    for c in query.chars() {
        let is_space = c.is_whitespace() && !quote && depth == 0;
        if is_space {
            is_open = false;
            continue;
        }
        if !is_open {
            words.push(Word { text: String::new(), is_quoted: c == '"' });
            is_open = true;
        }
        match c {
            '"' => quote = !quote,
            '[' if !quote => depth += 1,
            ']' if !quote => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c != '"'
            && let Some(word) = words.last_mut()
        {
            word.text.push(c);
        }
    }
    words.retain(|word| !word.text.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_separated_by_spaces_outside_of_quotes_and_brackets() {
        let texts = |query| words(query).into_iter().map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(texts(" a  float[1, *] \"b c\" "), ["a", "float[1, *]", "b c"]);
        assert_eq!(texts("\"\" [a"), ["[a"]);
        assert_eq!(texts("name:\"a b\" c"), ["name:a b", "c"]);
    }

    #[test]
    fn prefixes_select_the_text_to_be_searched() {
        assert_eq!(parse("op:MatMul"), Ok(vec![Term::Operator("matmul".to_owned())]));
        assert_eq!(parse("has:error"), Ok(vec![Term::Is(Property::Error)]));
        assert_eq!(parse("type:[N]"), Ok(vec![Term::Type(Pattern::parse("[N]").expect("a pattern"))]));
        assert!(
            matches!(&parse("onnx::Add_1").expect("a name")[..], [Term::Any { text, .. }] if text == "onnx::add_1")
        );
        assert!(parse("is:nothing").is_err() && parse("type:[a").is_err() && parse("a[b").is_err());
        assert!(parse(&"a ".repeat(17)).is_err() && parse(&"a".repeat(2000)).is_err());
    }
}
