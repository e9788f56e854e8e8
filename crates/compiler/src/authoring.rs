//! Mistakes in the recording of a module.

use typeloom_contracts::role::Role;

use crate::place::Place;

/// A mistake of a module's author, with the line of the program that makes it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, at {place}")]
pub struct AuthoringError {
    /// What is wrong.
    pub kind: AuthoringErrorKind,
    /// Where.
    pub place: Place,
}

/// What is wrong in the recording of a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthoringErrorKind {
    /// Two inputs have one name.
    #[error("the module has an input `{name}` already, from {first}")]
    DuplicateInput {
        /// The name.
        name: String,
        /// Where the first one is.
        first: Place,
    },
    /// Two outputs have one name.
    #[error("the module has an output `{name}` already, from {first}")]
    DuplicateOutput {
        /// The name.
        name: String,
        /// Where the first one is.
        first: Place,
    },
    /// A port without a name.
    #[error("a port needs a name")]
    NamelessPort,
    /// A value that is used in a graph that it does not belong to.
    #[error("`{value}` belongs to another graph (it is made at {made})")]
    ForeignValue {
        /// The value.
        value: String,
        /// Where it is made.
        made: Place,
    },
    /// A module that has no output.
    #[error("module `{module}` gives nothing: it has no output")]
    EmptyModule {
        /// The module.
        module: String,
    },
    /// A module without a name.
    #[error("a module needs a name")]
    NamelessModule,
    /// An input that nothing reads.
    #[error("nothing reads input `{name}` of module `{module}`")]
    UnwiredInput {
        /// The module.
        module: String,
        /// The input.
        name: String,
    },
    /// A call that gives another number of values than the module has inputs.
    #[error("module `{module}` has {inputs} inputs ({names}), and the call gives {given}")]
    CallArity {
        /// The module.
        module: String,
        /// How many inputs it has.
        inputs: usize,
        /// Their names.
        names: String,
        /// How many values the call gives.
        given: usize,
    },
    /// Two different modules that are called by one name.
    #[error("two modules are called `{module}` and have different bodies; the first call is at {first}")]
    ModuleNameTaken {
        /// The name.
        module: String,
        /// Where the first is called.
        first: Place,
    },
    /// A module that calls itself.
    #[error("module `{module}` calls itself")]
    RecursiveModule {
        /// The module.
        module: String,
    },
    /// One slot with two roles.
    #[error("slot `{slot}` is {} {} here and {} {} at {first}", article(*found), found, article(*earlier), earlier)]
    SlotRole {
        /// The slot.
        slot: String,
        /// Its role here.
        found: Role,
        /// Its role before.
        earlier: Role,
        /// Where it was used first.
        first: Place,
    },
    /// A type that is written wrongly.
    #[error("`{text}` is not a type: {message}")]
    BadType {
        /// The text.
        text: String,
        /// What is wrong with it.
        message: String,
    },
    /// A value that is declared twice, with different types.
    #[error("`{value}` is declared as {second} here and as {first} before")]
    DeclaredTwice {
        /// The value.
        value: String,
        /// The first type.
        first: String,
        /// The second type.
        second: String,
    },
    /// Nested graphs that do not give the same number of values, or not the number that is needed.
    #[error("{what} gives {found} values, and {expected} are needed")]
    BodyArity {
        /// Which graph.
        what: &'static str,
        /// How many values it gives.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// An imported module has no such export.
    #[error("the imported module exports no `{name}`; it exports {known}")]
    UnknownExport {
        /// The name.
        name: String,
        /// What it exports.
        known: String,
    },
    /// An imported export that cannot be called.
    #[error("`{name}` of the imported module cannot be called: {message}")]
    NotCallable {
        /// The name.
        name: String,
        /// Why.
        message: String,
    },
    /// A bundle without children, or with two children of one name.
    #[error("a bundle needs children with different names, and {message}")]
    BadBundle {
        /// What is wrong.
        message: String,
    },
}

fn article(role: Role) -> &'static str {
    match role {
        Role::Index | Role::Aggregator => "an",
        Role::Backend
        | Role::Model
        | Role::Codec
        | Role::DataSource
        | Role::PeerSelector
        | Role::Protocol => "a",
    }
}
