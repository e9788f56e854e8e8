//! Parsing of types: Rust's syntax, tensor types, and the notation of [`crate::print`].
//!
//! Recursive descent over tokens. A [`Scope`] resolves names: `T` is a parameter if the scope declares it and
//! a nominal type otherwise; an identifier in argument position is a constant if the scope declares one.
//!
//! **Invariant:** every text parses to a type or a [`ParseError`] with a byte offset. Nesting is bounded by
//! [`MAX_DEPTH`], so that no text overflows the stack.

mod constant;
mod lexer;
mod ty;

use crate::arg::GenericArg;
use crate::binder::{BoundVar, PerKind, Universe, VarKind};
use crate::family::TypeFamily;
use crate::leaf::Leaf;
use crate::meta::{MAX_DEPTH, TermError};
use crate::name::{Name, Symbols};
use crate::ty::{InferVar, Placeholder, PlaceholderId, Ty};
use lexer::{Sigil, SigilKind, Spanned, Token};
use std::collections::BTreeSet;

/// Error of parsing a type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct ParseError {
    /// Byte offset of the error.
    pub offset: usize,
    /// Kind of the error.
    pub kind: ParseErrorKind,
}

/// Kinds of parse errors.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseErrorKind {
    /// A different token is required.
    #[error("expected {}", quoted(.0))]
    Expected(&'static str),
    /// Text follows the type.
    #[error("unexpected text after the type")]
    Trailing,
    /// A character that starts no token.
    #[error("unexpected character {0:?}")]
    UnexpectedCharacter(char),
    /// A number that is out of range or contains letters.
    #[error("malformed number")]
    BadNumber,
    /// A literal without closing quote.
    #[error("unterminated literal")]
    Unterminated,
    /// The text nests too deeply.
    #[error("the type is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A binder with more variables than 16 bits can number.
    #[error("more than 65535 variables in one binder")]
    TooManyBound,
    /// The term cannot be built.
    #[error(transparent)]
    Term(TermError),
}

/// Puts punctuation in backticks.
fn quoted(what: &str) -> std::borrow::Cow<'_, str> {
    if what.chars().any(char::is_alphabetic) { what.into() } else { format!("`{what}`").into() }
}

/// Declared parameters and auto traits.
#[derive(Clone, Debug)]
pub struct Scope {
    types: BTreeSet<String>,
    consts: BTreeSet<String>,
    auto_traits: BTreeSet<String>,
}

impl Default for Scope {
    fn default() -> Self {
        let auto = ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];
        Self { types: BTreeSet::new(), consts: BTreeSet::new(), auto_traits: auto.map(String::from).into() }
    }
}

impl Scope {
    /// Creates a scope without parameters, with the auto traits of the standard library.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares type parameters.
    #[must_use]
    pub fn types<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.types.extend(names.into_iter().map(String::from));
        self
    }

    /// Declares constant parameters.
    #[must_use]
    pub fn consts<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.consts.extend(names.into_iter().map(String::from));
        self
    }

    /// Declares auto traits.
    #[must_use]
    pub fn auto_traits<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.auto_traits.extend(names.into_iter().map(String::from));
        self
    }
}

/// Parses one type.
pub fn parse_ty<F: TypeFamily<Name = Name>>(
    cx: &F,
    symbols: &mut Symbols,
    scope: &Scope,
    text: &str,
) -> Result<Ty<F>, ParseError> {
    let tokens = lexer::tokens(text)?;
    let mut parser = Parser { cx, symbols, scope, text, tokens, position: 0, level: 0, binders: Vec::new() };
    let ty = parser.ty()?;
    match parser.token() {
        Token::End => Ok(ty),
        _ => Err(parser.error(ParseErrorKind::Trailing)),
    }
}

/// Returns the conversion of errors of building a term to errors at an offset.
fn term_error(offset: usize) -> impl FnOnce(TermError) -> ParseError {
    move |error| ParseError { offset, kind: ParseErrorKind::Term(error) }
}

/// Names of one binder's variables.
type Names<'t> = PerKind<Vec<&'t str>>;

struct Parser<'a, 't, F: TypeFamily<Name = Name>> {
    cx: &'a F,
    symbols: &'a mut Symbols,
    scope: &'a Scope,
    text: &'t str,
    tokens: Vec<Spanned<'t>>,
    position: usize,
    level: u16,
    binders: Vec<Names<'t>>,
}

impl<'t, F: TypeFamily<Name = Name>> Parser<'_, 't, F> {
    fn token(&self) -> Token<'t> {
        self.token_at(0)
    }

    fn token_at(&self, ahead: usize) -> Token<'t> {
        self.tokens.get(self.position + ahead).map_or(Token::End, |spanned| spanned.token)
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.position).map_or(self.text.len(), |spanned| spanned.offset)
    }

    fn advance(&mut self) {
        self.position += 1;
    }

    fn peek(&self, punct: &str) -> bool {
        matches!(self.token(), Token::Punct(found) if found == punct)
    }

    fn peek_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Ident(found) if found == word)
    }

    /// Whether the next two tokens are both `punct` without space in between.
    fn joined(&self, punct: &str) -> bool {
        let next = self.tokens.get(self.position + 1);
        next.is_some_and(|next| {
            matches!(next.token, Token::Punct(found) if found == punct) && next.offset == self.offset() + 1
        })
    }

    fn eat(&mut self, punct: &str) -> bool {
        let found = self.peek(punct);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: &'static str) -> Result<(), ParseError> {
        if self.eat(punct) { Ok(()) } else { Err(self.error(ParseErrorKind::Expected(punct))) }
    }

    fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { offset: self.offset(), kind }
    }

    /// Parses one nesting level deeper, within the limit.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, ParseError>) -> Result<T, ParseError> {
        if self.level >= MAX_DEPTH {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.level += 1;
        let result = parse(self);
        self.level -= 1;
        result
    }

    /// Finds a bound variable by name.
    fn bound(&self, name: &str, kind: VarKind) -> Option<BoundVar> {
        for (depth, binder) in self.binders.iter().rev().enumerate() {
            if let Some(index) = binder.of(kind).iter().position(|bound| *bound == name) {
                let depth = u32::try_from(depth).ok()?;
                return Some(BoundVar::new(depth, u32::try_from(index).ok()?));
            }
        }
        None
    }

    fn bound_const(&self, name: &str) -> Option<BoundVar> {
        self.bound(name, VarKind::Const)
    }

    fn is_const_name(&self, name: &str) -> bool {
        self.bound_const(name).is_some() || self.scope.consts.contains(name)
    }

    /// The leaf in sigil notation. The depth of a bound variable is relative to the whole text.
    fn leaf(&self, sigil: Sigil) -> Leaf<Name> {
        let Sigil { kind, sort: _, first, second } = sigil;
        match kind {
            SigilKind::Var => Leaf::Infer(InferVar::Var(first)),
            SigilKind::Canonical => Leaf::Infer(InferVar::Canonical(first)),
            SigilKind::Placeholder => {
                let id = PlaceholderId::Fresh(second);
                Leaf::Placeholder(Placeholder { universe: Universe(first), id })
            }
            SigilKind::Bound => {
                let inside = u32::try_from(self.binders.len()).unwrap_or(u32::MAX);
                Leaf::Bound(BoundVar::new(first.saturating_add(inside), second))
            }
        }
    }

    /// Parses `a::b::c`.
    fn path(&mut self) -> Result<String, ParseError> {
        let mut path = String::new();
        loop {
            let Token::Ident(part) = self.token() else {
                return Err(self.error(ParseErrorKind::Expected("a name")));
            };
            path.push_str(part);
            self.advance();
            let more = self.peek("::") && matches!(self.token_at(1), Token::Ident(_));
            if !more {
                return Ok(path);
            }
            self.advance();
            path.push_str("::");
        }
    }

    /// Parses items separated by commas up to `close` and consumes it.
    fn list<T>(
        &mut self,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        loop {
            if self.eat(close) {
                return Ok(items);
            }
            items.push(item(self)?);
            if !self.eat(",") {
                self.expect(close)?;
                return Ok(items);
            }
        }
    }

    /// Parses optional `<...>`.
    fn optional_args(&mut self) -> Result<Vec<GenericArg<F>>, ParseError> {
        if self.eat("<") { self.list(">", Self::arg) } else { Ok(Vec::new()) }
    }
}
