//! Models, texts and bundles built to exhaust the stack, the memory or the time limit.

use std::fmt::Write as _;

use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::type_proto::Value;
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::parse_model;
use typeloom_testing::number;

/// Length of the long chains.
const NODES: usize = 3_000;

/// Nesting depth far above every limit.
const LEVELS: usize = 10_000;

/// Serialized models by kind of attack.
pub(crate) fn models() -> Vec<(&'static str, Vec<u8>)> {
    let mut models = vec![
        ("graphs in graphs", nested(&[7], &[6, 5, 1], LEVELS)),
        ("graph lists in graphs", nested(&[7], &[11, 5, 1], LEVELS)),
        ("graphs in functions", nested(&[25], &[6, 5, 7], LEVELS)),
        ("sequences of sequences", nested(&[7, 11, 2], &[1, 4], LEVELS)),
        ("optionals of optionals", nested(&[7, 11, 2], &[1, 9], LEVELS)),
        ("maps of maps", nested(&[7, 13, 2], &[2, 5], LEVELS)),
        ("types in attributes", nested(&[7, 1, 5, 14], &[1, 4], LEVELS)),
        ("groups in groups", [0x0b].repeat(LEVELS)),
        ("closed groups", [[0x0b].repeat(LEVELS), [0x0c].repeat(LEVELS)].concat()),
        ("a length near 2^64", [&[0x3a][..], &[0xff; 9], &[1]].concat()),
        ("a length of 2^62", [&[0x3a][..], &[0x80; 8], &[0x40]].concat()),
        ("a tensor with a false length of its data", {
            let tensor = [&[0x4a][..], &[0x80, 0x80, 0x80, 0x80, 0x40, 0]].concat();
            wrap(&[7, 5], tensor)
        }),
        ("packed dims that are cut off", wrap(&[7, 5], [&[0x0a, 5][..], &[0xff; 5]].concat())),
    ];
    let mut add = |name, text: String| {
        models.push((
            name,
            typeloom_onnx::text::model_bytes(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
        ));
    };
    graphs(&mut add);
    growing(&mut add);
    functions(&mut add);
    // Depths around every limit, to cover the deepest accepted inputs.
    for levels in [15, 16, 30, 31, 32, 33, 48, 49, 50, 63, 64, 65, 66, 98, 99, 100, 101] {
        models.push(("types about as deep as allowed", nested(&[7, 11, 2], &[1, 4], levels)));
        models.push(("maps about as deep as allowed", nested(&[7, 11, 2], &[2, 5], levels)));
        models.push((
            "groups about as deep as allowed",
            [[0x0b].repeat(levels), [0x0c].repeat(levels)].concat(),
        ));
        models.push(("branches about as deep as allowed", branches(levels)));
    }
    for (name, dims) in [
        ("an initializer of 2^64 elements", vec![1_i64 << 62, 4]),
        ("an initializer of 2^40 elements", vec![1 << 40]),
        ("an initializer of negative extent", vec![-1, i64::MIN]),
        ("an initializer of 10,000 dims", vec![2; LEVELS]),
    ] {
        models.push((name, claims(&dims)));
    }
    for (name, dim) in [
        ("dims in parentheses", format!("{}N{}", "(".repeat(LEVELS), ")".repeat(LEVELS))),
        ("dims in open parentheses", "(".repeat(LEVELS)),
        ("dims negated", format!("{}N", "-".repeat(LEVELS))),
        ("dims in functions", format!("{}N{}", "max(".repeat(LEVELS), ",1)".repeat(LEVELS))),
        ("a sum of dims", (0..LEVELS).map(|at| format!("N{at} + ")).collect::<String>() + "1"),
        ("a product of sums", "(N + M) * ".repeat(LEVELS) + "1"),
        (
            "a product of different sums",
            (0..200).map(|at| format!("(N{at} + M{at}) * ")).collect::<String>() + "1",
        ),
        ("a long number", "9".repeat(LEVELS)),
        ("divisions", "N // ".repeat(LEVELS) + "0"),
        ("nested divisions", "((N + 1) // 2 + M) // 3 % ".repeat(500) + "0"),
    ] {
        models.push((name, extent(&dim)));
    }
    models
}

fn head() -> &'static str {
    r#"<ir_version: 10, opset_import: ["" : 21, "l" : 1]>"#
}

/// Cycles, nesting, and constants that request excessive memory.
fn graphs(add: &mut impl FnMut(&'static str, String)) {
    let head = head();
    add("a cycle", format!("{head} g () => (a) {{ a = Relu(b) b = Relu(a) c = Relu(c) }}"));
    let mut long = String::new();
    for at in 0..NODES {
        let _ = write!(long, "v{at} = Relu(v{}) ", (at + 1) % NODES);
    }
    add("a long cycle", format!("{head} g () => (v0) {{ {long} }}"));
    let wide: String = (0..1000)
        .map(|at| format!("w{at} = Add(w{}, w{}) ", (at * 7 + 1) % 1000, (at * 13 + 5) % 1000))
        .collect();
    add("a knot of cycles", format!("{head} g () => (w0) {{ {wide} }}"));
    add(
        "a loop without end",
        format!(
            "{head} g (float[N] x) => (l, s) <int64 m = {{9223372036854775807}}, bool c = {{1}}> {{ l, s = Loop(m, c, x) \
         <body = b (int64 i, bool k, float[P] p) => (k2, q, o) {{ k2 = Identity(k) q = Concat <axis = 0> (p, p) o = Relu(q) }}> }}"
        ),
    );
    let operators = [
        "y = ConstantOfShape(huge) s = Shape(y) z = Reshape(y, minus) e = Expand(y, tera)",
        "y = ConstantOfShape <value = int64[1] {3}> (tera) z = Reshape(x, y) t = Tile(y, tera)",
        "y = Range(zero, most, one) z = Expand(x, y) w = Range(least, most, one) v = Range(zero, one, zero)",
        "y = Range(most, least, minus0) z = Range(zero, tera0, one) w = Reshape(x, z) u = Gather <axis = 0> (z, most)",
        "y = Tile(tera, tera) z = Reshape(x, y) w = Tile(y, tera) v = Tile(x, tera)",
        "y = Expand(one1, tera) z = ConstantOfShape(y) w = Expand(y, huge)",
        "y = Pad(one1, wild) z = ConstantOfShape(y) w = Pad(x, wild) v = Pad(one1, mosts) u = Expand(x, v)",
        "y = Reshape(x, huge) z = Reshape(y, minus) w = Reshape(x, wild)",
        "y = Constant <value = int64[1099511627776] {}> () z = Expand(x, y) w = Reshape(x, y)",
        "y = Slice(tera, wild, wild, zero1, wild) z = Slice(x, leasts, mosts, zero1, leasts) w = Slice(one1, leasts, mosts, zero1, minus)",
        "y = Constant <value_ints = [9223372036854775807, 2]> () z = Mul(y, y) w = ConstantOfShape(z) v = Add(y, y) u = Expand(x, v)",
        "y = Div(leasts, minus) z = ConstantOfShape(y) w = Mod(leasts, minus) v = Neg(leasts) u = Abs(leasts) t = Sub(leasts, mosts) r = Div(leasts, zero1) q = Pow(mosts, mosts) p = BitShift <direction = \"LEFT\"> (mosts, mosts)",
        "y = Split <num_outputs = 9223372036854775807> (x) a, b = Split(x, wild) c, d = Split <axis = -9223372036854775808> (x)",
        "y = ReduceSum(mosts) z = ReduceProd(mosts) w = CumSum(mosts, zero) v = Concat <axis = 0> (tera, huge, wild) u = ConstantOfShape(v)",
        "y = Unsqueeze(x, tera) z = Unsqueeze(x, wild) w = Squeeze(x, tera) v = Transpose <perm = [9223372036854775807, -1]> (x)",
        "y = OneHot(tera, most, wild) z = OneHot <axis = 9223372036854775807> (x, most, wild) w = EyeLike <k = -9223372036854775808> (x) a, b = TopK(x, mosts)",
    ];
    for body in operators {
        add(
            "gigantic constants",
            format!(
                "{head} g (float[N, 4] x) => () <int64[2] huge = {{4611686018427387904, 4}}, int64[1] tera = {{1099511627776}}, \
             int64[1] minus = {{-1}}, int64 minus0 = {{-1}}, int64 zero = {{0}}, int64 one = {{1}}, int64[1] one1 = {{1}}, int64[1] zero1 = {{0}}, \
             int64 most = {{9223372036854775807}}, int64 least = {{-9223372036854775808}}, int64 tera0 = {{1099511627776}}, \
             int64[1] mosts = {{9223372036854775807}}, int64[1] leasts = {{-9223372036854775808}}, \
             int64[2] wild = {{9223372036854775807, -9223372036854775808}}> {{ {body} }}"
            ),
        );
    }
}

/// Chains in which a type or value grows with every node.
fn growing(add: &mut impl FnMut(&'static str, String)) {
    let head = head();
    let mut chain = |name, inputs: &str, constants: &str, count: usize, node: &dyn Fn(usize) -> String| {
        let body: String = (0..count).map(node).collect();
        add(name, format!("{head} g ({inputs}) => (v{count}) <{constants}> {{ {body} }}"));
    };
    chain("dims that double", "float[N, M] v0", "", 300, &|at| {
        format!("v{} = Concat <axis = 0> (v{at}, v{at}) ", at + 1)
    });
    chain("constants that double", "", "int64[2] v0 = {2, 3}", 80, &|at| {
        format!("v{} = Concat <axis = 0> (v{at}, v{at}) ", at + 1)
    });
    chain("constants that are tiled", "", "int64[2] v0 = {2, 3}, int64[1] k = {64}", 20, &|at| {
        format!("v{} = Tile(v{at}, k) ", at + 1)
    });
    chain("dims that are squared", "float[N, M] x", "int64[1] one = {1}", 200, &|at| match at {
        0 => "v1 = Shape(x) ".to_owned(),
        _ => {
            format!("w{at} = Mul(v{at}, v{at}) v{} = Add(w{at}, one) r{at} = ConstantOfShape(w{at}) ", at + 1)
        }
    });
    chain("dims that are divided", "float[N, M] x", "int64[1] k = {3}", number(40, 100), &|at| match at {
        0 => "v1 = Shape(x) ".to_owned(),
        _ => format!(
            "w{at} = Div(v{at}, k) u{at} = Mod(v{at}, w{at}) v{} = Add(w{at}, u{at}) r{at} = ConstantOfShape(v{at}) ",
            at + 1
        ),
    });
    chain("ranks that double", "float[N] x", "int64[1] zero = {0}", 60, &|at| match at {
        0 => "v1 = Shape(x) ".to_owned(),
        _ => format!("v{} = Concat <axis = 0> (v{at}, v{at}) r{at} = ConstantOfShape(v{at}) ", at + 1),
    });
    chain("optionals of optionals", "float[N] v0", "", NODES, &|at| {
        format!("v{} = Optional(v{at}) ", at + 1)
    });
    chain("sequences of sequences", "float[N] v0", "", NODES, &|at| {
        format!("v{} = SequenceConstruct(v{at}) ", at + 1)
    });
    chain("a long chain", "float[N] v0", "", NODES, &|at| format!("v{} = Relu(v{at}) ", at + 1));
    chain("a long chain with an error", "float[N] x", "", NODES, &|at| match at {
        0 => "v1 = Cast <to = 7> (x) ".to_owned(),
        2000 => "v2001 = Add(v2000, x) ".to_owned(),
        _ => format!("v{} = Identity(v{at}) ", at + 1),
    });
    chain("ranks that grow", "float[N] v0", "int64[1] zero = {0}", number(400, 1000), &|at| {
        format!("v{} = Unsqueeze(v{at}, zero) ", at + 1)
    });
}

/// Functions that call each other.
fn functions(add: &mut impl FnMut(&'static str, String)) {
    let head = head();
    let mut calls = |name, count: usize, body: &dyn Fn(usize) -> String, last: &str| {
        let mut text = format!("{head} g (float[N, 4] x) => (y) {{ y = l.f0(x) }}\n");
        for at in 0..count {
            let body = if at + 1 == count { last.to_owned() } else { body(at + 1) };
            let _ = writeln!(
                text,
                "<domain: \"l\", opset_import: [\"\" : 21, \"l\" : 1]> f{at} (a) => (c) {{ {body} }}"
            );
        }
        add(name, text);
    };
    calls("a function that calls itself", 1, &|_| String::new(), "c = l.f0(a)");
    calls("functions that call each other", 2, &|_| "c = l.f1(a)".into(), "c = l.f0(a)");
    calls("a long circle of functions", 1500, &|next| format!("c = l.f{next}(a)"), "c = l.f0(a)");
    calls(
        "functions that call the next twice",
        number(100, 300),
        &|next| format!("b = l.f{next}(a) c = l.f{next}(b)"),
        "c = Relu(a)",
    );
    calls(
        "functions that call the next with other shapes",
        number(16, 80),
        &|next| {
            format!(
                "d = Concat <axis = 0> (a, a) b = l.f{next}(d) e = l.f{next}(a) c = Concat <axis = 0> (b, e)"
            )
        },
        "c = Relu(a)",
    );
    calls(
        "functions that call the next with other ranks",
        number(12, 40),
        &|next| {
            format!(
                "z = Constant <value_ints = [0]> () d = Unsqueeze(a, z) b = l.f{next}(d) e = l.f{next}(a) c = Identity(b)"
            )
        },
        "c = Relu(a)",
    );
    calls("a long chain of functions", 1500, &|next| format!("c = l.f{next}(a)"), "c = Relu(a)");
    calls(
        "a long chain of functions with an error at its end",
        1500,
        &|next| format!("c = l.f{next}(a)"),
        "c = Not(a)",
    );
    calls(
        "functions with an error that call the next twice",
        number(100, 300),
        &|next| format!("b = l.f{next}(a) n = Not(a) c = l.f{next}(b)"),
        "c = Not(a)",
    );
    let in_branch = |callee: usize| {
        format!(
            "k = Constant <value = bool {{1}}> () c = If(k) <then_branch = t () => (p) {{ p = l.f{callee}(a) }}, \
             else_branch = e () => (q) {{ q = Relu(a) }}>"
        )
    };
    calls("a function that calls itself in a branch", 1, &in_branch, &in_branch(0));
    calls("functions that call each other in branches", 3, &in_branch, &in_branch(0));
    calls("a long chain of functions that call in branches", number(500, 1500), &in_branch, "c = Relu(a)");
    calls(
        "functions that call the next with a large attribute",
        20,
        &|next| {
            format!("b = l.f{next}(a) d = l.f{next}(b) c = Einsum <equation = \"{}\"> (d)", "a".repeat(2000))
        },
        "c = Relu(a)",
    );
    calls(
        "functions that call in branches",
        60,
        &|next| {
            format!(
                "k = Constant <value = bool {{1}}> () c = If(k) <then_branch = t () => (p) {{ p = l.f{next}(a) }}, \
         else_branch = e () => (q) {{ r = Neg(a) q = l.f{next}(r) }}>"
            )
        },
        "c = Relu(a)",
    );
}

/// Texts for the parser.
pub(crate) fn texts() -> Vec<(&'static str, String)> {
    let graph = "g (float x) => () { y = If(x) <b = ".repeat(LEVELS);
    vec![
        ("sequences", format!("{} g ({}float) => () {{}}", head(), "seq(".repeat(LEVELS))),
        ("types", "optional(".repeat(LEVELS)),
        ("graphs", format!("{} {graph}", head())),
        ("lists", format!("{} g () => () {{ y = F <a = {}>() }}", head(), "[".repeat(LEVELS))),
        ("annotations", "@{".repeat(LEVELS)),
        ("a string without end", "\"".to_owned() + &"\\\"".repeat(LEVELS)),
        ("dims", format!("{} g (float[{}N] x) => () {{}}", head(), "(".repeat(LEVELS))),
        (
            "closed dims",
            format!("{} g (float[{}N{}] x) => () {{}}", head(), "(".repeat(LEVELS), ")".repeat(LEVELS)),
        ),
        (
            "a huge constant",
            format!(
                "{} g () => () <int64[1099511627776] a = {{1}}, float[4611686018427387904, 4] b = {{}}> {{}}",
                head()
            ),
        ),
        ("many lines", "\n".repeat(100_000)),
    ]
}

/// Bundles: those of the pool's golden tests, and nested JSON.
pub(crate) fn bundles() -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/pool/tests/golden");
    let mut bundles: Vec<_> = std::fs::read_dir(folder)
        .expect("the pool has golden bundles")
        .map(|entry| entry.expect("a folder can be listed").path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a bundle can be read")))
        .collect();
    bundles.sort();
    bundles.push(("lists".to_owned(), b"[".repeat(100_000)));
    bundles.push(("objects".to_owned(), b"{\"types\":".repeat(LEVELS)));
    bundles
}

/// `levels` repetitions of the fields `cycle` (innermost first) inside the fields `outer` (outermost first).
/// Builds the bytes from the end, in linear time.
fn nested(outer: &[u32], cycle: &[u32], levels: usize) -> Vec<u8> {
    let mut reversed: Vec<u8> = Vec::new();
    let numbers = (0..levels).flat_map(|_| cycle.iter().copied());
    for number in numbers.chain(outer.iter().rev().copied()) {
        let mut header = varint(u64::from(number) << 3 | 2);
        header.extend(varint(reversed.len() as u64));
        reversed.extend(header.iter().rev());
    }
    reversed.reverse();
    reversed
}

/// `core` inside the fields `outer`, outermost first.
fn wrap(outer: &[u32], core: Vec<u8>) -> Vec<u8> {
    outer.iter().rev().fold(core, |inner, number| {
        let mut bytes = varint(u64::from(*number) << 3 | 2);
        bytes.extend(varint(inner.len() as u64));
        bytes.extend(inner);
        bytes
    })
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A model with an initializer, a constant and a sparse initializer of these dims, all without data, used as
/// shapes and values.
fn claims(dims: &[i64]) -> Vec<u8> {
    let text = format!(
        "{} g (float[N] x) => () <int64[1] a = {{1}}, float[1] b = {{1}}, sparse_tensor(float[9]) s = (float[1] {{1}}, int64[1] {{3}})> \
         {{ c = Constant <value = int64[1] {{1}}> () y = Reshape(x, a) z = Reshape(x, c) w = Add(b, x) v = ConstantOfShape(c) \
         u = Mul(s, x) t = ConstantOfShape <value = float[1] {{1}}> (a) r = Tile(a, a) q = Gather <axis = 0> (a, c) }}",
        head()
    );
    let mut model = parse_model(&text).expect("the model can be parsed");
    let graph = model.graph.as_mut().expect("the model has a graph");
    let constants = graph
        .node
        .iter_mut()
        .flat_map(|node| &mut node.attribute)
        .filter_map(|attribute| attribute.t.as_deref_mut());
    for tensor in graph.initializer.iter_mut().chain(constants) {
        tensor.dims = dims.to_vec();
        tensor.int64_data.clear();
        tensor.float_data.clear();
    }
    graph.sparse_initializer.iter_mut().for_each(|sparse| sparse.dims = dims.to_vec());
    model.encode_to_vec()
}

/// `If` inside `If`, each of which reads values of the enclosing graphs.
fn branches(levels: usize) -> Vec<u8> {
    let text = format!(
        "{} g (float[N] x, bool k) => (y) {{ y = If(k) <then_branch = t () => (p) {{ p = Add(x, x) }}, \
         else_branch = e () => (q) {{ q = Not(x) }}> }}",
        head()
    );
    let mut model = parse_model(&text).expect("the model can be parsed");
    let Some(graph) = model.graph.as_mut() else { return Vec::new() };
    let template = graph.node.clone();
    for level in 0..levels {
        let mut node = template[0].clone();
        node.output = vec![format!("y{level}")];
        let inner = std::mem::replace(&mut graph.node, vec![node]);
        let branch = graph.node[0].attribute.iter_mut().find_map(|attribute| attribute.g.as_deref_mut());
        if let Some(branch) = branch {
            branch.output[0].name = inner[0].output.first().cloned().into();
            branch.node = inner;
        }
    }
    graph.output[0].name = graph.node[0].output.first().cloned().into();
    model.encode_to_vec()
}

/// A model with inputs of this extent.
fn extent(dim: &str) -> Vec<u8> {
    let text = format!(
        "{} g (float[N, 4] x, float[N, 4] y) => (w) {{ z = Add(x, y) v = Concat <axis = 0> (z, x) s = Shape(v) w = Reshape(v, s) }}",
        head()
    );
    let mut model = parse_model(&text).expect("the model can be parsed");
    let graph = model.graph.as_mut().expect("the model has a graph");
    for input in &mut graph.input {
        let Some(Value::TensorType(tensor)) = input.r#type.as_mut().and_then(|ty| ty.value.as_mut()) else {
            continue;
        };
        if let Some(extent) = tensor.shape.as_mut().and_then(|shape| shape.dim.first_mut()) {
            extent.value = Some(dimension::Value::DimParam(dim.to_owned()));
        }
    }
    model.encode_to_vec()
}
