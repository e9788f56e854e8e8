//! The diagnostic codes, each with its name, severity, summary, page and message in one file.
//!
//! A code is stable once released. To add one, write `codes/NAME.rs` and `docs/codes/NAME.md`, and list the code in
//! the [`codes!`] call below; the index in `docs/codes/README.md` is generated from that list.

mod assumed_type;
mod attribute_kind;
mod attribute_value;
mod body_mismatch;
mod branch_mismatch;
mod call_arity;
mod cycle;
mod declared_type_contradiction;
mod default_contradiction;
mod deprecated_operator;
mod dim_mismatch;
mod duplicate_node_name;
mod duplicate_value;
mod element_type_mismatch;
mod element_type_not_allowed;
mod empty_shape;
mod extent_overflow;
mod forced_equality;
mod forced_symbol;
mod input_value;
mod invalid_module;
pub(super) mod ir_version;
pub(super) mod lfs_pointer;
mod limit_reached;
mod lossy_cast;
pub(super) mod malformed_file;
mod missing_attribute;
pub(super) mod missing_external_data;
mod missing_input;
mod missing_opset;
mod missing_output;
mod missing_send;
mod negative_dim;
pub(super) mod nesting_too_deep;
mod newer_operator;
pub(super) mod newer_opset;
mod node_failed;
mod node_order;
mod placeholder_dim;
mod program_interface;
mod program_too_large;
mod recursive_function;
mod relation_failed;
mod restricted_symbol;
mod seed_contradiction;
mod shape_mismatch;
mod slot_binding;
mod surplus_ports;
mod tensor_data;
mod too_many_instances;
mod type_mismatch;
mod undefined_output;
mod undefined_value;
mod unknown_attribute;
mod unknown_operator;
mod unresolved_type;
mod unsupported_node;
mod wrong_rank;

use std::fmt;

use crate::model::Mode;

/// The severity of a problem.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The model is wrong.
    Error,
    /// The model can be used, but probably not as its author intends.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The severity of a code in both modes.
#[derive(Clone, Copy)]
pub(super) enum Level {
    Error,
    /// An error in strict mode, a warning in permissive mode.
    StrictError,
    Warning,
}

impl Level {
    pub(super) fn severity(self, mode: Mode) -> Severity {
        match (self, mode) {
            (Self::Error, _) | (Self::StrictError, Mode::Strict) => Severity::Error,
            (Self::StrictError, Mode::Permissive) | (Self::Warning, _) => Severity::Warning,
        }
    }
}

/// The constant data of a code.
struct Info {
    name: &'static str,
    level: Level,
    summary: &'static str,
    page: &'static str,
}

/// Defines the data of a code in its file: name, level and summary.
macro_rules! code {
    ($name:literal, $level:ident, $summary:literal) => {
        pub(super) const INFO: super::Info = super::Info {
            name: $name,
            level: super::Level::$level,
            summary: $summary,
            page: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/codes/", $name, ".md")),
        };
    };
}
use code;

macro_rules! codes {
    ($($module:ident => $code:ident,)*) => {
        /// The kind of problem that a diagnostic reports.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code {
            $($code,)*
        }

        impl Code {
            /// Every code, in the order of the index.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            fn info(self) -> &'static Info {
                match self {
                    $(Self::$code => &$module::INFO,)*
                }
            }
        }
    };
}

codes! {
    element_type_mismatch => ElementTypeMismatch,
    element_type_not_allowed => ElementTypeNotAllowed,
    type_mismatch => TypeMismatch,
    dim_mismatch => DimMismatch,
    shape_mismatch => ShapeMismatch,
    wrong_rank => WrongRank,
    empty_shape => EmptyShape,
    placeholder_dim => PlaceholderDim,
    negative_dim => NegativeDim,
    extent_overflow => ExtentOverflow,
    tensor_data => TensorData,
    unknown_operator => UnknownOperator,
    newer_operator => NewerOperator,
    deprecated_operator => DeprecatedOperator,
    missing_opset => MissingOpset,
    newer_opset => NewerOpset,
    ir_version => IrVersion,
    missing_input => MissingInput,
    missing_output => MissingOutput,
    surplus_ports => SurplusPorts,
    input_value => InputValue,
    missing_attribute => MissingAttribute,
    unknown_attribute => UnknownAttribute,
    attribute_kind => AttributeKind,
    attribute_value => AttributeValue,
    undefined_value => UndefinedValue,
    undefined_output => UndefinedOutput,
    duplicate_value => DuplicateValue,
    duplicate_node_name => DuplicateNodeName,
    node_order => NodeOrder,
    cycle => Cycle,
    declared_type_contradiction => DeclaredTypeContradiction,
    default_contradiction => DefaultContradiction,
    seed_contradiction => SeedContradiction,
    branch_mismatch => BranchMismatch,
    body_mismatch => BodyMismatch,
    relation_failed => RelationFailed,
    call_arity => CallArity,
    recursive_function => RecursiveFunction,
    too_many_instances => TooManyInstances,
    forced_symbol => ForcedSymbol,
    forced_equality => ForcedEquality,
    restricted_symbol => RestrictedSymbol,
    assumed_type => AssumedType,
    limit_reached => LimitReached,
    unresolved_type => UnresolvedType,
    malformed_file => MalformedFile,
    lfs_pointer => LfsPointer,
    nesting_too_deep => NestingTooDeep,
    missing_external_data => MissingExternalData,
    invalid_module => InvalidModule,
    slot_binding => SlotBinding,
    lossy_cast => LossyCast,
    missing_send => MissingSend,
    unsupported_node => UnsupportedNode,
    node_failed => NodeFailed,
    program_too_large => ProgramTooLarge,
    program_interface => ProgramInterface,
}

impl Code {
    /// The code's name, which is stable.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The severity in strict mode.
    #[must_use]
    pub fn severity(self) -> Severity {
        self.level().severity(Mode::Strict)
    }

    pub(super) fn level(self) -> Level {
        self.info().level
    }

    /// The problem in general, in a few words.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.info().summary
    }

    /// The code's page, in Markdown: meaning, reason, an example that fails and its fix.
    #[must_use]
    pub fn page(self) -> &'static str {
        self.info().page
    }

    /// The path of the code's page in the repository.
    #[must_use]
    pub fn page_path(self) -> String {
        format!("docs/codes/{}.md", self.name())
    }

    /// The code with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
