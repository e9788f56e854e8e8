//! What dispatch costs for each operator, to be counted in instructions:
//!
//!     cargo build --release -p typeloom-runtime --example dispatch_cost
//!     valgrind --tool=callgrind target/release/examples/dispatch_cost slot 1000
//!     valgrind --tool=callgrind target/release/examples/dispatch_cost slot 11000
//!
//! The difference over 10,000 is one `Add` of one element: as a `kernel` of the embedded backend, as its `primitive`, in a chain of a
//! compiled module on a `slot`, or in one on no slot (`module`). `empty` compiles the chain and runs nothing.

use std::collections::HashMap;
use std::error::Error;

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::graph::Graph;
use typeloom_compiler::graph::operators::OperatorMethods;
use typeloom_compiler::module::Module;
use typeloom_contracts::backend::Backend;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::value::Value;
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::session::Verify;
use typeloom_types::any_tensor::AnyTensor;

/// How many nodes the chain of a module has; it is run until there are as many as asked for.
const CHAIN: usize = 100;

struct Chain {
    on_slot: bool,
}

impl Module for Chain {
    fn name(&self) -> &str {
        "chain"
    }

    fn body(&self, g: &mut Graph) {
        let one = g.input("one").of("float[1]");
        let mut sum = one.clone();
        for _ in 0..CHAIN {
            sum = if self.on_slot { g.backend("compute").add(&sum, &one) } else { &sum + &one };
        }
        g.output("sum", &sum);
    }
}

fn chain(on_slot: bool, runs: usize) -> Result<AnyTensor, Box<dyn Error>> {
    let components = Components::new();
    let components = if on_slot { components.backend("compute", Cpu) } else { components };
    let artifact = Compiler::new().with_bindings(components.bindings().clone()).compile(Chain { on_slot })?;
    let executor = Executor::new(&artifact, &components)?;
    let one = AnyTensor::from([1.0_f32]);
    let mut last = one.clone();
    for _ in 0..runs {
        let outcome =
            executor.run(HashMap::from([("one".to_owned(), one.clone().into())]), Verify::Inputs)?;
        last = outcome.get("sum").and_then(|sum| sum.as_tensor().cloned()).ok_or("a tensor comes out")?;
    }
    Ok(last)
}

#[expect(clippy::print_stdout, reason = "so that nothing is optimised away")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().ok_or("kernel, primitive, slot, module or empty?")?;
    let count: usize = arguments.next().ok_or("how many?")?.parse()?;
    let one = AnyTensor::from([1.0_f32]);
    let mut sum = one.clone();
    match what.as_str() {
        "kernel" => {
            let (add, attributes) = (ops::find("", "Add").ok_or("it is there")?, Attributes::default());
            for _ in 0..count {
                let inputs = vec![Some(Value::Tensor(sum.clone())), Some(Value::Tensor(one.clone()))];
                let call = Call { version: 18, attributes: &attributes, inputs, outputs: 1 };
                sum = match add.run(call)?.pop() {
                    Some(Value::Tensor(sum)) => sum,
                    _ => return Err("a tensor comes out".into()),
                };
            }
        }
        "primitive" => {
            for _ in 0..count {
                sum = Backend::add(&Cpu, &sum, &one)?;
            }
        }
        "slot" => sum = chain(true, count / CHAIN)?,
        "module" => sum = chain(false, count / CHAIN)?,
        "empty" => sum = chain(true, 0)?,
        other => return Err(format!("{other} is nothing that is counted").into()),
    }
    println!("{what}: {sum:?}");
    Ok(())
}
