//! Passes of other crates, which run after a named pass of the compiler.
//!
//! ```
//! use typeloom::module::passes::{Pass, Unit};
//! use typeloom::module::{BuildError, Coercion, Compiler, Graph, Module, OperatorMethods as _};
//!
//! struct LimitNodes(usize);
//!
//! impl Pass for LimitNodes {
//!     fn name(&self) -> &str {
//!         "limit_nodes"
//!     }
//!
//!     fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
//!         let nodes = unit.graph().node.len();
//!         let message = format!("{nodes} nodes");
//!         if nodes <= self.0 { Ok(()) } else { Err(BuildError::Pass { pass: "limit_nodes".into(), message }) }
//!     }
//! }
//!
//! struct Mixed;
//!
//! impl Module for Mixed {
//!     fn name(&self) -> &str {
//!         "mixed"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let (x, w) = (g.input("x").of("float[N]"), g.input("w").of("double[N]"));
//!         g.output("y", &x.abs().of("double[N]").add(&w));
//!     }
//! }
//!
//! let compiler = Compiler::new().with_coercion(Coercion::Lossless);
//! assert!(compiler.compile(Mixed).is_ok());
//! let limited = Compiler::new().with_coercion(Coercion::Lossless).with_pass_after("insert_cast_ops", LimitNodes(2));
//! assert!(matches!(limited.compile(Mixed), Err(BuildError::Pass { .. })));
//! ```

#[doc(inline)]
pub use typeloom_compiler::{pass::Pass, unit::Unit};
