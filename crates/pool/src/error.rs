//! What can be wrong with a type that someone asks the pool for.

use crate::name::NameError;
use crate::pool::Idx;
use crate::tag::{Sort, Tag};

/// Why a type cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A child's id is not of this pool.
    #[error("type {0:?} is not in this pool")]
    UnknownType(Idx),
    /// A name's id is not of this pool.
    #[error("a name id is not of this pool")]
    UnknownName,
    /// A reference to a member that the graph does not have.
    #[error("the graph has no node {node}")]
    UnknownNode {
        /// The node that was referred to.
        node: u32,
    },
    /// A tag of another class than the position asks for.
    #[error("`{}` cannot be used as a {wanted}", tag.name())]
    WrongTag {
        /// The tag.
        tag: Tag,
        /// The class of tags that fit.
        wanted: &'static str,
    },
    /// A child of the wrong sort.
    #[error("`{}` takes a {} where it was given a {}", tag.name(), expected.name(), found.name())]
    WrongSort {
        /// The type with the child.
        tag: Tag,
        /// The sort that the position accepts.
        expected: Sort,
        /// The sort of the child.
        found: Sort,
    },
    /// The words of the type do not follow its layout.
    #[error("the content of `{}` does not follow its layout", tag.name())]
    Layout {
        /// The type.
        tag: Tag,
    },
    /// Field names and field types of different number.
    #[error("{names} field names for {types} field types")]
    FieldCount {
        /// The number of names.
        names: usize,
        /// The number of types.
        types: usize,
    },
    /// Two fields of one struct or variant have the same name.
    #[error("the field `{name}` occurs twice")]
    DuplicateField {
        /// The name.
        name: String,
    },
    /// Two variants of one enum have the same name.
    #[error("the variant `{name}` occurs twice")]
    DuplicateVariant {
        /// The name.
        name: String,
    },
    /// A string that is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// An instance of something that is not a declaration.
    #[error("only a declaration can be instantiated, not `{}`", found.name())]
    NotADeclaration {
        /// What was given.
        found: Tag,
    },
    /// An instance with too few or too many arguments.
    #[error("the declaration takes {} and was given {}", counted(*expected, "argument"), found)]
    ArgumentCount {
        /// The number of parameters.
        expected: usize,
        /// The number of arguments.
        found: usize,
    },
    /// An argument of another sort than its parameter.
    #[error("argument {position} must be a {} and is a {}", expected.name(), found.name())]
    ArgumentSort {
        /// Its position from 0.
        position: usize,
        /// The sort of the parameter.
        expected: Sort,
        /// The sort of the argument.
        found: Sort,
    },
    /// A variable that its binder does not have.
    #[error("a variable refers to place {index} of a binder with {count} places")]
    VariableOutOfScope {
        /// The place.
        index: u32,
        /// The number of places.
        count: u32,
    },
    /// A variable that is used at another sort than it was bound at.
    #[error("a {} variable is used as a {}", expected.name(), found.name())]
    VariableSort {
        /// The sort it was bound at.
        expected: Sort,
        /// The sort it is used at.
        found: Sort,
    },
    /// More binders around a variable than [`MAX_BINDERS`](crate::MAX_BINDERS).
    #[error("more than {} binders around one variable", crate::pool::MAX_BINDERS)]
    TooManyBinders,
    /// The order of a scheme's variables cannot be told: too many of them occur only inside sums and products.
    #[error("{count} variables of a scheme occur only in commutative positions; at most {max} may")]
    AmbiguousVariables {
        /// How many.
        count: usize,
        /// How many may.
        max: usize,
    },
    /// The order of a scheme's variables cannot be told: they occur only inside sums and products, beside variables of
    /// binders in between, and nothing else tells them apart.
    #[error("{count} variables of a scheme are told apart by nothing but variables of binders inside of it")]
    EntangledVariables {
        /// How many occur only in commutative positions.
        count: usize,
    },
    /// Numbering the variables of schemes took more steps than allowed.
    #[error("the variables of a scheme take too many steps to number")]
    SchemeTooHard,
    /// A constant leaves the range of 64-bit integers.
    #[error("a constant expression leaves the range of 64-bit integers")]
    ConstOverflow,
    /// A division by the constant zero.
    #[error("a constant expression divides by zero")]
    DivisionByZero,
    /// A constant expression with more terms than [`MAX_TERMS`](crate::MAX_TERMS).
    #[error("a constant expression has more than {} terms", crate::dim::MAX_TERMS)]
    ConstTooLarge,
    /// A cycle that consists of schemes without variables only, and so says nothing.
    #[error("a recursive type has no content")]
    EmptyCycle,
    /// A constant that contains itself.
    #[error("a constant expression contains itself")]
    CyclicConst,
    /// A recursive group beyond [`MAX_GROUP`](crate::MAX_GROUP) members.
    #[error("a recursive group has more than {} members", crate::graph::MAX_GROUP)]
    GroupTooLarge,
    /// Minimising a recursive group took more steps than allowed.
    #[error("a recursive group takes more than {} steps to minimise", crate::graph::MAX_WORK)]
    GroupTooHard,
    /// The pool holds as many types as it can.
    #[error("too many types")]
    Full,
    /// A described recursive type has no such member, or its members are not one minimal cycle in canonical order.
    #[error("a described recursive group is not in its canonical form")]
    BadGroup,
}

/// A number of things: `1 type`, `2 types`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
