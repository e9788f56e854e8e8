//! Programs that can be compiled: modules, models, and the bytes of models.

use bytes::Bytes;
use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{ModelProto, read};
use typeloom_program::facts::Facts;
use typeloom_program::program;
use typeloom_program::read::ReadError;
use typeloom_solver::diagnostic::{Code, Diagnostic, Location, diagnose_bytes};

use crate::authoring::AuthoringError;
use crate::graph::recorded::Recorded;
use crate::graph::recorder::SlotUse;
use crate::location::SourceLocation;
use crate::module::{Module, record};

/// A program in a form that can be compiled.
pub trait Program {
    /// The program as IR, with its slots and source locations.
    ///
    /// # Errors
    /// [`ProgramError`].
    fn into_ir(self) -> Result<ProgramIr, ProgramError>;
}

#[derive(Clone, Debug, Default)]
pub struct ProgramIr {
    pub program: program::Program,
    pub facts: Facts,
    pub slots: IndexMap<String, SlotInfo>,
    /// Public functions of the program, each a program without exports.
    pub exports: Vec<ProgramIr>,
    /// Source locations of ports and declared types, by value.
    pub locations: IndexMap<String, SourceLocation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotInfo {
    /// The contract that the slot requires.
    pub role: Role,
    /// The first use in the module; `None` for a program that was not recorded.
    pub location: Option<SourceLocation>,
}

/// Error of a program that has no IR.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// The recording of a module failed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Authoring(Vec<AuthoringError>),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl ProgramError {
    /// The diagnostics of the error.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Authoring(errors) => errors.iter().map(AuthoringError::diagnostic).collect(),
            Self::Decode(error) => vec![diagnose_bytes(error)],
            Self::Read(error) => {
                vec![Diagnostic::new(Code::MalformedFile, error.to_string(), Location::default())]
            }
        }
    }
}

impl<M: Module> Program for M {
    #[track_caller]
    fn into_ir(self) -> Result<ProgramIr, ProgramError> {
        record(&self).map(ProgramIr::from).map_err(ProgramError::Authoring)
    }
}

impl From<Recorded> for ProgramIr {
    fn from(recorded: Recorded) -> Self {
        let Recorded { program, facts, slots, exports, locations } = recorded;
        let info = |(slot, used): (String, SlotUse)| {
            (slot, SlotInfo { role: used.role, location: Some(used.location) })
        };
        Self {
            program,
            facts,
            slots: slots.into_iter().map(info).collect(),
            exports: exports.into_iter().map(Self::from).collect(),
            locations,
        }
    }
}

impl Program for ModelProto {
    fn into_ir(self) -> Result<ProgramIr, ProgramError> {
        let (program, facts) = typeloom_program::read::read(self)?;
        Ok(ProgramIr { program, facts, ..ProgramIr::default() })
    }
}

impl Program for &[u8] {
    fn into_ir(self) -> Result<ProgramIr, ProgramError> {
        read::<ModelProto>(Bytes::copy_from_slice(self))?.into_ir()
    }
}
