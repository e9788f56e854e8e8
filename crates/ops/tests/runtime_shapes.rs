//! Comparison of types computed by ONNX Runtime for small graphs with the inferred types.
//!
//! `runtime_shapes/*.txt` contains the graphs and the recorded types; `tools/facts/runtime_shapes.py`
//! describes the format and records them. Each graph is solved three times:
//!
//! - unchanged: the outputs have exactly the recorded types, and a rejected graph has an error;
//! - with constants as inputs: no type contradicts the recorded one for values that are known only at run
//!   time;
//! - with a symbol for each extent of each input: at the recorded extents, each type equals the recorded one,
//!   and the conditions that a rejected graph violates are recorded as equations.
//!
//! A `~` before a graph: extents depend on data, so types may be less precise than recorded. A `!`: the
//! operator's definition allows what this version of ONNX Runtime rejects, or the solver does not track the
//! deciding value.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use typeloom_dim::{Condition, Decision, DimId, Dims};
use typeloom_onnx::messages::tensor_shape_proto::Dimension;
use typeloom_onnx::messages::tensor_shape_proto::dimension::Value as DimValue;
use typeloom_onnx::messages::type_proto::{Tensor, Value as TypeValue};
use typeloom_onnx::messages::{GraphProto, ModelProto, TensorShapeProto, TypeProto, ValueInfoProto};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{parse_model, parse_type};
use typeloom_ops::described::Operators;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{Checked, Mode, Options, check};
use typeloom_solver::solution::{Equation, TensorType, Type};
use typeloom_solver::solve_error::{SolveError, SolveErrorKind};
use typeloom_solver::ty::Constructor;
use typeloom_solver::universe::Universe;

/// A graph and the recorded results.
struct Case<'a> {
    line: usize,
    opset: u32,
    ml: u32,
    graph: &'a str,
    is_imprecise: bool,
    is_allowed: bool,
    recorded: Vec<&'a str>,
}

/// The recorded result of ONNX Runtime.
enum Outcome<'a> {
    Types(Vec<(&'a str, TypeProto)>),
    Rejected,
    Unavailable,
}

/// A transformation of a graph before it is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    AsIs,
    UnknownConstants,
    Symbols,
}

#[test]
fn types_agree_with_onnx_runtime() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime_shapes");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let universe = Universe::standard().clone();
    let operators = Operators::standard();
    let mut problems = String::new();
    let mut count = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for case in cases(&text) {
            count += 1;
            for variant in [Variant::AsIs, Variant::UnknownConstants, Variant::Symbols] {
                if let Err(problem) = verify(&case, variant, &operators, &universe) {
                    writeln!(problems, "{name}:{} {variant:?}: {problem}\n    {}", case.line, case.graph)
                        .unwrap();
                }
            }
        }
    }
    assert!(count > 0, "no graphs");
    assert!(problems.is_empty(), "{} problems:\n{problems}", problems.lines().count() / 2);
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    let (mut opset, mut ml) = (21, 5);
    for (at, line) in text.lines().enumerate() {
        if let Some(recorded) = line.strip_prefix("  ") {
            cases.last_mut().expect("a graph is first").recorded.push(recorded);
        } else if let Some(version) = line.strip_prefix("opset ") {
            opset = version.parse().expect("a version");
        } else if let Some(version) = line.strip_prefix("ml ") {
            ml = version.parse().expect("a version");
        } else if let Some(start) = line.find("g (").filter(|start| *start <= 4 && !line.starts_with('#')) {
            let marks = &line[..start];
            cases.push(Case {
                line: at + 1,
                opset,
                ml,
                graph: &line[start..],
                is_imprecise: marks.contains('~'),
                is_allowed: marks.contains('!'),
                recorded: Vec::new(),
            });
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "line {}: {line}", at + 1);
        }
    }
    cases
}

fn outcome<'a>(case: &Case<'a>) -> Outcome<'a> {
    match case.recorded[..] {
        ["rejected"] => Outcome::Rejected,
        ["unavailable"] => Outcome::Unavailable,
        _ => Outcome::Types(
            case.recorded
                .iter()
                .map(|line| {
                    let (name, ty) = line.split_once(' ').expect("a name and a type");
                    (name, parse_type(ty).unwrap_or_else(|error| panic!("{ty}: {error}")))
                })
                .collect(),
        ),
    }
}

fn verify(
    case: &Case<'_>,
    variant: Variant,
    operators: &Operators,
    universe: &Arc<Universe>,
) -> Result<(), String> {
    let outcome = outcome(case);
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": {}, \"ai.onnx.ml\": {}, \"com.microsoft\": 1, \"com.microsoft.nchwc\": 1]> {}",
        case.opset, case.ml, case.graph
    );
    let mut model = parse_model(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut values = Vec::new();
    let graph = model.graph.as_mut().expect("the text has a graph");
    match variant {
        Variant::AsIs => {}
        Variant::UnknownConstants => constants_as_inputs(graph),
        Variant::Symbols => values = extents_as_symbols(graph),
    }
    let bytes = ModelProto::encode_to_vec(&model);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = check(&bytes, operators, universe, &options).expect("the model can be read");
    // A symbol that the constants of the graph fix to one number is an error; `is_violated` checks the
    // number.
    let is_unconditional = |error: &&SolveError<'_>| {
        // Strict mode rejects a declared scalar that an operator does not accept.
        let is_refused =
            error.is_error(Mode::Permissive) || matches!(error.kind, SolveErrorKind::EmptyShape { .. });
        is_refused
            && !matches!(
                error.kind,
                SolveErrorKind::ForcedSymbol { .. } | SolveErrorKind::ForcedSymbols { .. }
            )
    };
    let error = checked.errors().iter().find(is_unconditional).map(|error| format!("{:?}", error.kind));
    match outcome {
        Outcome::Rejected if case.is_allowed || variant == Variant::UnknownConstants => Ok(()),
        Outcome::Rejected => {
            if error.is_some() || is_violated(&checked, &values) {
                return Ok(());
            }
            Err("accepted, but ONNX Runtime rejects it".to_owned())
        }
        Outcome::Unavailable => Ok(()),
        Outcome::Types(recorded) => {
            if let Some(error) = error {
                return Err(format!("rejected: {error}"));
            }
            let is_exact = variant == Variant::AsIs && !case.is_imprecise;
            for (name, expected) in recorded {
                let value = checked.find(name).expect("outputs have names");
                let ty = checked.type_of(value);
                let shown = checked.display_type(value);
                let mut dims = checked.dims().clone();
                let bound = bind(&mut dims, &values);
                let fit = fits(&ty, &expected, &mut dims, &bound);
                if fit == Fit::Contradiction || (fit == Fit::LessPrecise && is_exact) {
                    return Err(format!(
                        "{name} is {shown}, recorded {} ({fit:?})",
                        case.recorded.join(", ")
                    ));
                }
            }
            if is_violated(&checked, &values) {
                return Err(format!("records a condition that does not hold: {}", conditions(&checked)));
            }
            Ok(())
        }
    }
}

fn conditions(checked: &Checked<'_>) -> String {
    let dims = checked.dims();
    let shown = |equation: &Equation| dims.display_condition(condition(equation)).to_string();
    checked.equations().iter().map(shown).collect::<Vec<_>>().join("; ")
}

/// Replaces the constants of a graph by inputs with their extents but without their values.
fn constants_as_inputs(graph: &mut GraphProto) {
    for tensor in std::mem::take(&mut graph.initializer) {
        let dim = tensor
            .dims
            .iter()
            .map(|dim| Dimension { value: Some(DimValue::DimValue(*dim)), ..Dimension::default() });
        let shape = TensorShapeProto { dim: dim.collect(), ..TensorShapeProto::default() };
        let ty = Tensor { elem_type: tensor.data_type, shape: Some(shape), ..Tensor::default() };
        let ty = TypeProto { value: Some(TypeValue::TensorType(ty)), ..TypeProto::default() };
        graph.input.push(ValueInfoProto { name: tensor.name, r#type: Some(ty), ..ValueInfoProto::default() });
    }
}

/// Replaces each extent of each input by a separate symbol, and returns the symbols with their extents.
/// Symbols are positive.
fn extents_as_symbols(graph: &mut GraphProto) -> Vec<(String, i64)> {
    let mut values = Vec::new();
    for input in &mut graph.input {
        let mut ty = input.r#type.as_mut();
        while let Some(inner) = ty {
            ty = match &mut inner.value {
                Some(TypeValue::SequenceType(sequence)) => sequence.elem_type.as_deref_mut(),
                Some(TypeValue::OptionalType(optional)) => optional.elem_type.as_deref_mut(),
                Some(TypeValue::TensorType(tensor)) => {
                    for dim in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim) {
                        if let Some(DimValue::DimValue(value @ 1..)) = dim.value {
                            let name = format!("d{}", values.len());
                            dim.value = Some(DimValue::DimParam(name.clone()));
                            values.push((name, value));
                        }
                    }
                    None
                }
                _ => None,
            };
        }
    }
    values
}

fn bind(dims: &mut Dims, values: &[(String, i64)]) -> Vec<(DimId, DimId)> {
    values.iter().map(|(name, value)| (dims.symbol(name), dims.constant(*value))).collect()
}

/// Whether a recorded equation does not hold for the given extents.
fn is_violated(checked: &Checked<'_>, values: &[(String, i64)]) -> bool {
    let mut dims = checked.dims().clone();
    let values: Vec<(DimId, i64)> = values.iter().map(|(name, value)| (dims.symbol(name), *value)).collect();
    checked.equations().iter().any(|equation| dims.holds(condition(equation), &values) == Some(false))
}

fn condition(equation: &Equation) -> Condition {
    let Equation { left, right, need: relation, .. } = *equation;
    Condition { relation, left, right }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    LessPrecise,
    Contradiction,
}

fn fits(ty: &Type, expected: &TypeProto, dims: &mut Dims, bound: &[(DimId, DimId)]) -> Fit {
    let inner = |ty: &Option<Box<TypeProto>>| ty.as_deref().expect("recorded types are complete").clone();
    match (ty, expected.value.as_ref().expect("recorded types are complete")) {
        (Type::Tensor(found), TypeValue::TensorType(tensor)) => fits_tensor(found, tensor, dims, bound),
        (Type::Container(Constructor::Sequence, found), TypeValue::SequenceType(sequence)) => {
            fits(found, &inner(&sequence.elem_type), dims, bound)
        }
        (Type::Container(Constructor::Optional, found), TypeValue::OptionalType(optional)) => {
            fits(found, &inner(&optional.elem_type), dims, bound)
        }
        (Type::Container(Constructor::Map(key), found), TypeValue::MapType(map))
            if map.key_type.and_then(Elem::from_onnx) == Some(*key) =>
        {
            fits(found, &inner(&map.value_type), dims, bound)
        }
        (Type::Unknown(_), _) => Fit::LessPrecise,
        _ => Fit::Contradiction,
    }
}

fn fits_tensor(found: &TensorType, expected: &Tensor, dims: &mut Dims, bound: &[(DimId, DimId)]) -> Fit {
    let elem = expected.elem_type.and_then(Elem::from_onnx).expect("recorded types are complete");
    if !found.elem.contains(elem) {
        return Fit::Contradiction;
    }
    let mut fit = if found.elem.len() == 1 { Fit::Exact } else { Fit::LessPrecise };
    let Some(shape) = &expected.shape else { return fit };
    let Some(found) = &found.shape else { return Fit::LessPrecise };
    if found.len() != shape.dim.len() {
        return Fit::Contradiction;
    }
    for (found, expected) in found.iter().zip(&shape.dim) {
        let Some(DimValue::DimValue(expected)) = expected.value else { continue };
        let found = dims.substitute(*found, bound);
        let found = dims.resolve(found);
        let expected = dims.constant(expected);
        fit = fit.max(match dims.compare(found, expected) {
            Decision::Equal => Fit::Exact,
            Decision::Different => Fit::Contradiction,
            Decision::Undecided => Fit::LessPrecise,
        });
    }
    fit
}
