//! Runs the relations of plainly declared operators.

use typeloom_types::op::AtomicOpDecl;

use crate::core::Core;
use crate::fault::FaultKind;
use crate::frame::Frame;
use crate::program::StepId;

pub(crate) fn run<'a>(
    _core: &mut Core<'a>,
    _frame: &mut Frame<'a>,
    _step: StepId,
    _decl: &'static AtomicOpDecl,
) -> Result<(), FaultKind<'a>> {
    Ok(())
}
