//! The recorded node cases, lowered to primitives.
//!
//! Every case is compiled for a backend with the thirty primitives only; the result runs on the embedded
//! backend and is compared with the recorded outputs. A case that cannot be lowered is rejected before the
//! run. No case may be wrong or contain another operator after the lowering. The test `backend` describes the
//! location of the cases.

#![expect(clippy::print_stdout, reason = "the test prints a table")]

#[path = "backend/whole.rs"]
pub(crate) mod whole;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use crate::cases::{self, Case};
use crate::compare;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::passes::lower::lowered_operators;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_onnx::messages::{AttributeProto, GraphProto, ModelProto, NodeProto};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_testing::{is_all, number};
use typeloom_types::dtype::Dtype;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use whole::Whole;

/// Minimum percentage of cases with lowered operators to reproduce.
const FLOOR: f64 = 80.0;

macro_rules! backend_of_primitives {
    ($name:ident stores $tensor:ty) => {
        /// A backend type for compiling only; it is never called.
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
    if let Some(other) = other_than_primitive(artifact.model()) {
        return Verdict::Wrong(format!("`{other}` is left"));
    }
    let session = match Session::new(artifact.model(), &|_| Err("no case has other files".to_owned())) {
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

/// Whether the error is about nodes that cannot be lowered to primitives.
fn has_no_form(error: &BuildError) -> bool {
    let errors =
        if let BuildError::Several(errors) = error { &errors[..] } else { std::slice::from_ref(error) };
    errors.iter().all(|error| matches!(error, BuildError::NotDispatchable { .. }))
}

/// Compares the results of a lowered model with those of the original; returns the reason if the lowering is
/// rejected.
fn in_primitives(whole: &Whole, model: ModelProto, compiler: &Compiler) -> Result<(), String> {
    let artifact = match compiler.compile(model.clone()) {
        Ok(artifact) => artifact,
        Err(error) if has_no_form(&error) => return Err(error.to_string()),
        Err(error) => panic!("{}: {error}", whole.name),
    };
    assert_eq!(other_than_primitive(artifact.model()), None, "{}", whole.name);
    let external = |_: &_| Err("the model has no other files".to_owned());
    let plain = Session::new(&model, &external).unwrap_or_else(|error| panic!("{}: {error}", whole.name));
    drop(model);
    let inputs = whole::inputs(plain.inputs());
    let expected =
        plain.run(inputs.clone(), Verify::Inputs).unwrap_or_else(|error| panic!("{}: {error}", whole.name));
    drop(plain);
    let lowered =
        Session::new(artifact.model(), &external).unwrap_or_else(|error| panic!("{}: {error}", whole.name));
    drop(artifact);
    let found = lowered.run(inputs, Verify::Inputs).unwrap_or_else(|error| panic!("{}: {error}", whole.name));
    assert_eq!(whole::difference(&found.outputs, &expected.outputs), None, "{}", whole.name);
    Ok(())
}

#[test]
fn the_light_networks_lower_to_primitives_only() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<OfFloats>>("compute");
    for whole in whole::list().iter().filter(|whole| whole.is_light) {
        let bytes = std::fs::read(&whole.path).expect("the network is there");
        let artifact = compiler.compile(&bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", whole.name));
        assert_eq!(other_than_primitive(artifact.model()), None, "{}", whole.name);
        let lowered: usize = artifact.report.lowered.iter().map(|(_, count)| count).sum();
        println!("{:<28} {lowered:>4} nodes written in primitives", whole.name);
    }
}

/// The models of the repository, and the light networks that are small and accept any image size, on small
/// images. The other networks take minutes in a debug build.
#[test]
fn models_compute_the_same_in_primitives() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<OfAny>>("compute");
    // A light network takes half a minute.
    for whole in whole::list().iter().filter(|whole| !whole.is_light || is_all()) {
        let model = if whole.is_light { whole.small() } else { Some(whole.model()) };
        let Some(model) = model else { continue };
        // Nodes whose shapes are computed at run time cannot be lowered; with fixed input extents, these are
        // constants.
        let outcome = in_primitives(whole, model, &compiler).map(|()| "").or_else(|why| {
            println!("{:<28} refused with symbols: {}", whole.name, why.lines().next().unwrap_or_default());
            in_primitives(whole, whole.fixed(), &compiler).map(|()| ", with numbers for its symbols")
        });
        let how = outcome.unwrap_or_else(|why| panic!("{}: {why}", whole.name));
        println!("{:<28} computes the same{how}", whole.name);
    }
}

/// All light networks at their original size.
#[test]
#[cfg_attr(debug_assertions, ignore = "without optimisation each network takes minutes")]
fn light_networks_compute_the_same_in_primitives() {
    if cases::folder().is_none() {
        println!("skipped: there are no light networks next to the repository");
    }
    let compiler = Compiler::new().run_on_backend::<ByExecution<OfFloats>>("compute");
    for whole in whole::list().iter().filter(|whole| whole.is_light) {
        in_primitives(whole, whole.model(), &compiler).expect("every network has a form in primitives");
        println!("{:<28} computes the same", whole.name);
    }
}

/// Infinities, zeros, NaN and numbers with cancellation, through every unary float function.
#[test]
fn functions_of_one_float_agree_on_hard_arguments() {
    const FUNCTIONS: &[&str] = &[
        "Relu",
        "LeakyRelu",
        "ThresholdedRelu",
        "Elu",
        "Celu",
        "Selu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Softplus",
        "Softsign",
        "Tanh",
        "Mish",
        "Gelu",
        "Erf",
        "Shrink",
        "Sign",
        "Reciprocal",
        "IsNaN",
        "IsInf",
        "Sinh",
        "Cosh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Floor",
        "Ceil",
        "Round",
        "Sin",
        "Cos",
        "Softmax",
        "LogSoftmax",
    ];
    let any = Compiler::new().run_on_backend::<ByExecution<OfAny>>("compute");
    let floats = Compiler::new().run_on_backend::<ByExecution<OfFloats>>("compute");
    let plain: Vec<f32> =
        [0.0, 1e-30, 1e-12, 1e-6, 1e-4, 1e-3, 0.1, 0.24, 0.26, 0.5, 0.9, 1.0, 1.5, 2.5, 3.7, 12.0, 80.0]
            .iter()
            .flat_map(|value| [*value, -*value])
            .collect();
    let hard = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 8_388_609.0, 4_194_303.5, -0.0];
    let external = |_: &_| Err("the model has no other files".to_owned());
    let mut differences: Vec<String> = Vec::new();
    for function in FUNCTIONS {
        let result = if function.starts_with("Is") { "bool" } else { "float" };
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]>\nm (float[n] x) => ({result}[n] y) {{ y = {function}(x) }}"
        );
        let model = typeloom_onnx::text::parse_model(&text).unwrap();
        let plainly = Session::new(&model, &external).unwrap();
        let periodic = matches!(*function, "Sin" | "Cos" | "Softmax" | "LogSoftmax");
        let values: Vec<f32> =
            if periodic { plain.clone() } else { plain.iter().chain(&hard).copied().collect() };
        for compiler in [&any, &floats] {
            let artifact =
                compiler.compile(model.clone()).unwrap_or_else(|error| panic!("{function}: {error}"));
            assert_eq!(other_than_primitive(artifact.model()), None, "{function}");
            let lowered = Session::new(artifact.model(), &external).unwrap();
            let run = |session: &Session| {
                let x = Datum::Tensor(AnyTensor::from_slice(&[values.len()], &values).unwrap());
                session.run([("x", x)], Verify::EveryValue).unwrap().outputs.remove(0).1
            };
            // The tail of a normal distribution is the difference of two numbers near 1.
            let tolerance = if *function == "Gelu" { (2e-6, 1e-6) } else { (2e-6, 1e-12) };
            let difference = compare::values(&run(&lowered), &run(&plainly), tolerance);
            differences.extend(difference.map(|difference| format!("{function}: {difference}")));
        }
    }
    assert_eq!(differences, [""; 0]);
}

/// A lowered program with one node that reads the inputs.
fn lowered(text: &str) -> Session {
    let compiler = Compiler::new().run_on_backend::<ByExecution<OfAny>>("compute");
    let header = "<ir_version: 10, opset_import: [\"\": 21]>";
    let model = typeloom_onnx::text::parse_model(&format!("{header}\n{text}")).expect("the text is right");
    let artifact = compiler.compile(model).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(other_than_primitive(artifact.model()), None, "{text}");
    Session::new(artifact.model(), &|_| Err("the model has no other files".to_owned()))
        .expect("it is prepared")
}

#[test]
fn a_constant_of_a_shape_has_its_value_in_every_element_type() {
    for (ty, dtype) in
        [("int16", Dtype::I16), ("int8", Dtype::I8), ("uint16", Dtype::U16), ("uint32", Dtype::U32)]
    {
        let text = format!(
            "m (float[1] x) => ({ty}[2] y) {{ s = Constant<value = int64[1] {{2}}>() y = ConstantOfShape<value = {ty}[1] {{7}}>(s) }}"
        );
        let x = Datum::Tensor(AnyTensor::from_slice(&[1], &[0.0_f32]).unwrap());
        let found = lowered(&text).run([("x", x)], Verify::EveryValue).unwrap().outputs.remove(0).1;
        let sevens = compare::cast(&AnyTensor::from_slice(&[2], &[7_i64, 7]).unwrap(), dtype).unwrap();
        assert_eq!(compare::values(&found, &Datum::Tensor(sevens), (0.0, 0.0)), None, "{ty}");
    }
}

#[test]
fn sines_of_numbers_far_beyond_one_period_are_nan() {
    for function in ["Sin", "Cos", "Tan"] {
        let session = lowered(&format!("m (double[2] x) => (double[2] y) {{ y = {function}(x) }}"));
        let x = Datum::Tensor(AnyTensor::from_slice(&[2], &[1e30, -1e30]).unwrap());
        let found = session.run([("x", x)], Verify::EveryValue).unwrap().outputs.remove(0).1;
        let y: Vec<f64> = found.as_tensor().unwrap().to_vec().unwrap();
        assert!(y.iter().all(|y| y.is_nan()), "{function}: {y:?}");
    }
}

/// The first operator on the slot that is not a primitive.
fn other_than_primitive(model: &ModelProto) -> Option<&str> {
    let graph = model.graph.as_ref()?;
    let on_slot = |key: &str| key == "ai.bytesandbrains.slot_id";
    let nodes = graph.node.iter().filter(|node| node.metadata_props.iter().any(|entry| on_slot(entry.key())));
    nodes.map(NodeProto::op_type).find(|op| TENSOR_PRIMITIVES.op(op).is_none())
}

/// Number of cases whose operators have rules, number of reproduced ones, and the wrong ones.
fn run(compiler: &Compiler, only_floats: bool) -> Option<(usize, usize, Vec<String>)> {
    let cases = cases::list()?;
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let rules: Vec<&str> = lowered_operators().collect();
    let mut table: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (first, step) = if wanted.is_empty() { (usize::from(only_floats), number(5, 1)) } else { (0, 1) };
    let cases = cases
        .iter()
        .skip(first % step)
        .step_by(step)
        .filter(|case| rules.contains(&case.subject()) || case.name().ends_with("_expanded"));
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
fn recorded_cases_compute_the_same_in_primitives() {
    let compiler = Compiler::new().with_permissive_types().run_on_backend::<ByExecution<OfAny>>("compute");
    let Some((good, all, wrong)) = run(&compiler, false) else { return };
    assert!(wrong.is_empty(), "wrong in primitives: {wrong:?}");
    let share = 100.0 * good as f64 / all.max(1) as f64;
    assert!(
        share >= number(FLOOR - 10.0, FLOOR) || all == 0,
        "{share:.1} % of the cases are reproduced, less than {FLOOR} %"
    );
}

#[test]
fn a_backend_that_stores_one_element_type_computes_on_no_other() {
    let compiler = Compiler::new().with_permissive_types().run_on_backend::<ByExecution<OfFloats>>("compute");
    let Some((_, _, wrong)) = run(&compiler, true) else { return };
    assert!(wrong.is_empty(), "wrong in primitives: {wrong:?}");
}
