//! Text of dims, in the syntax of the parser.
//!
//! The normal form is made for comparison. The text is an equal expression that is easier to read, found in
//! three steps:
//!
//! 1. `a - b*(a//b)` is printed as `a % b`, and `a + b - min(a, b)` as `max(a, b)`.
//! 2. Terms are ordered: more factors first, older symbols first, the constant last, and a positive term
//!    first if there is one.
//! 3. Common symbols of all terms are factored out: `batch*(seq + past)`.

use std::fmt::{self, Write};

use crate::arena::{Dims, Kind};
use crate::id::DimId;
use crate::parse::is_plain_name;
use crate::poly::{Term, Terms};

/// A dim as text: see [`Dims::display`].
#[derive(Clone, Copy)]
pub struct DisplayDim<'a> {
    dims: &'a Dims,
    dim: DimId,
}

impl Dims {
    /// The dim as text, in the syntax that [`Dims::parse`] reads.
    ///
    /// A lone symbol is printed as its name. Inside an expression, a name that the parser would not read as
    /// one is quoted. An anonymous variable is `?`. A dim with bound variables should be resolved first;
    /// otherwise the text is correct but not in normal form, and long chains of bindings are printed as `?`.
    #[must_use]
    pub fn display(&self, dim: DimId) -> DisplayDim<'_> {
        DisplayDim { dims: self, dim }
    }
}

impl fmt::Display for DisplayDim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = self.dims.chase(self.dim);
        if let Some(name) = self.dims.as_symbol(dim) {
            return f.write_str(name);
        }
        if let Some(spelling) = self.dims.spelling(dim) {
            return f.write_str(spelling);
        }
        Printer { dims: self.dims, out: f, bindings: 0 }.sum(dim)
    }
}

/// Maximum number of nested bindings in a text.
const MAX_BINDINGS: u32 = 3;

/// A factor of a printed term.
#[derive(Clone, PartialEq, Eq)]
enum Factor {
    Atom(DimId),
    Modulo(Vec<Term>, Vec<Term>),
    Max(Vec<Vec<Term>>),
}

/// A printed term.
struct Part {
    coefficient: i64,
    factors: Vec<Factor>,
}

/// The context of an expression, which decides about parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// The context binds no tighter than `+`.
    Summand,
    /// An operand of `*`, `//` or `%`.
    Operand,
}

struct Printer<'a, 'f, 'o> {
    dims: &'a Dims,
    out: &'f mut fmt::Formatter<'o>,
    bindings: u32,
}

impl Printer<'_, '_, '_> {
    fn sum(&mut self, dim: DimId) -> fmt::Result {
        let terms = self.dims.terms(self.dims.chase(dim));
        self.terms(&terms)
    }

    fn terms(&mut self, terms: &[Term]) -> fmt::Result {
        let mut parts = self.dims.readable(terms);
        let shared = take_shared(&mut parts);
        if shared.factors.is_empty() {
            return self.parts(&parts);
        }
        self.part(&shared, Context::Operand)?;
        self.out.write_str("*(")?;
        self.parts(&parts)?;
        self.out.write_str(")")
    }

    fn parts(&mut self, parts: &[Part]) -> fmt::Result {
        if parts.is_empty() {
            return self.out.write_str("0");
        }
        for (at, part) in parts.iter().enumerate() {
            match (at, part.coefficient < 0) {
                (0, false) => {}
                (0, true) => self.out.write_str("-")?,
                (_, false) => self.out.write_str(" + ")?,
                (_, true) => self.out.write_str(" - ")?,
            }
            // After a leading minus, a quotient needs parentheses, because the minus binds tighter.
            let context = if at == 0 && part.coefficient < 0 { Context::Operand } else { Context::Summand };
            self.part(part, context)?;
        }
        Ok(())
    }

    /// The part without its sign; `context` is the context of a single factor.
    fn part(&mut self, part: &Part, context: Context) -> fmt::Result {
        let magnitude = part.coefficient.unsigned_abs();
        let coefficient = magnitude != 1 || part.factors.is_empty();
        if coefficient {
            write!(self.out, "{magnitude}")?;
        }
        let context = if coefficient || part.factors.len() > 1 { Context::Operand } else { context };
        for (at, factor) in part.factors.iter().enumerate() {
            if coefficient || at > 0 {
                self.out.write_str("*")?;
            }
            self.factor(factor, context)?;
        }
        Ok(())
    }

    fn factor(&mut self, factor: &Factor, context: Context) -> fmt::Result {
        match factor {
            Factor::Modulo(dividend, divisor) => self.bracketed(context, |printer| {
                printer.operand(dividend)?;
                printer.out.write_str(" % ")?;
                printer.operand(divisor)
            }),
            Factor::Max(arguments) => self.call("max", arguments),
            &Factor::Atom(atom) => self.atom(atom, context),
        }
    }

    fn atom(&mut self, atom: DimId, context: Context) -> fmt::Result {
        if let Some(value) = self.dims.binding(atom) {
            if self.bindings == MAX_BINDINGS {
                return self.out.write_str("?");
            }
            self.bindings += 1;
            let value = self.dims.terms(self.dims.chase(value));
            let printed = self.bracketed(context, |printer| printer.operand(&value));
            self.bindings -= 1;
            return printed;
        }
        match self.dims.kind(atom) {
            Some(Kind::Symbol(_)) => self.name(self.dims.as_symbol(atom).unwrap_or_default()),
            Some(Kind::Floor { numerator, denominator }) => self.bracketed(context, |printer| {
                let (numerator, denominator) =
                    (printer.dims.terms(numerator), printer.dims.terms(denominator));
                printer.operand(&numerator)?;
                printer.out.write_str("//")?;
                printer.operand(&denominator)
            }),
            Some(Kind::Min(span)) => {
                let terms = |dim: &DimId| self.dims.terms(self.dims.chase(*dim));
                let arguments: Vec<Terms> = self.dims.list(span).iter().map(terms).collect();
                self.call("min", &arguments)
            }
            Some(Kind::Variable(_)) => self.out.write_str("?"),
            // Only a part of a dim; parentheses keep the text correct.
            Some(Kind::Constant(_) | Kind::Product(_) | Kind::Sum(_)) | None => {
                self.bracketed(Context::Operand, |printer| printer.sum(atom))
            }
        }
    }

    fn call<T: std::ops::Deref<Target = [Term]>>(&mut self, name: &str, arguments: &[T]) -> fmt::Result {
        write!(self.out, "{name}(")?;
        for (at, argument) in arguments.iter().enumerate() {
            self.out.write_str(if at == 0 { "" } else { ", " })?;
            self.terms(argument)?;
        }
        self.out.write_str(")")
    }

    fn name(&mut self, name: &str) -> fmt::Result {
        if is_plain_name(name) {
            return self.out.write_str(name);
        }
        self.out.write_str("\"")?;
        for c in name.chars() {
            self.out.write_str(if c == '"' { "\"" } else { "" })?;
            self.out.write_char(c)?;
        }
        self.out.write_str("\"")
    }

    /// Writes an operand of `//` or `%`, in parentheses unless it is one name or call.
    fn operand(&mut self, terms: &[Term]) -> fmt::Result {
        let bare = match *terms {
            [] => true,
            [Term { coefficient, monomial: DimId::ONE }] => coefficient >= 0,
            [Term { coefficient: 1, monomial }] => {
                matches!(self.dims.kind(monomial), Some(Kind::Symbol(_) | Kind::Variable(_) | Kind::Min(_)))
            }
            _ => false,
        };
        let context = if bare { Context::Summand } else { Context::Operand };
        self.bracketed(context, |printer| printer.terms(terms))
    }

    fn bracketed(&mut self, context: Context, inside: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        if context == Context::Summand {
            return inside(self);
        }
        self.out.write_str("(")?;
        inside(self)?;
        self.out.write_str(")")
    }
}

/// Factors out the common symbols of all parts and the common divisor of their coefficients.
fn take_shared(parts: &mut [Part]) -> Part {
    let mut shared = Part { coefficient: 1, factors: Vec::new() };
    let [first, rest @ ..] = &*parts else { return shared };
    if rest.is_empty() {
        return shared;
    }
    for factor in &first.factors {
        let needed = 1 + shared.factors.iter().filter(|taken| *taken == factor).count();
        let has = |part: &Part| part.factors.iter().filter(|other| *other == factor).count() >= needed;
        if rest.iter().all(has) {
            shared.factors.push(factor.clone());
        }
    }
    if shared.factors.is_empty() {
        return shared;
    }
    let common =
        parts.iter().fold(0, |common, part| crate::poly::gcd(common, part.coefficient.unsigned_abs()));
    shared.coefficient = i64::try_from(common).unwrap_or(1).max(1);
    for part in &mut *parts {
        part.coefficient /= shared.coefficient;
        for factor in &shared.factors {
            if let Some(at) = part.factors.iter().position(|other| other == factor) {
                part.factors.remove(at);
            }
        }
    }
    order(parts);
    shared
}

/// The order of parts: more factors first, older atoms first, the constant last; a positive part first.
fn order(parts: &mut [Part]) {
    parts.sort_by_key(|part| {
        let atoms: Vec<Option<DimId>> = part
            .factors
            .iter()
            .map(|factor| match factor {
                Factor::Atom(atom) => Some(*atom),
                Factor::Modulo(..) | Factor::Max(_) => None,
            })
            .collect();
        (std::cmp::Reverse(part.factors.len()), atoms)
    });
    if let Some(positive) = parts.iter().position(|part| part.coefficient > 0) {
        parts[..=positive].rotate_right(1);
    }
}

/// The terms that remain after readable parts were extracted.
struct Pool<'a> {
    dims: &'a Dims,
    terms: Vec<(i64, Vec<DimId>)>,
}

impl Dims {
    /// The parts of an equal sum, with remainders and maxima where possible.
    fn readable(&self, terms: &[Term]) -> Vec<Part> {
        let terms =
            terms.iter().map(|term| (term.coefficient, self.factors(term.monomial).to_vec())).collect();
        let mut pool = Pool { dims: self, terms };
        let mut parts = Vec::new();
        let mut at = 0;
        while at < pool.terms.len() {
            // Each round sets a term to zero or advances, so the loop ends.
            match pool.remainder(at).or_else(|| pool.maximum(at)) {
                Some(part) => parts.push(part),
                None => at += 1,
            }
        }
        for (coefficient, factors) in pool.terms {
            if coefficient != 0 {
                parts.push(Part { coefficient, factors: factors.into_iter().map(Factor::Atom).collect() });
            }
        }
        order(&mut parts);
        parts
    }
}

impl Pool<'_> {
    /// Combines `-k*d*R*(n//d)` and `k*R*n` to `k*R*(n % d)`.
    fn remainder(&mut self, at: usize) -> Option<Part> {
        let (coefficient, mut rest) = self.terms[at].clone();
        let (position, numerator, denominator) =
            rest.iter().enumerate().find_map(|(position, &factor)| {
                let (numerator, denominator) = self.dims.as_floor(factor)?;
                Some((position, numerator, denominator))
            })?;
        rest.remove(position);
        let divisor = self.dims.terms(denominator).to_vec();
        let [Term { coefficient: number, monomial }] = divisor[..] else { return None };
        for factor in self.dims.factors(monomial) {
            let position = rest.iter().position(|&other| other == factor)?;
            rest.remove(position);
        }
        if coefficient.checked_rem(number)? != 0 {
            return None;
        }
        let scale = coefficient.checked_div(number)?.checked_neg().filter(|&scale| scale != 0)?;
        let dividend = self.dims.terms(numerator).to_vec();
        let needed = self.scaled(&dividend, &rest, scale)?;
        if !needed.iter().all(|(coefficient, factors)| self.available(factors, *coefficient) == *coefficient)
        {
            return None;
        }
        Some(self.replace(at, &needed, scale, rest, Factor::Modulo(dividend, divisor)))
    }

    /// Combines `R*p - R*min(a, b)` to `R*max(p - a, p - b)` for the largest available `p`, if that is not
    /// longer.
    fn maximum(&mut self, at: usize) -> Option<Part> {
        let (coefficient, factors) = self.terms[at].clone();
        let minima = factors.iter().enumerate();
        let (position, arguments) =
            minima.filter_map(|(position, &factor)| Some((position, self.dims.as_min(factor)?))).next()?;
        let scale = coefficient.checked_neg().filter(|&scale| scale > 0)?;
        let arguments: Vec<_> = arguments.iter().map(|&argument| self.dims.terms(argument)).collect();
        let mut rest = factors;
        rest.remove(position);
        let mut cover: Vec<Term> = Vec::new();
        let mut monomials: Vec<DimId> = arguments.iter().flatten().map(|term| term.monomial).collect();
        monomials.sort_unstable();
        monomials.dedup();
        for monomial in monomials {
            let most = arguments
                .iter()
                .flatten()
                .filter(|term| term.monomial == monomial)
                .map(|term| term.coefficient)
                .max()?;
            let [(_, factors)] = &self.scaled(&[Term { coefficient: 1, monomial }], &rest, 1)?[..] else {
                return None;
            };
            let coefficient = self.available(factors, most.checked_mul(scale)?) / scale;
            if coefficient > 0 {
                cover.push(Term { coefficient, monomial });
            }
        }
        if cover.is_empty() {
            return None;
        }
        let shifted: Option<Vec<Vec<Term>>> = arguments
            .iter()
            .map(|argument| crate::poly::merge(&cover, argument, -1).map(|terms| terms.to_vec()))
            .collect();
        let mut shifted = shifted?;
        let length =
            |arguments: &[Vec<Term>]| arguments.iter().map(|terms| terms.len().max(1)).sum::<usize>();
        let before: usize = arguments.iter().map(Terms::len).sum();
        if length(&shifted) > before + cover.len() {
            return None;
        }
        // Constants come first, as in `max(0, n - 1)`, then older symbols.
        shifted.sort_by_key(|argument| {
            argument.first().filter(|term| term.monomial != DimId::ONE).map(|term| term.monomial)
        });
        let needed = self.scaled(&cover, &rest, scale)?;
        Some(self.replace(at, &needed, scale, rest, Factor::Max(shifted)))
    }

    /// `scale * rest * terms`, multiplied out.
    fn scaled(&self, terms: &[Term], rest: &[DimId], scale: i64) -> Option<Vec<(i64, Vec<DimId>)>> {
        let scaled = |term: &Term| {
            let mut factors = self.dims.factors(term.monomial).to_vec();
            factors.extend_from_slice(rest);
            factors.sort_unstable();
            Some((term.coefficient.checked_mul(scale)?, factors))
        };
        terms.iter().map(scaled).collect()
    }

    /// The available part of `wanted` times the product of `factors`, from zero to `wanted`.
    fn available(&self, factors: &[DimId], wanted: i64) -> i64 {
        let there = self.terms.iter().find(|(_, other)| other == factors).map_or(0, |term| term.0);
        if wanted >= 0 { there.clamp(0, wanted) } else { there.clamp(wanted, 0) }
    }

    /// Replaces a term and the terms that it needs by one part.
    fn replace(
        &mut self,
        at: usize,
        needed: &[(i64, Vec<DimId>)],
        coefficient: i64,
        rest: Vec<DimId>,
        factor: Factor,
    ) -> Part {
        self.terms[at].0 = 0;
        for (coefficient, factors) in needed {
            if let Some(term) = self.terms.iter_mut().find(|(_, other)| other == factors) {
                term.0 -= coefficient;
            }
        }
        Part { coefficient, factors: rest.into_iter().map(Factor::Atom).chain([factor]).collect() }
    }
}
