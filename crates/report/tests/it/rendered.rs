//! One problem in every format, and the properties of a whole run.

use typeloom_report::finding::Difference;
use typeloom_report::human::{self, Color};
use typeloom_report::list::{Compared, Content, FileReport, Format, Style, Totals, renderer};
use typeloom_report::{concise, github, json, sarif, table};
use typeloom_solver::diagnostic::{Code, Diagnostic, diagnose, explain_value};
use typeloom_solver::model::{Mode, Options};

use crate::support::{Seeds, bytes_of, check_text, checked, traced};

/// The example of the README: a mask of integers is added to scores.
const MASKED: &str = r#"<ir_version: 10, opset_import: ["": 21]>
masked (float[batch, 4] query, float[4, 4] key) => (scores) <int64[4] mask = {0, 0, 1, 1}> {
   [MatMul_2] x = MatMul(query, key)
   ["/attn/Add_3"] scores = Add(x, mask) @{metadata_props: [
      "pkg.torch.onnx.stack_trace": "File \"model.py\", line 12, in forward
    return scores + mask
File \"/venv/site-packages/torch/nn/functional.py\", line 1, in add
    f()"
   ]}
}"#;

fn masked() -> Diagnostic {
    let found = check_text(MASKED, &Seeds::new());
    assert_eq!(found.len(), 1);
    found.into_iter().next().unwrap()
}

#[test]
fn people_see_the_node_both_sides_and_the_line_it_comes_from() {
    let expected = "\
error[element-type-mismatch]: `Add` needs one element type, but `x` is float and `mask` is int64
 --> model.onnx: node `/attn/Add_3` (#1)
  |
1 | scores = Add(x, mask)
  |              -  ^^^^ int64, from initializer `mask`
  |              |
  |              float, because `MatMul_2` takes it from graph input `query`
  = note: rule add.element (opset 14)
  = help: insert Cast(mask, to=float) before this node
  = note: from model.py:12, in forward: return scores + mask
";
    assert_eq!(human::diagnostic("model.onnx", &masked(), Color::Never), expected);
}

#[test]
fn color_adds_escape_sequences_only() {
    let plain = human::diagnostic("model.onnx", &masked(), Color::Never);
    let coloured = human::diagnostic("model.onnx", &masked(), Color::Always);
    assert!(coloured.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn no_line_is_wrapped_or_cut() {
    let name = "a_rather_long_name_that_goes_on_and_on".repeat(8);
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\nwide (float[2] {name}, int64[2] y) => (z) {{ z = Add({name}, y) }}"
    );
    let found = check_text(&text, &Seeds::new());
    let rendered = human::diagnostics("model.onnx", &found, Color::Never);
    assert!(rendered.lines().any(|line| line.chars().count() > 140), "{rendered}");
    assert!(!rendered.contains("..."), "{rendered}");
}

#[test]
fn one_line_a_problem() {
    let line = concise::diagnostic("model.onnx", &masked());
    let expected = "model.onnx: /attn/Add_3: element-type-mismatch: `Add` needs one element type, but `x` is float and \
                    `mask` is int64";
    assert_eq!(line, expected);
}

#[test]
fn programs_read_every_part() {
    let line = json::diagnostic("model.onnx", &masked());
    assert!(!line.contains('\n'));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["code"], "element-type-mismatch");
    assert_eq!(
        value["place"]["node"],
        serde_json::json!({"index": 1, "name": "/attn/Add_3", "operator": "Add"})
    );
    let label = &value["snippets"][0]["labels"][1];
    let (start, end) = (label["start"].as_u64().unwrap(), label["end"].as_u64().unwrap());
    let text = value["snippets"][0]["text"].as_str().unwrap();
    assert_eq!(&text[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()], "mask");
    assert_eq!(
        value["fix"],
        serde_json::json!({"kind": "insert-cast", "input": 1, "value": "mask", "to": "float"})
    );
    assert_eq!(value["source"]["line"], 12);
}

#[test]
fn code_scanning_gets_a_document_whose_references_hold() {
    let found = [masked()];
    let document = sarif::document([("my models/model.onnx", &found[..])]);
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(value["version"], "2.1.0");
    let run = &value["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 1, "only the rules that are used");
    let result = &run["results"][0];
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(rules[index]["id"], result["ruleId"]);
    assert_eq!(result["level"], "error");
    let location = &result["locations"][0];
    assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "my%20models/model.onnx");
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "/1:Add");
    let related = result["relatedLocations"].as_array().unwrap();
    assert_eq!(related.last().unwrap()["physicalLocation"]["region"]["startLine"], 12);
}

#[test]
fn a_workflow_command_is_one_line_with_everything_escaped() {
    let line = github::diagnostic("a,b:c.onnx", &masked());
    assert!(
        line.starts_with("::error file=a%2Cb%3Ac.onnx,title=element-type-mismatch::`Add` needs"),
        "{line}"
    );
    assert!(!line.contains('\n') && line.contains("%0A"), "{line}");
}

#[test]
fn names_of_the_model_cannot_break_a_line_or_a_command() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x, int64[2] \"a\n::error::b\u{1b}[31m\") => (z) \
                {\n[\"n\n::warning::\"] z = Add(x, \"a\n::error::b\u{1b}[31m\") }";
    let found = check_text(text, &Seeds::new());
    assert_eq!(found.len(), 1);
    let human = human::diagnostics("model.onnx", &found, Color::Never);
    assert!(!human.contains('\u{1b}') && !human.lines().any(|line| line.starts_with("::")), "{human}");
    for line in [
        concise::diagnostic("model.onnx", &found[0]),
        github::diagnostic("model.onnx", &found[0]),
        json::diagnostic("model.onnx", &found[0]),
    ] {
        assert!(!line.contains(['\n', '\u{1b}']), "{line}");
    }
}

#[test]
fn names_of_dims_cannot_break_a_table_of_shapes() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[\"a\n::error::b\"] x, float[c] y) => (z) { z = Add(x, y) }";
    let found = check_text(text, &Seeds::new());
    assert_eq!(found.iter().map(|it| it.code).collect::<Vec<_>>(), [Code::RestrictedSymbol]);
    let human = human::diagnostics("model.onnx", &found, Color::Never);
    assert!(human.contains("[a\\u{a}::error::b]"), "{human}");
    assert!(!human.lines().any(|line| line.trim_start().starts_with("::")), "{human}");
}

#[test]
fn three_independent_errors_give_three_diagnostics_in_graph_order() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    three (float[2] x, int64[2] n, float[-1] bad) => (d, e) {
       a = Add(x, n)
       b = Relu(a)
       c = Abs(missing)
       d = Neg(c)
       e = Mul(b, x)
    }"#;
    let codes = |text| check_text(text, &Seeds::new()).iter().map(|found| found.code).collect::<Vec<_>>();
    assert_eq!(codes(text), [Code::NegativeDim, Code::ElementTypeMismatch, Code::UndefinedValue]);
    let first = human::diagnostics("m", &check_text(text, &Seeds::new()), Color::Never);
    let second = human::diagnostics("m", &check_text(text, &Seeds::new()), Color::Never);
    assert_eq!(first, second);
}

#[test]
fn an_error_inside_a_function_is_reported_once_with_its_calls() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "local": 1]>
    main (float[2] x, float[3] w) => (y, z) {
       [outer_1] y = local.Outer(x)
       [outer_2] z = local.Outer(w)
    }
    <domain: "local", opset_import: ["": 21, "local": 1]>
    Outer (a) => (b) { [inner] b = local.Inner(a) }
    <domain: "local", opset_import: ["": 21]>
    Inner (a) => (b) { n = Shape(a) [sum] b = Add(a, n) }"#;
    let found = check_text(text, &Seeds::new());
    assert_eq!(found.len(), 1, "{}", human::diagnostics("m", &found, Color::Never));
    let expected = "\
error[element-type-mismatch]: `Add` needs one element type, but `a` is float and `n` is int64
 --> m: node `sum` (#1) in function `local.Inner`
  |
1 | b = Add(a, n)
  |         -  ^ int64, made by `Shape` (#0)
  |         |
  |         float, from argument `a` of the call
  = note: rule add.element (opset 14)
  = note: called by node `inner` (#0) in function `local.Outer`
  = note: called by node `outer_1` (#0)
  = help: insert Cast(n, to=float) before this node
";
    assert_eq!(human::diagnostic("m", &found[0], Color::Never), expected);
}

#[test]
fn a_value_after_a_call_has_the_type_that_the_function_gives() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "local": 1]>
    main (float[2] x) => (z) { [call] y = local.Twice(x) z = Relu(y) }
    <domain: "local", opset_import: ["": 21]>
    Twice (a) => (b) { b = Add(a, a) }"#;
    let found = check_text(text, &Seeds::new());
    assert!(found.is_empty(), "{}", human::diagnostics("m", &found, Color::Never));
}

#[test]
fn an_error_inside_a_branch_names_the_branch() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    either (bool ready, float[2] x, int64[2] n) => (y) {
       y = If (ready) <
          then_branch = yes () => (float[2] a) { a = Add(x, n) },
          else_branch = no () => (float[2] b) { b = Relu(x) }
       >
    }"#;
    let found = check_text(text, &Seeds::new());
    assert_eq!(found.len(), 1, "{}", human::diagnostics("m", &found, Color::Never));
    assert_eq!(found[0].location.graph.to_string(), "/0:If.then_branch");
    assert!(concise::diagnostic("m", &found[0]).starts_with("m: #0 Add in /0:If.then_branch: "));
}

#[test]
fn permissive_mode_warns_about_unknown_operators() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
    g (float[2] x) => (y) { y = my.Thing(x) }"#;
    let bytes = bytes_of(text);
    let found = diagnose(&mut checked(&bytes, &Options { mode: Mode::Permissive, ..Options::default() }));
    assert_eq!(found.len(), 1);
    assert!(
        found.iter().all(|diagnostic| diagnostic.code == Code::UnknownOperator && !diagnostic.is_error())
    );
}

#[test]
fn an_explanation_goes_back_to_the_declaration() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2, 4] query, key) => (scores) {
       [MatMul_2] x = MatMul(query, key)
       [Relu_3] scores = Relu(x)
    }"#;
    let bytes = bytes_of(text);
    let mut checked = checked(&bytes, &traced());
    let explanation = explain_value(&mut checked, "scores").unwrap();
    let expected = "\
note: `scores` is float, because `Relu_3` takes it from `x`
 --> m: node `Relu_3` (#1)
  |
1 | scores = Relu(x)
  | ^^^^^^ float  - float

note: `x` is float, because `MatMul_2` takes it from `query`
 --> m: node `MatMul_2` (#0)
  |
0 | x = MatMul(query, key)
  | ^ float    ----- float

note: `query` is float, from graph input `query`
--> m: graph input `query`
 |
 | float[2, 4] query
 | ^^^^^^^^^^^^^^^^^

note: `scores` is float[...]
--> m: node `Relu_3` (#1)
 = note: the rank is not known: graph input `key` declares no rank
";
    assert_eq!(human::explanation("m", &explanation, Color::Never), expected);
    let value = json::explanation("m", &explanation);
    assert_eq!(value["reasons"].as_array().unwrap().len(), 3);
    assert_eq!(explain_value(&mut checked, "nothing"), None);
}

#[test]
fn the_table_shows_every_value_grouped_by_graph() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    either (bool ready, float[2] x) => (y) <float[2] bias = {0.0, 1.0}> {
       shifted = Add(x, bias)
       y = If (ready) <
          then_branch = yes () => (a) { a = Relu(shifted) },
          else_branch = no () => (b) { b = Abs(shifted) }
       >
    }"#;
    let bytes = bytes_of(text);
    let expected = "\
inputs
  ready    bool
  x        float[2]
initializers
  bias     float[2]
values
  shifted  float[2]  Add
outputs
  y        float[2]  If

/1:If.then_branch
outputs
  a  float[2]  Relu

/1:If.else_branch
outputs
  b  float[2]  Abs
";
    assert_eq!(table::render(&mut checked(&bytes, &Options::default())), expected);
}

#[test]
fn undecided_equations_are_listed_below_the_table() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2, m] x, float[n, 3] y) => (z) { [product] z = MatMul(x, y) }"#;
    let bytes = bytes_of(text);
    let table = table::render(&mut checked(&bytes, &Options::default()));
    assert!(
        table.ends_with("\nundecided equations\n  m = n, needed by product (matmul.contract)\n"),
        "{table}"
    );
}

#[test]
fn differences_and_unusable_files_are_in_every_format() {
    let difference = Difference {
        export: String::new(),
        path: "inputs.x".to_owned(),
        code: "input-removed",
        message: "removed, was float <a|b>".to_owned(),
        breaks_backward: true,
        breaks_forward: false,
        breaking: true,
    };
    let differences = [difference];
    for format in [
        Format::Human,
        Format::Concise,
        Format::Json,
        Format::Sarif,
        Format::Github,
        Format::Markdown,
        Format::Junit,
        Format::Gitlab,
    ] {
        let mut list = renderer(format, Style::default());
        let object =
            serde_json::Map::from_iter([("differences".to_owned(), serde_json::json!(["input-removed"]))]);
        let compared = Compared { differences: &differences, verdict: "removed".to_owned(), object };
        let reports = [
            FileReport { file: "new.onnx", content: Content::Compared(compared) },
            FileReport { file: "none.onnx", content: Content::Unusable { error: "cannot be read" } },
        ];
        let mut totals = Totals::default();
        let mut text = list.begin();
        for report in &reports {
            totals.add(report);
            text.push_str(&list.file(report));
        }
        text.push_str(&list.end(&totals));
        assert!(text.contains("removed"), "{format:?}: {text}");
        // The command writes the error to the terminal, where people read it.
        let is_for_people = matches!(format, Format::Human | Format::Concise);
        assert_eq!(text.contains("cannot be read"), !is_for_people, "{format:?}: {text}");
        assert_eq!((totals.errors, totals.unusable), (1, 1));
    }
}
