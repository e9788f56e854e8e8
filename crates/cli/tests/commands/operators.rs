//! The description that the help of an unknown operator begins.

use serde_json::Value;
use typeloom_project::parts::ops::described::Described;

use super::support::Folder;

/// The problems of a model: codes and helps.
fn problems(folder: &Folder, arguments: &[&str]) -> Vec<(String, String)> {
    let run = folder.run(&[&["check", "m.onnx", "--format", "json"], arguments].concat());
    let record: Value =
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}{}", run.out, run.err));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let problems = record["problems"].as_array().or(record["diagnostics"].as_array());
    problems
        .expect("the record has problems")
        .iter()
        .map(|it| (text(&it["code"]), text(&it["help"])))
        .collect()
}

#[test]
fn the_suggested_description_parses_and_makes_the_operator_known() {
    let folder = Folder::new("described");
    for (domain, node, what) in [
        ("own", "y = own.Twist(x)", "one input and output"),
        ("own", "y = own.Twist(x, n)", "inputs of different types"),
        ("own", "y = own.Twist(x, , n)", "an omitted input"),
        ("own", "y, z, w = own.Twist(x, n)", "several outputs"),
        ("own", "c = Constant<value_int = 3>() y = own.Twist(c)", "an input of the graph that is not used"),
        ("own", "h = own.First(x) y = own.Second(h)", "an input of unknown type"),
        (
            "own",
            "y = own.Twist<turns = 2, names = [\"a\", \"b\"], scale = 0.5, table = float[1] {1}>(x)",
            "attributes",
        ),
        ("com.example.deep-name", "y = \"com.example.deep-name\".\"Twist/2\"(x)", "odd names"),
        ("", "y = Twizzle(x)", "the domain of ONNX"),
    ] {
        let import = if domain.is_empty() { String::new() } else { format!(", \"{domain}\": 3") };
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21{import}]>\n\
             main (float[N, 4] x, int64[N, 4] n) => (float[N, 4] y) {{ {node} }}"
        );
        let bytes = typeloom_project::parts::onnx::text::model_bytes(&text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        folder.write("m.onnx", bytes);
        let mut arguments: Vec<String> = Vec::new();
        let mut rounds = 0;
        // Each operator of the model has a description of its own.
        while let Some((_, help)) =
            problems(&folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
                .iter()
                .find(|(code, _)| code == "unknown-operator")
        {
            let (advice, description) = help.split_once('\n').unwrap_or_else(|| panic!("{what}: {help}"));
            assert!(advice.contains("`--ops FILE`, `Operators` in Python and Rust"), "{what}: {advice}");
            let parsed = Described::parse(description)
                .unwrap_or_else(|error| panic!("{what}: {error}\n{description}"));
            assert_eq!(parsed.domains().map(|(name, _)| name).collect::<Vec<_>>(), [domain], "{what}");
            let file = format!("{rounds}.ops");
            folder.write(&file, description);
            arguments.extend(["--ops".to_owned(), file]);
            rounds += 1;
            assert!(rounds < 4, "{what}: {help}");
        }
        assert!(rounds > 0, "{what}: the operator is unknown without a description");
    }
}

#[test]
fn the_human_report_shows_the_description_line_by_line() {
    let folder = Folder::new("described-human");
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"own\": 2]> main (float[4] x) => (y) { y = own.Twist(x) }";
    folder.write("m.onnx", typeloom_project::parts::onnx::text::model_bytes(text).expect("a model"));
    let out = folder.run(&["check", "m.onnx"]).out;
    let help = out.lines().skip_while(|line| !line.contains("= help:")).take(6);
    let help: Vec<&str> = help.map(|line| line.trim_start_matches("  = help:").trim()).collect();
    assert_eq!(
        help,
        [
            "add `own.Twist` to the model as a function, or describe it in an operator file (`--ops FILE`, `Operators` in Python and \
             Rust) that begins:",
            "typeloom-operators 1",
            "domain own 2",
            "op Twist 1",
            "in x tensor(float)",
            "out y tensor(float)",
        ],
        "{out}"
    );
}
