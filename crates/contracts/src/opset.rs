//! Operator sets that crates register with the compiler.
//!
//! ```
//! use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
//! use typeloom_types::relation::ELEMENTWISE;
//! use typeloom_types::tree::builtin::TYPE_TENSOR;
//!
//! static OWN: AtomicOpsetDecl = AtomicOpsetDecl {
//!     domain: "org.example.own",
//!     version: 1,
//!     ops: &[AtomicOpDecl {
//!         name: "Twist",
//!         inputs: &[PortDecl::required("x", &TYPE_TENSOR)],
//!         outputs: &[PortDecl::required("y", &TYPE_TENSOR)],
//!         kind: AtomicOpKind::Pure,
//!         type_relations: ELEMENTWISE,
//!     }],
//! };
//! typeloom_contracts::register_opset!(OWN);
//!
//! assert!(typeloom_contracts::opset::registered().any(|opset| opset.domain == "org.example.own"));
//! ```

use typeloom_types::op::AtomicOpsetDecl;

/// Registration of an operator set, submitted by [`register_opset!`](crate::register_opset).
#[derive(Clone, Copy, Debug)]
pub struct OpsetReg(pub &'static AtomicOpsetDecl);

inventory::collect!(OpsetReg);

/// Returns all registered operator sets, sorted by domain and version.
pub fn registered() -> impl Iterator<Item = &'static AtomicOpsetDecl> {
    let mut found: Vec<_> = inventory::iter::<OpsetReg>.into_iter().map(|reg| reg.0).collect();
    found.sort_by_key(|opset| (opset.domain, opset.version));
    found.into_iter()
}

/// Registers the operators of a static operator set with the compiler.
#[macro_export]
macro_rules! register_opset {
    ($opset:path) => {
        $crate::private::inventory::submit! {
            $crate::opset::OpsetReg(&$opset)
        }
    };
}
