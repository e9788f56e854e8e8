//! Generators of inputs that grow in one dimension.

use std::fmt::Write as _;

/// Files of one case, and the command that reads them.
pub(crate) struct Input {
    /// Name and contents of each file.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Arguments; `@NAME` is replaced with the path of a file.
    pub(crate) arguments: Vec<String>,
}

/// A family of inputs.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The smaller of the two sizes measured.
    pub(crate) size: usize,
    pub(crate) make: fn(usize) -> Input,
}

const HEAD: &str = r#"<ir_version: 10, opset_import: ["" : 21, "l" : 1]>"#;
const FUNCTION: &str = r#"<domain: "l", opset_import: ["" : 21, "l" : 1]>"#;

fn command(model: &str, arguments: &[&str]) -> Input {
    let bytes = typeloom_onnx::text::model_bytes(model).unwrap_or_else(|error| panic!("{error}"));
    Input {
        files: vec![("m.onnx".to_owned(), bytes)],
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
    }
}

fn repeat(count: usize, mut part: impl FnMut(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = write!(text, "{} ", part(at));
        text
    })
}

fn joined(count: usize, part: impl FnMut(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(", ")
}

/// A chain of functions, each with a body around the call of the next one.
fn functions(count: usize, call: &dyn Fn(usize) -> String) -> String {
    let mut text = format!("{HEAD} g (float[N] x, bool k) => (y) {{ y = l.f0(x) }}\n");
    for at in 0..count {
        let body = if at + 1 == count { "c = Relu(a)".to_owned() } else { call(at + 1) };
        let _ = writeln!(text, "{FUNCTION} f{at} (a) => (c) {{ {body} }}");
    }
    text
}

fn ill_typed(count: usize) -> String {
    let nodes = repeat(count, |at| format!("y{at} = Add(x, i)"));
    let outputs = joined(count, |at| format!("y{at}"));
    format!("{HEAD} g (float[N] x, int64[N] i) => ({outputs}) {{ {nodes} }}")
}

fn branches(count: usize) -> String {
    let nodes = repeat(count, |at| {
        format!(
            "v{} = If(k) <then_branch = t{at} () => (p{at}) {{ p{at} = Relu(v{at}) }}, \
             else_branch = e{at} () => (q{at}) {{ q{at} = Neg(v{at}) }}>",
            at + 1
        )
    });
    format!("{HEAD} g (float[N] v0, bool k) => (v{count}) {{ {nodes} }}")
}

fn nested_branches(count: usize) -> String {
    functions(count, &|next| {
        format!(
            "k = Constant <value = bool {{1}}> () c = If(k) <then_branch = t () => (p) {{ p = l.f{next}(a) }}, \
             else_branch = e () => (q) {{ q = Relu(a) }}>"
        )
    })
}

fn outputs(count: usize) -> String {
    let nodes = repeat(count, |at| format!("y{at} = Relu(x)"));
    format!("{HEAD} g (float[N] x) => ({}) {{ {nodes} }}", joined(count, |at| format!("float[N] y{at}")))
}

fn chain(count: usize, node: &dyn Fn(usize) -> String) -> String {
    format!("{HEAD} g (float[N] v0, bool k) => (v{count}) {{ {} }}", repeat(count, node))
}

fn operator_file(count: usize, clauses: &str) -> Input {
    let mut input = command(
        &format!("{HEAD} g (float[N] x) => (y) {{ y = d.A(x) }}"),
        &["check", "@m.onnx", "--ops", "@ops.txt"],
    );
    let text = format!(
        "typeloom-operators 1\ndomain d 1\nop A 1\n  type T tensor(float)\n  in x T\n  out y T\n  shape x [n]\n{clauses}"
    );
    input.files.push(("ops.txt".to_owned(), text.into_bytes()));
    let _ = count;
    input
}

fn attribute(node: &str) -> Input {
    let model = format!("{HEAD} g (float[N, 4] x, float[] u, int64[] i) => (y) {{ {node} }}");
    command(&model, &["check", "--permissive", "@m.onnx"])
}

/// All families.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a long name and one like it",
        size: 100_000,
        make: |n| {
            let name = "a".repeat(n);
            command(
                &format!("{HEAD} g (float[N] {name}b) => (y) {{ y = Relu({name}c) }}"),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "long names of unknown operators",
        size: 20_000,
        make: |n| {
            let name = "a".repeat(n);
            let text = format!(
                "{HEAD} g (float[N] x) => (y) {{ y = l.{name}c(x) }}\n{FUNCTION} {name}b (a) => (c) {{ c = Relu(a) }}"
            );
            command(&text, &["check", "@m.onnx"])
        },
    },
    Case {
        name: "many unknown operators",
        size: 2_000,
        make: |n| {
            let nodes = repeat(n, |at| format!("v{} = l.unknown{at}(v{at})", at + 1));
            let own = repeat(n, |at| format!("\n{FUNCTION} known{at} (a) => (c) {{ c = Relu(a) }}"));
            command(&format!("{HEAD} g (float[N] v0) => (v{n}) {{ {nodes} }}{own}"), &["check", "@m.onnx"])
        },
    },
    Case { name: "outputs, check", size: 25_000, make: |n| command(&outputs(n), &["check", "@m.onnx"]) },
    Case { name: "outputs, infer", size: 25_000, make: |n| command(&outputs(n), &["infer", "@m.onnx"]) },
    Case {
        name: "outputs, infer json",
        size: 25_000,
        make: |n| command(&outputs(n), &["infer", "--format", "json", "@m.onnx"]),
    },
    Case {
        name: "outputs, annotate",
        size: 25_000,
        make: |n| command(&outputs(n), &["annotate", "@m.onnx", "-o", "@out"]),
    },
    Case {
        name: "outputs, describe",
        size: 25_000,
        make: |n| command(&outputs(n), &["describe", "@m.onnx"]),
    },
    Case {
        name: "outputs, diff",
        size: 10_000,
        make: |n| command(&outputs(n), &["diff", "@m.onnx", "@m.onnx"]),
    },
    Case {
        name: "outputs, compile",
        size: 10_000,
        make: |n| command(&outputs(n), &["compile", "@m.onnx", "-o", "@out"]),
    },
    Case { name: "outputs, run", size: 10_000, make: |n| command(&outputs(n), &["run", "@m.onnx"]) },
    Case {
        name: "inputs, run",
        size: 10_000,
        make: |n| {
            let inputs = joined(n, |at| format!("float[N{at}] x{at}"));
            command(&format!("{HEAD} g ({inputs}) => (y) {{ y = Relu(x0) }}"), &["run", "@m.onnx"])
        },
    },
    Case {
        name: "symbols, describe",
        size: 10_000,
        make: |n| {
            let inputs = joined(n, |at| format!("float[N{at}] x{at}"));
            command(&format!("{HEAD} g ({inputs}) => (y) {{ y = Relu(x0) }}"), &["describe", "@m.onnx"])
        },
    },
    Case {
        name: "functions, check",
        size: 20_000,
        make: |n| command(&functions(n, &|next| format!("c = l.f{next}(a)")), &["check", "@m.onnx"]),
    },
    Case {
        name: "functions, infer",
        size: 10_000,
        make: |n| command(&functions(n, &|next| format!("c = l.f{next}(a)")), &["infer", "@m.onnx"]),
    },
    Case {
        name: "functions, compile",
        size: 5_000,
        make: |n| {
            command(&functions(n, &|next| format!("c = l.f{next}(a)")), &["compile", "@m.onnx", "-o", "@out"])
        },
    },
    Case {
        name: "functions, run",
        size: 1_000,
        make: |n| command(&functions(n, &|next| format!("c = l.f{next}(a)")), &["run", "@m.onnx"]),
    },
    Case {
        name: "functions with an error, check",
        size: 5_000,
        make: |n| {
            command(&functions(n, &|next| format!("b = Not(a) c = l.f{next}(a)")), &["check", "@m.onnx"])
        },
    },
    Case {
        name: "functions with an error, fix",
        size: 1_000,
        make: |n| {
            command(
                &functions(n, &|next| format!("b = Not(a) c = l.f{next}(a)")),
                &["fix", "@m.onnx", "--dry-run"],
            )
        },
    },
    Case { name: "errors, check", size: 8_000, make: |n| command(&ill_typed(n), &["check", "@m.onnx"]) },
    Case {
        name: "errors, check sarif",
        size: 8_000,
        make: |n| command(&ill_typed(n), &["check", "--format", "sarif", "@m.onnx"]),
    },
    Case {
        name: "errors, check json",
        size: 8_000,
        make: |n| command(&ill_typed(n), &["check", "--format", "json", "@m.onnx"]),
    },
    Case {
        name: "errors, fix",
        size: 2_000,
        make: |n| command(&ill_typed(n), &["fix", "@m.onnx", "--dry-run"]),
    },
    Case {
        name: "errors in a chain, fix",
        size: 2_000,
        make: |n| {
            let text = chain(n, &|at| {
                if at % 2 == 0 {
                    format!("v{} = Shape(v{at})", at + 1)
                } else {
                    format!("v{} = Sqrt(v{at})", at + 1)
                }
            });
            command(&text, &["fix", "@m.onnx", "--dry-run"])
        },
    },
    Case {
        name: "wrong initializers, fix",
        size: 2_000,
        make: |n| {
            let weights = joined(n, |at| format!("double[1] w{at} = {{1}}"));
            let text = format!(
                "{HEAD} g (float[N] v0) => (v{n}) <{weights}> {{ {} }}",
                repeat(n, |at| format!("v{} = Add(v{at}, w{at})", at + 1))
            );
            command(&text, &["fix", "@m.onnx", "--dry-run"])
        },
    },
    Case {
        name: "branches in a row, check",
        size: 3_000,
        make: |n| command(&branches(n), &["check", "@m.onnx"]),
    },
    Case {
        name: "branches in a row, infer",
        size: 3_000,
        make: |n| command(&branches(n), &["infer", "@m.onnx"]),
    },
    Case {
        name: "branches in a row, compile",
        size: 1_500,
        make: |n| command(&branches(n), &["compile", "@m.onnx", "-o", "@out"]),
    },
    Case {
        name: "branches in a row, fix",
        size: 1_500,
        make: |n| command(&branches(n), &["fix", "@m.onnx", "--dry-run"]),
    },
    Case {
        name: "branches in a row, run",
        size: 1_500,
        make: |n| command(&branches(n), &["run", "@m.onnx"]),
    },
    Case {
        name: "branches in functions, check",
        size: 1_500,
        make: |n| command(&nested_branches(n), &["check", "@m.onnx"]),
    },
    Case {
        name: "branches in functions, compile",
        size: 1_500,
        make: |n| command(&nested_branches(n), &["compile", "@m.onnx", "-o", "@out"]),
    },
    Case {
        name: "branches in functions, run",
        size: 1_500,
        make: |n| command(&nested_branches(n), &["run", "@m.onnx"]),
    },
    Case {
        name: "a chain, explain",
        size: 20_000,
        make: |n| {
            command(
                &chain(n, &|at| format!("v{} = Identity(v{at})", at + 1)),
                &["explain", "@m.onnx", &format!("v{n}")],
            )
        },
    },
    Case {
        name: "unsorted nodes",
        size: 5_000,
        make: |n| {
            command(&chain(n, &|at| format!("v{} = Relu(v{})", n - at, n - at - 1)), &["check", "@m.onnx"])
        },
    },
    Case {
        name: "a cycle",
        size: 5_000,
        make: |n| {
            command(
                &chain(n, &|at| format!("v{} = Relu(v{})", at + 1, if at == 0 { n } else { at })),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "duplicate names",
        size: 10_000,
        make: |n| {
            command(
                &format!("{HEAD} g (float[N] x) => (y) {{ {} }}", repeat(n, |_| "y = Relu(x)".to_owned())),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "undefined names",
        size: 10_000,
        make: |n| {
            command(
                &format!(
                    "{HEAD} g (float[N] x) => () {{ {} }}",
                    repeat(n, |at| format!("y{at} = Relu(undefined{at})"))
                ),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "undefined outputs",
        size: 10_000,
        make: |n| {
            command(
                &format!("{HEAD} g (float[N] x) => ({}) {{ y = Relu(x) }}", joined(n, |at| format!("z{at}"))),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "value_info",
        size: 10_000,
        make: |n| {
            let nodes = repeat(n, |at| format!("y{at} = Relu(x)"));
            command(
                &format!(
                    "{HEAD} g (float[N] x) => () <{}> {{ {nodes} }}",
                    joined(n, |at| format!("float[M{at}] y{at}"))
                ),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "initializers",
        size: 10_000,
        make: |n| {
            command(
                &format!(
                    "{HEAD} g (float[N] x) => (y) <{}> {{ y = Relu(x) }}",
                    joined(n, |at| format!("float[1] w{at} = {{1}}"))
                ),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "symbols that are forced",
        size: 500,
        make: |n| {
            let inputs = joined(n, |at| format!("float[N{at}] x{at}"));
            let nodes = repeat(n - 1, |at| format!("y{at} = Add(x{at}, x{})", at + 1));
            command(&format!("{HEAD} g ({inputs}) => () {{ {nodes} }}"), &["check", "@m.onnx"])
        },
    },
    Case {
        name: "symbols that are merged",
        size: 200,
        make: |n| {
            let inputs = joined(n, |at| format!("float[N{at}] x{at}"));
            let nodes = repeat(n - 1, |at| format!("y{at} = Add(x{at}, x{})", at + 1));
            command(
                &format!("{HEAD} g ({inputs}) => () {{ {nodes} }}"),
                &["check", "--merge-symbols", "@m.onnx"],
            )
        },
    },
    Case {
        name: "equations over sums",
        size: 500,
        make: |n| {
            let inputs = joined(n, |at| format!("float[A{at}, B{at}] x{at}"));
            let nodes = repeat(n - 1, |at| {
                format!("s{at} = Concat <axis = 0> (x{at}, x{at}) t{at} = Add(s{at}, x{})", at + 1)
            });
            command(&format!("{HEAD} g ({inputs}) => () {{ {nodes} }}"), &["check", "@m.onnx"])
        },
    },
    Case {
        name: "one wide sum of symbols",
        size: 300,
        make: |n| {
            let inputs = joined(n, |at| format!("float[A{at}] x{at}"));
            let parts = joined(n, |at| format!("x{at}"));
            command(
                &format!("{HEAD} g ({inputs}) => (y) {{ y = Concat <axis = 0> ({parts}) }}"),
                &["check", "@m.onnx"],
            )
        },
    },
    Case {
        name: "seeds",
        size: 2_000,
        make: |n| {
            let mut input =
                command(&chain(n, &|at| format!("v{} = Relu(v{at})", at + 1)), &["check", "@m.onnx"]);
            input.arguments.extend((0..n).flat_map(|at| ["--seed".to_owned(), format!("v{at}=float[N]")]));
            input
        },
    },
    Case {
        name: "assumptions",
        size: 1_000,
        make: |n| {
            let inputs = joined(n, |at| format!("float[N{at}] x{at}"));
            let mut input =
                command(&format!("{HEAD} g ({inputs}) => (y) {{ y = Relu(x0) }}"), &["check", "@m.onnx"]);
            input.arguments.extend((0..n).flat_map(|at| ["--assume".to_owned(), format!("N{at}={at}")]));
            input
        },
    },
    Case {
        name: "operators in an operator file, reversed",
        size: 20_000,
        make: |n| {
            let text =
                repeat(n, |at| format!("op B{:08} 1\n  type T tensor(float)\n  in x T\n  out y T\n", n - at));
            operator_file(n, &text)
        },
    },
    Case {
        name: "versions in an operator file, reversed",
        size: 20_000,
        make: |n| {
            let text =
                repeat(n, |at| format!("op B {}\n  type T tensor(float)\n  in x T\n  out y T\n", n - at));
            operator_file(n, &text)
        },
    },
    Case {
        name: "definitions in an operator file, reversed",
        size: 10_000,
        make: |n| {
            let mut text = format!("  shape y [v{n}]\n");
            (0..n).rev().for_each(|at| text += &format!("  let v{} = v{at} + 1\n", at + 1));
            operator_file(n, &(text + "  let v0 = n\n"))
        },
    },
    Case {
        name: "groups in an operator file",
        size: 10_000,
        make: |n| operator_file(n, &repeat(n, |at| format!("group g{at} float\n"))),
    },
    Case {
        name: "attributes of an operator in a file",
        size: 10_000,
        make: |n| operator_file(n, &repeat(n, |at| format!("  attr a{at} int = 0\n"))),
    },
    Case {
        name: "ports of an operator in a file",
        size: 5_000,
        make: |n| operator_file(n, &repeat(n, |at| format!("  in x{at} T\n"))),
    },
    Case {
        name: "a long perm",
        size: 50_000,
        make: |n| attribute(&format!("y = Transpose <perm = [{}]> (u)", joined(n, |at| at.to_string()))),
    },
    Case {
        name: "many axes",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "y = ReduceSum <noop_with_empty_axes = 0> (u, c) c = Constant <value_ints = [{}]> ()",
                joined(n, |at| at.to_string())
            ))
        },
    },
    Case {
        name: "many axes to unsqueeze",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () y = Unsqueeze(x, c)",
                joined(n, |at| at.to_string())
            ))
        },
    },
    Case {
        name: "many axes to squeeze",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () y = Squeeze(u, c)",
                joined(n, |at| at.to_string())
            ))
        },
    },
    Case {
        name: "a long shape",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () y = Reshape(x, c)",
                joined(n, |_| "0".to_owned())
            ))
        },
    },
    Case {
        name: "a shape of many extents",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () z = Expand(x, c) t = Transpose(z) s = Shape(t) r = Reshape(t, s) y = Add(r, t)",
                joined(n, |_| "1".to_owned())
            ))
        },
    },
    Case {
        name: "a long split",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () y = Split <axis = 0> (x, c)",
                joined(n, |_| "1".to_owned())
            ))
        },
    },
    Case {
        name: "long pads",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () y = Pad(u, c)",
                joined(n, |_| "1".to_owned())
            ))
        },
    },
    Case {
        name: "a long slice",
        size: 50_000,
        make: |n| {
            attribute(&format!(
                "c = Constant <value_ints = [{}]> () y = Slice(u, c, c, c)",
                joined(n, |at| at.to_string())
            ))
        },
    },
    Case {
        name: "a long einsum",
        size: 50_000,
        make: |n| attribute(&format!("y = Einsum <equation = \"{}->\"> (u)", "ab".repeat(n))),
    },
    Case {
        name: "an einsum of many terms",
        size: 10_000,
        make: |n| attribute(&format!("y = Einsum <equation = \"{}a->a\"> (u)", "a,".repeat(n))),
    },
    Case {
        name: "long kernel",
        size: 50_000,
        make: |n| attribute(&format!("y = MaxPool <kernel_shape = [{}]> (u)", joined(n, |_| "1".to_owned()))),
    },
    Case {
        name: "a long unknown text",
        size: 100_000,
        make: |n| attribute(&format!("y = Pad <mode = \"{}\"> (x, i)", "constant".repeat(n / 8))),
    },
    Case {
        name: "many attributes",
        size: 10_000,
        make: |n| attribute(&format!("y = Relu <{}> (x)", joined(n, |at| format!("a{at} = 1")))),
    },
    Case {
        name: "many inputs",
        size: 20_000,
        make: |n| attribute(&format!("y = Sum({})", joined(n, |_| "x".to_owned()))),
    },
    Case {
        name: "many inputs to concatenate",
        size: 20_000,
        make: |n| attribute(&format!("y = Concat <axis = 0> ({})", joined(n, |_| "x".to_owned()))),
    },
    Case {
        name: "labels",
        size: 20_000,
        make: |n| {
            attribute(&format!(
                "y = ai.onnx.ml.LabelEncoder <keys_int64s = [{0}], values_int64s = [{0}]> (i)",
                joined(n, |at| at.to_string())
            ))
        },
    },
    Case {
        name: "a long printed attribute in an error",
        size: 100_000,
        make: |n| attribute(&format!("y = Conv <pads = [{}]> (x, i)", joined(n, |at| at.to_string()))),
    },
    Case {
        name: "a long string in an error",
        size: 100_000,
        make: |n| attribute(&format!("y = Add <a = \"{}\"> (x, i)", "\u{202e}b".repeat(n))),
    },
    Case {
        name: "attributes of a call",
        size: 3_000,
        make: |n| {
            let given = joined(n, |at| format!("a{at} = 1"));
            let names = joined(n, |at| format!("a{at}"));
            let text = format!(
                "{HEAD} g (float[N] x) => (y) {{ y = l.f <{given}> (x) }}\n{FUNCTION} f <{names}> (a) => (c) {{ c = Relu(a) }}"
            );
            command(&text, &["check", "@m.onnx"])
        },
    },
    Case {
        name: "calls of one function, check",
        size: 3_000,
        make: |n| {
            let text = format!(
                "{}\n{FUNCTION} f (a) => (c) {{ c = Relu(a) }}",
                chain(n, &|at| format!("v{} = l.f(v{at})", at + 1))
            );
            command(&text, &["check", "@m.onnx"])
        },
    },
    Case {
        name: "calls of one function with an error, check",
        size: 3_000,
        make: |n| {
            let text = format!(
                "{}\n{FUNCTION} f (a) => (c) {{ b = Not(a) c = Relu(a) }}",
                chain(n, &|at| format!("v{} = l.f(v{at})", at + 1))
            );
            command(&text, &["check", "@m.onnx"])
        },
    },
    Case {
        name: "calls of one function with an error, fix",
        size: 500,
        make: |n| {
            let text = format!(
                "{}\n{FUNCTION} f (a) => (c) {{ b = Not(a) c = Relu(a) }}",
                chain(n, &|at| format!("v{} = l.f(v{at})", at + 1))
            );
            command(&text, &["fix", "@m.onnx", "--dry-run"])
        },
    },
];
