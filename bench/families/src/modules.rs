//! Modules to record and compile.

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::unit::Coercion;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::module::Module;
use typeloom_module::program::Program as _;
pub use typeloom_module::program::ProgramIr;
use typeloom_onnx::messages::{AttributeProto, GraphProto};

struct Engine;

impl GraphExecutor for Engine {
    type Tensor = Vec<f32>;
    type Error = std::fmt::Error;

    fn execute(
        &self,
        _: &GraphProto,
        _: Vec<Vec<f32>>,
        _: &[AttributeProto],
    ) -> Result<Vec<Vec<f32>>, std::fmt::Error> {
        Err(std::fmt::Error)
    }
}

/// A chain of additions, negations and products; every second node is on the slot `compute`.
struct Chain(usize);

impl Module for Chain {
    fn name(&self) -> &str {
        "chain"
    }

    fn body(&self, g: &mut Graph) {
        let x = g.input("x").of("float[N, 64]");
        let bias = g.input("bias");
        let compute = g.backend("compute");
        let mut value = compute.add(&x, &bias);
        for at in 1..self.0 {
            value = match at % 4 {
                0 => &value + &bias,
                1 => compute.neg(&value),
                2 => &value * &x,
                _ => compute.add(&value, &x),
            };
        }
        g.output("y", &value);
    }
}

/// A chain with what makes a compilation solve again: every fourth node is lowered, and every fourth reads a
/// value of another type, which needs a cast.
struct Rewritten(usize);

impl Module for Rewritten {
    fn name(&self) -> &str {
        "rewritten"
    }

    fn body(&self, g: &mut Graph) {
        let x = g.input("x").of("float[N, 64]");
        let exact = g.input("exact").of("double[N, 64]");
        let compute = g.backend("compute");
        let mut value = compute.neg(&x);
        for at in 1..self.0 {
            value = match at % 4 {
                0 => &value + &x,
                1 => compute.sigmoid(&value),
                2 => &value * &x,
                _ => compute.add(&value, &exact),
            };
        }
        g.output("y", &value);
    }
}

/// Records a chain of `nodes` nodes that the compiler rewrites.
#[must_use]
pub fn record_rewritten(nodes: usize) -> ProgramIr {
    Rewritten(nodes).into_ir().expect("the module is valid")
}

/// Records a chain of `nodes` nodes.
#[must_use]
pub fn record(nodes: usize) -> ProgramIr {
    Chain(nodes).into_ir().expect("the module is valid")
}

/// A compiler with a backend on the slot of the chain.
#[must_use]
pub fn compiler() -> Compiler {
    Compiler::new().bind_backend::<ByExecution<Engine>>("compute").with_coercion(Coercion::AsDeclared)
}
