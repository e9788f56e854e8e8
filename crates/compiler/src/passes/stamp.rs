//! `stamp`: the written program states the solved type of every value, as its denotation and ONNX type.
//!
//! The types are facts of the program. [`write`](typeloom_program::write) states them in files, in printed
//! programs and in [`Artifact::model`](crate::artifact::Artifact::model).

use crate::error::BuildError;
use crate::stage::Solved;

/// States the types of all values in the written program.
pub(crate) fn run(mut solved: Solved) -> Result<Solved, BuildError> {
    solved.unit.facts.are_types_written = true;
    Ok(solved)
}
