//! Globs of paths and of names.
//!
//! | syntax | matches |
//! |---|---|
//! | `?` | one character |
//! | `*` | any number of characters |
//! | `[ab-z]`, `[!ab-z]`, `[^ab-z]` | one character of a set, or one that is not in it |
//! | `{a,b*}` | one of several globs, which can be nested; empty ones are ignored |
//! | `**` as a whole part of a path | any folders: `**/a`, `a/**/b`, `a/**` |
//! | `\?` | the character `?` itself |
//!
//! In globs of paths, `*`, `?` and sets match no `/`. The dialect and its errors are those of the crate `globset`, whose regular expressions
//! would be a tenth of the time to compile a command that only checks; a test compares the two.
//!
//! **Algorithm:** Thompson's simulation of a nondeterministic automaton, in time proportional to the length of the glob times that
//! of the text, for any glob.

use std::iter::Peekable;
use std::str::Chars;

use thiserror::Error;

/// The kind of texts that a glob matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Paths separated by `/`. On Windows, `\` in a glob is also a separator.
    Paths,
    /// Names, in which `/` is a character like others.
    Names,
}

/// A syntax error of a glob.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GlobError {
    /// A `[` has no end.
    #[error("unclosed character class; missing ']'")]
    UnclosedClass,
    /// A range of characters is empty.
    #[error("invalid range; '{0}' > '{1}'")]
    InvalidRange(char, char),
    /// A `}` has no beginning.
    #[error("unopened alternate group; missing '{{' (maybe escape '}}' with '[}}]'?)")]
    UnopenedAlternates,
    /// A `{` has no end.
    #[error("unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)")]
    UnclosedAlternates,
    /// The last character is a `\`.
    #[error("dangling '\\'")]
    DanglingEscape,
}

/// A parsed glob.
#[derive(Clone, Debug)]
pub struct Glob {
    text: String,
    steps: Vec<Step>,
}

impl Glob {
    /// Parses a glob.
    ///
    /// # Errors
    /// A syntax error.
    pub fn parse(text: &str, subject: Subject) -> Result<Self, GlobError> {
        let mut parser = Parser { rest: text.chars().peekable(), last: None, subject };
        let tokens = parser.sequence(Depth::Outer)?;
        let mut steps = Vec::new();
        match tokens.as_slice() {
            [Token::Folders(Folders::Before)] => steps.push(Step::Many(Set::Any)),
            tokens => tokens.iter().for_each(|token| compile(token, &mut steps)),
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The text of the glob.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the whole text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let mut states = States::new(&self.steps);
        let mut next = States::new(&self.steps);
        states.enter(0);
        for character in text.chars() {
            for at in states.entered.drain(..) {
                match &self.steps[at] {
                    Step::One(set) if set.contains(character) => next.enter(at + 1),
                    Step::Many(set) if set.contains(character) => next.enter(at),
                    Step::One(_) | Step::Many(_) | Step::Fork(_) | Step::Jump(_) => {}
                }
            }
            states.clear();
            std::mem::swap(&mut states, &mut next);
        }
        states.is_at_end()
    }
}

/// A set of characters.
#[derive(Clone, Debug)]
enum Set {
    Any,
    NotSeparator,
    Exactly(char),
    Ranges { ranges: Vec<(char, char)>, is_negated: bool, subject: Subject },
}

impl Set {
    fn contains(&self, character: char) -> bool {
        match self {
            Self::Any => true,
            Self::NotSeparator => character != '/',
            Self::Exactly(other) => character == *other,
            Self::Ranges { subject: Subject::Paths, .. } if character == '/' => false,
            Self::Ranges { ranges, is_negated, .. } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) != *is_negated
            }
        }
    }
}

/// A part of a glob.
#[derive(Debug)]
enum Token {
    One(Set),
    Many(Set),
    Folders(Folders),
    Either(Vec<Vec<Token>>),
}

/// Any folders, with the separators next to them.
#[derive(Clone, Copy, Debug)]
enum Folders {
    /// `**/`
    Before,
    /// `/**/`
    Between,
    /// `/**`
    After,
}

/// Whether a sequence is within braces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Outer,
    Inner,
}

struct Parser<'t> {
    rest: Peekable<Chars<'t>>,
    /// The character before the next one.
    last: Option<char>,
    subject: Subject,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.last = next.or(self.last);
        next
    }

    /// Parses up to the end of the glob, or up to a `,` or `}` of the braces around, which are left.
    fn sequence(&mut self, depth: Depth) -> Result<Vec<Token>, GlobError> {
        let mut tokens = Vec::new();
        let wild = match self.subject {
            Subject::Paths => Set::NotSeparator,
            Subject::Names => Set::Any,
        };
        loop {
            let Some(character) = self.rest.peek().copied() else {
                return if depth == Depth::Outer { Ok(tokens) } else { Err(GlobError::UnclosedAlternates) };
            };
            if depth == Depth::Inner && matches!(character, ',' | '}') {
                return Ok(tokens);
            }
            let before = self.last;
            self.next();
            match character {
                '?' => tokens.push(Token::One(wild.clone())),
                '*' if self.rest.peek() == Some(&'*') => {
                    self.next();
                    match self.folders(&tokens, before, depth) {
                        Some(folders) => {
                            // The separator before is part of it.
                            let earlier = tokens.pop();
                            tokens.push(match earlier {
                                Some(Token::Folders(Folders::Before)) => Token::Folders(Folders::Before),
                                Some(Token::Folders(Folders::After)) => Token::Folders(Folders::After),
                                Some(_) | None => Token::Folders(folders),
                            });
                        }
                        None => tokens.push(Token::Many(wild.clone())),
                    }
                }
                '*' => tokens.push(Token::Many(wild.clone())),
                '[' => tokens.push(Token::One(self.class()?)),
                '{' => tokens.push(Token::Either(self.alternatives()?)),
                '}' => return Err(GlobError::UnopenedAlternates),
                '\\' if self.subject == Subject::Paths && std::path::is_separator('\\') => {
                    tokens.push(Token::One(Set::Exactly('/')));
                }
                '\\' => {
                    let escaped = self.next().ok_or(GlobError::DanglingEscape)?;
                    tokens.push(Token::One(Set::Exactly(escaped)));
                }
                other => tokens.push(Token::One(Set::Exactly(other))),
            }
        }
    }

    /// The folders that a `**`, which was read, matches; `None` if it is not a whole part of a path. Reads the separator after it.
    fn folders(&mut self, tokens: &[Token], before: Option<char>, depth: Depth) -> Option<Folders> {
        let after = self.rest.peek().copied();
        let is_separated = after.is_some_and(std::path::is_separator);
        let is_last = after.is_none() || (depth == Depth::Inner && matches!(after, Some(',' | '}')));
        let folders = match tokens {
            [] if is_separated || after.is_none() => Folders::Before,
            [] => return None,
            _ if !before.is_some_and(std::path::is_separator) => return None,
            _ if is_last => Folders::After,
            _ if is_separated => Folders::Between,
            _ => return None,
        };
        if is_separated {
            self.next();
        }
        Some(folders)
    }

    /// Parses the alternatives after a `{`, and the `}`.
    fn alternatives(&mut self) -> Result<Vec<Vec<Token>>, GlobError> {
        let mut alternatives = Vec::new();
        loop {
            let alternative = self.sequence(Depth::Inner)?;
            if !alternative.is_empty() {
                alternatives.push(alternative);
            }
            if self.next() == Some('}') {
                return Ok(alternatives);
            }
        }
    }

    /// Parses the characters after a `[`, and the `]`. A `]` at the beginning, and a `-` at the beginning or at the end, is a character.
    fn class(&mut self) -> Result<Set, GlobError> {
        let is_negated = matches!(self.rest.peek(), Some('!' | '^'));
        if is_negated {
            self.next();
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = self.next().ok_or(GlobError::UnclosedClass)?;
            if first == ']' && !ranges.is_empty() {
                return Ok(Set::Ranges { ranges, is_negated, subject: self.subject });
            }
            let open = ranges.last_mut().filter(|_| first == '-' && self.rest.peek() != Some(&']'));
            match open {
                Some(range) => {
                    let last = self.next().ok_or(GlobError::UnclosedClass)?;
                    if range.0 > last {
                        return Err(GlobError::InvalidRange(range.0, last));
                    }
                    range.1 = last;
                }
                None => ranges.push((first, first)),
            }
        }
    }
}

/// A step of the automaton. The state after the last one accepts.
#[derive(Clone, Debug)]
enum Step {
    /// Reads a character.
    One(Set),
    /// Reads any number of characters.
    Many(Set),
    /// Continues at each of these steps.
    Fork(Vec<usize>),
    /// Continues at a step.
    Jump(usize),
}

/// Appends the steps of a token.
fn compile(token: &Token, steps: &mut Vec<Step>) {
    let separator = || Token::One(Set::Exactly('/'));
    let anything = || Token::Many(Set::Any);
    match token {
        Token::One(set) => steps.push(Step::One(set.clone())),
        Token::Many(set) => steps.push(Step::Many(set.clone())),
        Token::Folders(Folders::Before) => {
            either(&[vec![], vec![separator()], vec![anything(), separator()]], steps);
        }
        Token::Folders(Folders::Between) => {
            either(&[vec![separator()], vec![separator(), anything(), separator()]], steps);
        }
        Token::Folders(Folders::After) => {
            compile(&separator(), steps);
            compile(&anything(), steps);
        }
        Token::Either(alternatives) if alternatives.is_empty() => {}
        Token::Either(alternatives) => either(alternatives, steps),
    }
}

/// Appends a fork to the steps of each alternative, which all continue after the last one.
fn either(alternatives: &[Vec<Token>], steps: &mut Vec<Step>) {
    let fork = steps.len();
    steps.push(Step::Fork(Vec::new()));
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for alternative in alternatives {
        starts.push(steps.len());
        alternative.iter().for_each(|token| compile(token, steps));
        ends.push(steps.len());
        steps.push(Step::Jump(0));
    }
    let after = steps.len();
    for end in ends {
        steps[end] = Step::Jump(after);
    }
    steps[fork] = Step::Fork(starts);
}

/// A set of states of the automaton.
struct States<'g> {
    steps: &'g [Step],
    is_entered: Vec<bool>,
    /// The states that read a character.
    entered: Vec<usize>,
}

impl<'g> States<'g> {
    fn new(steps: &'g [Step]) -> Self {
        Self { steps, is_entered: vec![false; steps.len() + 1], entered: Vec::new() }
    }

    /// Adds a state, and those that it reaches without a character.
    fn enter(&mut self, at: usize) {
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut self.is_entered[at], true) {
                continue;
            }
            match self.steps.get(at) {
                Some(Step::One(_)) => self.entered.push(at),
                Some(Step::Many(_)) => {
                    self.entered.push(at);
                    open.push(at + 1);
                }
                Some(Step::Fork(starts)) => open.extend(starts),
                Some(Step::Jump(to)) => open.push(*to),
                None => {}
            }
        }
    }

    fn is_at_end(&self) -> bool {
        self.is_entered[self.steps.len()]
    }

    fn clear(&mut self) {
        self.is_entered.fill(false);
        self.entered.clear();
    }
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    fn is_match(glob: &str, text: &str) -> bool {
        Glob::parse(glob, Subject::Names).unwrap_or_else(|error| panic!("{glob}: {error}")).matches(text)
    }

    #[test]
    fn a_question_mark_matches_a_character_of_several_bytes() {
        assert!(is_match("?é[ü-ý]", "ßéý"));
        assert!(!is_match("?", "ab"));
    }

    #[test]
    fn nested_stars_take_no_exponential_time() {
        assert!(!is_match(&"{a*,*a}".repeat(40), &"a".repeat(30)));
        assert!(!is_match(&format!("{}b", "a*".repeat(200)), &"a".repeat(1000)));
    }

    proptest! {
        /// Texts of few characters, so that globs match often.
        #[test]
        fn globs_and_errors_are_those_of_globset(
            glob in "([ab/]|\\?|\\*|\\*\\*|/\\*\\*/|\\[[!^]?[]a/-]{0,3}\\]|\\{|,|\\}|\\{[ab*/,]{0,5}\\}|\\\\[ab*]){0,6}",
            texts in prop::collection::vec("[ab/*-]{0,6}", 12),
        ) {
            for subject in [Subject::Paths, Subject::Names] {
                let theirs = GlobBuilder::new(&glob)
                    .literal_separator(subject == Subject::Paths)
                    .backslash_escape(true)
                    .build();
                match (Glob::parse(&glob, subject), theirs) {
                    (Ok(ours), Ok(theirs)) => {
                        let theirs = theirs.compile_matcher();
                        for text in &texts {
                            prop_assert_eq!(ours.matches(text), theirs.is_match(text), "{} on {}", glob, text);
                        }
                    }
                    (Err(ours), Err(theirs)) => {
                        prop_assert_eq!(ours.to_string(), theirs.kind().to_string(), "{}", glob);
                    }
                    (ours, theirs) => prop_assert!(false, "{}: {:?} and {:?}", glob, ours, theirs),
                }
            }
        }
    }
}
