//! How long modules take to record and to compile, by the number of their nodes: `cargo run --release`.
//!
//! Compiling is everything from the recorded module to the artifact: all passes, strict, with a backend bound to the slot
//! that every second node runs on. Promised: 50,000 nodes in under 0.2 s, linear.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use typeloom_compiler::compiler::{Compiler, Program as _};
use typeloom_compiler::graph::Graph;
use typeloom_compiler::graph::operators::OperatorMethods;
use typeloom_compiler::module::Module;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
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

/// A chain of additions, negations and products; every second node on the slot `compute`.
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

/// Seconds that this thread has had a processor, so that what else runs on the machine does not count; where the kernel
/// does not say, seconds on the clock.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let clock = START.get_or_init(Instant::now).elapsed().as_secs_f64();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = stat.split(' ').next().and_then(|count| count.parse().ok());
    nanoseconds.map_or(clock, |nanoseconds| nanoseconds / 1e9)
}

fn main() {
    let compiler = Compiler::new().bind_backend::<ByExecution<Engine>>("compute");
    println!("| nodes | record | compile | compile, a node | growth |");
    println!("|---:|---:|---:|---:|---:|");
    let mut before: Option<f64> = None;
    for nodes in [5_000, 50_000, 500_000] {
        let (mut record, mut compile) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..if nodes > 100_000 { 3 } else { 7 } {
            let start = seconds();
            let ir = Chain(nodes).into_ir().expect("the module has no mistakes");
            record = record.min(seconds() - start);
            let start = seconds();
            black_box(compiler.compile_ir(ir).expect("the module compiles"));
            compile = compile.min(seconds() - start);
        }
        let growth = before.map_or_else(String::new, |before| format!("{:.1} times", compile / before));
        before = Some(compile);
        println!(
            "| {nodes} | {:.2} ms | {:.2} ms | {:.2} us | {growth} |",
            record * 1e3,
            compile * 1e3,
            compile * 1e6 / nodes as f64
        );
    }
}
