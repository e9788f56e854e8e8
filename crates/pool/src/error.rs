//! Errors of building a pool type.

use crate::name::NameError;
use crate::pool::Idx;
use crate::tag::{Sort, Tag};

/// Error of building a pool type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The id of a child is not in this pool.
    #[error("type {0:?} is not in this pool")]
    UnknownType(Idx),
    /// The id of a name is not in this pool.
    #[error("a name id is not of this pool")]
    UnknownName,
    /// A reference to a node that the graph does not have.
    #[error("the graph has no node {node}")]
    UnknownNode {
        /// Number of the node.
        node: u32,
    },
    /// A tag of the wrong class.
    #[error("`{}` cannot be used as a {wanted}", tag.name())]
    WrongTag {
        /// The rejected tag.
        tag: Tag,
        /// Class of accepted tags.
        wanted: &'static str,
    },
    /// A child of the wrong sort.
    #[error("`{}` takes a {} where it was given a {}", tag.name(), expected.name(), found.name())]
    WrongSort {
        /// Tag of the parent.
        tag: Tag,
        /// Sort that the position accepts.
        expected: Sort,
        /// Sort of the child.
        found: Sort,
    },
    /// The words do not follow the layout of the tag.
    #[error("the content of `{}` does not follow its layout", tag.name())]
    Layout {
        /// Tag of the type.
        tag: Tag,
    },
    /// The numbers of field names and field types differ.
    #[error("{names} field names for {types} field types")]
    FieldCount {
        /// Number of names.
        names: usize,
        /// Number of types.
        types: usize,
    },
    /// Two fields of one struct or variant have the same name.
    #[error("the field `{name}` occurs twice")]
    DuplicateField {
        /// The repeated name.
        name: String,
    },
    /// Two variants of one enum have the same name.
    #[error("the variant `{name}` occurs twice")]
    DuplicateVariant {
        /// The repeated name.
        name: String,
    },
    /// A string that is not a valid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// An instance of a type that is not a declaration.
    #[error("only a declaration can be instantiated, not `{}`", found.name())]
    NotADeclaration {
        /// Tag of that type.
        found: Tag,
    },
    /// An instance with too few or too many arguments.
    #[error("the declaration takes {} and was given {}", counted(*expected, "argument"), found)]
    ArgumentCount {
        /// Number of parameters.
        expected: usize,
        /// Number of arguments.
        found: usize,
    },
    /// An argument of another sort than its parameter.
    #[error("argument {position} must be a {} and is a {}", expected.name(), found.name())]
    ArgumentSort {
        /// Position of the argument, from 0.
        position: usize,
        /// Sort of the parameter.
        expected: Sort,
        /// Sort of the argument.
        found: Sort,
    },
    /// A variable with an index out of range of its binder.
    #[error("a variable refers to position {index} of a binder with {count} positions")]
    VariableOutOfScope {
        /// Index of the variable.
        index: u32,
        /// Number of variables of the binder.
        count: u32,
    },
    /// A variable that is used at a different sort than its binder declares.
    #[error("a {} variable is used as a {}", expected.name(), found.name())]
    VariableSort {
        /// Declared sort.
        expected: Sort,
        /// Sort at the use.
        found: Sort,
    },
    /// More binders around a variable than [`MAX_BINDERS`](crate::MAX_BINDERS).
    #[error("more than {} binders around one variable", crate::pool::MAX_BINDERS)]
    TooManyBinders,
    /// The order of a scheme's variables is undecidable within limits: too many of them occur only inside
    /// sums and products.
    #[error("{count} variables of a scheme occur only in commutative positions; at most {max} may")]
    AmbiguousVariables {
        /// Number of such variables.
        count: usize,
        /// Maximum number of such variables.
        max: usize,
    },
    /// The order of a scheme's variables is undecidable: they occur only inside sums and products together
    /// with variables of inner binders.
    #[error("{count} variables of a scheme differ only by variables of binders inside of it")]
    EntangledVariables {
        /// Number of variables that occur only in commutative positions.
        count: usize,
    },
    /// Numbering the variables of schemes took more steps than allowed.
    #[error("the variables of a scheme take too many steps to number")]
    SchemeTooHard,
    /// A constant outside the range of 64-bit integers.
    #[error("a constant expression leaves the range of 64-bit integers")]
    ConstOverflow,
    /// A division by the constant zero.
    #[error("a constant expression divides by zero")]
    DivisionByZero,
    /// A constant expression with more terms than [`MAX_TERMS`](crate::MAX_TERMS).
    #[error("a constant expression has more than {} terms", crate::dim::MAX_TERMS)]
    ConstTooLarge,
    /// A cycle of schemes without variables, which has no content.
    #[error("a recursive type has no content")]
    EmptyCycle,
    /// A constant that contains itself.
    #[error("a constant expression contains itself")]
    CyclicConst,
    /// A recursive group beyond [`MAX_GROUP`](crate::MAX_GROUP) members.
    #[error("a recursive group has more than {} members", crate::graph::MAX_GROUP)]
    GroupTooLarge,
    /// Minimizing a recursive group took more steps than allowed.
    #[error("a recursive group takes more than {} steps to minimise", crate::graph::MAX_WORK)]
    GroupTooHard,
    /// The pool has the maximum number of types.
    #[error("too many types")]
    Full,
    /// A described group without the given member, or not one minimal cycle in canonical order.
    #[error("a described recursive group is not in its canonical form")]
    BadGroup,
}

/// Formats a number with a noun: `1 type`, `2 types`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
