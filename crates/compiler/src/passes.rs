//! The passes, one file each, in the order in which they run.

use crate::pass::Pass;

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

/// Every pass, in order.
pub(crate) fn standard() -> Vec<Box<dyn Pass>> {
    vec![
        Box::new(validate::Validate),
        Box::new(expand::Expand),
        Box::new(bind_slots::BindSlots),
        Box::new(refine_polymorphic_value_info::RefinePolymorphicValueInfo),
        Box::new(type_solver::TypeSolver),
        Box::new(stamp::StampTypes),
        Box::new(insert_cast_ops::InsertCastOps),
        Box::new(infer_peer_classes::InferPeerClasses),
        Box::new(lower::Lower),
        Box::new(resolve_dispatch::ResolveDispatch),
        Box::new(partition::Partition),
        Box::new(export_interface::ExportInterface),
    ]
}
