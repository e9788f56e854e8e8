//! Groups of diagnostic codes, for settings that concern several codes.
//!
//! **Invariant:** each code is in exactly one group. A match over all codes is the only table.

use std::fmt;

use super::Code;

/// A group of codes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Group {
    /// Element types, kinds of types, declared types.
    Types,
    /// Ranks and extents.
    Shapes,
    /// Symbolic dims.
    Symbols,
    /// Operators with their inputs, outputs and attributes.
    Operators,
    /// Names, order and calls of the nodes of a graph.
    Graphs,
    /// The bytes of the file and the files it refers to.
    Files,
    /// Versions and programs that can run the model.
    Portability,
    /// Modules, compiled programs and runs.
    Programs,
}

impl Group {
    /// Every group.
    pub const ALL: &[Self] = &[
        Self::Types,
        Self::Shapes,
        Self::Symbols,
        Self::Operators,
        Self::Graphs,
        Self::Files,
        Self::Portability,
        Self::Programs,
    ];

    /// The name, which is stable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Types => "types",
            Self::Shapes => "shapes",
            Self::Symbols => "symbols",
            Self::Operators => "operators",
            Self::Graphs => "graphs",
            Self::Files => "files",
            Self::Portability => "portability",
            Self::Programs => "programs",
        }
    }

    /// The subject of its codes, in a few words.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Types => "element types, kinds of types, declared types",
            Self::Shapes => "ranks and extents",
            Self::Symbols => "symbolic dims",
            Self::Operators => "operators with their inputs, outputs and attributes",
            Self::Graphs => "names, order and calls of nodes",
            Self::Files => "the bytes of the file and the files it refers to",
            Self::Portability => "versions and programs that can run the model",
            Self::Programs => "modules, compiled programs and runs",
        }
    }

    /// The group with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|group| group.name() == name)
    }

    /// Its codes, in the order of the index.
    pub fn codes(self) -> impl Iterator<Item = Code> {
        Code::ALL.iter().copied().filter(move |code| code.group() == self)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Code {
    /// The group of the code.
    #[must_use]
    pub fn group(self) -> Group {
        match self {
            Self::ElementTypeMismatch
            | Self::ElementTypeNotAllowed
            | Self::TypeMismatch
            | Self::DeclaredTypeContradiction
            | Self::DefaultContradiction
            | Self::SeedContradiction
            | Self::BranchMismatch
            | Self::BodyMismatch
            | Self::RelationFailed
            | Self::AssumedType
            | Self::LimitReached
            | Self::UnresolvedType => Group::Types,
            Self::DimMismatch
            | Self::ShapeMismatch
            | Self::WrongRank
            | Self::EmptyShape
            | Self::NegativeDim
            | Self::ExtentOverflow => Group::Shapes,
            Self::PlaceholderDim | Self::ForcedSymbol | Self::ForcedEquality | Self::RestrictedSymbol => {
                Group::Symbols
            }
            Self::UnknownOperator
            | Self::MissingInput
            | Self::MissingOutput
            | Self::SurplusPorts
            | Self::InputValue
            | Self::MissingAttribute
            | Self::UnknownAttribute
            | Self::AttributeKind
            | Self::AttributeValue => Group::Operators,
            Self::UndefinedValue
            | Self::UndefinedOutput
            | Self::DuplicateValue
            | Self::DuplicateNodeName
            | Self::NodeOrder
            | Self::Cycle
            | Self::CallArity
            | Self::RecursiveFunction
            | Self::TooManyInstances => Group::Graphs,
            Self::MalformedFile
            | Self::LfsPointer
            | Self::NestingTooDeep
            | Self::MissingExternalData
            | Self::TensorData => Group::Files,
            Self::NewerOperator
            | Self::DeprecatedOperator
            | Self::MissingOpset
            | Self::NewerOpset
            | Self::IrVersion
            | Self::TargetIrVersion
            | Self::TargetOpset
            | Self::TargetOperator
            | Self::TargetKernel
            | Self::TargetElementType
            | Self::TargetAttribute
            | Self::TargetNode
            | Self::TargetFallback
            | Self::TargetCondition
            | Self::TargetUndecided => Group::Portability,
            Self::InvalidModule
            | Self::SlotBinding
            | Self::LossyCast
            | Self::MissingSend
            | Self::UnsupportedNode
            | Self::NodeFailed
            | Self::ProgramTooLarge
            | Self::ProgramInterface => Group::Programs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_a_group_and_no_group_has_the_name_of_a_code() {
        let grouped: usize = Group::ALL.iter().map(|group| group.codes().count()).sum();
        assert_eq!(grouped, Code::ALL.len());
        for group in Group::ALL {
            assert!(group.codes().next().is_some(), "{group} is empty");
            assert_eq!(Code::from_name(group.name()), None);
            assert_eq!(Group::from_name(group.name()), Some(*group));
        }
    }
}
