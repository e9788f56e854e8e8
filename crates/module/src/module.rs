//! Modules: authored units of computation, and calls of modules from the graphs of others.
//!
//! Example of [`Module`]:
//!
//! ```
//! use typeloom_module::graph::Graph;
//! use typeloom_module::module::{Module, record};
//!
//! struct Scorer;
//!
//! impl Module for Scorer {
//!     fn name(&self) -> &str {
//!         "scorer"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let query = g.input("query");
//!         let weights = g.input("weights");
//!         let scores = query.matmul(&weights).relu();
//!         g.output("scores", &scores);
//!     }
//! }
//!
//! let recorded = record(&Scorer)?;
//! assert_eq!(recorded.program[recorded.program.main()].nodes.len(), 2);
//! # Ok::<(), Vec<typeloom_module::authoring::AuthoringError>>(())
//! ```

pub mod calls;
pub mod exports;
pub mod imports;

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::graph::Graph;
use crate::graph::recorded::Recorded;
use crate::location::SourceLocation;

/// A unit of computation: a name and a body that records itself into a graph.
///
/// The body defines the computation. Types are inferred from the connections.
pub trait Module {
    /// The name of the module, and of the function that it exports.
    fn name(&self) -> &str;

    /// Records the module.
    fn body(&self, g: &mut Graph);
}

impl<M: Module + ?Sized> Module for &M {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn body(&self, g: &mut Graph) {
        (**self).body(g);
    }
}

/// Records a module.
///
/// # Errors
/// All errors of the recording, in order.
#[track_caller]
pub fn record(module: &dyn Module) -> Result<Recorded, Vec<AuthoringError>> {
    let mut graph = Graph::new(module.name().to_owned(), Vec::new());
    let location = SourceLocation::here();
    if module.name().trim().is_empty() {
        graph.recorder.borrow_mut().error(AuthoringErrorKind::NamelessModule, location);
    }
    module.body(&mut graph);
    graph.finish(location)
}
