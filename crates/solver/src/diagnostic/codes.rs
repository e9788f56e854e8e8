//! The diagnostic codes, each with its name, severity, summary, page and message in one file.
//!
//! A code is stable once released. To add one, write `codes/NAME.rs` and `pages/NAME.md`, and list the code
//! in the [`codes!`] call below, with the solve errors that have it; the index in `pages/README.md` is
//! generated from that list.

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
pub(super) mod dim_mismatch;
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
mod target_attribute;
pub(super) mod target_condition;
pub(super) mod target_element_type;
mod target_fallback;
pub(super) mod target_ir_version;
mod target_kernel;
mod target_node;
mod target_operator;
pub(super) mod target_opset;
mod target_undecided;
mod tensor_data;
mod too_many_instances;
mod type_mismatch;
mod undefined_output;
mod undefined_value;
mod unknown_attribute;
mod unknown_operator;
mod unresolved_type;
mod unsupported_node;
pub(super) mod wrong_rank;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::Mode;
use crate::rule::{Port, RuleError};
use crate::solve_error::SolveErrorKind;
use malformed_file::code_of_bytes;

/// The severity of a problem.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
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
            page: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/pages/", $name, ".md")),
        };
    };
}
use code;

macro_rules! codes {
    ($($module:ident => $code:ident $(= $kind:pat)?,)*) => {
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

        impl SolveErrorKind<'_> {
            /// The diagnostic code.
            pub(crate) fn code(&self) -> Code {
                match self {
                    Self::Malformed(error) | Self::Rule { failure: RuleError::Malformed(error), .. } => {
                        code_of_bytes(error)
                    }
                    $($($kind => Code::$code,)?)*
                }
            }
        }
    };
}

codes! {
    element_type_mismatch => ElementTypeMismatch = Self::Disagree { .. } | Self::Rule { failure: RuleError::Types { .. }, .. },
    element_type_not_allowed => ElementTypeNotAllowed = Self::NotAllowed { .. } | Self::Rule { failure: RuleError::Element { .. }, .. },
    type_mismatch => TypeMismatch = Self::Rule { failure: RuleError::Kind { .. }, .. },
    dim_mismatch => DimMismatch = Self::Rule { failure: RuleError::Dims { .. }, .. },
    shape_mismatch => ShapeMismatch = Self::Rule { failure: RuleError::Shapes { .. } | RuleError::Contradiction { .. }, .. },
    wrong_rank => WrongRank = Self::Rule { failure: RuleError::Rank { .. }, .. },
    empty_shape => EmptyShape = Self::EmptyShape { .. },
    placeholder_dim => PlaceholderDim = Self::PlaceholderDim { .. },
    negative_dim => NegativeDim = Self::NegativeDim { .. },
    extent_overflow => ExtentOverflow = Self::ExtentOverflow { .. },
    tensor_data => TensorData,
    unknown_operator => UnknownOperator = Self::UnknownOperator { .. },
    newer_operator => NewerOperator = Self::NewerOperator { .. },
    deprecated_operator => DeprecatedOperator = Self::DeprecatedOperator { .. },
    missing_opset => MissingOpset = Self::MissingOpset,
    newer_opset => NewerOpset = Self::NewerOpset { .. },
    ir_version => IrVersion = Self::IrVersion { .. },
    missing_input => MissingInput = Self::MissingPort { port: Port::In(_) | Port::BodyIn(..), .. },
    missing_output => MissingOutput = Self::MissingPort { port: Port::Out(_) | Port::BodyOut(..), .. },
    surplus_ports => SurplusPorts = Self::SurplusPorts { .. },
    input_value => InputValue = Self::Rule { failure: RuleError::Value { .. }, .. },
    missing_attribute => MissingAttribute = Self::MissingAttribute { .. },
    unknown_attribute => UnknownAttribute = Self::UnknownAttribute { .. },
    attribute_kind => AttributeKind = Self::AttributeKind { .. },
    attribute_value => AttributeValue = Self::AttributeChoice { .. } | Self::Rule { failure: RuleError::Attribute { .. }, .. },
    undefined_value => UndefinedValue = Self::UndefinedValue { .. },
    undefined_output => UndefinedOutput = Self::UndefinedOutput { .. },
    duplicate_value => DuplicateValue = Self::DuplicateValue { .. },
    duplicate_node_name => DuplicateNodeName = Self::DuplicateNodeName { .. },
    node_order => NodeOrder = Self::UsedBeforeMade { .. },
    cycle => Cycle = Self::Cycle { .. },
    declared_type_contradiction => DeclaredTypeContradiction = Self::Contradiction { .. } | Self::RefutedClaim(_),
    default_contradiction => DefaultContradiction = Self::DefaultContradicts { .. },
    seed_contradiction => SeedContradiction = Self::SeedContradicts { .. },
    branch_mismatch => BranchMismatch = Self::InCase { .. },
    body_mismatch => BodyMismatch = Self::Rule { failure: RuleError::Body { .. }, .. },
    relation_failed => RelationFailed = Self::Relation { .. } | Self::Rule { failure: RuleError::Relation(_), .. },
    call_arity => CallArity = Self::CallArity { .. } | Self::CallOutputs { .. } | Self::CallInput { .. },
    recursive_function => RecursiveFunction = Self::RecursiveFunction { .. },
    too_many_instances => TooManyInstances = Self::TooManyInstances { .. },
    forced_symbol => ForcedSymbol = Self::ForcedSymbol { .. } | Self::ForcedSymbols { .. },
    forced_equality => ForcedEquality = Self::ForcedEquality { .. },
    restricted_symbol => RestrictedSymbol = Self::Restricted { .. } | Self::NarrowedInput { .. },
    assumed_type => AssumedType = Self::Assumed { .. },
    limit_reached => LimitReached = Self::LimitReached { .. },
    unresolved_type => UnresolvedType = Self::Unresolved { .. },
    malformed_file => MalformedFile,
    lfs_pointer => LfsPointer,
    nesting_too_deep => NestingTooDeep = Self::NestingTooDeep,
    missing_external_data => MissingExternalData = Self::MissingExternalData { .. },
    invalid_module => InvalidModule,
    slot_binding => SlotBinding,
    lossy_cast => LossyCast,
    missing_send => MissingSend,
    unsupported_node => UnsupportedNode,
    node_failed => NodeFailed,
    program_too_large => ProgramTooLarge,
    program_interface => ProgramInterface,
    target_ir_version => TargetIrVersion,
    target_opset => TargetOpset,
    target_operator => TargetOperator,
    target_kernel => TargetKernel,
    target_element_type => TargetElementType,
    target_attribute => TargetAttribute,
    target_node => TargetNode,
    target_fallback => TargetFallback,
    target_condition => TargetCondition,
    target_undecided => TargetUndecided,
}

impl Code {
    /// The address of the pages: files of a published package. docs.rs keeps all files of all versions under such
    /// addresses, so a link in an old report stays valid, and the text needs neither a branch of the repository
    /// nor a server of the project.
    pub const PAGES: &'static str = "https://docs.rs/crate/typeloom-solver/latest/source/pages";

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

    /// The address of the code's page.
    #[must_use]
    pub fn uri(self) -> String {
        format!("{}/{}.md", Self::PAGES, self.name())
    }

    /// The path of the code's page in the repository.
    #[must_use]
    pub fn page_path(self) -> String {
        format!("crates/solver/pages/{}.md", self.name())
    }

    /// The code with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
