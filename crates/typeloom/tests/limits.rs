//! Limits that affect verdicts, each tested at the limit and one past it. A result that a limit hides is
//! reported, see `docs/limits.md`.

use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::parse_model;
use typeloom_solver::diagnostic::{Code, Diagnostic, diagnose, diagnose_error, explain_value};
use typeloom_solver::model::{Mode, Options};

fn check(text: &str, mode: Mode) -> (bool, Vec<Diagnostic>) {
    let bytes = parse_model(text).expect("the text is a model").encode_to_vec();
    let options = Options { mode, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).expect("the bytes are a model");
    (checked.is_ok(), diagnose(&mut checked))
}

fn codes(text: &str) -> Vec<Code> {
    check(text, Mode::Strict).1.into_iter().map(|diagnostic| diagnostic.code).collect()
}

fn type_of(text: &str, value: &str) -> String {
    let bytes = parse_model(text).expect("the text is a model").encode_to_vec();
    let mut checked = typeloom_ops::check::check(&bytes, &Options::default()).expect("the bytes are a model");
    let value = checked.find(value).expect("the model has the value");
    checked.display_type(value)
}

fn list(count: usize, item: impl Fn(usize) -> String, between: &str) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(between)
}

/// A model that calls a function with `count` shapes; the last output is declared with the extent `declared`.
fn calls(count: usize, declared: usize) -> String {
    let inputs = list(count, |at| format!("float[{}] x{at}", at + 1), ", ");
    let nodes = list(count, |at| format!("y{at} = local.Join(x{at})"), "\n");
    let last = count - 1;
    format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"local\": 1]>
        g ({inputs}) => (float[{declared}] y{last}) {{ {nodes} }}
        <domain: \"local\", opset_import: [\"\": 21]>
        Join (a) => (b) {{ b = Concat <axis = 0> (a, a) }}"
    )
}

#[test]
fn a_function_is_solved_for_256_shapes() {
    assert_eq!(codes(&calls(256, 512)), []);
    assert_eq!(codes(&calls(256, 7)), [Code::DeclaredTypeContradiction]);
    assert_eq!(type_of(&calls(256, 512), "y255"), "float[512]");
}

#[test]
fn one_shape_more_is_reported() {
    for declared in [514, 7] {
        let found = codes(&calls(257, declared));
        assert_eq!(found.first(), Some(&Code::TooManyInstances), "{found:?}");
    }
    let (is_ok, found) = check(&calls(262, 524), Mode::Permissive);
    assert!(is_ok);
    let of_limit = found.iter().filter(|diagnostic| diagnostic.code == Code::TooManyInstances).count();
    assert_eq!(of_limit, 1, "one warning for each function");
}

/// A model whose output is as long as `count` inputs with different symbols.
fn sum(count: usize) -> String {
    let inputs = list(count, |at| format!("float[s{at}] x{at}"), ", ");
    let names = list(count, |at| format!("x{at}"), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g ({inputs}) => (y) {{ y = Concat <axis = 0> ({names}) }}"
    )
}

#[test]
fn a_sum_of_64_symbols_is_kept() {
    assert_eq!(codes(&sum(64)), []);
    assert!(type_of(&sum(64), "y").contains("s63"));
}

#[test]
fn a_sum_of_65_symbols_is_reported() {
    let text = sum(65);
    assert_eq!(codes(&text), [Code::LimitReached]);
    let bytes = parse_model(&text).expect("the text is a model").encode_to_vec();
    let options = Options { trace: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).expect("the bytes are a model");
    let explained = explain_value(&mut checked, "y").expect("the model has the value");
    assert!(explained.extents.iter().any(|sentence| sentence.contains("limits of dims")), "{explained:?}");
}

/// A model that takes one of the elements of a constant as an extent.
fn picked(count: usize) -> String {
    let items = list(count, |at| (at % 7 + 1).to_string(), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float x) => (y) <int64[{count}] table = {{ {items} }}, int64[1] at = {{ 3 }}> {{
            shape = Gather(table, at)
            y = Expand(x, shape)
        }}"
    )
}

#[test]
fn a_constant_of_4096_elements_is_followed() {
    assert_eq!(codes(&picked(4096)), []);
    assert_eq!(type_of(&picked(4096), "y"), "float[4]");
}

#[test]
fn a_constant_of_4097_elements_is_reported() {
    assert_eq!(codes(&picked(4097)), [Code::LimitReached]);
    assert_eq!(type_of(&picked(4097), "y"), "float[?]");
}

#[test]
fn a_large_table_that_decides_no_shape_is_not_reported() {
    let text = picked(4097).replace("Expand(x, shape)", "Cast <to = 1> (shape)");
    assert_eq!(codes(&text), []);
}

/// Like [`picked`], with the constant as an argument of a function.
fn passed(count: usize) -> String {
    let items = list(count, |at| (at % 7 + 1).to_string(), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"local\": 1]>
        g (float x) => (y) <int64[{count}] table = {{ {items} }}> {{ y = local.Pick(x, table) }}
        <domain: \"local\", opset_import: [\"\": 21]>
        Pick (x, table) => (y) {{
            at = Constant <value_ints = [3]> ()
            shape = Gather(table, at)
            y = Expand(x, shape)
        }}"
    )
}

#[test]
fn a_constant_of_64_elements_goes_into_a_function() {
    assert_eq!(codes(&passed(64)), []);
    assert_eq!(type_of(&passed(64), "y"), "float[4]");
}

#[test]
fn a_constant_of_65_elements_is_reported() {
    assert_eq!(codes(&passed(65)), [Code::LimitReached]);
}

/// A function whose body needs `count` equal pairs of extents, called with symbols.
fn demands(count: usize) -> String {
    let inputs = list(count, |at| format!("float[a{at}] x{at}, float[b{at}] y{at}"), ", ");
    let given = list(count, |at| format!("x{at}, y{at}"), ", ");
    let taken = list(count, |at| format!("p{at}, q{at}"), ", ");
    let nodes = list(count, |at| format!("r{at} = MatMul(p{at}, q{at})"), "\n");
    let last = count - 1;
    format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"local\": 1]>
        g ({inputs}) => (z) {{ z = local.F({given}) }}
        <domain: \"local\", opset_import: [\"\": 21]>
        F ({taken}) => (r{last}) {{ {nodes} }}"
    )
}

#[test]
fn a_call_keeps_every_demand_of_its_function() {
    let bytes = parse_model(&demands(65)).expect("the text is a model").encode_to_vec();
    let checked = typeloom_ops::check::check(&bytes, &Options::default()).expect("the bytes are a model");
    assert_eq!(checked.equations().len(), 65);
}

/// A model with a loop that joins its state with `joined` in each of `count` iterations.
fn iterations(count: usize, joined: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[2] x) => (y)
        <int64 n = {{{count}}}>
        {{
            y = Loop (n, , x) <body = each (int64 i, bool go, v) => (bool next, w) {{
                next = Identity(go)
                w = Concat <axis = 0> (v, {joined})
            }}>
        }}"
    )
}

#[test]
fn a_loop_of_16_iterations_is_solved_one_by_one() {
    let text = iterations(16, "v");
    assert_eq!(codes(&text), []);
    assert_eq!(type_of(&text, "y"), "float[131072]");
}

#[test]
fn a_loop_of_17_iterations_is_reported() {
    assert_eq!(codes(&iterations(17, "v")), [Code::LimitReached]);
}

#[test]
fn a_loop_that_adds_the_same_is_followed_however_often_it_runs() {
    let text = iterations(100, "x");
    assert_eq!(codes(&text), []);
    assert_eq!(type_of(&text, "y"), "float[202]");
}

/// A model with `count` loops of 16 iterations that double their state.
fn loops(count: usize) -> String {
    let each = |at: usize| {
        format!(
            "y{at} = Loop (n, , x) <body = b{at} (int64 i{at}, bool g{at}, v{at}) => (bool h{at}, w{at}) {{
                h{at} = Identity(g{at})
                w{at} = Concat <axis = 0> (v{at}, v{at})
            }}>"
        )
    };
    let nodes = list(count, each, "\n");
    let outputs = list(count, |at| format!("y{at}"), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[2] x) => ({outputs}) <int64 n = {{16}}> {{ {nodes} }}"
    )
}

#[test]
fn loops_of_128_iterations_in_all_are_solved_one_by_one() {
    assert_eq!(codes(&loops(8)), []);
    assert_eq!(type_of(&loops(8), "y7"), "float[131072]");
    assert_eq!(codes(&loops(9)), [Code::LimitReached]);
    assert_eq!(type_of(&loops(9), "y8"), "float[?]");
}

/// A model with a loop whose state has `rank` axes. An iteration moves each extent one axis to the left and
/// doubles the last.
fn moving(rank: usize) -> String {
    let ones = list(rank, |_| "1".to_owned(), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[{ones}] x, int64 n) => (y)
        <int64[1] one = {{1}}, int64[1] back = {{-1}}, int64[1] end = {{{rank}}}, int64[1] zero = {{0}}>
        {{
            y = Loop (n, , x) <body = each (int64 i, bool go, v) => (bool next, w) {{
                next = Identity(go)
                shape = Shape(v)
                moved = Slice(shape, one, end, zero)
                last = Gather(shape, back)
                twice = Add(last, last)
                target = Concat <axis = 0> (moved, twice)
                w = ConstantOfShape(target)
            }}>
        }}"
    )
}

#[test]
fn a_carried_shape_is_widened_4_times() {
    assert_eq!(codes(&moving(4)), []);
    assert_eq!(type_of(&moving(4), "y"), "float[?, ?, ?, ?]");
    assert_eq!(codes(&moving(5)), [Code::LimitReached]);
    assert_eq!(type_of(&moving(5), "y"), "float[...]", "without a rank");
}

/// A model that uses the last item of a list as an extent, after `count` items that are known only at run
/// time.
fn behind(count: usize) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (int64[{count}] runtime, float x) => (y) <int64[1] three = {{3}}, int64[1] back = {{-1}}> {{
            all = Concat <axis = 0> (runtime, three)
            target = Gather(all, back)
            y = Expand(x, target)
        }}"
    )
}

#[test]
fn elements_behind_64_unknown_ones_are_followed() {
    assert_eq!(codes(&behind(64)), []);
    assert_eq!(type_of(&behind(64), "y"), "float[3]");
    assert_eq!(codes(&behind(65)), [Code::LimitReached]);
    assert_eq!(type_of(&behind(65), "y"), "float[?]");
}

/// A model with `count` conditions that are known only at run time.
fn conditions(count: usize) -> String {
    let inputs = list(count, |at| format!("bool c{at}"), ", ");
    let outputs = list(count, |at| format!("y{at}"), ", ");
    let branch = |at: usize| {
        format!(
            "y{at} = If (c{at}) <
                then_branch = t{at} () => (a{at}) {{ a{at} = Identity(x) }},
                else_branch = e{at} () => (b{at}) {{ b{at} = Concat <axis = 0> (x, x) }}
            >"
        )
    };
    let nodes = list(count, branch, "\n");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g ({inputs}, float[2] x) => ({outputs}) {{ {nodes} }}"
    )
}

#[test]
fn four_open_conditions_are_solved_case_by_case() {
    let text = conditions(4);
    assert_eq!(codes(&text), []);
    assert_eq!(type_of(&text, "y3"), "float[2|4]");
}

#[test]
fn a_fifth_open_condition_is_reported() {
    let (is_ok, found) = check(&conditions(5), Mode::Strict);
    assert!(is_ok);
    assert_eq!(found.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>(), [Code::LimitReached]);
}

/// A model whose output has as many elements as an input with `count` symbols.
fn product(count: usize) -> String {
    let axes = list(count, |at| format!("s{at}"), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[{axes}] x) => (y) {{ y = Flatten <axis = 0> (x) }}"
    )
}

#[test]
fn a_product_of_8_symbols_is_kept() {
    assert_eq!(codes(&product(8)), []);
    assert!(type_of(&product(8), "y").contains("s7"));
}

#[test]
fn a_product_of_9_symbols_is_reported() {
    assert_eq!(codes(&product(9)), [Code::LimitReached]);
    assert_eq!(type_of(&product(9), "y"), "float[1, ?]");
}

/// A model with `count` levels of nested graphs.
fn nested(count: usize) -> String {
    let mut text = "y0 = Relu(x)".to_owned();
    for depth in 1..count {
        text = format!(
            "y{depth} = If (c) <
                then_branch = t{depth} () => (y{before}) {{ {text} }},
                else_branch = e{depth} () => (n{depth}) {{ n{depth} = Identity(x) }}
            >",
            before = depth - 1
        );
    }
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (bool c, float[2] x) => (y{}) {{ {text} }}",
        count - 1
    )
}

#[test]
fn graphs_of_a_text_nest_32_deep() {
    assert_eq!(codes(&nested(32)), []);
    assert!(parse_model(&nested(33)).is_err());
}

/// Like [`nested`], without the limit of the textual syntax: each level is inserted into the next as a
/// message.
fn nested_message(count: usize) -> Vec<u8> {
    let mut model = parse_model(&nested(1)).expect("the text is a model");
    for depth in 1..count {
        let before = depth - 1;
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (bool c, float[2] x) => (y{depth}) {{
                y{depth} = If (c) <
                    then_branch = t{depth} () => (y{before}) {{ y{before} = Identity(x) }},
                    else_branch = e{depth} () => (n{depth}) {{ n{depth} = Identity(x) }}
                >
            }}"
        );
        let mut outer = parse_model(&text).expect("the text is a model");
        let inner = model.graph.take().expect("a model has a graph").node;
        let node = outer.graph.iter_mut().flat_map(|graph| &mut graph.node).next().expect("a node");
        let branch = node.attribute.iter_mut().find(|attribute| attribute.name() == "then_branch");
        branch.and_then(|branch| branch.g.as_mut()).expect("a branch").node = inner;
        model = outer;
    }
    model.encode_to_vec()
}

#[test]
fn graphs_nest_64_deep() {
    let codes = |count: usize| -> Vec<Code> {
        let bytes = nested_message(count);
        let found = match typeloom_ops::check::check(&bytes, &Options::default()) {
            Ok(mut checked) => diagnose(&mut checked),
            Err(error) => diagnose_error(&error).into_iter().collect(),
        };
        found.into_iter().map(|diagnostic| diagnostic.code).collect()
    };
    // The main graph is not nested.
    assert_eq!(codes(1 + 64), []);
    assert_eq!(codes(1 + 65), [Code::NestingTooDeep]);
}

/// A model that pools over `count` spatial axes.
fn pooled(count: usize) -> String {
    let axes = list(count, |_| "4".to_owned(), ", ");
    let kernel = list(count, |_| "2".to_owned(), ", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[1, 1, {axes}] x) => (y) {{ y = MaxPool <kernel_shape = [{kernel}]> (x) }}"
    )
}

#[test]
fn windows_slide_along_64_axes_at_most() {
    assert!(type_of(&pooled(62), "y").contains("3, 3"));
    assert!(!type_of(&pooled(63), "y").contains('3'));
}

/// A model that moves the elements of a constant of `count` elements, and takes one as an extent.
fn moved(count: usize) -> String {
    picked(count)
        .replace("int64[1] at", "int64[1] two = { 2 }, int64[1] at")
        .replace("Gather(table, at)", "Gather(twice, at)")
        .replace("shape = ", "twice = Tile(table, two) shape = ")
}

#[test]
fn elements_are_moved_up_to_4096_of_them() {
    assert_eq!(codes(&moved(2048)), []);
    assert_eq!(type_of(&moved(2048), "y"), "float[4]");
    assert_eq!(codes(&moved(2049)), [Code::LimitReached]);
    assert_eq!(type_of(&moved(2049), "y"), "float[?]");
}
