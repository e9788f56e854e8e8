//! Errors of compilations.
//!
//! A failed compilation reports its reason to a person, to a program that matches on the error, and to a tool
//! that shows reports of checks. [`BuildError`] has one variant for each kind of reason, whose fields are the
//! parts of the message. [`BuildError::diagnostics`] converts it for tools:
//!
//! ```text
//! UnboundSlot { slot: "search", role: Role::Index, location: Some(model.rs:7:5) }
//!   message      nothing is bound to slot `search`, which requires ... (at model.rs:7:5); bind one with ...
//!   diagnostic   the same message, code slot-binding
//! ```
//!
//! A pass that finds several independent errors combines them with `BuildError::of`: one error is itself, and
//! more are [`BuildError::Several`], whose message lists them. [`InvalidProgram`] and [`InvalidInterface`]
//! have the reasons of two variants.
//!
//! **Invariant:** an error that concerns the program has a diagnostic, and a wrong use of the compiler has
//! none ([`BuildError::UnknownPass`], [`BuildError::RequiredPass`], [`BuildError::WrongStage`],
//! [`BuildError::Pass`]). The match in `diagnostics` lists all variants, so a new one needs a decision.
//!
//! **Limit:** only diagnostics of the solver and of the recording have a location. The messages about slots
//! and nodes state the line of the module, if it is known.

use typeloom_contracts::role::Role;
use typeloom_module::authoring::AuthoringError;
use typeloom_module::location::SourceLocation;
use typeloom_module::program::ProgramError;
use typeloom_module::registry::RegistryError;
use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::text::arrow_list;
use typeloom_solver::diagnostic::{Code, Diagnostic, Location};
use typeloom_types::plural::counted;

use crate::report::CastReport;

pub mod invalid_interface;
pub mod invalid_program;

use invalid_interface::InvalidInterface;
use invalid_program::InvalidProgram;

/// Error of a compilation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// The recording of the module has errors.
    #[error("{}", list(.0))]
    Authoring(Vec<AuthoringError>),
    /// The only errors are values of unresolved types.
    #[error("{}", list(.0.iter().map(in_full)))]
    UnresolvedType(Vec<Diagnostic>),
    /// Types contradict each other.
    #[error("{}", list(.0.iter().map(in_full)))]
    TypeConstraintFailed(Vec<Diagnostic>),
    /// The bytes or messages are not a program.
    #[error(transparent)]
    InvalidProgram(#[from] InvalidProgram),
    /// Registered operators are malformed or contradict each other.
    #[error("{}", list(.0))]
    Operators(Vec<RegistryError>),
    /// A slot has no component.
    #[error("nothing is bound to slot `{slot}`, which requires {role}{}; bind one with `{}::<..>(\"{slot}\")`", at(location), role.bind_method())]
    UnboundSlot {
        slot: String,
        /// The contract that the slot requires.
        role: Role,
        /// The first use in the module.
        location: Option<SourceLocation>,
    },
    /// A component of another role is bound to a slot.
    #[error("slot `{slot}` requires {required}{}, but {bound} (`{component}`) is bound to it", at(location))]
    SlotRole {
        slot: String,
        /// The contract that the slot requires.
        required: Role,
        /// The contract of the component.
        bound: Role,
        component: String,
        /// The first use in the module.
        location: Option<SourceLocation>,
    },
    /// A component stores values of a type node that is not registered.
    #[error(
        "`{component}`, which is bound to slot `{slot}`{}, stores `{id}` as its `{assoc}`, {}",
        at(location),
        unregistered(*has_other)
    )]
    UnregisteredStorage {
        slot: String,
        component: String,
        /// The associated type of the contract.
        assoc: String,
        /// The id of the type node.
        id: String,
        /// Whether another node is registered with this id.
        has_other: bool,
        /// The first use in the module.
        location: Option<SourceLocation>,
    },
    /// Two components are bound to one slot.
    #[error("slot `{slot}` is bound twice")]
    BoundTwice { slot: String },
    /// A component is bound to a slot that the program does not have.
    #[error("the program has no slot `{slot}`{}", near(known))]
    NoSuchSlot { slot: String, known: Vec<String> },
    /// No pass has this name.
    #[error("there is no pass `{name}`; the passes are {}", known.join(", "))]
    UnknownPass { name: String, known: Vec<String> },
    /// A pass that later ones rely on was left out.
    #[error("pass `{name}` cannot be left out: later passes rely on it")]
    RequiredPass {
        /// Its name in [`Compiler::pass_names`](crate::compiler::Compiler::pass_names).
        name: String,
    },
    /// A pass ran at a stage that it does not accept.
    #[error("pass `{pass}` cannot run on a program that is {stage}")]
    WrongStage { pass: String, stage: &'static str },
    /// Casts would lose values, and the policy does not allow it.
    #[error("{}", list(.0.iter().map(lossy)))]
    LossyCast(Vec<CastReport>),
    /// A value crosses from one class of peers to another without a send.
    #[error(
        "{node} takes `{left}`, which is on {}, and `{right}`, which is on {}; a value moves between peers only through a send{}",
        class(left_class),
        class(right_class),
        at_text(source_line)
    )]
    CrossesWithoutSend {
        node: String,
        left: String,
        left_class: String,
        right: String,
        right_class: String,
        /// The source location of the node.
        source_line: String,
    },
    /// A class of peers has the name of the part on the module's own peer.
    #[error(
        "the peers of this send are those of `{name}`, and `{name}` is the name of the module's own side; rename it{}",
        at_text(source_line)
    )]
    ReservedClass {
        /// The input, slot or value that lists the peers.
        name: String,
        /// The source location of the send.
        source_line: String,
    },
    /// A component cannot run a node.
    #[error("{message}{}", at_text(source_line))]
    NotDispatchable {
        message: String,
        /// The source location of the node.
        source_line: String,
    },
    /// The program has too many nodes after the expansion of functions.
    #[error("the program has more than {} when its functions are expanded", counted(*limit, "node"))]
    TooLarge { limit: usize },
    /// The expanded functions are too large.
    #[error("the functions of the program take more than {limit} bytes when they are expanded")]
    TooLong { limit: usize },
    /// Graphs are nested too deeply after the expansion of functions.
    #[error("graphs are nested more than {limit} deep when functions are expanded")]
    NestingTooDeep { limit: usize },
    /// A function that calls itself, directly or through others.
    #[error("error[recursive-function]: {}", recursion(path))]
    RecursiveFunction {
        /// The functions of the cycle; the first is repeated at the end.
        path: Vec<String>,
    },
    /// The interface cannot be described.
    #[error("the interface of the program cannot be described: {0}")]
    Interface(#[from] InvalidInterface),
    /// A pass of a user failed.
    #[error("pass `{pass}`: {message}")]
    Pass { pass: String, message: String },
    /// Several independent errors.
    #[error("{}", list(.0))]
    Several(Vec<BuildError>),
}

impl BuildError {
    pub(crate) fn interface(error: impl Into<InvalidInterface>) -> Self {
        Self::Interface(error.into())
    }

    /// Combines errors; `Ok` if there are none.
    pub(crate) fn of(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }

    /// The diagnostics of the errors that concern the program; a wrong use of the compiler has none.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match self {
            Self::UnresolvedType(found) | Self::TypeConstraintFailed(found) => return found.clone(),
            Self::Authoring(errors) => return errors.iter().map(AuthoringError::diagnostic).collect(),
            Self::Several(errors) => return errors.iter().flat_map(Self::diagnostics).collect(),
            Self::LossyCast(casts) => {
                let one = |cast| Diagnostic::new(Code::LossyCast, lossy(cast), Location::default());
                return casts.iter().map(one).collect();
            }
            Self::RecursiveFunction { path } => {
                let message = recursion(path);
                return vec![Diagnostic::new(Code::RecursiveFunction, message, Location::default())];
            }
            Self::InvalidProgram(_) => Code::MalformedFile,
            Self::Operators(_) => Code::InvalidModule,
            Self::UnboundSlot { .. }
            | Self::SlotRole { .. }
            | Self::UnregisteredStorage { .. }
            | Self::BoundTwice { .. }
            | Self::NoSuchSlot { .. } => Code::SlotBinding,
            Self::CrossesWithoutSend { .. } => Code::MissingSend,
            Self::ReservedClass { .. } => Code::InvalidModule,
            Self::NotDispatchable { .. } => Code::UnsupportedNode,
            Self::TooLarge { .. } | Self::TooLong { .. } => Code::ProgramTooLarge,
            Self::NestingTooDeep { .. } => Code::NestingTooDeep,
            Self::Interface(_) => Code::ProgramInterface,
            Self::UnknownPass { .. }
            | Self::RequiredPass { .. }
            | Self::WrongStage { .. }
            | Self::Pass { .. } => return Vec::new(),
        };
        vec![Diagnostic::new(code, self.to_string(), Location::default())]
    }
}

impl From<ProgramError> for BuildError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Authoring(errors) => Self::Authoring(errors),
            ProgramError::Read(error) => InvalidProgram::from(error).into(),
            ProgramError::Decode(error) => Self::InvalidProgram(error.into()),
        }
    }
}

impl From<Vec<RegistryError>> for BuildError {
    fn from(errors: Vec<RegistryError>) -> Self {
        Self::Operators(errors)
    }
}

fn list(errors: impl IntoIterator<Item = impl ToString>) -> String {
    errors.into_iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
}

fn at(location: &Option<SourceLocation>) -> String {
    location.map_or_else(String::new, |location| format!(" (at {location})"))
}

fn at_text(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(" (at {line})") }
}

fn near(known: &[String]) -> String {
    if known.is_empty() { "; it has none".to_owned() } else { format!("; it has {}", known.join(", ")) }
}

fn unregistered(has_other: bool) -> &'static str {
    match has_other {
        true => "but another type node is registered with this id",
        false => "which is not registered: register the type node with `register_type_node!`",
    }
}

fn class(name: &str) -> String {
    if name.is_empty() { "the module's own peer".to_owned() } else { format!("the peers of `{name}`") }
}

fn lossy(cast: &CastReport) -> String {
    format!(
        "casting `{}` from {} to {} can lose values: {}; convert it in the module, or allow the cast with `Coercion::AsDeclared`",
        cast.value, cast.from, cast.to, cast.reason
    )
}

fn recursion(path: &[String]) -> String {
    let names: Vec<String> = path.iter().map(|name| format!("`{}`", escape(name))).collect();
    let first = names.first().map_or("``", String::as_str);
    format!("function {first} calls itself: {}", arrow_list(&names, 0))
}

/// The complete text of a diagnostic, without the printed graph.
fn in_full(diagnostic: &Diagnostic) -> String {
    let Diagnostic { location, snippets, notes, help, source, .. } = diagnostic;
    let source = source.as_ref().map_or_else(String::new, |source| format!(" ({source})"));
    let labels = snippets.iter().flat_map(|snippet| &snippet.labels).filter(|label| !label.text.is_empty());
    let labels = labels.map(|label| format!("\n  label: {}", label.text));
    let notes = notes.iter().map(|note| format!("\n  note: {note}"));
    let help = help.iter().map(|help| format!("\n  help: {help}"));
    let details: String = labels.chain(notes).chain(help).collect();
    format!("{diagnostic}\n  at {location}{source}{details}")
}

#[cfg(test)]
mod tests {
    use typeloom_module::authoring::AuthoringErrorKind;

    use super::*;

    fn codes(error: &BuildError) -> Vec<Code> {
        error.diagnostics().iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn errors_of_the_program_have_diagnostics() {
        let reserved = InvalidInterface::ReservedName { name: "slot a".to_owned(), prefix: "slot " };
        let interface = BuildError::Interface(reserved);
        let bound = BuildError::BoundTwice { slot: "compute".to_owned() };
        let node =
            BuildError::NotDispatchable { message: "no kernel".to_owned(), source_line: String::new() };
        let error = BuildError::Several(vec![BuildError::TooLarge { limit: 9 }, interface, bound, node]);
        let expected =
            [Code::ProgramTooLarge, Code::ProgramInterface, Code::SlotBinding, Code::UnsupportedNode];
        assert_eq!(codes(&error), expected);
        let path = ["f", "g", "f"].map(str::to_owned).to_vec();
        let [recursion] = &BuildError::RecursiveFunction { path }.diagnostics()[..] else {
            panic!("a recursion is one error")
        };
        let expected = "error[recursive-function]: function `f` calls itself: `f` -> `g` -> `f`";
        assert_eq!(recursion.to_string(), expected);
    }

    #[test]
    fn values_of_two_classes_of_peers_need_a_send() {
        let [left, right] = ["a", "b"].map(str::to_owned);
        let error = BuildError::CrossesWithoutSend {
            node: "`Add`".to_owned(),
            left_class: left.clone(),
            left,
            right_class: String::new(),
            right,
            source_line: String::new(),
        };
        assert_eq!(codes(&error), [Code::MissingSend]);
    }

    #[test]
    fn a_cast_that_loses_values_is_reported() {
        let [value, from, to, reason] = ["x", "tensor.f64", "tensor.f32", "it rounds"].map(str::to_owned);
        let cast = CastReport { value, from, to, lossless: false, reason };
        assert_eq!(codes(&BuildError::LossyCast(vec![cast])), [Code::LossyCast]);
    }

    #[test]
    fn errors_of_a_recording_have_the_line_of_the_program() {
        let location = SourceLocation { file: "model.rs", line: 7, column: 5 };
        let error = AuthoringError { kind: AuthoringErrorKind::NamelessModule, location };
        let [found] = &BuildError::Authoring(vec![error]).diagnostics()[..] else {
            panic!("it is one error")
        };
        assert_eq!((found.code, found.message.as_str()), (Code::InvalidModule, "a module needs a name"));
        assert_eq!(found.source.as_ref().map(ToString::to_string), Some("model.rs:7".to_owned()));
    }

    #[test]
    fn a_wrong_use_of_the_compiler_has_no_diagnostic() {
        assert_eq!(codes(&BuildError::RequiredPass { name: "validate".to_owned() }), []);
    }
}
