//! Modules and programs: recording, compiling, preparing, running.

use std::hint::black_box;

use typeloom_bench_families::dispatch::{ADD, Chain, HARD, LEAKY, Outcome, module, session};
use typeloom_bench_families::modules::{ProgramIr, compiler, record, record_rewritten};

use typeloom_tensor::any_tensor::AnyTensor;

use super::{Family, Work, linear};

pub(super) const FAMILIES: &[Family] = &[
    linear("module/record", "nodes", 100, |size| Box::new(move || drop(black_box(record(size))))),
    linear("module/compile", "nodes", 100, |size| compiled(record(size))),
    linear("module/compile, rewritten", "nodes", 100, |size| compiled(record_rewritten(size))),
    linear("prepare/session", "nodes", 100, |size| {
        Box::new(move || drop(black_box(session(ADD, size).expect("the model is valid"))))
    }),
    linear("run/session, primitive", "nodes", 100, |size| ran(session(ADD, size))),
    linear("run/session, operator", "nodes", 100, |size| ran(session(LEAKY, size))),
    linear("run/session, other operator", "nodes", 100, |size| ran(session(HARD, size))),
    linear("run/module, node", "nodes", 100, |size| ran(module(false, size))),
    linear("run/module, slot", "nodes", 100, |size| ran(module(true, size))),
];

fn compiled(ir: ProgramIr) -> Work {
    let (compiler, mut ir) = (compiler(), Some(ir));
    Box::new(move || {
        let ir = ir.take().expect("it is compiled once");
        black_box(compiler.compile_ir(ir).expect("the module compiles"));
    })
}

fn ran(chain: Outcome<Chain>) -> Work {
    let (chain, x) = (chain.expect("the chain is valid"), AnyTensor::from([1.0_f32]));
    Box::new(move || drop(black_box(chain(black_box(&x)).expect("the chain runs"))))
}
