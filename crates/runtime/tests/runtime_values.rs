//! Recorded results of ONNX Runtime for operators outside ONNX's default domain.
//!
//! `tools/facts/runtime_values.py` writes the cases: random calls of one operator with inputs and results.
//! The test also reads the files of the folder `TYPELOOM_RUNTIME_VALUES`; `TYPELOOM_OPS=Gelu,Attention`
//! restricts it to these operators.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use typeloom_onnx::messages::{ModelProto, OperatorSetIdProto};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::parse_graph;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::MapDatum;
use typeloom_types::dtype::Dtype;

use crate::compare;

/// Relative and absolute tolerance: the order of additions differs.
const TOLERANCE: (f64, f64) = (2e-4, 2e-5);

/// Operators that quantise after a computation in `f32`: a value in the middle between two integers may be
/// rounded either way.
const OFF_BY_ONE: (f64, f64) = (0.0, 1.0);

pub(crate) struct Case {
    versions: BTreeMap<String, i64>,
    pub(crate) graph: String,
    pub(crate) inputs: HashMap<String, Datum>,
    outputs: HashMap<String, Datum>,
}

impl Case {
    /// The model, or the reason why the text is none.
    pub(crate) fn model(&self) -> Result<ModelProto, String> {
        let graph = parse_graph(&self.graph).map_err(|error| error.to_string())?;
        let import = |(domain, version): (&String, &i64)| OperatorSetIdProto {
            domain: domain.as_str().into(),
            version: Some(*version),
            ..OperatorSetIdProto::default()
        };
        Ok(ModelProto {
            ir_version: Some(10),
            graph: Some(graph),
            opset_import: self.versions.iter().map(import).collect(),
            ..ModelProto::default()
        })
    }

    fn op(&self) -> &str {
        let call = self.graph.rsplit_once("{ ").map_or("", |(_, node)| node);
        let call = if call.contains(" = ") { call } else { &self.graph };
        let start = ["com.microsoft.", "ai.onnx.ml.", "ai.onnx."].iter().find_map(|domain| call.find(domain));
        let name = &call[start.unwrap_or(0)..];
        name.split([' ', '(', '<']).next().unwrap_or(name)
    }
}

fn floats(list: &[Json]) -> Vec<f64> {
    let number = |value: &Json| match value.as_str() {
        Some(text) => text.parse().expect("`nan` or `inf`"),
        None => {
            value.as_f64().or_else(|| value.as_bool().map(|it| f64::from(u8::from(it)))).expect("a number")
        }
    };
    list.iter().map(number).collect()
}

/// A value of a line `name dtype [shape] [elements]`. Maps have the keys and the values in this form; those
/// of a sequence have the same keys, and a row of values each.
fn value(line: &str) -> (String, Datum) {
    let (name, rest) = line.split_once(' ').expect("a name and a value");
    let value = match rest.split_once(' ') {
        Some((kind @ ("map" | "maps"), entries)) => {
            let (keys, values) = entries.split_once("] float ").expect("keys and values");
            let (keys, values) = (tensor(&format!("{keys}]")), tensor(&format!("float {values}")));
            let map = |row: &[f32]| {
                let map = MapDatum::new(keys.clone(), AnyTensor::from(row)).expect("keys ascend");
                Datum::Map(Box::new(map))
            };
            let values = values.as_slice::<f32>().expect("floats");
            if kind == "map" {
                map(values)
            } else {
                Datum::Sequence(values.chunks(keys.len()).map(map).collect())
            }
        }
        _ => tensor(rest).into(),
    };
    (name.to_owned(), value)
}

/// A tensor of a text `dtype [shape] [elements]`.
fn tensor(text: &str) -> AnyTensor {
    let (dtype, rest) = text.split_once(' ').expect("a type and a shape");
    let (shape, elements) = rest.split_once("] ").expect("elements");
    let shape: Vec<usize> = serde_json::from_str(&format!("{shape}]")).expect("a shape");
    let list: Vec<Json> = serde_json::from_str(elements).expect("elements are JSON");
    let tensor = match dtype {
        "string" => {
            let texts: Vec<&str> = list.iter().map(|text| text.as_str().expect("a text")).collect();
            AnyTensor::from_strings(&shape, &texts)
        }
        "int64" => AnyTensor::from_slice(
            &shape,
            &list.iter().map(|it| it.as_i64().expect("an integer")).collect::<Vec<_>>(),
        ),
        _ => AnyTensor::from_slice(&shape, &floats(&list)),
    };
    let tensor = tensor.expect("the elements fit the shape");
    let dtype = Dtype::from_onnx_name(dtype).unwrap_or_else(|| panic!("type `{dtype}`"));
    if tensor.dtype() == dtype { tensor } else { compare::cast(&tensor, dtype).expect("numbers are cast") }
}

fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut versions = BTreeMap::new();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(list) = line.strip_prefix("versions ") {
            versions = serde_json::from_str(list).expect("versions are JSON");
        } else if let Some(line) = line.strip_prefix("  in ") {
            cases.last_mut().expect("a graph").inputs.extend([value(line)]);
        } else if let Some(line) = line.strip_prefix("  out ") {
            cases.last_mut().expect("a graph").outputs.extend([value(line)]);
        } else {
            let (inputs, outputs) = (HashMap::new(), HashMap::new());
            cases.push(Case { versions: versions.clone(), graph: line.to_owned(), inputs, outputs });
        }
    }
    cases
}

/// Difference from the recorded results, or the reason why there are none.
fn difference(case: &Case) -> Option<String> {
    let model = match case.model() {
        Ok(model) => model,
        Err(error) => return Some(error),
    };
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let bytes = model.encode_to_vec();
    let mut checked = match check(&bytes, &Standard, Universe::standard(), &options) {
        Ok(checked) => checked,
        Err(error) => return Some(error.to_string()),
    };
    let external = |_: &_| Err("no case has other files".to_owned());
    let session = match Session::of_checked(&mut checked, &external) {
        Ok(session) => session,
        Err(error) => return Some(error.to_string()),
    };
    // The written schedule with verification of every value, then the optimized one.
    for verify in [Verify::EveryValue, Verify::Inputs] {
        let outcome = match session.run(case.inputs.clone(), verify) {
            Ok(outcome) => outcome,
            Err(error) => return Some(error.to_string()),
        };
        for (name, found) in &outcome.outputs {
            let Some(expected) = case.outputs.get(name) else { continue };
            let is_quantised = case.op().contains("QLinear") || case.op().contains("QGemm");
            let tolerance = if is_quantised { OFF_BY_ONE } else { TOLERANCE };
            if let Some(difference) = compare::values(found, expected, tolerance) {
                return Some(format!("`{name}`: {difference}"));
            }
        }
    }
    None
}

/// The cases of this repository, and those of the folder `TYPELOOM_RUNTIME_VALUES`.
pub(crate) fn list() -> Vec<Case> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime_values");
    let folders = std::iter::once(own).chain(std::env::var_os("TYPELOOM_RUNTIME_VALUES").map(PathBuf::from));
    folders
        .flat_map(|folder| ["ml.txt", "contrib.txt"].map(|name| folder.join(name)))
        .flat_map(|path| read(&path))
        .collect()
}

#[test]
fn results_are_those_of_onnx_runtime() {
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let mut table: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for case in list() {
        let name = case.op().rsplit('.').next().unwrap_or_default();
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let found =
            catch_unwind(AssertUnwindSafe(|| difference(&case))).unwrap_or(Some("it panicked".to_owned()));
        let row = table.entry(case.op().to_owned()).or_default();
        row[1] += 1;
        match found {
            None => row[0] += 1,
            Some(difference) => println!("{}\n    {difference}", case.graph),
        }
    }
    for (op, [good, all]) in &table {
        println!("{op:<48} {good:>4} of {all:>4}{}", if good == all { "" } else { "  <-" });
    }
    assert!(!table.is_empty() || !wanted.is_empty(), "there are no cases");
    let wrong: Vec<_> = table.iter().filter(|(_, [good, all])| good != all).map(|(op, _)| op).collect();
    assert!(wrong.is_empty(), "differences from ONNX Runtime: {wrong:?}");
}
