//! Repairs of models with functions: conversions inside bodies, shared by all calls if possible.

use prost::Message as _;
use typeloom_onnx::messages::{AttributeProto, FunctionProto, ModelProto, NodeProto};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_rewrite::coerce::{Policy, Repair};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Mode;
use typeloom_testing::number;

use super::brute_force::Rng;
use super::repaired;
use crate::support::{model, solved};

fn with(main: &str, functions: &str) -> Vec<u8> {
    of_version(main, functions, 21)
}

fn of_version(main: &str, functions: &str, version: i64) -> Vec<u8> {
    let functions = functions.replace(
        "FUNCTION",
        &format!("<opset_import: [\"\" : {version}, \"local\" : 1], domain: \"local\">"),
    );
    model(&format!("<ir_version: 8, opset_import: [\"\" : {version}, \"local\" : 1]>\n{main}\n{functions}"))
}

/// Repairs a model, and checks the result.
fn checked(bytes: &[u8], policy: Policy) -> (Repair, ModelProto) {
    let repair = repaired(bytes, policy);
    assert!(repair.is_ok, "{:?}", repair.refused);
    let file = repair.file.as_deref().expect("the model changed");
    assert!(solved(file, Mode::Strict).expect("it can be read").is_ok());
    let model = ModelProto::decode(file).expect("the file is a model");
    (repair, model)
}

fn lines(nodes: &[NodeProto]) -> Vec<String> {
    nodes.iter().map(|node| print_node(node, &PrintOptions::display()).text).collect()
}

fn body(function: &FunctionProto) -> Vec<String> {
    lines(&function.node)
}

#[test]
fn an_error_in_a_body_is_repaired_there_once_for_all_calls() {
    let bytes = with(
        "g (float[N] x, float[N] y) => (float[N] z) { h = local.f(x, y) z = local.f(h, x) }",
        "FUNCTION f (a, b) => (c) { t = Cast <to = 10> (a) c = Add(t, b) }",
    );
    let (repair, model) = checked(&bytes, Policy::Lossless);
    assert_eq!(
        body(&model.functions[0]),
        ["t = Cast <to = float16> (a)", "t_as_float = Cast <to = float> (t)", "c = Add(t_as_float, b)"]
    );
    assert_eq!((repair.casts.len(), model.functions.len()), (1, 1));
    assert!(repair.is_minimal);
    assert_eq!(repair.casts[0].graph, "function f");
}

#[test]
fn a_type_that_depends_on_the_call_is_taken_from_another_operand() {
    let bytes = with(
        "g (float[N] x, double[N] y) => (float[N] z, double[N] w) { z = local.f(x, x) w = local.f(y, y) }",
        "FUNCTION f (a, b) => (c) { t = Cast <to = 10> (a) c = Add(t, b) }",
    );
    let (repair, model) = checked(&bytes, Policy::Lossless);
    assert_eq!(
        body(&model.functions[0]),
        ["t = Cast <to = float16> (a)", "t_like_b = CastLike(t, b)", "c = Add(t_like_b, b)"]
    );
    assert_eq!(repair.casts.len(), 1);
    assert_eq!(repair.casts[0].like.as_deref(), Some("b"));
}

#[test]
fn false_declarations_in_functions_are_replaced_by_types_of_all_calls() {
    let corrected = |graph: &str, body: &str| -> Vec<String> {
        let bytes = of_version(graph, body, 21);
        let (repair, _) = checked(&bytes, Policy::default());
        assert!(repair.casts.is_empty());
        repair
            .reshaped
            .iter()
            .map(|it| format!("{} {}: {} -> {}", it.graph, it.name, it.from, it.to))
            .collect()
    };
    let one = "g (float[2] x) => (float[2] z) { z = local.f(x) }";
    let two = "g (float[2] x, float[3] y) => (float[2] z, float[3] w) { z = local.f(x) w = local.f(y) }";
    let mixed = "g (float[2] x, int64[2] y) => (float[2] z, int64[2] w) { z = local.f(x) w = local.f(y) }";
    let body = "FUNCTION f (a) => (c) <int64[3] t> { t = Abs(a) c = Neg(t) }";
    assert_eq!(corrected(one, body), ["function local.f t: int64[3] -> float[2]"]);
    assert_eq!(corrected(two, body), ["function local.f t: int64[3] -> float[?]"]);
    // No type holds for both calls.
    let scalars = "FUNCTION f (a) => (c) <string[2] t> { t = Abs(a) c = Neg(t) }";
    assert_eq!(corrected(mixed, scalars), ["function local.f t: string[2] -> "]);
    let nested = "FUNCTION f (a) => (c) {
        k = Constant <value = bool {1}> ()
        c = If (k) <then_branch = b () => (int64[3] p) { p = Abs(a) }, else_branch = e () => (r) { r = Neg(a) }>
    }";
    assert_eq!(corrected(one, nested), ["function local.f /1:If.then_branch p: int64[3] -> float[2]"]);
}

#[test]
fn a_function_without_casts_for_all_calls_is_copied() {
    // There is no `CastLike` in this version.
    let bytes = of_version(
        "g (float[N] x, double[N] y) => (float[N] z, double[N] w) { z = local.f(x) w = local.f(y) }",
        "FUNCTION f (a) => (c) { t = Cast <to = 10> (a) c = Add(t, a) }",
        14,
    );
    let (repair, model) = checked(&bytes, Policy::Lossless);
    assert_eq!(repair.copies.len(), 1);
    let names: Vec<&str> = model.functions.iter().map(FunctionProto::name).collect();
    assert_eq!(names, ["f", "f_double"]);
    assert_eq!(body(&model.functions[0])[1], "t_as_float = Cast <to = float> (t)");
    assert!(body(&model.functions[1])[1].contains("Cast <to = double> (t)"));
    let main = model.graph.as_ref().expect("there is a graph");
    assert_eq!(lines(&main.node), ["z = local.f(x)", "w = local.f_double(y)"]);
    assert_eq!(repair.copies[0].calls, ["node #1"]);
}

#[test]
fn a_refused_cast_in_a_body_lists_the_calls() {
    let bytes = with(
        "g (float[N] x, double[N] y) => (float[N] z, double[N] w) { z = local.f(x) w = local.f(y) }",
        "FUNCTION f (a) => (c) { t = Cast <to = 7> (a) c = Add(t, a) }",
    );
    let repair = repaired(&bytes, Policy::Lossless);
    assert!(!repair.is_ok);
    assert!(
        repair.refused.iter().any(|refused| refused.calls == ["node #0", "node #1"]),
        "{:?}",
        repair.refused
    );
}

#[test]
fn functions_that_call_functions_are_repaired_inside() {
    let bytes = with(
        "g (float[N] x, double[N] y) => (float[N] z, double[N] w) { z = local.outer(x) w = local.outer(y) }",
        "FUNCTION outer (a) => (c) { h = local.inner(a, a) c = local.inner(h, a) }
         FUNCTION inner (a, b) => (c) { t = Cast <to = 10> (a) c = Mul(b, t) }",
    );
    let (repair, model) = checked(&bytes, Policy::Lossless);
    assert_eq!(body(&model.functions[1])[1], "t_like_b = CastLike(t, b)");
    assert_eq!(repair.casts.len(), 1);
}

#[test]
fn branches_and_loops_in_bodies_are_repaired_inside() {
    let bytes = with(
        "g (float[N] x, bool k) => (float[N] z) { h = local.f(x, k) z = local.f(h, k) }",
        "FUNCTION f (a, k) => (c) {
            c = If (k) <
                then_branch = t () => (p) { p = Relu(a) },
                else_branch = e () => (q) { q = Cast <to = 10> (a) }
            >
        }",
    );
    let (repair, model) = checked(&bytes, Policy::Lossless);
    assert_eq!(repair.casts.len(), 1);
    assert_eq!(repair.casts[0].graph, "function f /0:If.else_branch");
    let branch = model.functions[0].node[0].attribute[1].g.as_ref().expect("the branch is there");
    assert_eq!(branch.output[0].name(), "q_as_float");
    let bytes = with(
        "g (float[N] x) => (float[N] z) { z = local.f(x) }",
        "FUNCTION f (a) => (c) {
            n = Constant <value = int64 {3}> ()
            k = Constant <value = bool {1}> ()
            c = Loop (n, k, a) <
                body = b (int64 i, bool go, s) => (bool more, r) { more = Identity(go) r = Cast <to = 10> (s) }
            >
        }",
    );
    assert_eq!(checked(&bytes, Policy::Lossless).0.casts.len(), 1);
}

#[test]
fn a_function_of_another_operator_set_is_repaired_in_its_own() {
    let bytes = model(
        "<ir_version: 8, opset_import: [\"\" : 21, \"local\" : 1]>
         g (float[N] x, double[N] y) => (float[N] z, double[N] w) { z = local.f(x) w = local.f(y) }
         <opset_import: [\"\" : 13], domain: \"local\"> f (a) => (c) { t = Cast <to = 10> (a) c = Add(t, a) }",
    );
    // Version 13 has no `CastLike`, so each call gets its copy of the function.
    let (_, model) = checked(&bytes, Policy::Lossless);
    assert_eq!(model.functions.len(), 2);
}

#[test]
fn scans_and_loops_of_the_main_graph_are_repaired_inside() {
    let bytes = crate::support::graph(
        "g (float[N] x, float[M, N] xs) => (float[N] z, float[M, N] zs) {
            z, zs = Scan (x, xs) <num_scan_inputs = 1,
                body = b (float[N] s, float[N] e) => (float[N] r, float[N] o) {
                    r = Add(s, e) h = Constant <value = float16 {15360}> () o = Mul(h, e)
                }
            >
        }",
    );
    let (repair, _) = checked(&bytes, Policy::Lossless);
    assert_eq!((repair.casts.len(), repair.casts[0].graph.as_str()), (1, "/0:Scan.body"));
}

/// The element types of conversions.
const ELEMS: [Elem; 4] = [Elem::FLOAT16, Elem::FLOAT, Elem::DOUBLE, Elem::INT64];

/// Two calls of a function of one or two nodes.
fn random(rng: &mut Rng) -> Vec<u8> {
    let elem = |rng: &mut Rng| ELEMS[rng.below(4)].onnx_name().unwrap_or("?");
    let inputs: Vec<String> = (0..2).map(|at| format!("{}[2] x{at}", elem(rng))).collect();
    let outputs: Vec<String> = (0..2).map(|at| format!("{}[2] y{at}", elem(rng))).collect();
    let mut argument = || format!("x{}", rng.below(2));
    let calls: Vec<String> =
        (0..2).map(|at| format!("y{at} = local.f({}, {})", argument(), argument())).collect();
    let mut values = vec!["a".to_owned(), "b".to_owned()];
    let mut nodes = Vec::new();
    for at in 0..1 + rng.below(2) {
        let mut pick = || values[rng.below(values.len())].clone();
        let (a, b) = (pick(), pick());
        let call = match rng.below(4) {
            0 | 1 => format!("Add({a}, {b})"),
            2 => format!("Relu({a})"),
            _ => format!("Cast <to = {}> ({a})", ELEMS[rng.below(4)].number()),
        };
        nodes.push(format!("t{at} = {call}"));
        values.push(format!("t{at}"));
    }
    let last = format!("t{}", nodes.len() - 1);
    with(
        &format!("g ({}) => ({}) {{ {} }}", inputs.join(", "), outputs.join(", "), calls.join(" ")),
        &format!("FUNCTION f (a, b) => (c) {{ {} c = Mul({last}, b) }}", nodes.join(" ")),
    )
}

/// A use of a value of the main graph or the function: an input of a node, or an output.
#[derive(Clone, Copy)]
enum Reader {
    Input(usize, usize),
    Output(usize),
}

/// Whether the model checks after `count` more conversions.
fn exists(model: &ModelProto, count: usize) -> bool {
    if count == 0 {
        return solved(&model.encode_to_vec(), Mode::Strict).is_ok_and(|checked| checked.is_ok());
    }
    [false, true].into_iter().any(|inside| {
        let (nodes, outputs) = parts(model, inside);
        let mut values: Vec<String> =
            nodes.iter().flat_map(|node| node.input.iter().chain(&node.output)).cloned().collect();
        values.sort();
        values.dedup();
        values.iter().any(|value| {
            let inputs = nodes.iter().enumerate().flat_map(|(node, it)| {
                let of = it.input.iter().enumerate().filter(|(_, name)| *name == value);
                of.map(move |(at, _)| Reader::Input(node, at))
            });
            let of_output = outputs.iter().enumerate().filter(|(_, name)| *name == value);
            let readers: Vec<Reader> = inputs.chain(of_output.map(|(at, _)| Reader::Output(at))).collect();
            let likes = if inside { &["a", "b"][..] } else { &[] };
            let kinds: Vec<Result<Elem, &str>> =
                ELEMS.into_iter().map(Ok).chain(likes.iter().map(|like| Err(*like))).collect();
            (1..1_usize << readers.len()).any(|subset| {
                let chosen: Vec<Reader> =
                    (0..readers.len()).filter(|bit| subset >> bit & 1 == 1).map(|bit| readers[bit]).collect();
                kinds
                    .iter()
                    .any(|kind| exists(&converted(model, inside, value, *kind, &chosen, count), count - 1))
            })
        })
    })
}

fn parts(model: &ModelProto, inside: bool) -> (Vec<NodeProto>, Vec<String>) {
    let graph = model.graph.as_ref().expect("there is a graph");
    match inside {
        true => (model.functions[0].node.clone(), model.functions[0].output.clone()),
        false => (graph.node.clone(), graph.output.iter().map(|info| info.name().to_owned()).collect()),
    }
}

/// The model with one more conversion.
fn converted(
    model: &ModelProto,
    inside: bool,
    value: &str,
    kind: Result<Elem, &str>,
    readers: &[Reader],
    number: usize,
) -> ModelProto {
    let (mut nodes, mut outputs) = parts(model, inside);
    let name = format!("cast{number}");
    for reader in readers {
        match *reader {
            Reader::Input(node, at) => nodes[node].input[at].clone_from(&name),
            Reader::Output(at) => outputs[at].clone_from(&name),
        }
    }
    let mut node = NodeProto { output: vec![name], input: vec![value.to_owned()], ..NodeProto::default() };
    match kind {
        Ok(elem) => {
            node.op_type = "Cast".into();
            node.attribute.push(AttributeProto {
                name: "to".into(),
                i: Some(i64::from(elem.number())),
                r#type: Some(2),
                ..AttributeProto::default()
            });
        }
        Err(like) => {
            node.op_type = "CastLike".into();
            node.input.push(like.to_owned());
        }
    }
    let maker = nodes.iter().position(|node| node.output.iter().any(|name| name == value));
    nodes.insert(maker.map_or(0, |maker| maker + 1), node);
    let mut changed = model.clone();
    if inside {
        changed.functions[0].node = nodes;
        changed.functions[0].output = outputs;
    } else if let Some(graph) = &mut changed.graph {
        graph.node = nodes;
        for (info, name) in graph.output.iter_mut().zip(outputs) {
            info.name = name.into();
        }
    }
    changed
}

#[test]
fn no_repair_of_a_small_model_with_a_function_has_fewer_casts() {
    let mut rng = Rng(77);
    let (mut compared, mut unproved, mut missed) = ([0; 4], 0, 0);
    for _ in 0..number(14, 40) {
        let bytes = random(&mut rng);
        let model = ModelProto::decode(&bytes[..]).expect("the text is a model");
        let repair = repaired(&bytes, Policy::Fewest);
        let text = || typeloom_onnx::text::print_model(&model, &PrintOptions::display()).text;
        assert!(repair.is_ok, "casts repair every element type: {}", text());
        let found = repair.casts.len();
        if found > 3 || !repair.copies.is_empty() {
            continue;
        }
        let fewer = (0..found.min(2)).find(|count| exists(&model, *count));
        if repair.is_minimal {
            compared[found] += 1;
            assert!(fewer.is_none(), "{}: {fewer:?} conversions suffice instead of {found}", text());
        } else {
            unproved += 1;
            missed += usize::from(fewer.is_some());
        }
    }
    assert!(unproved < 20, "{unproved} repairs are not proved to be the smallest");
    // Most repairs without a proof are minimal too.
    assert!(missed <= 3, "{missed} of {unproved} repairs are not the smallest");
    assert!(
        compared[1..3].iter().all(|count| *count > number(0, 3)),
        "{compared:?} repairs of each size were compared"
    );
}
