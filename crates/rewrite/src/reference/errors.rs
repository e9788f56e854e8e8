//! The errors that the reference reports.
//!
//! | option | errors |
//! |---|---|
//! | `check_type` | element types that an operator does not allow |
//! | `strict_mode` | all others, without those that the reference does not test; element types of stored shapes |
//!
//! In strict mode the reference also refuses a few nodes that are not in error: it does not infer without the
//! element type of an input, or past an overflow of 64 bits. These conditions are tested here and in
//! [`super::overflow`].

use typeloom_dim::Dims;
use typeloom_solver::diagnostic::{Code, Diagnostic, messages_where};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{Checked, Mode};
use typeloom_solver::program::{Body, DeclarationKind, StepId, ValueId};
use typeloom_solver::rule::{Port, RuleError};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use typeloom_types::dtype::Dtype;

use super::weaker::is_stored;
use super::{InferenceOptions, overflow};

/// The errors that the reference reports, in the order of the graph.
pub(super) fn errors(checked: &mut Checked<'_>, options: InferenceOptions) -> Vec<String> {
    let mut texts = Vec::new();
    if options.strict_mode {
        texts.extend(unread_shapes(checked));
        texts.extend(undefined_elements(checked));
        if options.data_prop {
            texts.extend(overflow::errors(checked));
        }
    }
    // Diagnostics take longer than inference, so they are made only if one may be shown.
    let reports_all = options.check_type || options.strict_mode;
    let is_recursive = |error: &SolveError<'_>| matches!(kind_of(&error.kind), Kind::Always);
    let has_shown = match reports_all {
        true => !checked.is_ok() || checked.all_errors().any(is_raised),
        false => checked.all_errors().any(is_recursive),
    };
    if !has_shown {
        return texts;
    }
    let is_shown = |body: &Body<'_>, dims: &Dims, error: &SolveError<'_>| match kind_of(&error.kind) {
        Kind::Always => true,
        _ if !is_raised(error) => false,
        Kind::Element => options.check_type || options.strict_mode && is_inferred_from(body, error),
        Kind::Other => options.strict_mode && !is_tolerated(body, dims, error),
    };
    let found = messages_where(checked, &is_shown);
    texts.extend(found.iter().filter(|one| is_reported(one)).map(text));
    texts
}

/// Whether the reference raises an exception. For typeloom, a shape that is declared empty may be an unknown
/// one.
fn is_raised(error: &SolveError<'_>) -> bool {
    error.is_error(Mode::Permissive) || matches!(error.kind, SolveErrorKind::EmptyShape { .. })
}

/// The kinds of errors, by the option that reports them.
enum Kind {
    /// Reported in every case.
    Always,
    /// An element type that an operator does not allow.
    Element,
    /// Any other error.
    Other,
}

fn kind_of(kind: &SolveErrorKind<'_>) -> Kind {
    let is_element = match kind {
        SolveErrorKind::RecursiveFunction { .. } => return Kind::Always,
        SolveErrorKind::InCase { error, .. } => return kind_of(error),
        SolveErrorKind::Disagree { left, right, .. } => is_tensor(&left.1) && is_tensor(&right.1),
        SolveErrorKind::NotAllowed { found, allowed, .. } => is_tensor(found) && !allowed.tensor.is_empty(),
        SolveErrorKind::Rule { failure, .. } => matches!(failure, RuleError::Element { .. }),
        _ => false,
    };
    if is_element { Kind::Element } else { Kind::Other }
}

/// Operators that read integers from an input to infer a shape. Other elements than those they allow are not
/// read. Names of the reductions begin with `Reduce`.
const READERS: [&str; 13] = [
    "CenterCropPad",
    "Col2Im",
    "ConstantOfShape",
    "Expand",
    "Pad",
    "Reshape",
    "Resize",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "TopK",
    "Unsqueeze",
];

/// Whether the inference of a node depends on an element type that is in error. Then strict mode reports it
/// too.
fn is_inferred_from(body: &Body<'_>, error: &SolveError<'_>) -> bool {
    let ErrorSite::Step(step) = error.site else { return false };
    let operator = body.op_name(step);
    match &error.kind {
        SolveErrorKind::NotAllowed { port: Port::In(at), allowed, .. } => {
            let is_list =
                allowed.tensor.contains(Elem::INT64) && !allowed.tensor.contains(Elem::of(Dtype::F32));
            let is_reader = READERS.contains(&operator) || operator.starts_with("Reduce");
            let input = body.inputs(step).get(*at).copied().flatten();
            is_list && is_reader && input.is_some_and(|input| is_stored(body, input))
        }
        SolveErrorKind::Disagree { .. } => operator == "FlexAttention",
        _ => false,
    }
}

fn is_tensor(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_))
}

/// Contradictions of declared types that the reference does not test.
///
/// It compares numbers only, so a symbol contradicts nothing and may have a single value. It does not compare
/// the shapes of the state of a Loop.
fn is_tolerated(body: &Body<'_>, dims: &Dims, error: &SolveError<'_>) -> bool {
    match &error.kind {
        SolveErrorKind::ForcedSymbol { .. } | SolveErrorKind::ForcedSymbols { .. } => true,
        SolveErrorKind::Contradiction { declared, inferred, declared_in, .. } => {
            let (Type::Tensor(declared), Type::Tensor(inferred)) = (declared, inferred) else { return false };
            let is_state = *declared_in == DeclarationKind::Input && is_state_of_loop(body, error.site);
            agree_in_elements(declared, inferred) && (is_state || agree_in_numbers(dims, declared, inferred))
        }
        SolveErrorKind::RefutedClaim(claim) => {
            dims.as_constant(claim.declared).is_none() || dims.as_constant(claim.derived).is_none()
        }
        _ => false,
    }
}

/// Whether the element types of two tensors can be equal. One that is not known agrees with every other.
fn agree_in_elements(declared: &TensorType, inferred: &TensorType) -> bool {
    declared.elem.single().is_none() || inferred.elem.single().is_none() || declared.elem == inferred.elem
}

/// Whether two shapes have the same rank and differ in no axis that is a number in both.
fn agree_in_numbers(dims: &Dims, declared: &TensorType, inferred: &TensorType) -> bool {
    let (Some(declared), Some(inferred)) = (&declared.shape, &inferred.shape) else { return true };
    declared.len() == inferred.len()
        && declared.iter().zip(inferred.iter()).all(|(a, b)| {
            match (dims.as_constant(*a), dims.as_constant(*b)) {
                (Some(a), Some(b)) => a == b,
                (Some(_) | None, _) => true,
            }
        })
}

/// Whether a value is an input of the body of a Loop, after the counter and the condition.
fn is_state_of_loop(body: &Body<'_>, site: ErrorSite) -> bool {
    let ErrorSite::Value(value) = site else { return false };
    let graph = body.graph(body.value(value).graph);
    let is_state = graph.inputs.iter().skip(2).any(|input| *input == value);
    is_state && graph.owner.as_ref().is_some_and(|owner| body.op_name(owner.step) == "Loop")
}

/// Nodes without a known result shape that read integers from another file.
fn unread_shapes(checked: &mut Checked<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    for tensor in checked.external_data() {
        let ErrorSite::Value(value) = tensor.site else { continue };
        let Type::Tensor(TensorType { elem, .. }) = checked.type_of(value) else { continue };
        if elem.single() != Some(Elem::INT64) {
            continue;
        }
        for step in checked.body().consumers().of(value).to_vec() {
            let outputs: Vec<ValueId> = checked.body().outputs(step).iter().flatten().copied().collect();
            let is_open = outputs.into_iter().any(|output| match checked.type_of(output) {
                Type::Tensor(TensorType { shape: Some(shape), .. }) => {
                    shape.iter().any(|dim| checked.dims().is_anonymous(*dim))
                }
                Type::Tensor(TensorType { shape: None, .. }) => true,
                _ => false,
            });
            if is_open {
                let (operator, name) = names(checked.body(), step, value);
                texts.push(format!("`{operator}` cannot use the external data of `{name}`"));
            }
        }
    }
    texts
}

/// Nodes whose result has the element type of an input of the model that is declared without one.
fn undefined_elements(checked: &Checked<'_>) -> Vec<String> {
    let nodes = checked.undefined_operands().into_iter().map(|(step, value)| {
        let (operator, name) = names(checked.body(), step, value);
        format!("`{operator}` cannot be inferred: the element type of `{name}` is undefined")
    });
    nodes.collect()
}

fn names<'a>(body: &Body<'a>, step: StepId, value: ValueId) -> (&'a str, &'a str) {
    (body.op_name(step), body.value_name(value))
}

/// The text of an error. Programs search the reference's texts for a few phrases, which are added.
fn text(diagnostic: &Diagnostic) -> String {
    let phrase = match diagnostic.code {
        Code::MissingOutput => ": it needs at least one output",
        Code::AttributeValue
            if operator(diagnostic) == "ConvTranspose" && diagnostic.message.contains("divide") =>
        {
            ": Input channels C must be divisible by group for ConvTranspose"
        }
        _ => "",
    };
    format!("{diagnostic}{phrase}.").replace(": ellipsis for", ": Ellipsis for")
}

/// Conditions of operators that the reference does not test.
const UNTESTED: [(&str, Code); 13] = [
    ("RNN", Code::DimMismatch),
    ("GRU", Code::DimMismatch),
    ("LSTM", Code::DimMismatch),
    ("LinearClassifier", Code::DimMismatch),
    ("NonMaxSuppression", Code::DimMismatch),
    ("RotaryEmbedding", Code::DimMismatch),
    ("OneHot", Code::ShapeMismatch),
    ("Split", Code::ShapeMismatch),
    ("ConvInteger", Code::ShapeMismatch),
    ("Resize", Code::InputValue),
    ("ScatterND", Code::WrongRank),
    ("SoftmaxCrossEntropyLoss", Code::WrongRank),
    ("STFT", Code::AttributeValue),
];

/// Whether the reference's inference reports a problem. The checker reports deprecated operators.
fn is_reported(diagnostic: &Diagnostic) -> bool {
    let is_left_out = diagnostic.code == Code::CallArity && diagnostic.message.contains("without input");
    let is_untested = UNTESTED.contains(&(operator(diagnostic), diagnostic.code));
    diagnostic.code != Code::DeprecatedOperator && !is_left_out && !is_untested
}

/// The operator of the node with the problem.
fn operator(diagnostic: &Diagnostic) -> &str {
    diagnostic.location.node.as_ref().map_or("", |node| &node.operator)
}
