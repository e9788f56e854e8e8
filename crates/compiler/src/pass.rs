//! Passes that users add to the pipeline.
//!
//! Example of [`Pass`]:
//!
//! ```
//! use typeloom_compiler::error::BuildError;
//! use typeloom_compiler::pass::Pass;
//! use typeloom_compiler::unit::Unit;
//!
//! struct LimitNodes;
//!
//! impl Pass for LimitNodes {
//!     fn name(&self) -> &str {
//!         "limit_nodes"
//!     }
//!
//!     fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
//!         let nodes = unit.graph().nodes.len();
//!         if nodes > 1000 {
//!             return Err(BuildError::Pass { pass: "limit_nodes".into(), message: format!("{nodes} nodes") });
//!         }
//!         Ok(())
//!     }
//! }
//! ```

use crate::error::BuildError;
use crate::unit::Unit;

/// A named check or transformation of the IR that a user adds to the pipeline.
///
/// It runs within one stage, before or after a standard pass: see
/// [`Compiler::with_pass_before`](crate::compiler::Compiler::with_pass_before). A pass that adds or renames
/// values has to run before `type_solver`, which types them.
pub trait Pass {
    /// The name by which the pass is reported, skipped and found.
    fn name(&self) -> &str;

    /// Checks or transforms the IR.
    ///
    /// # Errors
    /// The reason why the program does not compile.
    fn run(&self, unit: &mut Unit) -> Result<(), BuildError>;
}
