//! Parser of dims.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = power (("*" | "/" | "//" | "%") power)*
//! power   = ("+" | "-")* atom (("**" | "^") integer)?
//! atom    = integer | name | quoted | function "(" sum ("," sum)* ")" | "(" sum ")" | "?"
//! ```
//!
//! `//` rounds down. `/` is the exact quotient: `floor(a/b)` rounds it down and `ceil(a/b)` rounds it up. The
//! result of an expression and the arguments of `min` and `max` are integers, so an exact quotient there is
//! rounded down. The functions are those that exporters print: `floor`, `ceil`, `ceiling`, `min`, `max`,
//! `Mod`, `FloorDiv`, `CeilDiv`, `CleanDiv` and variants of these. Each `?` is a new anonymous extent.
//!
//! A name consists of letters, digits and `_ . : $ # @ & !`. A text that is not a well-formed expression
//! (`batch size`, `f(x)`, `1.5*n`) is one symbol, and the text is its name. Words that only hyphens join
//! (`batch-size`) are also one symbol, but `n-1`, `a - b` and `2*a-b` are differences. Inside an expression,
//! a name with other characters is written in double quotes: `2*"batch size"`. A quote in the name is
//! doubled.
//!
//! The text is first compiled to a postfix program. The program runs only if the whole text is well-formed,
//! so a text that is a name creates no other dims. [`MAX_PARENTHESES`] limits the recursion.

use crate::arena::{Dims, MAX_DEGREE};
use crate::id::DimId;

/// Error of a text that has no dim. The caller can still use the text as a symbol: `dims.symbol(text)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DimParseError {
    /// The text is empty.
    #[error("a dimension cannot be empty")]
    Empty,
    /// The expression is too long.
    #[error("the expression has {len} bytes, the limit is {limit}")]
    TooLong {
        /// The length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A number does not fit into 64 bits, or the polynomial is beyond the limits of the arena.
    #[error("the expression is too large")]
    TooLarge,
    /// The divisor is zero.
    #[error("the expression divides by zero")]
    DivisionByZero,
}

/// Maximum length of an expression in bytes; a plain name may be longer.
const MAX_LEN: usize = 4096;
/// Maximum nesting of parentheses; a deeper text is a name.
const MAX_PARENTHESES: usize = 64;

impl Dims {
    /// Parses an expression or a plain name. The module documentation has the grammar.
    ///
    /// # Errors
    /// [`DimParseError`] if the text is empty or too long, or a well-formed expression without a dim.
    pub fn parse(&mut self, text: &str) -> Result<DimId, DimParseError> {
        if text.is_empty() {
            return Err(DimParseError::Empty);
        }
        if is_lone_name(text) {
            return Ok(self.symbol(text));
        }
        if text.len() > MAX_LEN {
            return Err(DimParseError::TooLong { len: text.len(), limit: MAX_LEN });
        }
        match Program::read(text) {
            // The text is a single name with quotes, or with blanks around it. As there is no expression
            // around it, quotes and blanks belong to the name.
            Some(Program { steps, .. })
                if matches!(steps[..], [Step::Quoted(_)])
                    || matches!(steps[..], [Step::Name(name)] if text.trim() == name) =>
            {
                Ok(self.symbol(text))
            }
            Some(program) => self.run(&program),
            None => Ok(self.symbol(text)),
        }
    }

    /// Parses a dim in a model, and records its text as the notation of equal dims.
    ///
    /// If a dim is declared in several notations, the first is recorded. Constants, single symbols and dims
    /// with anonymous extents have no recorded notation.
    ///
    /// # Errors
    /// As [`Dims::parse`].
    pub fn declare(&mut self, text: &str) -> Result<DimId, DimParseError> {
        let dim = self.parse(text)?;
        if !self.is_leaf(dim) && self.as_constant(dim).is_none() && !self.is_anonymous(dim) {
            self.set_spelling(dim, text);
        }
        Ok(dim)
    }

    fn run(&mut self, program: &Program<'_>) -> Result<DimId, DimParseError> {
        let mut stack: Vec<Quotient> = Vec::new();
        for &step in &program.steps {
            let value = match step {
                Step::Integer(digits) => {
                    let value = digits.parse().map_err(|_| DimParseError::TooLarge)?;
                    Quotient::whole(self.constant(value))
                }
                Step::Negative(digits) => {
                    let value: i128 = digits.parse().map_err(|_| DimParseError::TooLarge)?;
                    let value = i64::try_from(-value).map_err(|_| DimParseError::TooLarge)?;
                    Quotient::whole(self.constant(value))
                }
                Step::Name(name) => Quotient::whole(self.symbol(name)),
                Step::Quoted(name) => Quotient::whole(self.symbol(&name.replace("\"\"", "\""))),
                Step::Unknown => Quotient::whole(self.fresh()),
                Step::Unary(operator) => {
                    let argument = stack.pop().ok_or(DimParseError::Empty)?;
                    self.unary(operator, argument)?
                }
                Step::Binary(operator) => {
                    let right = stack.pop().ok_or(DimParseError::Empty)?;
                    let left = stack.pop().ok_or(DimParseError::Empty)?;
                    self.binary(operator, left, right)?
                }
                Step::Extremum(extremum, count) => {
                    let arguments = stack.split_off(stack.len().saturating_sub(count));
                    self.extremum(extremum, arguments)?
                }
            };
            stack.push(value);
        }
        let value = stack.pop().ok_or(DimParseError::Empty)?;
        self.rounded(value)
    }

    fn rounded(&mut self, value: Quotient) -> Result<DimId, DimParseError> {
        if value.denominator == DimId::ONE {
            return Ok(value.numerator);
        }
        self.try_floor_div(value.numerator, value.denominator).ok_or(DimParseError::TooLarge)
    }

    fn unary(&mut self, operator: Unary, argument: Quotient) -> Result<Quotient, DimParseError> {
        let Quotient { numerator, denominator } = argument;
        match operator {
            Unary::Neg => {
                let numerator = self.try_sub(DimId::ZERO, numerator).ok_or(DimParseError::TooLarge)?;
                Ok(Quotient { numerator, denominator })
            }
            Unary::Floor => self.rounded(argument).map(Quotient::whole),
            Unary::Ceil => {
                self.try_ceil_div(numerator, denominator).map(Quotient::whole).ok_or(DimParseError::TooLarge)
            }
            Unary::Power(exponent) => {
                let mut power = Quotient::whole(DimId::ONE);
                for _ in 0..exponent {
                    power = self.binary(Binary::Mul, power, argument)?;
                }
                Ok(power)
            }
        }
    }

    fn binary(&mut self, operator: Binary, a: Quotient, b: Quotient) -> Result<Quotient, DimParseError> {
        match operator {
            Binary::Add | Binary::Sub | Binary::Mul => {
                self.ring(operator, a, b).ok_or(DimParseError::TooLarge)
            }
            Binary::Div | Binary::FloorDiv | Binary::CeilDiv | Binary::Mod => {
                if b.numerator == DimId::ZERO {
                    return Err(DimParseError::DivisionByZero);
                }
                self.quotient(operator, a, b).ok_or(DimParseError::TooLarge)
            }
        }
    }

    fn extremum(&mut self, extremum: Extremum, arguments: Vec<Quotient>) -> Result<Quotient, DimParseError> {
        let mut dims = Vec::with_capacity(arguments.len());
        for argument in arguments {
            dims.push(self.rounded(argument)?);
        }
        let found = match extremum {
            Extremum::Min => self.try_min_all(&dims),
            Extremum::Max => self.try_max_all(&dims),
        };
        found.map(Quotient::whole).ok_or(DimParseError::TooLarge)
    }

    fn ring(&mut self, operator: Binary, a: Quotient, b: Quotient) -> Option<Quotient> {
        let denominator = self.try_mul(a.denominator, b.denominator)?;
        let numerator = if operator == Binary::Mul {
            self.try_mul(a.numerator, b.numerator)?
        } else {
            let left = self.try_mul(a.numerator, b.denominator)?;
            let right = self.try_mul(b.numerator, a.denominator)?;
            if operator == Binary::Add { self.try_add(left, right)? } else { self.try_sub(left, right)? }
        };
        Some(self.lowest(numerator, denominator))
    }

    fn quotient(&mut self, operator: Binary, a: Quotient, b: Quotient) -> Option<Quotient> {
        let numerator = self.try_mul(a.numerator, b.denominator)?;
        let denominator = self.try_mul(a.denominator, b.numerator)?;
        match operator {
            Binary::Div => Some(self.lowest(numerator, denominator)),
            Binary::CeilDiv => self.try_ceil_div(numerator, denominator).map(Quotient::whole),
            _ => {
                let floor = Quotient::whole(self.try_floor_div(numerator, denominator)?);
                if operator != Binary::Mod {
                    return Some(floor);
                }
                let whole = self.ring(Binary::Mul, b, floor)?;
                self.ring(Binary::Sub, a, whole)
            }
        }
    }

    /// A quotient without its denominator, if the denominator divides the numerator.
    fn lowest(&mut self, numerator: DimId, denominator: DimId) -> Quotient {
        match self.div_exact(numerator, denominator) {
            Some(whole) => Quotient::whole(whole),
            None => Quotient { numerator, denominator },
        }
    }
}

/// An intermediate value of an expression. The denominator is not the constant zero.
#[derive(Clone, Copy)]
struct Quotient {
    numerator: DimId,
    denominator: DimId,
}

impl Quotient {
    fn whole(numerator: DimId) -> Self {
        Self { numerator, denominator: DimId::ONE }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unary {
    Neg,
    Floor,
    Ceil,
    Power(u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    CeilDiv,
    Mod,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extremum {
    Min,
    Max,
}

/// One step of a postfix program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Integer(&'a str),
    /// The digits of a negative integer. The sign belongs to the number, because the absolute value of the
    /// least integer does not fit into 64 bits.
    Negative(&'a str),
    Name(&'a str),
    Quoted(&'a str),
    Unknown,
    Unary(Unary),
    Binary(Binary),
    /// Replaces this number of values at the top of the stack.
    Extremum(Extremum, usize),
}

/// The step of a function. For an extremum, the parser replaces the number 0 by the number of arguments.
fn function(name: &str) -> Option<Step<'static>> {
    Some(match name {
        "floor" | "Floor" | "FloorToInt" => Step::Unary(Unary::Floor),
        "ceil" | "Ceil" | "ceiling" | "CeilToInt" => Step::Unary(Unary::Ceil),
        "min" | "Min" => Step::Extremum(Extremum::Min, 0),
        "max" | "Max" => Step::Extremum(Extremum::Max, 0),
        "Mod" | "mod" | "PythonMod" => Step::Binary(Binary::Mod),
        "FloorDiv" | "floordiv" | "CleanDiv" => Step::Binary(Binary::FloorDiv),
        "CeilDiv" | "ceildiv" => Step::Binary(Binary::CeilDiv),
        _ => return None,
    })
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$' | '#' | '@' | '&' | '!')
}

/// The length in bytes of the word at the start of `text`: an integer or a name without hyphens.
fn word_len(text: &str) -> usize {
    text.find(|c| !is_name_char(c)).unwrap_or(text.len())
}

/// The kind of a word: an integer, a name, or neither (a number with a point or an exponent).
fn classify(word: &str) -> Option<Step<'_>> {
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Step::Integer(word));
    }
    let number_like = word.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E'));
    (!number_like).then_some(Step::Name(word))
}

/// Whether a text is a name that needs no quotes inside an expression.
pub(crate) fn is_plain_name(text: &str) -> bool {
    !text.is_empty() && word_len(text) == text.len() && matches!(classify(text), Some(Step::Name(_)))
}

/// Whether a whole text is a name: words with hyphens between them. Each word after the first starts with a
/// letter or `_`, because `n-1` is a difference.
fn is_lone_name(text: &str) -> bool {
    let mut words = text.split('-');
    words.next().is_some_and(is_plain_name)
        && words.all(|word| {
            word_len(word) == word.len() && word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        })
}

/// An expression in postfix order.
struct Program<'a> {
    text: &'a str,
    steps: Vec<Step<'a>>,
    parentheses: usize,
}

impl<'a> Program<'a> {
    /// Compiles an expression; `None` if the text is not well-formed.
    fn read(text: &'a str) -> Option<Self> {
        let mut program = Self { text, steps: Vec::new(), parentheses: 0 };
        program.sum()?;
        program.skip_blanks();
        program.text.is_empty().then_some(program)
    }

    fn skip_blanks(&mut self) {
        self.text = self.text.trim_start();
    }

    /// Consumes the token if it is next.
    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        match self.text.strip_prefix(token) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    /// Consumes the next token if it is in the list. Earlier tokens of the list are tried first.
    fn take_any(&mut self, tokens: &[(&str, Binary)]) -> Option<Binary> {
        tokens.iter().find(|(token, _)| self.take(token)).map(|&(_, operator)| operator)
    }

    fn sum(&mut self) -> Option<()> {
        self.product()?;
        while let Some(operator) = self.take_any(&[("+", Binary::Add), ("-", Binary::Sub)]) {
            self.product()?;
            self.steps.push(Step::Binary(operator));
        }
        Some(())
    }

    fn product(&mut self) -> Option<()> {
        const OPERATORS: [(&str, Binary); 4] =
            [("//", Binary::FloorDiv), ("/", Binary::Div), ("*", Binary::Mul), ("%", Binary::Mod)];
        self.power()?;
        while let Some(operator) = self.take_any(&OPERATORS) {
            self.power()?;
            self.steps.push(Step::Binary(operator));
        }
        Some(())
    }

    fn power(&mut self) -> Option<()> {
        let mut negative = false;
        loop {
            if self.take("-") {
                negative = !negative;
            } else if !self.take("+") {
                break;
            }
        }
        self.atom()?;
        if self.take("**") || self.take("^") {
            self.skip_blanks();
            let len = word_len(self.text);
            let exponent = self.text[..len].parse::<u32>().ok()?;
            if exponent as usize > MAX_DEGREE {
                return None;
            }
            self.text = &self.text[len..];
            self.steps.push(Step::Unary(Unary::Power(exponent)));
        }
        if negative {
            let step = match self.steps.pop_if(|step| matches!(step, Step::Integer(_))) {
                Some(Step::Integer(digits)) => Step::Negative(digits),
                _ => Step::Unary(Unary::Neg),
            };
            self.steps.push(step);
        }
        Some(())
    }

    fn atom(&mut self) -> Option<()> {
        if self.take("(") {
            self.parenthesised(Self::sum)?;
            return self.take(")").then_some(());
        }
        if self.take("?") {
            self.steps.push(Step::Unknown);
            return Some(());
        }
        if self.take("\"") {
            return self.quoted();
        }
        let len = word_len(self.text);
        let (word, rest) = self.text.split_at(len);
        if word.is_empty() {
            return None;
        }
        self.text = rest;
        if let Some(function) = function(word)
            && self.take("(")
        {
            self.parenthesised(|program| program.arguments(function))?;
            return self.take(")").then_some(());
        }
        self.steps.push(classify(word)?);
        Some(())
    }

    fn quoted(&mut self) -> Option<()> {
        let mut end = self.text.find('"')?;
        while self.text[end + 1..].starts_with('"') {
            end += 2 + self.text[end + 2..].find('"')?;
        }
        if end == 0 {
            return None;
        }
        self.steps.push(Step::Quoted(&self.text[..end]));
        self.text = &self.text[end + 1..];
        Some(())
    }

    fn parenthesised(&mut self, inside: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.parentheses == MAX_PARENTHESES {
            return None;
        }
        self.parentheses += 1;
        inside(self)?;
        self.parentheses -= 1;
        Some(())
    }

    fn arguments(&mut self, function: Step<'a>) -> Option<()> {
        self.sum()?;
        let mut count = 1;
        while self.take(",") {
            self.sum()?;
            count += 1;
        }
        self.steps.push(match function {
            Step::Extremum(extremum, _) => Step::Extremum(extremum, count),
            Step::Unary(_) if count == 1 => function,
            Step::Binary(_) if count == 2 => function,
            Step::Unary(_) | Step::Binary(_) | Step::Integer(_) | Step::Negative(_) => return None,
            Step::Name(_) | Step::Quoted(_) | Step::Unknown => return None,
        });
        Some(())
    }
}
