//! Constant expressions: precedence climbing over Rust's operators.

use super::lexer::Token;
use super::{ParseError, ParseErrorKind, Parser, term_error};
use crate::arg::GenericArg;
use crate::binder::VarKind;
use crate::constant::{Const, ConstData, ConstOp, ConstValue};
use crate::family::TypeFamily;
use crate::name::Name;

impl<F: TypeFamily<Name = Name>> Parser<'_, '_, F> {
    /// Whether the next argument is a constant (a literal, a block or a declared name) and not a type or
    /// lifetime.
    pub(super) fn at_const(&self) -> bool {
        match self.token() {
            Token::Int(_) | Token::Char(_) | Token::Punct("-" | "{") => !self.at_braced_type(),
            Token::Ident(name) => matches!(name, "true" | "false") || self.is_const_name(name),
            Token::Sigil(sigil) => sigil.sort == VarKind::Const,
            Token::Lifetime(_) | Token::Str(_) | Token::Punct(_) | Token::End => false,
        }
    }

    /// Parses a constant without operators outside braces or parentheses.
    pub(super) fn const_arg(&mut self) -> Result<Const<F>, ParseError> {
        self.nested(|this| {
            if this.peek("{") && !this.at_braced_const() {
                return this.enclosed("}");
            }
            this.operand()
        })
    }

    /// Parses an expression whose operators have at least the strength `least`.
    pub(super) fn expr(&mut self, least: u8) -> Result<Const<F>, ParseError> {
        self.nested(|this| {
            let mut left = this.operand()?;
            while let Some((op, tokens)) = this.operator() {
                if op.strength() < least.max(1) {
                    break;
                }
                let at = this.offset();
                for _ in 0..tokens {
                    this.advance();
                }
                let right = this.expr(op.strength() + 1)?;
                let args = [GenericArg::Const(left), GenericArg::Const(right)];
                left = Const::expr(this.cx, op, &args).map_err(term_error(at))?;
            }
            Ok(left)
        })
    }

    /// Returns the next binary operator and its number of tokens.
    fn operator(&self) -> Option<(ConstOp, usize)> {
        let Token::Punct(first) = self.token() else { return None };
        let (sign, tokens) = match first {
            "<" if self.joined("<") => ("<<", 2),
            ">" if self.joined(">") => (">>", 2),
            sign => (sign, 1),
        };
        let op = ConstOp::ALL.into_iter().find(|op| op.sign() == sign && op.arity() == 2)?;
        Some((op, tokens))
    }

    fn operand(&mut self) -> Result<Const<F>, ParseError> {
        let at = self.offset();
        let data = match self.token() {
            Token::Int(value) => ConstData::Value(ConstValue::Int(value)),
            Token::Char(value) => ConstData::Value(ConstValue::Char(value)),
            Token::Ident("true") => ConstData::Value(ConstValue::Bool(true)),
            Token::Ident("false") => ConstData::Value(ConstValue::Bool(false)),
            Token::Ident(name) => {
                self.advance();
                return match self.bound_const(name) {
                    Some(var) => Const::new(self.cx, ConstData::Bound(var)),
                    None => Const::param(self.cx, Name::Param(self.symbols.intern(name))),
                }
                .map_err(term_error(at));
            }
            Token::Sigil(sigil) if sigil.sort == VarKind::Const => self.leaf(sigil).const_data(),
            Token::Punct("(") => return self.enclosed(")"),
            Token::Punct("{") if self.at_braced_const() => return self.braced_const(),
            Token::Punct("{") => return self.enclosed("}"),
            Token::Punct("-") => {
                self.advance();
                if let Token::Int(value) = self.token() {
                    // The magnitude of the least integer exceeds that of the greatest.
                    self.advance();
                    return Ok(Const::int(self.cx, -value));
                }
                return self.unary(at, ConstOp::Neg);
            }
            Token::Punct("!") => {
                self.advance();
                return self.unary(at, ConstOp::Not);
            }
            _ => return Err(self.error(ParseErrorKind::Expected("a constant"))),
        };
        self.advance();
        Const::new(self.cx, data).map_err(term_error(at))
    }

    /// Parses an expression in brackets from the opening one.
    fn enclosed(&mut self, close: &'static str) -> Result<Const<F>, ParseError> {
        self.advance();
        let inner = self.expr(0)?;
        self.expect(close)?;
        Ok(inner)
    }

    fn unary(&mut self, at: usize, op: ConstOp) -> Result<Const<F>, ParseError> {
        let operand = self.nested(Self::operand)?;
        Const::expr(self.cx, op, &[operand.into()]).map_err(term_error(at))
    }

    /// Whether `{` opens `{const path}`.
    fn at_braced_const(&self) -> bool {
        self.peek("{") && matches!(self.token_at(1), Token::Ident("const"))
    }

    fn braced_const(&mut self) -> Result<Const<F>, ParseError> {
        let at = self.offset();
        self.expect("{")?;
        self.advance();
        let path = self.path()?;
        let args = self.optional_args()?;
        self.expect("}")?;
        let name = Name::ConstItem(self.symbols.intern(&path));
        Const::new(self.cx, ConstData::Alias(name, &args)).map_err(term_error(at))
    }
}
