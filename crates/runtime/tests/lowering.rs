//! The recorded node cases, written in primitives.
//!
//! Every case is compiled for a backend that computes the thirty primitives and nothing else, and what comes out is run on the
//! embedded backend and compared with the recorded outputs. A case that has no form is refused before anything runs; none may be
//! wrong, and none may be left with another operator. Cases are found as those of the test `backend`.

#![expect(clippy::print_stdout, reason = "the table is for people")]

#[path = "backend/cases.rs"]
mod cases;
#[path = "backend/compare.rs"]
mod compare;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cases::Case;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::passes::lower::lowered_operators;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_onnx::messages::{AttributeProto, GraphProto, ModelProto};
use typeloom_runtime::session::{Session, Verify};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

/// The least number of cases of lowered operators that are reproduced, in percent.
const FLOOR: f64 = 80.0;

macro_rules! backend_of_primitives {
    ($name:ident stores $tensor:ty) => {
        /// Computes the primitives; never asked to.
        struct $name;

        impl GraphExecutor for $name {
            type Tensor = $tensor;
            type Error = std::fmt::Error;

            fn execute(
                &self,
                _: &GraphProto,
                _: Vec<$tensor>,
                _: &[AttributeProto],
            ) -> Result<Vec<$tensor>, std::fmt::Error> {
                Err(std::fmt::Error)
            }
        }
    };
}

backend_of_primitives!(OfAny stores AnyTensor);
backend_of_primitives!(OfFloats stores Vec<f32>);

enum Verdict {
    Reproduced,
    Refused(String),
    Wrong(String),
}

fn judge(case: &Case, compiler: &Compiler) -> Verdict {
    let artifact = match compiler.compile(&case.model()[..]) {
        Ok(artifact) => artifact,
        Err(BuildError::NotDispatchable { message, .. }) => return Verdict::Refused(message),
        Err(error) => return Verdict::Refused(format!("! {error}")),
    };
    if let Some(other) = other_than_primitive(&artifact.model) {
        return Verdict::Wrong(format!("`{other}` is left"));
    }
    let session = match Session::new(&artifact.model, &|_| Err("no case has other files".to_owned())) {
        Ok(session) => session,
        Err(error) => return Verdict::Refused(format!("! {error}")),
    };
    let inputs = match case.inputs(&session) {
        Ok(inputs) => inputs,
        Err(error) => return Verdict::Refused(error),
    };
    let outcome = match session.run(inputs, Verify::EveryValue) {
        Ok(outcome) => outcome,
        Err(error) => return Verdict::Wrong(error.to_string()),
    };
    for (at, (name, found)) in outcome.outputs.iter().enumerate() {
        let Some(expected) = case.output(at) else { continue };
        let difference = match expected {
            Ok(expected) => compare::values(found, &expected, case.tolerance()),
            Err(error) => return Verdict::Refused(error),
        };
        if let Some(difference) = difference {
            return Verdict::Wrong(format!("`{name}`: {difference}"));
        }
    }
    Verdict::Reproduced
}

/// An operator on the slot that is none of the thirty.
fn other_than_primitive(model: &ModelProto) -> Option<&str> {
    let graph = model.graph.as_ref()?;
    let on_slot = |key: &str| key == "ai.bytesandbrains.slot_id";
    let nodes = graph.node.iter().filter(|node| node.metadata_props.iter().any(|entry| on_slot(entry.key())));
    nodes.map(|node| node.op_type()).find(|op| TENSOR_PRIMITIVES.op(op).is_none())
}

/// How many cases there are of operators that have rules, how many come out as recorded, and which are wrong.
fn run(compiler: &Compiler, only_floats: bool) -> Option<(usize, usize, Vec<String>)> {
    let cases = cases::list()?;
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let rules: Vec<&str> = lowered_operators().collect();
    let mut table: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut wrong = Vec::new();
    let cases =
        cases.iter().filter(|case| rules.contains(&case.subject()) || case.name().ends_with("_expanded"));
    for case in cases.filter(|case| wanted.is_empty() || case.ops().iter().any(|op| wanted.contains(op))) {
        if case.is_training_dropout() || (only_floats && !case.is_of_floats()) {
            continue;
        }
        let verdict = catch_unwind(AssertUnwindSafe(|| judge(case, compiler)))
            .unwrap_or_else(|_| Verdict::Wrong("it panicked".to_owned()));
        let row = table.entry(case.subject().to_owned()).or_default();
        row[2] += 1;
        match verdict {
            Verdict::Reproduced => row[0] += 1,
            Verdict::Refused(why) => {
                row[1] += 1;
                println!("refused  {}: {why}", case.name());
            }
            Verdict::Wrong(why) => {
                println!("WRONG    {}: {why}", case.name());
                wrong.push(case.name().to_owned());
            }
        }
    }
    println!("\n{:<28} reproduced  refused  of", "operator");
    for (op, [good, refused, all]) in &table {
        println!("{op:<28} {good:>10}  {refused:>7}  {all:>2}");
    }
    let total = |column: usize| table.values().map(|row| row[column]).sum::<usize>();
    println!("\n{} of {} cases, {} refused, {} wrong", total(0), total(2), total(1), wrong.len());
    Some((total(0), total(2), wrong))
}

#[test]
fn recorded_cases_come_out_the_same_in_primitives() {
    let compiler = Compiler::new().with_permissive_types().run_on_backend::<ByExecution<OfAny>>("compute");
    let Some((good, all, wrong)) = run(&compiler, false) else { return };
    assert!(wrong.is_empty(), "wrong in primitives: {wrong:?}");
    let share = 100.0 * good as f64 / all.max(1) as f64;
    assert!(share >= FLOOR || all == 0, "{share:.1} % of the cases are reproduced, less than {FLOOR} %");
}

#[test]
fn a_backend_that_stores_one_element_type_computes_on_no_other() {
    let compiler = Compiler::new().with_permissive_types().run_on_backend::<ByExecution<OfFloats>>("compute");
    let Some((_, _, wrong)) = run(&compiler, true) else { return };
    assert!(wrong.is_empty(), "wrong in primitives: {wrong:?}");
}
