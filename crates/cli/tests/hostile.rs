//! Hostile input to the command: names with terminal sequences or workflow commands, recursive functions,
//! files of special kinds, and runs that exceed their budget.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use typeloom_project::parts::onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_project::parts::onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto, Text, TypeProto,
    ValueInfoProto, type_proto,
};
use typeloom_project::parts::onnx::prost::Message as _;
use typeloom_testing::number;

/// A terminal escape sequence, a workflow command of GitHub, and characters that reverse or hide text.
const HOSTILE: &str = "a\u{1b}[31m\r\n::error file=x::owned\u{202e}\u{200b}\u{9b}b";

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-hostile-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder is made");
        Self(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("the file is written");
        path.display().to_string()
    }

    fn model(&self, name: &str, text: &str) -> String {
        self.write(
            name,
            &typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model"),
        )
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn typeloom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_typeloom")).args(arguments).output().expect("the command starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The hostile name with a number, so that names differ.
fn name(number: usize) -> String {
    format!("{HOSTILE}{number}")
}

fn value(name: &str, elem: i32, symbol: &str) -> ValueInfoProto {
    let dim =
        Dimension { value: Some(dimension::Value::DimParam(symbol.to_owned())), ..Dimension::default() };
    let shape = TensorShapeProto { dim: vec![dim], ..TensorShapeProto::default() };
    let tensor =
        type_proto::Tensor { elem_type: Some(elem), shape: Some(shape), ..type_proto::Tensor::default() };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: name.into(), r#type: Some(ty), ..ValueInfoProto::default() }
}

fn node(domain: &str, operator: &str, at: usize, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        domain: domain.into(),
        op_type: operator.into(),
        name: name(at).into(),
        input: own(inputs),
        output: own(outputs),
        doc_string: HOSTILE.into(),
        ..NodeProto::default()
    }
}

fn model(graph: GraphProto, functions: Vec<FunctionProto>) -> Vec<u8> {
    let import = |domain: &str, version| OperatorSetIdProto {
        domain: domain.into(),
        version: Some(version),
        ..OperatorSetIdProto::default()
    };
    ModelProto {
        ir_version: Some(10),
        graph: Some(graph),
        functions,
        opset_import: vec![import("", 21), import(HOSTILE, 1)],
        producer_name: HOSTILE.into(),
        ..ModelProto::default()
    }
    .encode_to_vec()
}

/// Models in which every name is hostile: a correct model, one with errors of several kinds, a recursive one,
/// and one whose run fails.
fn models() -> Vec<(&'static str, Vec<u8>)> {
    let [x, y, z, w] = [0, 1, 2, 3].map(name);
    let (n, m) = (name(10), name(11));
    let own = Text::from(HOSTILE);
    let function = |body: Vec<NodeProto>| FunctionProto {
        domain: own.clone(),
        name: name(20).into(),
        input: vec![x.clone()],
        output: vec![y.clone()],
        node: body,
        opset_import: vec![
            OperatorSetIdProto { domain: own.clone(), version: Some(1), ..OperatorSetIdProto::default() },
            OperatorSetIdProto { version: Some(21), ..OperatorSetIdProto::default() },
        ],
        ..FunctionProto::default()
    };
    let called = node(HOSTILE, &name(20), 30, &[&x], &[&y]);
    let graph = |node: Vec<NodeProto>| GraphProto {
        name: own.clone(),
        doc_string: own.clone(),
        node,
        input: vec![value(&x, 1, &n)],
        output: vec![value(&y, 1, &n)],
        ..GraphProto::default()
    };
    let correct = graph(vec![node("", "Relu", 31, &[&x], &[&z]), node("", "Relu", 32, &[&z], &[&y])]);
    let mut ill = graph(vec![
        node("", "Add", 33, &[&x, &z], &[&y]),
        node("", &name(21), 34, &[&w], &[&name(4)]),
        node("", "Relu", 35, &[&name(5)], &[&name(6)]),
        node("", "Reshape", 36, &[&x, &x], &[&name(7)]),
    ]);
    ill.input.push(value(&z, 7, &m));
    let mut forced = graph(vec![node("", "Add", 37, &[&x, &z], &[&y])]);
    forced.input.push(value(&z, 1, &m));
    let mut failing = graph(vec![node("", "Div", 38, &[&x, &z], &[&y])]);
    failing.input = vec![value(&x, 7, &n), value(&z, 7, &n)];
    failing.output = vec![value(&y, 7, &n)];
    vec![
        ("correct", model(correct, Vec::new())),
        ("ill", model(ill, Vec::new())),
        ("forced", model(forced, Vec::new())),
        ("failing", model(failing, Vec::new())),
        (
            "function",
            model(graph(vec![called.clone()]), vec![function(vec![node("", "Not", 40, &[&x], &[&y])])]),
        ),
        ("recursive", model(graph(vec![called.clone()]), vec![function(vec![called])])),
    ]
}

/// Asserts that the output contains no control characters, and no line that starts with text of a model.
fn assert_safe(what: &str, output: &Output) {
    let shown = text(output);
    let unsafe_char =
        shown.chars().find(|c| *c != '\n' && typeloom_project::parts::onnx::text::is_unsafe(*c));
    assert_eq!(unsafe_char, None, "{what}: {shown:?}");
    for line in shown.lines() {
        assert!(!line.trim_start().starts_with("::error file=x"), "{what}: {shown}");
    }
}

#[test]
fn text_of_a_model_is_escaped_by_every_command() {
    let folder = Folder::new("names");
    let value = name(0);
    for (at, (kind, bytes)) in models().into_iter().enumerate() {
        let file = folder.write(&format!("{kind}.onnx"), &bytes);
        let other = folder.write("other.onnx", &models()[0].1);
        let out = folder.0.join("out").display().to_string();
        let (seed, assume) = (format!("{}=float[{HOSTILE}]", name(9)), format!("{HOSTILE}=3"));
        let commands: &[&[&str]] = &[
            &["check", &file],
            &["check", "--format", "concise", &file],
            &["check", "--format", "json", &file],
            &["check", "--format", "sarif", &file],
            &["check", "--format", "github", &file],
            &["check", "--permissive", &file],
            &["check", "--seed", &seed, &file],
            &["check", "--assume", &assume, &file],
            &["infer", &file],
            &["infer", "--format", "json", &file],
            &["explain", &file, &value],
            &["explain", &file, HOSTILE],
            &["explain", HOSTILE],
            &["fix", "--dry-run", &file],
            &["fix", "--dry-run", "--format", "json", &file],
            &["annotate", &file, "-o", &out],
            &["specialize", "--assume", &assume, &file, "--force", "-o", &out],
            &["specialize", &file, "--force", "--format", "json", "-o", &out],
            &["convert", "--to", "float16", "--keep", HOSTILE, "--dry-run", &file],
            &["convert", "--to", "float16", "--dry-run", "--format", "json", &file],
            &["cost", &file],
            &["cost", "--solve", HOSTILE, "--memory", "4GB", &file],
            &["describe", &file],
            &["describe", "--format", "json", &file],
            &["diff", &file, &other],
            &["diff", &other, &file],
            &["diff", "--format", "json", &other, &file],
            &["compile", &file, "-o", &out],
            &["compile", "--permissive", "--after", "stamp-types", &file],
            &["compile", "--after", HOSTILE, &file],
            &["run", &file],
            &["run", "--verify", "--permissive", &file],
            &["run", "--size", &assume, &file],
            &["run", "--input", &format!("{}=none.npy", name(9)), &file],
            &["ops", HOSTILE],
        ];
        // Each command gets two of the models in a short run.
        for arguments in commands.iter().skip(at % number(3, 1)).step_by(number(3, 1)) {
            assert_safe(&format!("{kind}: {arguments:?}"), &typeloom(arguments));
        }
    }
}

#[test]
fn names_of_files_and_operator_files_are_escaped() {
    let folder = Folder::new("files");
    let missing = folder.0.join(name(1)).display().to_string();
    let correct = folder.write("correct.onnx", &models()[0].1);
    let lines = [
        format!("typeloom-operators 1\nop \u{1b}[31m\u{202e}{}", "1\n"),
        "typeloom-operators 1\ndomain \u{202e} 1\nop A\u{1b}[31m 1\n  in \u{200b} T\n".to_owned(),
        HOSTILE.to_owned(),
        "typeloom-operators 1\ndomain d\u{202e} 1\nop A\u{200b} 1\n  type T tensor(float)\n  in x T\n"
            .to_owned(),
    ];
    for command in ["check", "infer", "describe", "compile", "run"] {
        assert_safe(command, &typeloom(&[command, &missing]));
    }
    for (at, line) in lines.iter().enumerate() {
        let operators = folder.write(&format!("{at}.txt"), line.as_bytes());
        assert_safe(line, &typeloom(&["check", &correct, "--ops", &operators]));
        assert_safe(line, &typeloom(&["ops", "--ops", &operators]));
    }
    assert_safe("operators", &typeloom(&["check", &correct, "--ops", &missing]));
    if cfg!(unix) {
        let file = folder.write(&format!("{}.onnx", HOSTILE.replace('/', "")), &models()[1].1);
        for format in ["human", "concise", "json", "sarif", "github", "markdown", "junit"] {
            assert_safe(format, &typeloom(&["check", "--format", format, &file]));
        }
        assert_safe("fix", &typeloom(&["fix", "--dry-run", &file]));
        assert_safe("fix", &typeloom(&["fix", "-o", &format!("{file}.fixed"), &file]));
    }
}

#[test]
fn a_function_that_calls_itself_is_reported_with_its_path() {
    let folder = Folder::new("recursion");
    let head = r#"<ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (y) { y = l.f(x) }"#;
    let function = |name: &str, body: &str| {
        format!(r#"<domain: "l", opset_import: ["": 21, "l": 1]> {name} (a) => (c) {{ {body} }}"#)
    };
    let branch = |callee: &str| {
        format!(
            "k = Constant <value = bool {{1}}> () c = If(k) <then_branch = t () => (p) {{ p = l.{callee}(a) }}, \
             else_branch = e () => (q) {{ q = Relu(a) }}>"
        )
    };
    let direct = format!("{head} {}", function("f", &branch("f")));
    let mutual = format!("{head} {} {}", function("f", "c = l.g(a)"), function("g", &branch("f")));
    let unreached = format!(
        "{} {} {}",
        head.replace("l.f(x)", "Relu(x)"),
        function("f", &branch("f")),
        function("h", "c = Relu(a)")
    );
    for (name, model, path) in [("direct", direct, "`f` -> `f`"), ("mutual", mutual, "`f` -> `g` -> `f`")] {
        let file = folder.model(&format!("{name}.onnx"), &model);
        for command in ["compile", "check", "run", "describe"] {
            let output = typeloom(&[command, &file]);
            assert_eq!(output.status.code(), Some(1), "{command} {name}: {}", text(&output));
            let shown = text(&output);
            assert!(
                shown.contains("error[recursive-function]") && shown.contains(path),
                "{command}: {shown}"
            );
        }
    }
    let file = folder.model("unreached.onnx", &unreached);
    let output = typeloom(&["compile", &file]);
    assert!(output.status.success(), "{}", text(&output));
}

/// A model without inputs and with one output of unknown rank.
fn program(initializers: &str, nodes: &str) -> String {
    format!(r#"<ir_version: 10, opset_import: ["": 21]> g () => (y) <{initializers}> {{ {nodes} }}"#)
}

#[test]
fn a_run_that_exceeds_its_budget_ends_with_an_error() {
    let folder = Folder::new("budget");
    let body = |nodes: &str| {
        format!(
            "l = Loop(m, go, x) <body = b (int64 i, bool k, p) => (k2, o) {{ k2 = Identity(k) {nodes} }}> y = Identity(l)"
        )
    };
    let forever = "int64 m = {9223372036854775807}, bool go = {1}, float[1] x = {1}";
    let memory: &[(&str, &str, &str)] = &[
        ("fill", "int64[1] s = {1000000000}", "y = ConstantOfShape <value = float[1] {1}> (s)"),
        ("expand", "float[1] x = {1}, int64[1] s = {1000000000}", "y = Expand(x, s)"),
        ("tile", "float[1] x = {1}, int64[1] s = {1000000000}", "y = Tile(x, s)"),
        ("range", "int64 a = {0}, int64 b = {1000000000}, int64 c = {1}", "y = Range(a, b, c)"),
        ("onehot", "int64[1] i = {0}, int64 d = {1000000000}, float[2] v = {0, 1}", "y = OneHot(i, d, v)"),
        ("pad", "float[1] x = {1}, int64[2] p = {0, 100000000}", "y = Pad(x, p)"),
        ("resize", "float[1, 1, 1] x = {1}, float[3] s = {1, 1, 1000000000}", "y = Resize(x, , s)"),
        ("random", "", "y = RandomNormal <shape = [10000, 10000]> ()"),
        (
            "eye",
            "int64[2] s = {12000, 12000}",
            "z = ConstantOfShape <value = uint8[1] {0}> (s) y = EyeLike(z)",
        ),
        ("grow", forever, &body("o = Concat <axis = 0> (p, p)")),
        ("sequence", forever, &body("s = SequenceConstruct(p, p) o = ConcatFromSequence <axis = 0> (s)")),
        (
            "strings",
            "int64 m = {100}, bool go = {1}, string[1] x = {\"ab\"}",
            &body("o = StringConcat(p, p)"),
        ),
    ];
    for (name, initializers, nodes) in memory {
        let file = folder.model(&format!("{name}.onnx"), &program(initializers, nodes));
        let output = typeloom(&["run", "--permissive", "--max-memory", "64M", &file]);
        let shown = text(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {shown}");
        assert!(shown.contains("of the 67108864 bytes"), "{name}: {shown}");
        assert!(shown.contains("--max-memory"), "{name}: {shown}");
    }
    let steps: &[(&str, &str, &str)] = &[
        ("endless", forever, &body("o = Relu(p)")),
        (
            "nested",
            forever,
            &body(
                "o = Loop(m, go, p) <body = c (int64 j, bool k3, p2) => (k4, o2) { k4 = Identity(k3) o2 = Neg(p2) }>",
            ),
        ),
        // Each iteration reads more than the one before, and writes in place.
        ("large", &forever.replace("float[1] x = {1}", "int64[1] s = {100000}"), &{
            let filled = format!("x = ConstantOfShape(s) {}", body("o = Relu(p)"));
            filled
        }),
    ];
    for (name, initializers, nodes) in steps {
        let file = folder.model(&format!("{name}.onnx"), &program(initializers, nodes));
        let output = typeloom(&["run", "--permissive", "--max-steps", "10000", &file]);
        let shown = text(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {shown}");
        assert!(shown.contains("more steps than the limit of 10000"), "{name}: {shown}");
    }
    let tree: String = (0..30)
        .map(|at| {
            let body = if at == 29 {
                "c = Relu(a)".to_owned()
            } else {
                format!("b = l.f{0}(a) c = l.f{0}(b)", at + 1)
            };
            format!(r#"<domain: "l", opset_import: ["": 21, "l": 1]> f{at} (a) => (c) {{ {body} }} "#)
        })
        .collect();
    let head = r#"<ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (y) { y = l.f0(x) }"#;
    let file = folder.model("tree.onnx", &format!("{head} {tree}"));
    let output = typeloom(&["run", "--max-steps", "10000", &file]);
    assert!(text(&output).contains("more steps than the limit of 10000"), "{}", text(&output));
}

#[test]
fn inputs_that_are_made_up_are_within_the_budget() {
    let folder = Folder::new("inputs");
    let model =
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[100000, 1000] x) => (y) { y = Relu(x) }"#;
    let file = folder.model("input.onnx", model);
    let output = typeloom(&["run", "--max-memory", "64M", &file]);
    assert!(
        !output.status.success() && text(&output).contains("too large to be generated"),
        "{}",
        text(&output)
    );
}

#[cfg(unix)]
#[test]
fn special_files_are_refused_before_they_are_opened() {
    let folder = Folder::new("special");
    let pipe = folder.0.join("pipe.onnx");
    let array = folder.0.join("pipe.npy");
    // Opening a pipe without a writer would block without limit.
    let made = Command::new("mkfifo").args([&pipe, &array]).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let pipe = pipe.display().to_string();
    let correct = folder.write("correct.onnx", &models()[0].1);
    let input = format!("{}={}", name(0), array.display());
    let commands: &[&[&str]] = &[
        &["check", &pipe],
        &["infer", &pipe],
        &["explain", &pipe, "x"],
        &["run", &pipe],
        &["run", &correct, "--input", &input],
        &["fix", "--dry-run", &pipe],
        &["annotate", "-o", "-", &pipe],
        &["describe", &pipe],
        &["diff", &pipe, &correct],
        &["compile", &pipe],
        &["check", &correct, "--ops", &pipe],
        &["rust", "describe", &pipe],
    ];
    for arguments in commands {
        let output = typeloom(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains("it is a named pipe, not a file"), "{arguments:?}: {}", text(&output));
    }
    let output = typeloom(&["check", "/dev/zero"]);
    assert!(text(&output).contains("it is a device, not a file"), "{}", text(&output));
    assert!(Path::new(&pipe).exists());
}

#[test]
fn names_and_symbols_longer_than_a_column_are_printed() {
    let folder = Folder::new("long");
    let (long, symbol) = ("n".repeat(70_000), "s".repeat(70_000));
    let model = |inside: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\" : 21]>\n\
             g (float[{symbol}, 2] x, float[3, {symbol}] w) => ({long}) {{ {inside} }}"
        )
    };
    let sum = folder.model("sum.onnx", &model(&format!("{long} = Add(x, w)")));
    let plain = folder.model("plain.onnx", &model(&format!("h = Relu(w) {long} = Exp(x)")));
    let fixed = folder.model(
        "fixed.onnx",
        &format!(
            "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[2] x) => ({long}) {{ {long} = Exp(x) }}"
        ),
    );
    for arguments in [
        vec!["check", &sum],
        vec!["infer", &plain],
        vec!["infer", "--width", "200000", &plain],
        vec!["describe", &plain],
        vec!["run", &fixed],
    ] {
        let output = typeloom(&arguments);
        assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {}", &text_of(&output));
    }
}

/// The first lines of what a command printed.
fn text_of(output: &Output) -> String {
    text(output).chars().take(2000).collect()
}
