//! Differential tests of operators in old versions, on all element types and with non-default attributes: an
//! engine computes the same results as the embedded backend or refuses the model. Included in the tests of
//! each engine.
//!
//! The recorded cases cover one version and few element types of most operators, so they miss many silent
//! differences.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Port;
use typeloom_runtime::session::Session;
use typeloom_solver::model::Options;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::Dim;
use typeloom_types::dtype::Dtype;

use crate::compare;
use crate::worker::{Verdict, Worker};

/// Element types substituted for `T`.
const TYPES: &[&str] = &[
    "float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool",
];

/// Graphs with their operator set versions; the file describes its format.
fn graphs() -> Vec<(i64, &'static str)> {
    let lines = include_str!("graphs.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &'static str| {
        let (version, graph) = line.split_once(' ').expect("a version and a graph");
        (version.parse().expect("a version"), graph)
    };
    lines.map(entry).collect()
}

/// A tensor of the port's type with small negative and positive numbers.
fn input(port: &Port) -> Option<AnyTensor> {
    let (dtype, shape) = (port.ty.dtype()?, port.ty.shape.as_deref()?);
    let shape: Vec<usize> = shape.iter().map(Dim::fixed).collect::<Option<_>>()?;
    let count = shape.iter().product::<usize>();
    let at = port.name.bytes().map(usize::from).sum::<usize>();
    let number = |index: usize| ((index * 5 + at) % 11) as f64 / 2.0 - 2.0;
    macro_rules! made {
        ($($name:ident => $ty:ty),*) => {
            match dtype {
                $(Dtype::$name => {
                    let elements: Vec<$ty> = (0..count).map(|index| number(index) as $ty).collect();
                    AnyTensor::from_vec(&shape, elements).ok()
                })*
                Dtype::Bool => {
                    AnyTensor::from_vec(&shape, (0..count).map(|index| number(index) > 0.6).collect::<Vec<bool>>()).ok()
                }
                // A cast from floats creates the other types.
                _ => None,
            }
        };
    }
    made!(
        F32 => f32, F64 => f64, I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16,
        U32 => u32, U64 => u64
    )
    .or_else(|| compare::cast(&AnyTensor::from_vec(&shape, (0..count).map(number).collect()).ok()?, dtype))
}

/// First word of the jobs; the rest is the index of the graph and an element type.
pub(crate) const JOB: &str = "graph";

/// Time limit of a graph, as for a recorded case.
const LIMIT: Duration = Duration::from_secs(60);

fn judge(engine: &Arc<dyn Engine>, text: &str) -> Verdict {
    let unasked = || Verdict::Unasked("the embedded backend does not run it".to_owned());
    let Ok(bytes) = typeloom_onnx::text::model_bytes(text) else { return unasked() };
    let Ok(mut checked) = typeloom_ops::check::check(&bytes, &Options::default()) else { return unasked() };
    let no_files = |_: &_| Err("no other files are read".to_owned());
    let Ok(session) = Session::of_checked(&mut checked, &no_files) else { return unasked() };
    if !checked.is_ok() {
        return unasked();
    }
    let mut inputs = HashMap::new();
    for port in session.inputs().iter().filter(|port| !port.has_default) {
        let Some(tensor) = input(port) else { return unasked() };
        inputs.insert(port.name.clone(), Datum::Tensor(tensor));
    }
    let Ok(expected) = session.run(inputs.clone(), Verify::EveryValue) else { return unasked() };
    let ran = EngineSession::of_checked(Arc::clone(engine), &mut checked, &no_files, Verify::Inputs)
        .map_err(|error| error.to_string())
        .and_then(|session| session.run(inputs).map_err(|error| error.to_string()));
    let found = match ran {
        Ok(found) => found,
        Err(error) => return Verdict::Refused(error),
    };
    let pairs = found.outputs.iter().zip(&expected.outputs);
    // Narrow floats are rounded at different steps.
    let is_narrow = text.contains("float16") || text.contains("Cast<to = 10>");
    let tolerance = if is_narrow { (2e-2, 2e-2) } else { (1e-3, 1e-5) };
    let mut differences = pairs.filter_map(|((name, found), (_, expected))| {
        Some(format!("`{name}`: {}", compare::values(found, expected, tolerance)?))
    });
    differences.next().map_or(Verdict::Same, Verdict::Wrong)
}

/// A graph of the list for one element type.
fn text(at: usize, ty: &str) -> Option<String> {
    let (version, graph) = *graphs().get(at)?;
    Some(format!("<ir_version: 8, opset_import: [\"\" : {version}]> {}", graph.replace("<T>", ty)))
}

/// Verdict of a worker on a graph.
pub(crate) fn answer(engine: &Arc<dyn Engine>, job: &str) -> Verdict {
    let (at, ty) = job.split_once(' ').unwrap_or((job, ""));
    match at.parse().ok().and_then(|at| text(at, ty)) {
        Some(text) => judge(engine, &text),
        None => Verdict::Wrong("there is no such graph".to_owned()),
    }
}

/// Runs all graphs on all element types.
///
/// # Errors
/// If the engine's results differ from those of the embedded backend, or almost nothing is compared.
pub(crate) fn run(engine: &str, worker: &mut Worker) -> Result<(), String> {
    let (mut same, mut refused, mut unasked, mut differing) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut silent = Vec::new();
    for (at, (version, graph)) in graphs().into_iter().enumerate() {
        let types: &[&str] = if graph.contains("<T>") { TYPES } else { &[""] };
        let unasked_before = unasked;
        for ty in types {
            match worker.ask(&format!("{JOB} {at} {ty}"), LIMIT) {
                Verdict::Unasked(_) => unasked += 1,
                Verdict::Same => same += 1,
                Verdict::Refused(why) => {
                    refused += 1;
                    println!("refused  {why}");
                }
                Verdict::Wrong(why) | Verdict::Lost(why) => {
                    println!("DIFFERS  {} (version {version}): {why}", graph.replace("<T>", ty));
                    differing += 1;
                }
            }
        }
        if unasked - unasked_before == types.len() {
            println!("not asked  {graph}");
            silent.push(graph);
        }
    }
    println!(
        "\n{engine}: {same} graphs the same, {refused} refused, {unasked} not asked, {differing} different"
    );
    if differing > 0 {
        return Err(format!("{differing} graphs differ"));
    }
    if !silent.is_empty() {
        return Err(format!("nothing was compared on {} graphs", silent.len()));
    }
    if same < 200 {
        return Err(format!("only {same} graphs were compared"));
    }
    Ok(())
}
