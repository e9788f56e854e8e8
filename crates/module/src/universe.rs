//! The element types of the default type tree.

use std::sync::{Arc, OnceLock};

use typeloom_solver::universe::Universe;
use typeloom_types::lattice::Lattice;

/// Returns the element types of the default type tree, built once.
///
/// # Errors
/// The errors of the registered type nodes, if they do not form a tree.
pub fn default_universe() -> Result<&'static Arc<Universe>, String> {
    static UNIVERSE: OnceLock<Result<Arc<Universe>, String>> = OnceLock::new();
    let built = UNIVERSE.get_or_init(|| {
        Lattice::try_get().map_err(ToString::to_string)?;
        Universe::of_default_lattice().map_err(|error| error.to_string())
    });
    built.as_ref().map_err(Clone::clone)
}
