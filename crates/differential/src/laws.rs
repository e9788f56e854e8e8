//! Laws that relate typeloom's reports to executions.
//!
//! | law | |
//! |---|---|
//! | [`Law::Type`] | a reported type agrees with the value of every execution |
//! | [`Law::Alarm`] | a program that runs in every world, and whose declarations hold there, has no errors |
//! | [`Law::Declaration`] | a declaration that an execution violates is rejected, marked as assumed, or a name of an inner axis with a warning |
//! | [`Law::Rejection`] | a program that runs at one binding only is rejected (a rate, not an invariant) |
//! | [`Law::Runtime`] | the runtime computes the same values, and accepts them |
//! | [`Law::Annotation`] | an annotated model has no errors and behaves identically |
//! | [`Law::Strip`] | stripping an annotated model restores its bytes |
//! | [`Law::Specialize`] | a model for the sizes of an execution has the outputs of that execution |
//! | [`Law::Fix`] | a repaired model has no errors |

use std::collections::{HashMap, HashSet};

use typeloom_ops::described::Operators;
use typeloom_rewrite::annotate::{AnnotationForm, annotate, strip};
use typeloom_rewrite::coerce::{Policy, repair};
use typeloom_rewrite::specialize::{SpecializeError, specialize};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::diagnostic::{Code, Diagnostic, diagnose};
use typeloom_solver::model::{Checked, Options};
use typeloom_solver::solution::Type;
use typeloom_solver::universe::Universe;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::choices::Choices;
use crate::expression::{Binding, evaluate, names};
use crate::generate::Case;
use crate::interpret::Failure;
use crate::program::{Declaration, Program};
use crate::world::{self, World};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Law {
    Type,
    Alarm,
    Declaration,
    Rejection,
    Runtime,
    Annotation,
    Strip,
    Specialize,
    Fix,
}

/// The laws that hold for every program; the others are measured.
pub const HELD: &[Law] = &[
    Law::Type,
    Law::Alarm,
    Law::Declaration,
    Law::Runtime,
    Law::Annotation,
    Law::Strip,
    Law::Specialize,
    Law::Fix,
];

/// A violation of a law.
#[derive(Clone, Debug)]
pub struct Finding {
    pub law: Law,
    /// Common property of findings with one cause: an operator or the code of a diagnostic.
    pub signature: String,
    /// The affected value, if any.
    pub value: Option<String>,
    /// The report and the observed behaviour.
    pub detail: String,
}

/// The bindings at which a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Runs {
    /// All tested bindings.
    Everywhere,
    /// The first binding only.
    Once,
    /// Some bindings.
    Sometimes,
    /// Unknown, because the interpreter does not support the program.
    Unknown,
}

/// Result of judging a case.
#[derive(Clone, Debug)]
pub struct Report {
    /// The bindings at which the program runs.
    pub runs: Runs,
    /// Whether the program has errors.
    pub rejected: bool,
    /// Whether the program has errors, or warnings about symbols that are not free.
    pub reported: bool,
    /// Whether an input has an anonymous extent.
    pub anonymous: bool,
    /// Number of compared values.
    pub compared: usize,
    /// Number of compared values whose type has no unknown parts.
    pub full: usize,
    /// The violations found.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Adds a finding that concerns no single value.
    fn add(&mut self, law: Law, signature: String, detail: String) {
        self.findings.push(Finding { law, signature, value: None, detail });
    }
}

/// Number of random bindings to try before a law counts as broken.
const RANDOM_BINDINGS: usize = 40;

/// Further bindings set each symbol to each value up to this one.
const MAX_ENUMERATED: i64 = 12;

/// The values of one execution by name; all values for a body that runs several times.
type Seen = HashMap<String, Vec<Datum>>;

fn execute(program: &Program, world: &World) -> Result<(Vec<Datum>, Seen), Failure> {
    let mut seen = Seen::new();
    let outputs = program.run(world.inputs.clone(), &mut |name, value| {
        seen.entry(name.to_owned()).or_default().push(value.clone());
    })?;
    Ok((outputs, seen))
}

/// Checks a case against all laws.
///
/// # Panics
/// If the program is not a model, which is an error of the generator.
#[must_use]
pub fn examine(case: &Case) -> Report {
    let text = case.program.text();
    let bytes = match typeloom_onnx::text::model_bytes(&text) {
        Ok(bytes) => bytes,
        Err(error) => panic!("the generator made a text that cannot be read: {error}\n{text}"),
    };
    let mut checked = match typeloom_ops::check::check(&bytes, &Options::default()) {
        Ok(checked) => checked,
        Err(error) => panic!("the generator made a model that cannot be checked: {error}\n{text}"),
    };
    let diagnostics = diagnose(&mut checked);
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|it| it.is_error()).collect();
    let executions: Vec<_> = case.worlds.iter().map(|world| execute(&case.program, world)).collect();
    let mut report = Report {
        runs: runs(case, &executions),
        rejected: !errors.is_empty(),
        reported: diagnostics.iter().any(|it| {
            it.is_error() || matches!(it.code.name(), "forced-symbol" | "restricted-symbol" | "assumed-type")
        }),
        anonymous: case.program.graph.inputs.iter().any(has_anonymous),
        compared: 0,
        full: 0,
        findings: Vec::new(),
    };
    if report.runs == Runs::Unknown {
        return report;
    }
    let assumed = assumed(case, &mut checked);
    let violated = violated(case, &executions, &assumed);
    if let Some(error) = errors.first() {
        rejected(case, &bytes, error, !violated.is_empty(), &mut report);
        return report;
    }
    if report.runs == Runs::Once {
        let reason = if report.reported { " (warned of)" } else { excuse(case, report.anonymous) };
        let signature = format!("{}{reason}", last_operator(case));
        let detail = "it runs at the first binding only, and has no errors".to_owned();
        report.add(Law::Rejection, signature, detail);
    }
    let any_violated = !violated.is_empty();
    let is_assumed = |finding: &Finding| finding.value.as_ref().is_some_and(|name| assumed.contains(name));
    // A refuted name of an inner axis is a warning. In a model with one, other texts of inner axes are not
    // assumed, and need no report.
    let refutes = diagnostics.iter().any(|it| it.code == Code::DeclaredTypeContradiction);
    let inner = &case.program.graph.values;
    let is_label = |finding: &Finding| {
        refutes && inner.iter().any(|declaration| finding.value.as_ref() == Some(&declaration.name))
    };
    if let Some(finding) = violated.into_iter().find(|finding| !is_assumed(finding) && !is_label(finding)) {
        report.findings.push(finding);
        return report;
    }
    types(case, &mut checked, &executions, &mut report);
    // The runtime checks outputs against their declarations, including assumed ones.
    if !any_violated {
        behaviour(case, &bytes, &mut checked, &executions, &mut report);
    }
    report
}

fn has_anonymous(port: &Declaration) -> bool {
    port.ty.as_ref().and_then(|ty| ty.shape.as_ref()).is_some_and(|shape| shape.iter().any(|it| it == "?"))
}

type Execution = Result<(Vec<Datum>, Seen), Failure>;

fn runs(case: &Case, executions: &[Execution]) -> Runs {
    if executions.iter().any(|it| matches!(it, Err(Failure::Unsupported(_)))) {
        return Runs::Unknown;
    }
    let base = &case.worlds[0].symbols;
    let is_base = |at: usize| case.worlds[at].symbols == *base;
    if executions.iter().all(Result::is_ok) {
        return Runs::Everywhere;
    }
    let once = executions.iter().enumerate().all(|(at, it)| it.is_ok() == is_base(at));
    let fails = |execution: &Execution| matches!(execution, Err(Failure::Rejected(_)));
    if once && further(case).executions.iter().all(fails) { Runs::Once } else { Runs::Sometimes }
}

/// Executions at additional bindings.
struct Further {
    worlds: Vec<World>,
    executions: Vec<Execution>,
}

fn further(case: &Case) -> Further {
    let mut choices = Choices::seeded(7);
    let ports = &case.program.graph.inputs;
    let base = &case.worlds[0].symbols;
    let mut bindings: Vec<Binding> =
        (0..RANDOM_BINDINGS).map(|_| world::other_binding(base, &mut choices)).collect();
    for (name, extent) in base {
        for value in (1..=MAX_ENUMERATED).filter(|value| value != extent) {
            // Runs twice, with other values of the inputs that select branches.
            for _ in 0..2 {
                let mut binding = world::other_binding(base, &mut choices);
                binding.insert(name.clone(), value);
                bindings.push(binding);
            }
        }
    }
    let inputs = |symbols| World { inputs: world::inputs(ports, &symbols, &mut choices), symbols };
    let worlds: Vec<World> = bindings.into_iter().map(inputs).collect();
    let executions = worlds.iter().map(|world| execute(&case.program, world)).collect();
    Further { worlds, executions }
}

/// The reason that no check can know before a program runs that it does so at the first binding only.
fn excuse(case: &Case, anonymous: bool) -> &'static str {
    let program = &case.program;
    let (mut counts_data, mut leaves_ones_out) = (false, false);
    for graph in std::iter::once(&program.graph).chain(program.functions.iter().map(|it| &it.graph)) {
        graph.walk(&mut |graph| {
            for node in &graph.nodes {
                counts_data |= matches!(&*node.op, "NonZero" | "Unique" | "Compress" | "NonMaxSuppression");
                leaves_ones_out |= node.op == "Squeeze" && node.inputs.len() == 1;
            }
        });
    }
    match (counts_data, leaves_ones_out) {
        (true, _) => " (a size is counted in data)",
        (false, true) => " (a rank depends on an extent)",
        (false, false) if anonymous => " (an extent has no name)",
        (false, false) => "",
    }
}

/// The operator of the first node that fails.
fn last_operator(case: &Case) -> String {
    let failure = case.worlds.iter().find_map(|world| execute(&case.program, world).err());
    match failure {
        Some(Failure::Rejected(message)) => message.split([':', ' ']).next().unwrap_or_default().to_owned(),
        Some(Failure::Unsupported(_)) | None => String::new(),
    }
}

/// Judges a program with errors: whether the errors are correct, and whether a repair resolves them.
fn rejected(case: &Case, bytes: &[u8], error: &Diagnostic, violated: bool, report: &mut Report) {
    if report.runs == Runs::Everywhere && !violated {
        let further = further(case);
        let runs = further.executions.iter().all(Result::is_ok);
        let holds = {
            let case = Case { program: case.program.clone(), worlds: further.worlds };
            self::violated(&case, &further.executions, &HashSet::new()).is_empty()
        };
        if runs && holds {
            let signature = format!("{} {}", error.code.name(), operator_of(case, error));
            report.add(Law::Alarm, signature, format!("error[{}]: {}", error.code.name(), error.message));
        }
    }
    let repair =
        repair(bytes, &Operators::standard(), Universe::standard(), &Options::default(), Policy::Fewest);
    if let Ok(repair) = repair
        && let Some(file) = repair.file.filter(|_| repair.is_ok)
        && !typeloom_ops::check::check(&file, &Options::default()).is_ok_and(|checked| checked.is_ok())
    {
        let signature = error.code.name().to_owned();
        let detail = format!("`fix` leaves error[{}]: {}", error.code.name(), error.message);
        report.add(Law::Fix, signature, detail);
    }
}

/// The first operator that a diagnostic names.
fn operator_of(case: &Case, error: &Diagnostic) -> String {
    let mut operators = Vec::new();
    case.program.graph.walk(&mut |graph| operators.extend(graph.nodes.iter().map(|node| node.op.clone())));
    let quoted = error.message.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).find(|word| operators.contains(word)).unwrap_or_default()
}

fn declarations(case: &Case) -> impl Iterator<Item = &Declaration> {
    case.program.graph.outputs.iter().chain(&case.program.graph.values)
}

/// The values whose declared types are assumed.
fn assumed(case: &Case, checked: &mut Checked<'_>) -> HashSet<String> {
    let names = declarations(case).map(|declaration| &declaration.name);
    names.filter(|name| checked.find(name).is_some_and(|value| checked.is_assumed(value))).cloned().collect()
}

/// The declarations that an execution violates. If possible, a symbol that no input declares is bound by a
/// value whose type is proven.
fn violated(case: &Case, executions: &[Execution], assumed: &HashSet<String>) -> Vec<Finding> {
    let mut declarations: Vec<&Declaration> = declarations(case).collect();
    declarations.sort_by_key(|declaration| assumed.contains(&declaration.name));
    let mut findings: Vec<Finding> = Vec::new();
    for (world, execution) in case.worlds.iter().zip(executions) {
        let Ok((_, seen)) = execution else { continue };
        let mut binding = world.symbols.clone();
        for declaration in &declarations {
            let Some(ty) = &declaration.ty else { continue };
            let Some(shape) = &ty.shape else { continue };
            for value in seen.get(&declaration.name).into_iter().flatten() {
                let Some(actual) = value.as_tensor().map(typeloom_tensor::any_tensor::AnyTensor::shape)
                else {
                    continue;
                };
                let known = findings.iter().any(|it| it.value.as_ref() == Some(&declaration.name));
                if known || agrees(shape, actual, &mut binding) {
                    continue;
                }
                let symbols = shown(&world.symbols);
                findings.push(Finding {
                    law: Law::Declaration,
                    signature: producer(case, &declaration.name),
                    value: Some(declaration.name.clone()),
                    detail: format!(
                        "`{}` is declared {ty} and is {actual:?} where {symbols}",
                        declaration.name
                    ),
                });
            }
        }
    }
    findings
}

/// Whether a shape has these extents; an unbound symbol is bound to the first extent compared with it.
fn agrees(shape: &[String], actual: &[usize], binding: &mut Binding) -> bool {
    if shape.len() != actual.len() {
        return false;
    }
    shape.iter().zip(actual).all(|(text, actual)| {
        let actual = i64::try_from(*actual).unwrap_or(-1);
        if names(text).as_slice() == std::slice::from_ref(text) {
            return *binding.entry(text.clone()).or_insert(actual) == actual;
        }
        evaluate(text, binding).is_none_or(|value| value == actual)
    })
}

fn shown(binding: &Binding) -> String {
    binding.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// The operator that computes a value.
fn producer(case: &Case, name: &str) -> String {
    let mut found = String::new();
    case.program.graph.walk(&mut |graph| {
        let node = graph.nodes.iter().find(|node| node.outputs.iter().any(|output| output == name));
        if let Some(node) = node {
            found.clone_from(&node.op);
        }
        if graph.inputs.iter().any(|input| input.name == name) {
            found.push_str("a body's input");
        }
    });
    found
}

/// Compares the type of every value with its run-time values.
fn types(case: &Case, checked: &mut Checked<'_>, executions: &[Execution], report: &mut Report) {
    let root = checked.body().root();
    let values: Vec<_> = checked.body().values().collect();
    let mut types: HashMap<String, (ValueType, bool, String)> = HashMap::new();
    for value in values {
        let (name, graph) = (checked.body().value_name(value).to_owned(), checked.body().value(value).graph);
        let ty = checked.proven_type_of(value);
        let solved = solved(checked, &ty);
        let text = ty.display(checked.universe(), checked.dims()).to_string();
        types.insert(name, (solved, graph == root, text));
    }
    let mut names: Vec<&String> = types.keys().collect();
    names.sort_by_key(|name| (name.len(), (*name).clone()));
    for name in names {
        let (ty, in_main, text) = &types[name];
        let mut compared = false;
        for (world, execution) in case.worlds.iter().zip(executions) {
            let Ok((_, seen)) = execution else { continue };
            for value in seen.get(name).into_iter().flatten() {
                compared = true;
                // Symbols that no input declares have one value in the main graph, and one for each run of a
                // nested graph.
                let mut binding = world.symbols.clone();
                if !contradicts(value, ty, &mut binding) {
                    continue;
                }
                report.findings.push(Finding {
                    law: Law::Type,
                    signature: producer(case, name),
                    value: in_main.then(|| name.clone()),
                    detail: format!(
                        "`{name}` has type {text} and is {} where {}",
                        value.describe(),
                        shown(&world.symbols)
                    ),
                });
                return;
            }
        }
        report.compared += usize::from(compared);
        report.full += usize::from(compared && is_full(ty));
    }
}

/// Whether a value computed by another runtime has the type reported for it.
#[must_use]
pub fn fits(checked: &mut Checked<'_>, name: &str, value: &Datum, symbols: &Binding) -> bool {
    let Some(id) = checked.find(name) else { return true };
    let ty = checked.proven_type_of(id);
    !contradicts(value, &solved(checked, &ty), &mut symbols.clone())
}

/// The solved type if it is concrete, otherwise the unknown type.
fn solved(checked: &Checked<'_>, ty: &Type) -> ValueType {
    let ty = ty.value_type(checked.universe(), checked.dims());
    if ty.is_concrete() { ty } else { ValueType::default() }
}

/// Whether a type has no unknown part.
fn is_full(ty: &ValueType) -> bool {
    match &ty.element {
        Element::Tensor(dtype) => {
            let known =
                |dim: &Dim| *dim != Dim::Unknown && !dim.as_text().is_some_and(|text| text.contains('?'));
            dtype.is_some() && ty.shape.as_deref().is_some_and(|shape| shape.iter().all(known))
        }
        Element::Sequence(inner) | Element::Optional(inner) | Element::Map(_, inner) => is_full(inner),
        _ => false,
    }
}

/// Whether a tensor of this element type and these extents is not of a type.
fn tensor_contradicts((own, extents): (Dtype, &[usize]), ty: &ValueType, binding: &mut Binding) -> bool {
    let Element::Tensor(dtype) = &ty.element else { return !ty.is_unknown() };
    let shape = ty.shape.as_deref().map(|shape| shape.iter().map(Dim::to_string).collect::<Vec<_>>());
    dtype.is_some_and(|dtype| dtype != own) || shape.is_some_and(|shape| !agrees(&shape, extents, binding))
}

fn contradicts(value: &Datum, ty: &ValueType, binding: &mut Binding) -> bool {
    match (value, &ty.element) {
        (Datum::Optional(None), Element::Optional(_)) => false,
        (Datum::Tensor(tensor), Element::Tensor(_)) => {
            tensor_contradicts((tensor.dtype(), tensor.shape()), ty, binding)
        }
        (Datum::Sequence(values), Element::Sequence(inner)) => {
            values.iter().any(|value| contradicts(value, inner, &mut binding.clone()))
        }
        (Datum::Optional(Some(value)), Element::Optional(inner)) => contradicts(value, inner, binding),
        (Datum::Map(map), Element::Map(key, inner)) => {
            let (own, value, shape) = map.types();
            own != *key || tensor_contradicts((value, shape), inner, binding)
        }
        (_, Element::Tensor(_) | Element::Sequence(_) | Element::Optional(_) | Element::Map(..)) => true,
        _ => false,
    }
}

/// Compares the runtime and the annotated model with the interpreter.
fn behaviour(
    case: &Case,
    bytes: &[u8],
    checked: &mut Checked<'_>,
    executions: &[Execution],
    report: &mut Report,
) {
    let runs = report.runs;
    let mut finding = |law, signature, detail| report.add(law, signature, detail);
    if let Some(detail) = differs(case, checked, executions) {
        finding(Law::Runtime, first_word(&detail), detail);
        return;
    }
    let annotated = match annotate(checked, AnnotationForm::Tagged) {
        Ok(annotated) => annotated.file.to_vec(),
        Err(error) => return finding(Law::Annotation, String::new(), error.to_string()),
    };
    match strip(&annotated) {
        Ok(stripped) if stripped.file.to_vec() == bytes => {}
        Ok(_) => finding(Law::Strip, String::new(), "the bytes are different".to_owned()),
        Err(error) => finding(Law::Strip, String::new(), error.to_string()),
    }
    match typeloom_ops::check::check(&annotated, &Options::default()) {
        Ok(mut again) => {
            let errors = diagnose(&mut again);
            let error = errors.iter().find(|it| it.is_error());
            // A restriction of a program that does not run everywhere may be detectable only through the
            // declarations.
            if let Some(error) = error.filter(|_| runs == Runs::Everywhere) {
                let detail = format!("annotated: error[{}]: {}", error.code.name(), error.message);
                finding(Law::Annotation, error.code.name().to_owned(), detail);
            } else if error.is_none()
                && let Some(detail) = differs(case, &mut again, executions)
            {
                finding(Law::Annotation, first_word(&detail), detail);
            }
        }
        Err(error) => finding(Law::Annotation, String::new(), error.to_string()),
    }
    if let Some(detail) = specialized(case, bytes, checked, executions) {
        finding(Law::Specialize, first_word(&detail), detail);
    }
}

/// Specializes the model for the sizes of each execution, and compares its outputs with those of the model.
fn specialized(
    case: &Case,
    bytes: &[u8],
    checked: &mut Checked<'_>,
    executions: &[Execution],
) -> Option<String> {
    let prepared = |checked: &mut Checked<'_>| {
        Session::of_checked(checked, &|_| Err("no other files are read".to_owned())).ok()
    };
    let session = prepared(checked)?;
    for (world, execution) in case.worlds.iter().zip(executions) {
        if execution.is_err() {
            continue;
        }
        let assume: Vec<(String, String)> =
            world.symbols.iter().map(|(name, extent)| (name.clone(), extent.to_string())).collect();
        let options = Options { assume, ..Options::default() };
        let at = shown(&world.symbols);
        let file = match specialize(bytes, &Operators::standard(), Universe::standard(), &options, None) {
            Ok(specialized) => specialized.file,
            // A symbol that only values inside have cannot be assumed, and a branch that is not taken can have
            // an error for these sizes.
            Err(SpecializeError::Check(_) | SpecializeError::Errors) => continue,
            Err(error) => return Some(format!("{error} (where {at})")),
        };
        let mut small = match typeloom_ops::check::check(&file, &Options::default()) {
            Ok(small) => small,
            Err(error) => return Some(format!("{error} (where {at})")),
        };
        let Some(small) = prepared(&mut small) else { return Some(format!("not prepared (where {at})")) };
        let ports = case.program.graph.inputs.iter().map(|port| port.name.clone());
        let inputs: Vec<_> = ports.zip(world.inputs.iter().cloned()).collect();
        let Ok(before) = session.run(inputs.clone(), Verify::EveryValue) else { continue };
        match small.run(inputs, Verify::EveryValue) {
            Ok(after) => {
                for ((name, before), (_, after)) in before.outputs.iter().zip(&after.outputs) {
                    if !equal(before, after) || !has_equal_integers(before, after) {
                        return Some(format!("output `{name}` of the specialized model differs where {at}"));
                    }
                }
            }
            Err(error) => return Some(format!("specialized: {error} (where {at})")),
        }
    }
    None
}

/// Whether two tensors of one type that is not a floating-point type have the same elements.
fn has_equal_integers(left: &Datum, right: &Datum) -> bool {
    match (left.as_tensor(), right.as_tensor()) {
        (Some(left), Some(right)) if left.dtype().class() != DtypeClass::Float => left == right,
        _ => true,
    }
}

fn first_word(text: &str) -> String {
    text.chars().filter(|it| !it.is_ascii_digit()).take(48).collect()
}

/// Difference between the runtime and the interpreter.
fn differs(case: &Case, checked: &mut Checked<'_>, executions: &[Execution]) -> Option<String> {
    let session = match Session::of_checked(checked, &|_| Err("no other files are read".to_owned())) {
        Ok(session) => session,
        Err(error) => return Some(format!("not prepared: {error}")),
    };
    for (world, execution) in case.worlds.iter().zip(executions) {
        let ports = case.program.graph.inputs.iter().map(|port| port.name.clone());
        let inputs: Vec<_> = ports.zip(world.inputs.iter().cloned()).collect();
        match (session.run(inputs, Verify::EveryValue), execution) {
            (Ok(outcome), Ok((outputs, _))) => {
                for ((name, found), expected) in outcome.outputs.iter().zip(outputs) {
                    if !equal(found, expected) {
                        return Some(format!("output `{name}` differs where {}", shown(&world.symbols)));
                    }
                }
            }
            (Err(error), Ok(_)) => return Some(format!("{error} (where {})", shown(&world.symbols))),
            (Ok(_), Err(Failure::Rejected(message))) => {
                return Some(format!("runs, but the interpreter fails: {message}"));
            }
            (Ok(_), Err(Failure::Unsupported(_))) | (Err(_), Err(_)) => {}
        }
    }
    None
}

/// Whether two values have the same type and shape. Elements are not compared: fused kernels may add in
/// another order.
fn equal(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Tensor(left), Datum::Tensor(right)) => {
            left.dtype() == right.dtype() && left.shape() == right.shape()
        }
        (Datum::Sequence(left), Datum::Sequence(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Datum::Optional(left), Datum::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(left, right),
            (left, right) => left.is_none() && right.is_none(),
        },
        (Datum::Map(left), Datum::Map(right)) => left.types() == right.types() && left.keys() == right.keys(),
        _ => false,
    }
}
