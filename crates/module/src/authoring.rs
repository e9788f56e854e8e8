//! Errors in the recording of a module.

use typeloom_contracts::role::Role;
use typeloom_interface::NotAnInterface;
use typeloom_solver::diagnostic::text::article;
use typeloom_solver::diagnostic::{Code, Diagnostic, Location, SourceLine};
use typeloom_types::plural::counted;

use crate::location::SourceLocation;

/// An error in the recording of a module, with its source location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, at {location}")]
pub struct AuthoringError {
    pub kind: AuthoringErrorKind,
    pub location: SourceLocation,
}

impl AuthoringError {
    /// The diagnostic of the error.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::new(Code::InvalidModule, self.kind.to_string(), Location::default());
        Diagnostic { source: SourceLine::at(&self.location.to_string()), ..diagnostic }
    }
}

/// Kinds of errors in the recording of a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthoringErrorKind {
    /// Two inputs have one name.
    #[error("the module has an input `{name}` already, from {first}")]
    DuplicateInput { name: String, first: SourceLocation },
    /// Two outputs have one name.
    #[error("the module has an output `{name}` already, from {first}")]
    DuplicateOutput { name: String, first: SourceLocation },
    /// A port has the name of another kind of value.
    #[error("{port} `{name}` has the name of {other}, from {first}; rename one of them")]
    NameTaken {
        /// The kind of the port: `input` or `output`.
        port: &'static str,
        name: String,
        /// The kind of the earlier value: `an input`, `an output`, or `a computed value`.
        other: &'static str,
        first: SourceLocation,
    },
    /// A port without a name.
    #[error("a port needs a name")]
    NamelessPort,
    /// A value of another graph.
    #[error("`{value}` belongs to another graph (it is made at {made})")]
    ForeignValue { value: String, made: SourceLocation },
    /// A module that has no output.
    #[error("module `{module}` has no output")]
    EmptyModule { module: String },
    /// A module without a name.
    #[error("a module needs a name")]
    NamelessModule,
    /// An input that nothing reads.
    #[error("nothing reads input `{name}` of module `{module}`")]
    UnwiredInput { module: String, name: String },
    /// A call with a number of values that differs from the number of inputs.
    #[error("module `{module}` has {} ({names}), but the call passes {given}", counted(*inputs, "input"))]
    CallArity { module: String, inputs: usize, names: String, given: usize },
    /// A result that a call does not have.
    #[error("{asked}, but `{owner}` has {}: {known}", counted(*count, "result"))]
    UnknownOutput { owner: String, asked: String, count: usize, known: String },
    /// Calls of two different modules with the same name.
    #[error("two modules are called `{module}` and have different bodies; the first call is at {first}")]
    ModuleNameTaken { module: String, first: SourceLocation },
    /// A module that calls itself.
    #[error("module `{module}` calls itself")]
    RecursiveModule { module: String },
    /// One slot with two roles.
    #[error("slot `{slot}` is {} {} here and {} {} at {first}", article(found.trait_name()), found, article(earlier.trait_name()), earlier)]
    SlotRole { slot: String, found: Role, earlier: Role, first: SourceLocation },
    /// A text that is not a type.
    #[error("`{text}` is not a type: {message}")]
    BadType { text: String, message: String },
    /// Two different declarations of one value.
    #[error("`{value}` is declared as {second} here and as {first} before")]
    DeclaredTwice { value: String, first: String, second: String },
    /// Nested graphs with different or wrong numbers of outputs.
    #[error("{what} returns {}, but {expected} are needed", counted(*found, "value"))]
    BodyArity { what: &'static str, found: usize, expected: usize },
    /// An imported module has no such export.
    #[error(
        "the imported module exports no `{name}`; it exports {known}, and its other functions are private"
    )]
    UnknownExport { name: String, known: String },
    /// An imported export that cannot be called.
    #[error("`{name}` of the imported module cannot be called: {reason}")]
    NotCallable { name: String, reason: NotAnInterface },
    /// A bundle without children, or with two children of one name.
    #[error("a bundle needs children with different names, but {message}")]
    BadBundle { message: String },
}
