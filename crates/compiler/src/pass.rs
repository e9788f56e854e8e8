//! Passes: named transformations of the IR.

use crate::error::BuildError;
use crate::unit::Unit;

/// One named transformation of the IR.
///
/// ```
/// use typeloom_compiler::error::BuildError;
/// use typeloom_compiler::pass::Pass;
/// use typeloom_compiler::unit::Unit;
///
/// /// Counts nodes.
/// struct Count;
///
/// impl Pass for Count {
///     fn name(&self) -> &str {
///         "count"
///     }
///
///     fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
///         let nodes = unit.graph().node.len();
///         if nodes > 1000 {
///             return Err(BuildError::Pass { pass: "count".into(), message: format!("{nodes} nodes") });
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Pass {
    /// Its name, by which it is left out and found.
    fn name(&self) -> &str;

    /// Transforms the IR.
    ///
    /// # Errors
    /// Why the program does not compile.
    fn run(&self, unit: &mut Unit) -> Result<(), BuildError>;
}
