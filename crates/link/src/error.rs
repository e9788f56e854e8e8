//! Errors of linking, each with both sides.
//!
//! A conflict concerns two files, and the user may have written only one of them. So a message names the
//! output and the input, and [`End`] has the file, the type in its own symbols and the origin of each side:
//!
//! ```text
//! axis 1 of `y` is 16, but `x` needs 8
//! ```
//!
//! The variants of [`LinkError`] are the outcomes of the steps of linking. The first step with an error ends
//! the link; variants with a list contain all errors of their step:
//!
//! | step | errors |
//! |---|---|
//! | check of the first, then of the second model | `Check`, `IllTyped`, `Malformed`, `Unsupported` |
//! | connections | [`LinkError::Map`] |
//! | types | [`LinkError::Types`], a list of [`Conflict`]s |
//! | operator sets | [`LinkError::Opsets`] |
//! | names of the result | [`LinkError::Names`]; [`LinkError::Map`] for an unknown output in the options |
//! | records of the result | `Unsupported`, `Splice` |
//! | check of the result | `Check`, `IllTypedResult`, [`LinkError::Interface`] |
//!
//! [`LinkError::Interface`] is an error of this crate and not of the models. [`Conflict::help`] names the
//! option that accepts a conflict, if there is one.
//!
//! **Invariant:** [`ConflictKind::code`] is a part of the output format, so codes do not change.

use std::fmt;

use typeloom_interface::InterfaceDifference;
use typeloom_onnx::DecodeError;
use typeloom_onnx::splice::SpliceError;
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::diagnostic::text::suggestion;
use typeloom_solver::model::CheckError;
use typeloom_types::plural::counted;

/// Reason why two models are not linked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// A file is not a model.
    #[error("`{file}` cannot be checked: {error}")]
    Check {
        /// The file.
        file: String,
        /// The reason.
        error: CheckError,
    },
    /// A model has type errors of its own.
    #[error("`{file}` is not well typed")]
    IllTyped {
        /// The file.
        file: String,
        /// The errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// A model has a part that cannot be linked.
    #[error("`{file}` {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// A clause with the part.
        reason: &'static str,
    },
    /// The map does not name outputs of the first and inputs of the second model.
    #[error("{}", list(.0))]
    Map(Vec<MapError>),
    /// Outputs do not have the types of the inputs.
    #[error("{}", list(.0))]
    Types(Vec<Conflict>),
    /// Operators of the two models need different versions of one domain.
    #[error("{}", list(.0))]
    Opsets(Vec<OpsetConflict>),
    /// Inputs or outputs of the result have equal names.
    #[error("{}", list(.0))]
    Names(Vec<NameConflict>),
    /// The models are well typed and fit, but the nodes of the second one reject the types of the first one.
    #[error("the joined model is not well typed")]
    IllTypedResult {
        /// The errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// The interface of the result is not the one that follows from the two interfaces: an error of this
    /// crate.
    #[error("the interface of the joined model is not that of the sequence: {}", differences(.0))]
    Interface(Vec<InterfaceDifference>),
    /// Bytes that checks do not read are malformed.
    #[error("`{file}` is malformed: {error}")]
    Malformed {
        /// The file.
        file: String,
        /// The reason.
        error: DecodeError,
    },
    /// An edit of a stored tensor does not apply.
    #[error("`{file}` cannot be changed: {error}")]
    Splice {
        /// The file.
        file: String,
        /// The reason.
        error: SpliceError,
    },
}

fn list<T: fmt::Display>(errors: &[T]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn differences(differences: &[InterfaceDifference]) -> String {
    let shown = differences.iter().map(|it| format!("{}: {} ({} to {})", it.path, it.change, it.old, it.new));
    shown.collect::<Vec<_>>().join("; ")
}

/// Error in the names of a map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The first model has no such output.
    #[error("`{file}` has no output `{name}`{}", suggestion(near))]
    UnknownOutput {
        /// The first model.
        file: String,
        /// The name.
        name: String,
        /// Similar outputs.
        near: Vec<String>,
    },
    /// The second model has no such input.
    #[error("`{file}` has no input `{name}`{}", suggestion(near))]
    UnknownInput {
        /// The second model.
        file: String,
        /// The name.
        name: String,
        /// Similar inputs.
        near: Vec<String>,
    },
    /// Two outputs are mapped to one input.
    #[error("input `{name}` of `{file}` is mapped twice: to `{}` and to `{}`", outputs[0], outputs[1])]
    InputMappedTwice {
        /// The second model.
        file: String,
        /// The input.
        name: String,
        /// The outputs.
        outputs: [String; 2],
    },
    /// No output has the name of an input, and there is no map.
    #[error(
        "no output of `{}` has the name of an input of `{}`: the outputs are {}, the inputs are {}",
        files[0], files[1], quoted(outputs), quoted(inputs)
    )]
    NothingInCommon {
        /// The two models.
        files: [String; 2],
        /// The outputs of the first model.
        outputs: Vec<String>,
        /// The inputs of the second model.
        inputs: Vec<String>,
    },
    /// The result has no such output.
    #[error("the result has no output `{name}`{}", suggestion(near))]
    UnknownResult {
        /// The name.
        name: String,
        /// Similar outputs.
        near: Vec<String>,
    },
}

fn quoted(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

/// One side of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The file of the model.
    pub file: String,
    /// The output or input.
    pub name: String,
    /// The type, in the symbols of its own model.
    pub ty: String,
    /// The definition of the value: `MatMul node "fc"`, `graph input`.
    pub origin: String,
}

/// A reason why an output cannot be used as an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The kind of the difference.
    pub kind: ConflictKind,
    /// The output of the first model.
    pub output: End,
    /// The input of the second model.
    pub input: End,
}

/// The difference between an output and an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// One is a tensor, the other a sequence, for example.
    Kind,
    /// The element types differ.
    Element {
        /// Whether a cast keeps every value, loses values or does not exist.
        cast: PossibleCast,
    },
    /// The numbers of axes differ.
    Rank {
        /// The number of axes of the output and of the input.
        ranks: [usize; 2],
    },
    /// The extents of an axis differ.
    Extent {
        /// The axis.
        axis: usize,
        /// The extent of the output and the one that the input requires, in symbols of the first model.
        extents: [String; 2],
        /// The symbol of the second model that another axis determines.
        bound: Option<BoundSymbol>,
    },
    /// The types fit only if a symbol of the first model has one value.
    Narrowing {
        /// The axis.
        axis: usize,
        /// The symbol of the first model.
        symbol: String,
        /// The only value.
        value: String,
        /// The symbol of the second model that another axis determines.
        bound: Option<BoundSymbol>,
    },
    /// No proof was found that the output has the type of the input.
    Unproven {
        /// The fact that is not proved, as a clause.
        claim: String,
    },
    /// A condition of the second model never holds for the output.
    Condition {
        /// The condition in symbols of the second model.
        condition: String,
        /// The condition in symbols of the first model.
        substituted: String,
    },
}

/// A symbol of the second model that an earlier axis determines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundSymbol {
    /// The symbol.
    pub symbol: String,
    /// The output that determines it.
    pub output: String,
    /// The axis of that output.
    pub axis: usize,
}

/// The cast between two element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PossibleCast {
    /// It keeps every value.
    Lossless,
    /// It can lose values.
    Lossy,
    /// There is none.
    None,
}

impl ConflictKind {
    /// The stable identifier in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Element { .. } => "element-type",
            Self::Rank { .. } => "rank",
            Self::Extent { .. } => "extent",
            Self::Narrowing { .. } => "narrowing",
            Self::Unproven { .. } => "unproven",
            Self::Condition { .. } => "condition",
        }
    }
}

impl Conflict {
    /// The option that links the models in spite of the conflict, and its effect.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match &self.kind {
            ConflictKind::Element { cast: PossibleCast::Lossless } => {
                Some("`--cast lossless` inserts a cast that keeps every value")
            }
            ConflictKind::Element { cast: PossibleCast::Lossy } => {
                Some("`--cast any` inserts a cast that can lose values")
            }
            ConflictKind::Narrowing { .. } => Some("`--narrow` fixes the symbol in the result"),
            ConflictKind::Unproven { .. } => {
                Some("`--accept-unproven` links the models; a run can then fail where they meet")
            }
            ConflictKind::Element { cast: PossibleCast::None }
            | ConflictKind::Kind
            | ConflictKind::Rank { .. }
            | ConflictKind::Extent { .. }
            | ConflictKind::Condition { .. } => None,
        }
    }
}

impl fmt::Display for BoundSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { symbol, output, axis } = self;
        write!(f, ", because axis {axis} of `{output}` determines `{symbol}`")
    }
}

fn because(bound: Option<&BoundSymbol>) -> String {
    bound.map(ToString::to_string).unwrap_or_default()
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, output, input } = self;
        let (y, x) = (&output.name, &input.name);
        match kind {
            ConflictKind::Kind => write!(f, "`{y}` is {}, but `{x}` needs {}", output.ty, input.ty),
            ConflictKind::Element { .. } => {
                write!(f, "`{y}` and `{x}` have different element types: {} and {}", output.ty, input.ty)
            }
            ConflictKind::Rank { ranks: [given, needed] } => {
                write!(f, "`{y}` has {}, but `{x}` needs {needed}", counted(*given, "axis"))
            }
            ConflictKind::Extent { axis, extents: [given, needed], bound } => {
                write!(
                    f,
                    "axis {axis} of `{y}` is {given}, but `{x}` needs {needed}{}",
                    because(bound.as_ref())
                )
            }
            ConflictKind::Narrowing { axis, symbol, value, bound } => write!(
                f,
                "axis {axis} of `{y}` fits `{x}` only if `{symbol}` is {value}{}",
                because(bound.as_ref())
            ),
            ConflictKind::Unproven { claim } => write!(f, "it is not proved that {claim}"),
            ConflictKind::Condition { condition, substituted } if condition == substituted => {
                write!(f, "the condition {condition} of `{x}` never holds for `{y}`")
            }
            ConflictKind::Condition { condition, substituted } => {
                write!(f, "the condition {condition} of `{x}` never holds for `{y}`: {substituted}")
            }
        }
    }
}

/// Two versions of one domain, and the operators that differ between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpsetConflict {
    /// The domain; `ai.onnx` for the default one.
    pub domain: String,
    /// The two models and the version that each imports.
    pub imports: [(String, i64); 2],
    /// The operators with another definition in every version that suits the other model.
    pub operators: Vec<String>,
}

impl fmt::Display for OpsetConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, imports: [(first, a), (second, b)], operators } = self;
        write!(f, "`{first}` imports version {a} of {domain}, `{second}` version {b}")?;
        if operators.is_empty() {
            return write!(f, ", and the versions of this domain are not known");
        }
        write!(f, "; these operators differ: {}", operators.join(", "))
    }
}

/// An input or output of the result with the name of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameConflict {
    /// The name.
    pub name: String,
    /// The two definitions: a file, and `input` or `output`.
    pub sides: [(String, &'static str); 2],
}

impl fmt::Display for NameConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, sides: [(first, a), (second, b)] } = self;
        write!(f, "`{name}` is an {a} of `{first}` and another {b} of `{second}`")
    }
}
