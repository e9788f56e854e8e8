//! The standard passes, one file each, in the order in which they run.
//!
//! Each pass is a function over stage types: `fn(&mut S)` where it stays at a stage, `fn(S) -> T` where it
//! reaches the next one. `StandardPass` names them and pairs each with its stage.

use crate::error::BuildError;
use crate::stage::{Lowered, Stage};

pub mod bind_slots;
pub mod expand;
pub mod export_interface;
pub mod infer_peer_classes;
pub mod insert_cast_ops;
pub mod lower;
pub mod partition;
pub mod refine_polymorphic_value_info;
pub mod resolve_dispatch;
pub mod stamp;
pub mod type_solver;
pub mod validate;

/// Defines the standard passes in order, with their names, and whether later passes rely on them.
macro_rules! standard_passes {
    ($($pass:ident $name:literal $is_required:literal;)*) => {
        /// A pass of the compiler.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum StandardPass {
            $($pass,)*
        }

        impl StandardPass {
            /// All passes, in order.
            pub(crate) const ALL: [Self; 12] = [$(Self::$pass),*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$pass => $name,)*
                }
            }

            /// Whether later passes rely on the result, so that the pass cannot be left out.
            pub(crate) fn is_required(self) -> bool {
                match self {
                    $(Self::$pass => $is_required,)*
                }
            }
        }
    };
}

standard_passes! {
    Validate "validate" true;
    Expand "expand" true;
    BindSlots "bind_slots" true;
    RefinePolymorphicValueInfo "refine_polymorphic_value_info" false;
    TypeSolver "type_solver" true;
    Stamp "stamp" false;
    InsertCastOps "insert_cast_ops" false;
    InferPeerClasses "infer_peer_classes" true;
    Lower "lower" false;
    ResolveDispatch "resolve_dispatch" true;
    Partition "partition" false;
    ExportInterface "export_interface" true;
}

impl StandardPass {
    /// Runs the pass.
    ///
    /// # Errors
    /// Those of the pass, and [`BuildError::WrongStage`] at a stage that the pass does not take.
    pub(crate) fn run(self, mut stage: Stage) -> Result<Stage, BuildError> {
        match (self, &mut stage) {
            (Self::Validate, Stage::Parsed(parsed)) => validate::run(parsed)?,
            (Self::BindSlots, Stage::Expanded(expanded)) => bind_slots::run(expanded)?,
            (Self::RefinePolymorphicValueInfo, Stage::Expanded(expanded)) => {
                refine_polymorphic_value_info::run(expanded);
            }
            (Self::Stamp, Stage::Solved(solved)) => stamp::run(solved),
            (Self::InsertCastOps, Stage::Solved(solved)) => insert_cast_ops::run(solved),
            (Self::InferPeerClasses, Stage::Solved(solved)) => infer_peer_classes::run(solved)?,
            (Self::Partition, Stage::Dispatched(dispatched)) => partition::run(dispatched)?,
            (_, _) => return self.advance(stage),
        }
        Ok(stage)
    }

    /// Runs a pass that reaches the next stage.
    fn advance(self, stage: Stage) -> Result<Stage, BuildError> {
        Ok(match (self, stage) {
            (Self::Expand, Stage::Parsed(parsed)) => Stage::Expanded(expand::run(parsed)?),
            (Self::TypeSolver, Stage::Expanded(expanded)) => Stage::Solved(type_solver::run(expanded)?),
            (Self::Lower, Stage::Solved(solved)) => Stage::Lowered(lower::run(solved)?),
            (Self::ResolveDispatch, Stage::Lowered(lowered)) => {
                Stage::Dispatched(resolve_dispatch::run(lowered)?)
            }
            (Self::ExportInterface, Stage::Dispatched(dispatched)) => {
                Stage::Exported(export_interface::run(dispatched)?)
            }
            (pass, stage) => {
                return Err(BuildError::WrongStage { pass: pass.name().to_owned(), stage: stage.name() });
            }
        })
    }

    /// Leaves the pass out.
    ///
    /// # Errors
    /// [`BuildError::RequiredPass`].
    pub(crate) fn skip(self, stage: Stage) -> Result<Stage, BuildError> {
        match (self, stage) {
            (pass, _) if pass.is_required() => Err(BuildError::RequiredPass { name: pass.name().to_owned() }),
            // Dispatch reports the nodes that would have needed it.
            (Self::Lower, Stage::Solved(solved)) => Ok(Stage::Lowered(Lowered::unchanged(solved))),
            (_, stage) => Ok(stage),
        }
    }
}
