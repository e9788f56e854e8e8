//! The verdict about one node.
//!
//! The loader compares a node with the operator's signature, then looks for a kernel. If there is none, it
//! inserts the function body of the operator, if it has one. If a node without kernel has an input of
//! `float16`, it casts all of them to `float` and looks again.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::domain::LONG_NAME;
use typeloom_solver::diagnostic::{Code, TargetIssue};
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{StepId, ValueId};
use typeloom_solver::rule::Port;
use typeloom_solver::solution::Type;
use typeloom_solver::ty::Constructor;

use crate::facts::{Certainty, Facts, Formal, FunctionBody, Signature, TypeSet};
use crate::rules;
use crate::side::SideArguments;

/// A node with the facts about a target.
pub(crate) struct NodeCx<'c, 'a> {
    pub(crate) facts: &'c Facts<'static>,
    pub(crate) checked: &'c mut Checked<'a>,
    pub(crate) body: &'c SolvedBody<'a>,
    pub(crate) step: StepId,
    /// The versions that the model imports.
    pub(crate) versions: &'c BTreeMap<&'a str, i64>,
    /// The inputs of functions that may be tensors in other files.
    pub(crate) side: &'c SideArguments<'a>,
}

/// The type at a port of the node: absent, unsolved, or in the notation of the facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PortType {
    Absent,
    Unsolved,
    Known(String),
}

/// The types at the ports of a node.
pub(crate) struct Ports {
    pub(crate) inputs: Vec<PortType>,
    pub(crate) outputs: Vec<PortType>,
}

/// Whether a diagnostic code is about kernels, which the loader looks for after it has changed the graph.
pub(crate) fn is_of_kernel(code: Code) -> bool {
    matches!(code, Code::TargetKernel | Code::TargetUndecided)
}

/// The issues of a node.
pub(crate) fn issues(cx: &mut NodeCx<'_, '_>) -> Vec<TargetIssue> {
    let body = &cx.body.body;
    let (domain, name) = (cx.checked.domain_of(body, cx.step), body.op_name(cx.step));
    let facts = cx.facts;
    if let Some(issue) = literal_domain(cx) {
        return vec![issue];
    }
    if facts.removed.contains(&name) {
        let is_undefined = rules::has_undefined_tensor(cx);
        return is_undefined.then(|| undecided("its element type is undefined")).into_iter().collect();
    }
    let newest = || facts.domains.get(domain).copied();
    let imported = cx.versions.get(domain).copied();
    let Some(version) = imported.or_else(newest) else {
        return vec![operator(format!("there is no operator set `{domain}`"))];
    };
    let Some(signature) = facts.signature(domain, name, version) else {
        return vec![match facts.versions(domain, name) {
            [] => operator("it is not an operator there".to_owned()),
            [first, ..] => TargetIssue::Operator {
                reason: format!("it exists from version {} on", first.since),
                advice: Some(format!("import version {} of its operator set, or a newer one", first.since)),
            },
        }];
    };
    if signature.deprecated && imported.is_none() {
        // The missing import is an error of its own.
        return Vec::new();
    }
    if signature.deprecated {
        return vec![TargetIssue::Operator {
            reason: format!("it was withdrawn in version {}", signature.since),
            advice: Some(format!(
                "import version {} of its operator set, or an older one",
                signature.since - 1
            )),
        }];
    }
    let mut issues = attributes(cx, signature);
    let ports = ports(cx);
    issues.extend(arity(signature, &ports));
    if issues.is_empty() {
        issues.extend(kernel(cx, signature, &ports, version));
    }
    if issues.is_empty() {
        issues.extend(rules::issue(cx, signature, &ports));
    }
    issues
}

pub(crate) fn operator(reason: String) -> TargetIssue {
    TargetIssue::Operator { reason, advice: None }
}

pub(crate) fn undecided(reason: &str) -> TargetIssue {
    TargetIssue::Undecided { reason: reason.to_owned(), advice: None }
}

/// Operators of the main domain that ONNX does not have, or no longer.
const EXPERIMENTAL: &[&str] = &[
    "Affine",
    "Crop",
    "DynamicSlice",
    "ImageScaler",
    "ParametricSoftplus",
    "ScaledTanh",
    "SimplifiedLayerNormalization",
];

/// Nested graphs have only the domains that the model imports, by the short name of ONNX's own.
fn literal_domain(cx: &NodeCx<'_, '_>) -> Option<TargetIssue> {
    let step = cx.body.body.step(cx.step);
    let is_nested = step.graph != cx.body.body.root();
    let is_long = step.node.domain().is_ok_and(|domain| domain == LONG_NAME);
    (is_nested && is_long)
        .then(|| operator(format!("a nested graph has no operators of `{LONG_NAME}` by its long name")))
}

fn attributes(cx: &NodeCx<'_, '_>, signature: &Signature<'_>) -> Vec<TargetIssue> {
    let mut issues = Vec::new();
    let mut seen = BTreeSet::new();
    let attributes = cx.body.body.step(cx.step).node.attributes().flatten();
    for attribute in attributes.filter_map(|attribute| attribute.parse().ok()) {
        let name = attribute.name;
        // The loader ignores names that start with two underscores.
        let is_known = signature.attributes.contains(&name) || signature.ignores_attributes;
        if !is_known && !name.starts_with("__") {
            issues.push(match EXPERIMENTAL.contains(&cx.body.body.op_name(cx.step)) {
                true => undecided(&format!("the loader may ignore its attribute `{name}`")),
                false => TargetIssue::Attribute { name: name.to_owned(), value: None },
            });
        }
        if !seen.insert(name) {
            issues.push(operator(format!("the attribute `{name}` is given twice")));
        }
    }
    for name in signature.required.iter().filter(|name| !seen.contains(*name)) {
        issues.push(operator(format!("it requires the attribute `{name}`")));
    }
    issues
}

fn ports(cx: &mut NodeCx<'_, '_>) -> Ports {
    let body = std::sync::Arc::clone(&cx.body.body);
    let mut types = |values: &[Option<ValueId>]| -> Vec<PortType> {
        let ty = |value: &Option<ValueId>| match value {
            None => PortType::Absent,
            Some(value) => {
                solved_type(cx.checked, cx.body, *value).map_or(PortType::Unsolved, PortType::Known)
            }
        };
        values.iter().map(ty).collect()
    };
    let inputs = types(body.inputs(cx.step));
    Ports { inputs, outputs: types(body.outputs(body.last_step(cx.step))) }
}

fn arity(signature: &Signature<'_>, ports: &Ports) -> Option<TargetIssue> {
    let surplus = |formals: &[Formal<'_>], given: &[PortType], side: &str| {
        let is_variadic = formals.last().is_some_and(|last| last.is_variadic);
        let (most, count) = (formals.len(), given.len());
        let reason = format!("it has at most {most} {side}s there, not {count}");
        let rest = given.get(most..).unwrap_or_default();
        match rest.iter().all(|ty| *ty == PortType::Absent) {
            _ if is_variadic || rest.is_empty() => None,
            true => Some(undecided(&reason)),
            false => Some(operator(reason)),
        }
    };
    surplus(&signature.inputs, &ports.inputs, "input")
        .or_else(|| surplus(&signature.outputs, &ports.outputs, "output"))
        .or_else(|| left_out(&signature.inputs, &ports.inputs, "input"))
        .or_else(|| left_out(&signature.outputs, &ports.outputs, "output"))
}

/// The issue of a required port without a value.
fn left_out(formals: &[Formal<'_>], types: &[PortType], side: &str) -> Option<TargetIssue> {
    let at = |at: usize| types.get(at).unwrap_or(&PortType::Absent);
    let mut required = formals.iter().enumerate().filter(|(_, formal)| formal.is_required);
    if let Some((position, formal)) = required.find(|(position, _)| *at(*position) == PortType::Absent) {
        let reason = format!("its {side} `{}` must not be left out", formal.name);
        // The loader does not look at nodes that nothing depends on.
        return Some(if position < types.len() { operator(reason) } else { undecided(&reason) });
    }
    let first = formals.iter().position(|formal| formal.is_variadic)?;
    let is_gap = side == "input" && types.iter().skip(first).any(|ty| *ty == PortType::Absent);
    is_gap.then(|| undecided("it leaves out one of any number of inputs"))
}

/// The outcome of a comparison of types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Match {
    Yes,
    No,
    /// A type is not solved.
    Open,
}

impl Ports {
    /// The ports of a variable or the port of this name, inputs first.
    fn named<'p>(
        &'p self,
        signature: &'p Signature<'_>,
        name: &'p str,
    ) -> impl Iterator<Item = (Port, &'p PortType)> {
        let by_variable = move |formal: &Formal<'_>| formal.ty == name;
        let is_variable = signature.inputs.iter().chain(&signature.outputs).any(by_variable);
        let fits =
            move |formal: &Formal<'_>| if is_variable { formal.ty == name } else { formal.name == name };
        let inputs = signature.inputs.iter().zip(&self.inputs).enumerate();
        let outputs = signature.outputs.iter().zip(&self.outputs).enumerate();
        let inputs =
            inputs.filter(move |(_, (formal, _))| fits(formal)).map(|(at, (_, ty))| (Port::In(at), ty));
        let outputs =
            outputs.filter(move |(_, (formal, _))| fits(formal)).map(|(at, (_, ty))| (Port::Out(at), ty));
        inputs.chain(outputs).filter(|(_, ty)| **ty != PortType::Absent)
    }

    /// Whether the first present value of each name has one of the types.
    pub(crate) fn fits(
        &self,
        facts: &Facts<'_>,
        signature: &Signature<'_>,
        types: &[(&str, TypeSet)],
    ) -> Match {
        let mut outcome = Match::Yes;
        for (name, set) in types {
            match self.named(signature, name).next() {
                None => {}
                Some((_, PortType::Known(ty))) if facts.contains(*set, ty) => {}
                Some((_, PortType::Known(_))) => return Match::No,
                Some((_, PortType::Unsolved | PortType::Absent)) => outcome = Match::Open,
            }
        }
        outcome
    }

    fn fits_any(&self, facts: &Facts<'_>, signature: &Signature<'_>) -> Match {
        let mut outcome = Match::No;
        for kernel in &signature.kernels {
            match self.fits(facts, signature, &kernel.types) {
                Match::Yes => return Match::Yes,
                Match::Open => outcome = Match::Open,
                Match::No => {}
            }
        }
        outcome
    }

    /// The ports after the casts that the loader inserts; `None` if it inserts none.
    fn with_casts(&self) -> Option<Self> {
        let half = PortType::Known("float16".to_owned());
        if !self.inputs.contains(&half) {
            return None;
        }
        let float = PortType::Known("float".to_owned());
        let cast = |types: &[PortType]| -> Vec<PortType> {
            types.iter().map(|ty| if *ty == half { float.clone() } else { ty.clone() }).collect()
        };
        Some(Self { inputs: cast(&self.inputs), outputs: cast(&self.outputs) })
    }
}

fn kernel(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    ports: &Ports,
    version: i64,
) -> Option<TargetIssue> {
    let facts = cx.facts;
    if let Some(issue) = not_allowed(facts, signature, ports) {
        return Some(issue);
    }
    let mut open = match ports.fits_any(facts, signature) {
        Match::Yes => return None,
        Match::Open => true,
        Match::No => false,
    };
    for function in &signature.functions {
        match (expands(cx, signature, function, ports, version), function.certainty) {
            (Match::Yes, Certainty::Always) => return None,
            (Match::Yes, Certainty::Sometimes) => {
                return Some(undecided("it has no kernel, and its body runs for some attributes only"));
            }
            (Match::Yes, Certainty::Never) if rules::attribute(cx, "stash_type").is_some() => {
                return Some(undecided("its body depends on `stash_type`"));
            }
            (Match::Yes, Certainty::Never) => return Some(missing(cx, signature, ports)),
            (Match::Open, _) => open = true,
            (Match::No, _) => {}
        }
    }
    let casts = ports.with_casts().filter(|_| rules::has_cast(cx));
    match casts.map_or(Match::No, |ports| ports.fits_any(facts, signature)) {
        Match::Yes if rules::has_half_attribute(cx) => {
            return Some(undecided("the loader casts the inputs of the node, but not its attributes"));
        }
        Match::Yes => return None,
        Match::Open => open = true,
        Match::No => {}
    }
    if let Some(folded) = rules::folded(cx) {
        return folded;
    }
    if rules::may_be_removed(cx) {
        return Some(undecided("it has no kernel, but the loader may remove it"));
    }
    if open {
        return Some(undecided("its types are not solved"));
    }
    Some(missing(cx, signature, ports))
}

/// The issue of a type that the signature does not allow there.
fn not_allowed(facts: &Facts<'_>, signature: &Signature<'_>, ports: &Ports) -> Option<TargetIssue> {
    for (variable, set) in &signature.types {
        for (port, ty) in ports.named(signature, variable) {
            if let PortType::Known(found) = ty
                && !facts.contains(*set, found)
            {
                return Some(TargetIssue::Kernel {
                    since: signature.since,
                    port: Some(port),
                    found: found.clone(),
                    supported: owned(facts.types_of(*set)),
                    version: None,
                });
            }
        }
    }
    None
}

/// Whether the loader accepts the node by the body of its operator.
fn expands(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    function: &FunctionBody<'_>,
    ports: &Ports,
    version: i64,
) -> Match {
    let (first, last) = function.versions;
    if !(first..=last).contains(&version) || !rules::hold(cx, signature, ports, &function.rule.conditions) {
        return Match::No;
    }
    let is_listed = |(formal, ty): (&Formal<'_>, &PortType)| {
        let is_variable = signature.types.iter().any(|(name, _)| *name == formal.ty);
        let is_listed = function.rule.types.iter().any(|(name, _)| *name == formal.ty);
        *ty == PortType::Absent || !is_variable || is_listed
    };
    if !signature.inputs.iter().zip(&ports.inputs).all(is_listed) {
        return Match::No;
    }
    ports.fits(cx.facts, signature, &function.rule.types)
}

/// The issue of a node without a kernel, at the first port whose type no kernel supports.
fn missing(cx: &NodeCx<'_, '_>, signature: &Signature<'_>, ports: &Ports) -> TargetIssue {
    let facts = cx.facts;
    let version = other_version(cx, signature, ports);
    let since = signature.since;
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in signature.kernels.iter().flat_map(|kernel| &kernel.types) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut first = None;
    for name in names {
        let Some((port, PortType::Known(found))) = ports.named(signature, name).next() else { continue };
        let sets = signature.kernels.iter().flat_map(|kernel| &kernel.types).filter(|(own, _)| *own == name);
        let mut supported: Vec<&str> = sets.flat_map(|(_, set)| facts.types_of(*set)).copied().collect();
        supported.sort_unstable();
        supported.dedup();
        let port = Some(port);
        if supported.binary_search(&found.as_str()).is_err() {
            let supported = owned(&supported);
            return TargetIssue::Kernel { since, port, found: found.clone(), supported, version };
        }
        first = first.or(Some((port, found.clone())));
    }
    let functions = signature.functions.iter().flat_map(|function| &function.rule.types);
    for (name, _) in functions {
        if let (None, Some((port, PortType::Known(found)))) = (&first, ports.named(signature, name).next()) {
            first = Some((Some(port), found.clone()));
        }
    }
    let (port, found) = first.unwrap_or_default();
    TargetIssue::Kernel { since, port, found, supported: Vec::new(), version }
}

/// Another version of the operator with a kernel for the types: the newest older one, or the oldest newer one.
fn other_version(cx: &NodeCx<'_, '_>, signature: &Signature<'_>, ports: &Ports) -> Option<i64> {
    let (domain, name) = (cx.checked.domain_of(&cx.body.body, cx.step), cx.body.body.op_name(cx.step));
    let (older, newer): (Vec<_>, Vec<_>) = cx
        .facts
        .versions(domain, name)
        .iter()
        .filter(|other| other.since != signature.since && ports.fits_any(cx.facts, other) == Match::Yes)
        .partition(|other| other.since < signature.since);
    older.last().or(newer.first()).map(|other| other.since)
}

fn owned(types: &[&str]) -> Vec<String> {
    types.iter().map(|ty| (*ty).to_owned()).collect()
}

/// The type of a value in the notation of the facts, if it is solved.
fn solved_type<'a>(checked: &mut Checked<'a>, body: &SolvedBody<'a>, value: ValueId) -> Option<String> {
    text_of(&checked.type_within(body, value))
}

/// A solved type in the notation of the facts.
pub(crate) fn text_of(ty: &Type) -> Option<String> {
    let (constructors, inner) = ty.split();
    let single = |elem: typeloom_solver::elem::ElemSet| match (elem.len(), elem.iter().next()) {
        (1, Some(elem)) => elem.onnx_name(),
        _ => None,
    };
    let mut text = match inner {
        Type::Tensor(tensor) => single(tensor.elem)?.to_owned(),
        Type::Sparse(tensor) => format!("sparse({})", single(tensor.elem)?),
        Type::Unknown(_)
        | Type::Scalar(_)
        | Type::Container(..)
        | Type::Composite(_)
        | Type::Leaf(_)
        | Type::Error => {
            return None;
        }
    };
    for constructor in constructors.into_iter().rev() {
        text = match constructor {
            Constructor::Sequence => format!("seq({text})"),
            Constructor::Optional => format!("optional({text})"),
            Constructor::Map(key) => format!("map({},{text})", key.onnx_name()?),
        };
    }
    Some(text)
}
