//! The standard passes, one file each, in the order in which they run.
//!
//! Each pass is a function from the stage that it takes to the one that it reaches, which may be the same.
//! `StandardPass` names them and pairs each with its stages.

use crate::error::BuildError;
use crate::stage::{Lowered, Stage};

pub mod bind_slots;
pub mod expand;
pub mod export_interface;
pub mod infer_peer_classes;
pub mod insert_cast_ops;
pub mod lower;
pub mod partition;
pub mod peer_list_operators;
pub mod resolve_dispatch;
pub mod stamp;
pub mod type_solver;
pub mod validate;

/// Defines the standard passes in order: their names, whether later passes rely on them, and the stages that
/// they take and return.
macro_rules! standard_passes {
    ($($pass:ident $name:literal $is_required:literal $module:ident: $from:ident -> $to:ident;)*) => {
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

            /// Runs the pass.
            ///
            /// # Errors
            /// Those of the pass, and [`BuildError::WrongStage`] at a stage that the pass does not take.
            pub(crate) fn run(self, stage: Stage) -> Result<Stage, BuildError> {
                match (self, stage) {
                    $((Self::$pass, Stage::$from(program)) => $module::run(program).map(Stage::$to),)*
                    (pass, stage) => {
                        Err(BuildError::WrongStage { pass: pass.name().to_owned(), stage: stage.name() })
                    }
                }
            }
        }
    };
}

standard_passes! {
    Validate "validate" true validate: Parsed -> Parsed;
    Expand "expand" true expand: Parsed -> Expanded;
    BindSlots "bind_slots" true bind_slots: Expanded -> Expanded;
    PeerListOperators "refine_polymorphic_value_info" false peer_list_operators: Expanded -> Expanded;
    TypeSolver "type_solver" true type_solver: Expanded -> Solved;
    Stamp "stamp" false stamp: Solved -> Solved;
    InsertCastOps "insert_cast_ops" false insert_cast_ops: Solved -> Solved;
    InferPeerClasses "infer_peer_classes" true infer_peer_classes: Solved -> Solved;
    Lower "lower" false lower: Solved -> Lowered;
    ResolveDispatch "resolve_dispatch" true resolve_dispatch: Lowered -> Dispatched;
    Partition "partition" false partition: Dispatched -> Dispatched;
    ExportInterface "export_interface" true export_interface: Dispatched -> Exported;
}

impl StandardPass {
    /// Leaves the pass out.
    ///
    /// # Errors
    /// [`BuildError::RequiredPass`].
    pub(crate) fn skip(self, stage: Stage) -> Result<Stage, BuildError> {
        match (self, stage) {
            (pass, _) if pass.is_required() => Err(BuildError::RequiredPass { name: pass.name().to_owned() }),
            // `resolve_dispatch` reports the nodes that `lower` would have rewritten.
            (Self::Lower, Stage::Solved(solved)) => Ok(Stage::Lowered(Lowered::unchanged(solved))),
            (_, stage) => Ok(stage),
        }
    }
}
