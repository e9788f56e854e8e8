//! Random programs on ONNX Runtime: computed values have the types that typeloom reports.
//!
//! `TYPELOOM_SEED` repeats a run. Without `ORT_DYLIB_PATH` the test is skipped, unless `CI` is set. Programs
//! run in a separate process because some crash or hang ONNX Runtime 1.31; these are skipped.

#![expect(clippy::print_stdout, reason = "a failing run shows its seed")]

#[path = "../../worker.rs"]
mod worker;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use typeloom_differential::choices::Choices;
use typeloom_differential::generate::{Case, Declarations, generate};
use typeloom_differential::laws::{Runs, examine, fits};
use typeloom_differential::program::{Node, Program};
use typeloom_onnx::messages::{ModelProto, ValueInfoProto, read};
use typeloom_ort::Ort;
use typeloom_runtime::engine::Engine as _;
use typeloom_solver::model::Options;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use worker::{SERVE, Verdict, Worker, serve};

/// Number of programs per run.
const PROGRAMS: u64 = 60;

/// Time limit of a program, which normally takes milliseconds.
const LIMIT: Duration = Duration::from_secs(120);

fn seed() -> u64 {
    if let Ok(text) = std::env::var("TYPELOOM_SEED") {
        return text.trim().parse().expect("TYPELOOM_SEED is a number");
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("the clock is past 1970").as_secs() % 1_000_000_000 * 1000
}

/// The model with all tensors of the main graph as outputs, and their names. Sequences and optionals are not
/// exposed.
fn exposed(case: &Case) -> (ModelProto, Vec<u8>, Vec<String>) {
    let mut tensors = HashSet::new();
    let inputs = case.worlds[0].inputs.clone();
    let _ = case.program.run(inputs, &mut |name, value| {
        if value.as_tensor().is_some() {
            tensors.insert(name.to_owned());
        }
    });
    let bytes = typeloom_onnx::text::model_bytes(&case.program.text()).expect("the generator makes models");
    let mut model: ModelProto = read(bytes.clone().into()).expect("the bytes are a model");
    let mut names = Vec::new();
    if let Some(graph) = &mut model.graph {
        graph.output.clear();
        graph.value_info.clear();
        for node in &case.program.graph.nodes {
            for name in node.outputs.iter().filter(|name| tensors.contains(*name)) {
                names.push(name.clone());
                graph.output.push(ValueInfoProto { name: name.clone().into(), ..ValueInfoProto::default() });
            }
        }
    }
    (model, bytes, names)
}

fn tensors(values: &[Datum]) -> Option<Vec<AnyTensor>> {
    values.iter().map(|value| value.as_tensor().cloned()).collect()
}

/// Features of a program for which ONNX Runtime 1.31 deviates from the ONNX specification.
#[derive(Default)]
struct Deviations {
    /// Reductions. ONNX Runtime returns empty tensors unchanged; the specification removes the reduced axes.
    reduces: bool,
    /// Constants without elements.
    has_empty: bool,
    /// A `Scan` body that returns one of its inputs, which is then undefined after the `Scan`.
    passes_through: bool,
}

fn deviations(program: &Program) -> Deviations {
    let mut found = Deviations::default();
    let passes_through = |node: &Node| {
        let mut bodies = node.graphs.iter().map(|(_, body)| body).filter(|_| node.op == "Scan");
        bodies
            .any(|body| body.outputs.iter().any(|output| body.inputs.iter().any(|it| it.name == output.name)))
    };
    let bodies = program.functions.iter().map(|function| &function.graph);
    for graph in bodies.chain([&program.graph]) {
        graph.walk(&mut |graph| {
            let is_reduction = |op: &str| op.starts_with("Reduce") || matches!(op, "ArgMax" | "ArgMin");
            found.reduces |= graph.nodes.iter().any(|node| is_reduction(&node.op));
            found.has_empty |= graph.constants.iter().any(|(_, constant)| constant.is_empty());
            found.passes_through |= graph.nodes.iter().any(passes_through);
        });
    }
    found
}

/// Compares the values of one program.
fn judge(engine: &Ort, seed: u64) -> Verdict {
    let unasked = |why: &str| Verdict::Unasked(why.to_owned());
    let case = generate(Declarations::None, &mut Choices::seeded(seed));
    let report = examine(&case);
    let Deviations { reduces, has_empty, passes_through } = deviations(&case.program);
    if report.rejected || report.runs == Runs::Unknown || passes_through {
        return unasked("typeloom rejects it, or ONNX Runtime deviates from ONNX");
    }
    let (model, bytes, names) = exposed(&case);
    // A rejected model or failed run does not concern types: the engine has fewer kernels and additional
    // limits.
    let program = match engine.load(&model) {
        Ok(program) => program,
        Err(error) => return Verdict::Refused(error),
    };
    let mut checked = typeloom_ops::check::check(&bytes, &Options::default()).expect("it was checked before");
    let mut compared = 0;
    for world in &case.worlds {
        // ONNX Runtime may return a value where an operator is undefined, such as for a window larger than
        // its input.
        let mut has_empty = has_empty;
        let mut visit = |_: &str, value: &Datum| {
            has_empty |= value.as_tensor().is_some_and(AnyTensor::is_empty);
        };
        if case.program.run(world.inputs.clone(), &mut visit).is_err() || (has_empty && reduces) {
            continue;
        }
        let Some(inputs) = tensors(&world.inputs) else { continue };
        let Ok(outputs) = program.program.run(inputs) else { continue };
        for (name, tensor) in names.iter().zip(outputs) {
            let found = tensor.shape().to_vec();
            if !fits(&mut checked, name, &Datum::Tensor(tensor), &world.symbols) {
                let text = case.program.text();
                return Verdict::Wrong(format!("`{name}` is {found:?} where {:?}\n{text}", world.symbols));
            }
            compared += 1;
        }
    }
    if compared == 0 { unasked("it has no value that can be compared") } else { Verdict::Same }
}

fn values_have_the_reported_types() -> Result<(), String> {
    let first = seed();
    println!("TYPELOOM_SEED={first}");
    let mut worker = Worker::default();
    let mut same = 0;
    for seed in first..first + PROGRAMS {
        match worker.ask(&seed.to_string(), LIMIT) {
            Verdict::Same => same += 1,
            Verdict::Wrong(why) => return Err(format!("TYPELOOM_SEED={seed}: {why}")),
            Verdict::Lost(why) => println!("left out: program {seed}, {why}"),
            Verdict::Unasked(_) | Verdict::Refused(_) => {}
        }
    }
    if same < PROGRAMS / 4 {
        return Err(format!("the values of only {same} of {PROGRAMS} programs were compared"));
    }
    Ok(())
}

fn main() -> ExitCode {
    let library = std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from);
    let Some(library) = library else {
        assert!(std::env::var("CI").is_err(), "ORT_DYLIB_PATH names no shared library");
        return ExitCode::SUCCESS;
    };
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        let engine = Ort::load(&library).expect("ORT_DYLIB_PATH names ONNX Runtime");
        serve(|job| {
            job.parse().map_or(Verdict::Unasked("it is no seed".to_owned()), |seed| judge(&engine, seed))
        });
        return ExitCode::SUCCESS;
    }
    let trial = Trial::test("values_have_the_reported_types", || Ok(values_have_the_reported_types()?));
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
