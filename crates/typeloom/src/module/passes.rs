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
//!         let nodes = unit.graph().nodes.len();
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
/// Programs, as passes see them.
///
/// ```
/// use typeloom::module::passes::{Domain, Pass, Unit};
/// use typeloom::module::{BuildError, Compiler, Graph, Module, OperatorMethods as _};
///
/// /// Replaces `x + 0`, written as `x.add(&g.input("zero"))`, by `x`.
/// struct NoZeros;
///
/// impl Pass for NoZeros {
///     fn name(&self) -> &str {
///         "no_zeros"
///     }
///
///     fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
///         for id in unit.graph().nodes.clone() {
///             let node = &unit.program[id];
///             let is_zero = |at: usize| unit.program.name_of(node.inputs[at]) == "zero";
///             if node.is(&Domain::Onnx, "Add") && is_zero(1) {
///                 println!("{} adds nothing", unit.facts.location(id));
///                 let node = &mut unit.program[id];
///                 node.op = "Identity".to_owned();
///                 node.inputs.truncate(1);
///             }
///         }
///         Ok(())
///     }
/// }
///
/// struct Sum;
///
/// impl Module for Sum {
///     fn name(&self) -> &str {
///         "sum"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let (x, zero) = (g.input("x").of("float[N]"), g.input("zero").of("float[]"));
///         g.output("y", &x.add(&zero));
///     }
/// }
///
/// let artifact = Compiler::new().with_pass_before("type_solver", NoZeros).compile(Sum)?;
/// assert!(artifact.to_text().contains("Identity"));
/// # Ok::<(), BuildError>(())
/// ```
#[doc(inline)]
pub use typeloom_program::{
    domain::Domain,
    facts::{Facts, Placement},
    program::{Graph, GraphId, Node, NodeId, Port, Program, ValueId},
};
