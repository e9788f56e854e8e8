//! Evaluation of extents, given as text, under a binding of symbols.
//!
//! The implementation is independent of the dim arithmetic under test.

use std::collections::BTreeMap;

/// Values of symbols.
pub type Binding = BTreeMap<String, i64>;

/// Evaluates an expression; `None` if it has an unbound symbol or an anonymous extent, or is invalid.
///
/// ```
/// use typeloom_differential::expression::{Binding, evaluate};
///
/// let binding = Binding::from([("n".to_owned(), 7)]);
/// assert_eq!(evaluate("max(n//2, 2*n - 9) + n % 4", &binding), Some(8));
/// assert_eq!(evaluate("n + ?", &binding), None);
/// ```
#[must_use]
pub fn evaluate(text: &str, binding: &Binding) -> Option<i64> {
    let mut reader = Reader { rest: text.as_bytes(), binding };
    let value = reader.sum()?;
    reader.blanks();
    reader.rest.is_empty().then_some(value)
}

/// The names in an expression.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()));
    words.filter(|word| !matches!(*word, "" | "min" | "max")).map(str::to_owned).collect()
}

struct Reader<'t> {
    rest: &'t [u8],
    binding: &'t Binding,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest.strip_prefix(token.as_bytes());
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.take("-") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        loop {
            if self.take("*") {
                value = value.checked_mul(self.atom()?)?;
            } else if self.take("//") {
                value = floor(value, self.atom()?)?;
            } else if self.take("%") {
                let divisor = self.atom()?;
                value -= floor(value, divisor)?.checked_mul(divisor)?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<i64> {
        if self.take("-") {
            return self.atom()?.checked_neg();
        }
        if self.take("(") {
            let value = self.sum()?;
            return self.take(")").then_some(value);
        }
        let length = self.rest.iter().take_while(|it| it.is_ascii_alphanumeric() || **it == b'_').count();
        let (word, rest) = self.rest.split_at(length);
        let word = std::str::from_utf8(word).ok()?;
        self.rest = rest;
        match word {
            "" => None,
            "min" | "max" => {
                let mut value = self.take("(").then(|| self.sum())??;
                while self.take(",") {
                    let other = self.sum()?;
                    value = if word == "min" { value.min(other) } else { value.max(other) };
                }
                self.take(")").then_some(value)
            }
            _ if word.as_bytes()[0].is_ascii_digit() => word.parse().ok(),
            _ => self.binding.get(word).copied(),
        }
    }
}

fn floor(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    Some(if left % right != 0 && (left < 0) != (right < 0) { quotient - 1 } else { quotient })
}
