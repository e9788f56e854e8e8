//! How long modules take to record and to compile, by the number of their nodes: `cargo run --release`.
//!
//! Compiling is everything from the recorded module to the artifact: all passes, strict, with a backend bound to the slot
//! that every second node runs on. Promised: 50,000 nodes in under 0.2 s, linear.
//!
//! With a number of nodes as argument one module of that size is compiled and nothing is printed, for tools that count:
//! `valgrind --tool=callgrind target/release/typeloom-bench-compiler 50000`.

use std::hint::black_box;

use cpu_time::ThreadTime;
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

/// Seconds that this thread has had a processor, so that what else runs on the machine does not count. The clock of the
/// system call: what `/proc` says is only as new as the scheduler's last tick, and a small module takes one tick.
fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = ThreadTime::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}

fn main() {
    let compiler = Compiler::new().bind_backend::<ByExecution<Engine>>("compute");
    if let Some(nodes) = std::env::args().nth(1).and_then(|nodes| nodes.parse().ok()) {
        let ir = Chain(nodes).into_ir().expect("the module has no mistakes");
        black_box(compiler.compile_ir(ir).expect("the module compiles"));
        return;
    }
    println!("| nodes | record | compile | compile, a node | growth | drop |");
    println!("|---:|---:|---:|---:|---:|---:|");
    let mut before: Option<f64> = None;
    for nodes in [5_000, 50_000, 500_000] {
        let (mut record, mut compile, mut discard) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..if nodes > 100_000 { 5 } else { 15 } {
            let (seconds, ir) = timed(|| Chain(nodes).into_ir().expect("the module has no mistakes"));
            record = record.min(seconds);
            let (seconds, artifact) = timed(|| compiler.compile_ir(ir).expect("the module compiles"));
            compile = compile.min(seconds);
            discard = discard.min(timed(|| drop(black_box(artifact))).0);
        }
        let growth = before.map_or_else(String::new, |before| format!("{:.1} times", compile / before));
        before = Some(compile);
        println!(
            "| {nodes} | {:.2} ms | {:.2} ms | {:.2} us | {growth} | {:.2} ms |",
            record * 1e3,
            compile * 1e3,
            compile * 1e6 / nodes as f64,
            discard * 1e3
        );
    }
}
