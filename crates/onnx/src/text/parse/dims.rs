//! Dims and dim expressions.
//!
//! A dim is a number, `?`, a name, a quoted text (stored as it is), or, as an extension, an arithmetic
//! expression over names: `batch*seq`, `seq + 1`, `(h + 2*pad)//stride`, `max(a, b)`. An expression is stored
//! as text in canonical form: spaces around `+` and `-` and after commas only, parentheses as written. The
//! solver interprets it.

use crate::messages::tensor_shape_proto::{Dimension, dimension};
use crate::text::error::{Expected, NumberTarget, Result};
use crate::text::lexer::{Punct, Token};

use super::Parser;

impl Parser<'_> {
    pub(super) fn dim(&mut self) -> Result<Dimension> {
        let value = match self.token() {
            Token::Punct(Punct::Question) => {
                self.advance()?;
                None
            }
            Token::String(literal) => {
                self.advance()?;
                Some(dimension::Value::DimParam(literal.value().into_owned()))
            }
            Token::Identifier(_) | Token::Number(_) | Token::Punct(_) | Token::End => {
                // Expressions are stored as text, not as nested messages, so their depth is counted
                // separately.
                let outside = std::mem::take(&mut self.depth);
                let value = self.dim_expression();
                self.depth = outside;
                Some(value?)
            }
        };
        Ok(Dimension { value, denotation: self.denotation()?, ..Default::default() })
    }

    fn dim_expression(&mut self) -> Result<dimension::Value> {
        let negative = self.at(Punct::Minus) && matches!(self.peek(), Some(Token::Number(_)));
        let mut text = String::new();
        if negative || matches!(self.token(), Token::Number(_)) {
            let number: i64 = self.integer(NumberTarget::Int64)?;
            if self.dim_operator().is_none() {
                return Ok(dimension::Value::DimValue(number));
            }
            text.push_str(&number.to_string());
            self.dim_operations(&mut text)?;
        } else {
            self.dim_sum(&mut text)?;
        }
        Ok(dimension::Value::DimParam(text))
    }

    /// `term (operator term)*`. The order is preserved in the text, so precedence is not needed.
    fn dim_sum(&mut self, text: &mut String) -> Result<()> {
        self.dim_term(text)?;
        self.dim_operations(text)
    }

    fn dim_operations(&mut self, text: &mut String) -> Result<()> {
        while let Some(operator) = self.dim_operator() {
            self.advance()?;
            let spaced = matches!(operator, Punct::Plus | Punct::Minus);
            let blank = if spaced { " " } else { "" };
            text.extend([blank, operator.as_str(), blank]);
            self.dim_term(text)?;
        }
        Ok(())
    }

    fn dim_term(&mut self, text: &mut String) -> Result<()> {
        while self.eat(Punct::Minus)? {
            text.push('-');
        }
        match self.token() {
            Token::Number(_) => {
                let number: i64 = self.integer(NumberTarget::Int64)?;
                text.push_str(&number.to_string());
                Ok(())
            }
            Token::Identifier(name) => {
                self.advance()?;
                text.push_str(name);
                if self.at(Punct::LeftParen) {
                    self.nested(|parser| parser.dim_arguments(text))
                } else {
                    Ok(())
                }
            }
            Token::Punct(Punct::LeftParen) => self.nested(|parser| {
                parser.advance()?;
                text.push('(');
                parser.dim_sum(text)?;
                parser.expect(Punct::RightParen)?;
                text.push(')');
                Ok(())
            }),
            Token::String(_) | Token::Punct(_) | Token::End => Err(self.unexpected(Expected::Dim)),
        }
    }

    fn dim_arguments(&mut self, text: &mut String) -> Result<()> {
        self.advance()?;
        text.push('(');
        let mut separator = "";
        self.list_of_some(Punct::RightParen, |parser| {
            text.push_str(std::mem::replace(&mut separator, ", "));
            parser.dim_sum(text)
        })?;
        text.push(')');
        Ok(())
    }

    fn dim_operator(&self) -> Option<Punct> {
        match self.token() {
            Token::Punct(
                punct @ (Punct::Plus
                | Punct::Minus
                | Punct::Star
                | Punct::StarStar
                | Punct::Slash
                | Punct::SlashSlash
                | Punct::Percent),
            ) => Some(punct),
            _ => None,
        }
    }
}

/// Whether a text is a dim expression in canonical form, which needs no quotes in a type.
pub(in crate::text) fn is_canonical_dim(text: &str) -> bool {
    let Ok(mut parser) = Parser::new(text) else { return false };
    parser.dim().is_ok_and(|dim| {
        dim.value == Some(dimension::Value::DimParam(text.to_owned())) && dim.denotation.is_none()
    }) && parser.token() == Token::End
}
