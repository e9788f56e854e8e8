//! Constants as terms: values, symbols, and expressions over them.
//!
//! Array lengths, const generics and tensor dims are all constants: `3`, `N`, `2 * seq + 1`.
//!
//! Expressions are compared as they are written, as rustc compares them: `N + 1` and `1 + N` differ. Only
//! known values are evaluated ([`ConstOp::evaluate`]), with the operators of Rust. Pools convert them to
//! polynomials.

use crate::arg::GenericArg;
use crate::binder::{BoundVar, VarKind};
use crate::family::boxed::Boxed;
use crate::family::{Node, TypeFamily};
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta, TermError};
use crate::ty::{ErrorProof, InferVar, Placeholder, args_meta, term_handle};

term_handle! {
    /// A constant.
    Const, ConstData: InternedConst, intern_const, const_data
}

impl<F: TypeFamily> Const<F> {
    /// Builds an integer.
    pub fn int(cx: &F, value: i128) -> Self {
        let data = ConstData::Value(ConstValue::Int(value));
        Self(cx.intern_const(data).expect("a value is a term of depth one"))
    }

    /// Builds the constant parameter `name`.
    pub fn param(cx: &F, name: F::Name) -> Result<Self, TermError> {
        Self::new(cx, ConstData::Placeholder(Placeholder::named(name)))
    }

    /// Builds `op` applied to operands.
    pub fn expr(cx: &F, op: ConstOp, operands: &[GenericArg<F>]) -> Result<Self, TermError> {
        Self::new(cx, ConstData::Expr(op, operands))
    }
}

/// Content of a constant.
#[derive(PartialEq, Eq, Hash, Debug)]
pub enum ConstData<'a, F: TypeFamily> {
    /// A known value.
    Value(ConstValue),
    /// A constant known only by its name: a const generic parameter or a symbolic dim.
    Placeholder(Placeholder<F::Name>),
    /// A variable of an inference table or of a canonical form.
    Infer(InferVar),
    /// A variable of an enclosing binder.
    Bound(BoundVar),
    /// An operator applied to constants.
    Expr(ConstOp, &'a [GenericArg<F>]),
    /// An alias of another constant: an associated constant, a constant item, an unevaluated block.
    Alias(F::Name, &'a [GenericArg<F>]),
    /// The error constant.
    Error(ErrorProof),
}

impl<F: TypeFamily> ConstData<'_, F> {
    /// Computes the metadata of the node, or the error if the node must not exist.
    #[inline]
    pub fn meta(&self) -> Result<Meta, TermError> {
        match self {
            Self::Value(_) => Ok(Meta::leaf(Flags::NONE)),
            Self::Placeholder(placeholder) => Leaf::Placeholder(*placeholder).meta(VarKind::Const),
            Self::Infer(var) => Leaf::<F::Name>::Infer(*var).meta(VarKind::Const),
            Self::Bound(var) => Leaf::<F::Name>::Bound(*var).meta(VarKind::Const),
            Self::Error(proof) => Leaf::<F::Name>::Error(*proof).meta(VarKind::Const),
            Self::Expr(_, args) => args_meta(args, 0, Flags::CONST_EXPR),
            Self::Alias(_, args) => args_meta(args, 0, Flags::ALIAS),
        }
    }
}

/// A known constant value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConstValue {
    /// An integer of any width.
    Int(i128),
    /// A truth value.
    Bool(bool),
    /// A character.
    Char(char),
}

impl std::fmt::Display for ConstValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Char(value) => write!(f, "{value:?}"),
        }
    }
}

/// Operators of constant expressions, with Rust's semantics on integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConstOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, towards zero
    Div,
    /// `a % b`
    Rem,
    /// `a << b`
    Shl,
    /// `a >> b`
    Shr,
    /// `a & b`
    BitAnd,
    /// `a | b`
    BitOr,
    /// `a ^ b`
    BitXor,
    /// `-a`
    Neg,
    /// `!a`
    Not,
}

impl ConstOp {
    /// All operators.
    pub const ALL: [Self; 12] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Rem,
        Self::Shl,
        Self::Shr,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::Neg,
        Self::Not,
    ];

    /// Returns the spelling in Rust, the name, the binding strength and the number of operands.
    const fn properties(self) -> (&'static str, &'static str, u8, usize) {
        match self {
            Self::Add => ("+", "add", 5, 2),
            Self::Sub => ("-", "sub", 5, 2),
            Self::Mul => ("*", "mul", 6, 2),
            Self::Div => ("/", "div", 6, 2),
            Self::Rem => ("%", "rem", 6, 2),
            Self::Shl => ("<<", "shl", 4, 2),
            Self::Shr => (">>", "shr", 4, 2),
            Self::BitAnd => ("&", "and", 3, 2),
            Self::BitOr => ("|", "or", 1, 2),
            Self::BitXor => ("^", "xor", 2, 2),
            Self::Neg => ("-", "neg", 7, 1),
            Self::Not => ("!", "not", 7, 1),
        }
    }

    /// Returns the spelling in Rust.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        self.properties().0
    }

    /// Returns a word for the operator, such as `shl`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.properties().1
    }

    /// Returns the binding strength in Rust's precedence, from 1.
    #[must_use]
    pub const fn strength(self) -> u8 {
        self.properties().2
    }

    /// Number of operands.
    #[must_use]
    pub const fn arity(self) -> usize {
        self.properties().3
    }

    /// Returns the value for known operands, or `None` if there is none: overflow, division by zero, operands
    /// of the wrong kind or number.
    #[must_use]
    pub fn evaluate(self, operands: &[ConstValue]) -> Option<ConstValue> {
        use ConstValue::{Bool, Int};
        Some(match (self, operands) {
            (Self::Add, [Int(a), Int(b)]) => Int(a.checked_add(*b)?),
            (Self::Sub, [Int(a), Int(b)]) => Int(a.checked_sub(*b)?),
            (Self::Mul, [Int(a), Int(b)]) => Int(a.checked_mul(*b)?),
            (Self::Div, [Int(a), Int(b)]) => Int(a.checked_div(*b)?),
            (Self::Rem, [Int(a), Int(b)]) => Int(a.checked_rem(*b)?),
            (Self::Shl, [Int(a), Int(b)]) => {
                let shift = u32::try_from(*b).ok()?;
                let shifted = a.checked_shl(shift)?;
                Int(if shifted.checked_shr(shift)? == *a { shifted } else { return None })
            }
            (Self::Shr, [Int(a), Int(b)]) => Int(a.checked_shr(u32::try_from(*b).ok()?)?),
            (Self::BitAnd, [Int(a), Int(b)]) => Int(a & b),
            (Self::BitOr, [Int(a), Int(b)]) => Int(a | b),
            (Self::BitXor, [Int(a), Int(b)]) => Int(a ^ b),
            (Self::BitAnd, [Bool(a), Bool(b)]) => Bool(a & b),
            (Self::BitOr, [Bool(a), Bool(b)]) => Bool(a | b),
            (Self::BitXor, [Bool(a), Bool(b)]) => Bool(a ^ b),
            (Self::Neg, [Int(a)]) => Int(a.checked_neg()?),
            (Self::Not, [Bool(a)]) => Bool(!a),
            _ => return None,
        })
    }
}

impl std::fmt::Display for ConstOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.sign())
    }
}
