//! The verdict about a model: what the loader checks in the file as a whole, and all nodes of all bodies.
//!
//! The loader inserts the bodies of model-local functions into the graph and reads their nodes with the versions that the
//! *model* imports. It validates the imports of every function, called or not.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::view::TypeKindView;
use typeloom_solver::diagnostic::{Diagnostic, MAX_LISTED, TargetIssue, TargetSite, diagnose_target};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, Origin, StepId, StepKind, ValueId};

use crate::fold::{Branch, Branches};
use crate::node::{self, NodeCx, text_of};
use crate::target::Target;

/// Whether a target loads a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It does.
    Runs,
    /// It does not.
    Rejected,
    /// Unknown.
    Undecided,
}

/// The reasons why a target does not load a model, or why that is undecided.
pub struct Verdict<'a> {
    /// The reasons, those of the whole model first, then by body and node.
    pub issues: Vec<(TargetSite<'a>, TargetIssue)>,
}

impl<'a> Verdict<'a> {
    /// The verdict in short. It is meaningful for a model without errors.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.issues.iter().any(|(_, issue)| issue.is_rejection()) {
            Outcome::Rejected
        } else if self.issues.is_empty() {
            Outcome::Runs
        } else {
            Outcome::Undecided
        }
    }

    /// The issues as diagnostics, each once, at most [`MAX_LISTED`].
    #[must_use]
    pub fn diagnostics(&self, target: &str, checked: &mut Checked<'a>) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (site, issue) in &self.issues {
            if found.len() == MAX_LISTED {
                break;
            }
            let diagnostic = diagnose_target(checked, target, site, issue);
            if seen.insert((diagnostic.location.to_string(), diagnostic.message.clone())) {
                found.push(diagnostic);
            }
        }
        found
    }
}

pub(crate) fn verdict<'a>(target: &Target, checked: &mut Checked<'a>) -> Verdict<'a> {
    let mut issues = Vec::new();
    let versions = file(target, checked, &mut issues);
    for body in checked.bodies() {
        body_issues(target, checked, &body, &versions, &mut issues);
    }
    Verdict { issues }
}

/// Checks the IR version and the imports. Returns the imported version of each domain.
fn file<'a>(
    target: &Target,
    checked: &Checked<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) -> BTreeMap<&'a str, i64> {
    let facts = target.facts();
    let mut versions = BTreeMap::new();
    let Some(model) = checked.model() else { return versions };
    let found = model.ir_version();
    if found > facts.ir {
        issues.push((TargetSite::Model, TargetIssue::IrVersion { found, newest: facts.ir }));
    }
    let mut newer: Vec<(&str, i64)> = Vec::new();
    let mut check = |domain: &'a str, version: i64| {
        if facts.domains.get(domain).is_some_and(|newest| version > *newest) {
            newer.push((domain, version));
        }
    };
    for import in model.opset_imports().flatten() {
        let domain = canonical(import.domain);
        check(domain, import.version);
        // The last of several imports of a domain counts.
        versions.insert(domain, import.version);
    }
    for function in model.functions().flatten() {
        for import in function.opset_imports().flatten() {
            check(canonical(import.domain), import.version);
        }
    }
    newer.sort_unstable();
    newer.dedup();
    for (domain, imported) in newer {
        let newest = facts.domains.get(domain).copied().unwrap_or_default();
        issues.push((TargetSite::Model, TargetIssue::Opset { domain: domain.to_owned(), imported, newest }));
    }
    versions
}

fn canonical(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

fn body_issues<'a>(
    target: &Target,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    versions: &BTreeMap<&'a str, i64>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    let facts = target.facts();
    let body = &solved.body;
    let mut reported = BTreeSet::new();
    for value in body.values() {
        let ty = checked.type_within(solved, value);
        let elements =
            ty.tensors().filter(|tensor| tensor.elem.len() == 1).flat_map(|tensor| tensor.elem.iter());
        let names = elements.filter_map(Elem::onnx_name).filter(|name| facts.unknown.contains(name));
        if has_undefined_element(body, value) && reported.insert("undefined") {
            let element = Some("undefined".to_owned());
            issues.push((TargetSite::Body(solved.clone()), TargetIssue::ElementType { value, element }));
        }
        for element in names.collect::<Vec<_>>() {
            if reported.insert(element) {
                let issue = TargetIssue::ElementType { value, element: Some(element.to_owned()) };
                issues.push((TargetSite::Body(solved.clone()), issue));
            }
        }
    }
    if solved.is_main() {
        let untyped =
            |value: &&ValueId| body.value(**value).origin == Origin::Input && !has_type(body, **value);
        for value in body.graph(body.root()).inputs.iter().filter(untyped) {
            let issue = TargetIssue::ElementType { value: *value, element: None };
            issues.push((TargetSite::Body(solved.clone()), issue));
        }
    }
    let root = body.graph(body.root());
    let is_input = |value: &ValueId| body.value(*value).origin == Origin::Input;
    if solved.is_main() && root.outputs.is_empty() && !root.inputs.iter().any(is_input) {
        let reason = "the graph has no outputs, and all inputs are constants".to_owned();
        issues.push((TargetSite::Model, TargetIssue::Undecided { reason }));
    }
    let mut branches = Branches::new(body);
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        if matches!(body.step(step).kind, StepKind::Exit(_)) {
            continue;
        }
        if checked.is_call(body, step) {
            issues.extend(
                call(target, checked, body, step)
                    .map(|issue| (TargetSite::Node(solved.clone(), step), issue)),
            );
            continue;
        }
        if body.op_name(step) == "If" && branches.may_fail(step) {
            let reason = "the loader decides its condition, and computes in the other branch too".to_owned();
            issues.push((TargetSite::Node(solved.clone(), step), TargetIssue::Undecided { reason }));
        }
        let mut cx = NodeCx { facts, checked, body: solved, step, versions };
        for issue in node::issues(&mut cx) {
            let issue = match (branches.of(step), issue.code()) {
                // The loader removes a branch that is never taken before it looks for kernels.
                (Branch::Dropped, code) if node::is_of_kernel(code) => continue,
                (Branch::Unknown, code) if node::is_of_kernel(code) => TargetIssue::Undecided {
                    reason: "the loader may remove the branch that contains it".to_owned(),
                },
                (Branch::Taken | Branch::Dropped | Branch::Unknown, _) => issue,
            };
            issues.push((TargetSite::Node(solved.clone(), step), issue));
        }
    }
}

/// The issue of a call of a model-local function.
fn call<'a>(target: &Target, checked: &Checked<'a>, body: &Body<'a>, step: StepId) -> Option<TargetIssue> {
    let node = body.step(step).node;
    let overload = node.overload().unwrap_or_default();
    let key = (checked.domain_of(body, step), body.op_name(step), overload);
    let mut functions = checked.model()?.functions().flatten();
    let function = functions.find(|function| {
        let domain = function.domain().map(canonical);
        (domain, function.name(), function.overload()) == (Ok(key.0), Ok(key.1), Ok(key.2))
    })?;
    if target.facts().needs_all_outputs {
        let (given, all) = (node.outputs().count(), function.outputs().count());
        if given < all {
            let reason =
                format!("a call of a function with {all} outputs must name all of them, not {given}");
            return Some(TargetIssue::Operator { reason });
        }
    }
    let inputs: BTreeSet<&str> = function.inputs().flatten().collect();
    let graphs = function.nodes().flatten().filter_map(|node| node.graphs().ok()).flatten();
    let initializers = graphs.flat_map(|graph| graph.initializers().flatten());
    let mut names = initializers.filter_map(|tensor| tensor.header().ok()).map(|header| header.name);
    names.any(|name| inputs.contains(name)).then(|| {
        let reason = "an initializer in the function has the name of an input of the function".to_owned();
        TargetIssue::Undecided { reason }
    })
}

/// Whether a declaration of a value has a tensor type without an element type.
fn has_undefined_element(body: &Body<'_>, value: ValueId) -> bool {
    body.declarations(value).any(|declaration| {
        let kind = declaration.ty.parse().map(|ty| ty.kind);
        matches!(kind, Ok(TypeKindView::Tensor { elem: 0, .. } | TypeKindView::Sparse { elem: 0, .. }))
    })
}

/// Whether a value has a declared type.
fn has_type(body: &Body<'_>, value: ValueId) -> bool {
    body.declarations(value)
        .any(|declaration| declaration.ty.parse().is_ok_and(|ty| ty.kind != TypeKindView::None))
}

/// The type of a value in the notation of the facts, if it is solved.
pub(crate) fn solved_type<'a>(
    checked: &mut Checked<'a>,
    body: &SolvedBody<'a>,
    value: ValueId,
) -> Option<String> {
    text_of(&checked.type_within(body, value))
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::prost::Message as _;
    use typeloom_solver::diagnostic::Code;
    use typeloom_solver::model::Options;

    use crate::{Outcome, Target};

    /// The verdict about a model, and the codes of its diagnostics.
    fn verdict(target: &str, text: &str) -> (Outcome, Vec<Code>) {
        let bytes = typeloom_onnx::text::parse_model(text).unwrap().encode_to_vec();
        let options = Options { functions: true, ..Options::default() };
        let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
        let target = Target::find(target).unwrap();
        let outcome = target.check(&mut checked).outcome();
        (outcome, target.diagnose(&mut checked).iter().map(|diagnostic| diagnostic.code).collect())
    }

    fn newest(text: &str) -> (Outcome, Vec<Code>) {
        verdict("onnxruntime-1.31", text)
    }

    /// A graph with operator set `opset`.
    fn graph(opset: i64, text: &str) -> String {
        format!(r#"<ir_version: 8, opset_import: ["": {opset}, "ai.onnx.ml": 3, "com.microsoft": 1]> {text}"#)
    }

    fn rejected(code: Code) -> (Outcome, Vec<Code>) {
        (Outcome::Rejected, vec![code])
    }

    const RUNS: (Outcome, Vec<Code>) = (Outcome::Runs, Vec::new());

    #[test]
    fn versions_of_the_file_are_compared_with_those_of_the_target() {
        let model = |ir: i64, opset: i64| {
            format!(
                r#"<ir_version: {ir}, opset_import: ["": {opset}]> g (float[2] x) => (y) {{ y = Relu(x) }}"#
            )
        };
        assert_eq!(newest(&model(13, 26)), RUNS);
        assert_eq!(newest(&model(14, 26)), rejected(Code::TargetIrVersion));
        assert_eq!(newest(&model(13, 27)), rejected(Code::TargetOpset));
        assert_eq!(verdict("onnxruntime-1.24", &model(13, 26)), rejected(Code::TargetOpset));
    }

    #[test]
    fn a_node_needs_a_kernel_for_its_solved_types() {
        let least = |ty: &str| newest(&graph(13, &format!("g ({ty}[2] x) => (y) {{ y = Min(x, x) }}")));
        assert_eq!(least("float"), RUNS);
        assert_eq!(least("float16"), RUNS);
        assert_eq!(least("int16"), rejected(Code::TargetKernel));
        let inferred = graph(13, "g (float[2] x) => (y) { h = Cast<to = 5>(x) y = Min(h, h) }");
        assert_eq!(newest(&inferred), rejected(Code::TargetKernel));
    }

    #[test]
    fn nodes_are_cast_from_half_precision_only_if_float_has_a_kernel() {
        assert_eq!(newest(&graph(13, "g (float16[2] x) => (y) { y = Acos(x) }")), RUNS);
        let mixed = graph(15, "g (float16[2] x, int16[2] z) => (y) { y = Pow(x, z) }");
        assert_eq!(newest(&mixed), rejected(Code::TargetKernel));
        let made = graph(13, "g () => (y) { y = RandomNormal<shape = [2], dtype = 10>() }");
        assert_eq!(newest(&made), rejected(Code::TargetKernel));
    }

    #[test]
    fn bodies_of_operators_run_in_the_versions_of_the_table() {
        let drawn = |opset| newest(&graph(opset, "g (float[2] x) => (y) { y = Bernoulli(x) }"));
        assert_eq!(drawn(21), RUNS);
        assert_eq!(drawn(22), rejected(Code::TargetKernel));
        let gelu = |mode: &str| {
            newest(&graph(
                20,
                &format!(r#"g (double[2] x) => (y) {{ y = Gelu<approximate = "{mode}">(x) }}"#),
            ))
        };
        assert_eq!(gelu("tanh"), RUNS);
        assert_eq!(gelu("none"), rejected(Code::TargetKernel));
    }

    #[test]
    fn the_loader_has_no_operators_of_other_domains() {
        let unknown = graph(13, "g (float[2] x) => (y) { y = com.microsoft.Fused(x) }");
        assert_eq!(newest(&unknown), rejected(Code::TargetOperator));
        let preview = r#"<ir_version: 8, opset_import: ["": 13, "ai.onnx.preview.training": 1]>
            g (float R, int64 T, float[1] X, float[1] G, float[1] V) => (a, b) {
                a, b = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 0.1, mode = "standard", norm_coefficient = 0.1>(R, T, X, G, V)
            }"#;
        assert_eq!(newest(preview), rejected(Code::TargetOperator));
    }

    #[test]
    fn element_types_and_missing_types_are_found_at_values() {
        let complex = graph(13, "g (float[2] x, complex64[2] z) => (y) { y = Relu(x) }");
        assert_eq!(newest(&complex), rejected(Code::TargetElementType));
        let untyped = graph(13, "g (float[2] x, z) => (y) { y = Add(x, z) }");
        assert_eq!(newest(&untyped), rejected(Code::TargetElementType));
    }

    #[test]
    fn attributes_are_compared_with_the_signature_and_the_rules_of_kernels() {
        let newer = graph(
            24,
            "g (float[1, 2, 3, 4] x) => (y) { y = Attention<left_window_size = 1, is_causal = 1>(x, x, x) }",
        );
        assert_eq!(newest(&newer), rejected(Code::TargetAttribute));
        let pooled = |pad: i64| {
            let node = format!("MaxPool<kernel_shape = [2, 2], pads = [1, 1, {pad}, 1]>(x)");
            newest(&graph(13, &format!("g (float[1, 1, 5, 5] x) => (y) {{ y = {node} }}")))
        };
        assert_eq!(pooled(1), RUNS);
        assert_eq!(pooled(2), rejected(Code::TargetAttribute));
        let resized = |target| {
            let text = "g (float[1, 1, 2, 2] x) => (y) <float[2] s = {3, 2}> { y = Resize<axes = [-2, -1]>(x, \"\", s) }";
            verdict(target, &graph(18, text))
        };
        assert_eq!(resized("onnxruntime-1.31"), RUNS);
        assert_eq!(resized("onnxruntime-1.24"), rejected(Code::TargetAttribute));
    }

    #[test]
    fn a_fused_node_needs_a_kernel_too() {
        let product = |target, ty: &str, perm: &str| {
            let node = format!("t = Transpose{perm}(x) y = MatMul(t, x)");
            verdict(target, &graph(13, &format!("g ({ty}[3, 3, 3] x) => (y) {{ {node} }}")))
        };
        assert_eq!(product("onnxruntime-1.31", "double", "<perm = [0, 2, 1]>"), RUNS);
        assert_eq!(product("onnxruntime-1.24", "float", "<perm = [0, 2, 1]>"), RUNS);
        assert_eq!(
            product("onnxruntime-1.24", "double", "<perm = [0, 2, 1]>"),
            rejected(Code::TargetOperator)
        );
        assert_eq!(product("onnxruntime-1.24", "double", "<perm = [2, 1, 0]>"), RUNS);
        assert_eq!(product("onnxruntime-1.24", "double", ""), RUNS);
    }

    #[test]
    fn a_result_that_depends_on_the_machine_is_undecided() {
        let normalized = |locale: &str| {
            let node = format!(r#"StringNormalizer<{locale} case_change_action = "LOWER">(x)"#);
            newest(&graph(13, &format!("g (string[2] x) => (y) {{ y = {node} }}")))
        };
        assert_eq!(normalized(""), (Outcome::Undecided, vec![Code::TargetUndecided]));
        assert_eq!(normalized(r#"locale = "C","#), RUNS);
    }

    #[test]
    fn a_branch_that_is_never_taken_needs_no_kernel() {
        let branches = |condition: &str| {
            let text = format!(
                "g (int16[2] x, bool input) => (y) <bool stored = {{1}}> {{
                    y = If({condition}) <
                        then_branch = then () => (a) {{ a = Identity(x) }},
                        else_branch = else () => (b) {{ b = Min(x, x) }}
                    >
                }}"
            );
            newest(&graph(13, &text))
        };
        assert_eq!(branches("stored"), RUNS);
        assert_eq!(branches("input"), rejected(Code::TargetKernel));
    }

    #[test]
    fn nodes_of_functions_have_the_versions_that_the_model_imports() {
        let called = |model: i64, function: i64| {
            newest(&format!(
                r#"<ir_version: 8, opset_import: ["": {model}, "l": 1]> g (float[2] x) => (y) {{ y = l.f(x) }}
                <domain: "l", opset_import: ["": {function}]> f (a) => (b) {{ b = Add(a, a) }}"#
            ))
        };
        assert_eq!(called(13, 6), RUNS);
        assert_eq!(called(6, 13), rejected(Code::TargetKernel));
        let short = r#"<ir_version: 8, opset_import: ["": 13, "l": 1]> g (float[2] x) => (y) { y = l.f(x) }
            <domain: "l", opset_import: ["": 13]> f (a) => (b, c) { b = Relu(a) c = Neg(a) }"#;
        assert_eq!(newest(short), rejected(Code::TargetOperator));
    }
}
