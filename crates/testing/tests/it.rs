//! Tests of the runner: the errors that it finds, their locations, and the blessed text.

use std::path::{Path, PathBuf};

use typeloom_testing::spec::document::Document;
use typeloom_testing::spec::{Judged, Suite, bless, pictures};

fn suite(bless: bool) -> Suite {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Suite {
        repository,
        documents: vec![PathBuf::from("spec")],
        command: PathBuf::from("/nonexistent"),
        bless,
    }
}

fn document(text: &str) -> Document {
    Document::read(Path::new("spec/operators/some.md"), Path::new("spec"), text)
}

fn judge(text: &str) -> Result<Judged, String> {
    let document = document(text);
    assert_eq!(document.malformed, [], "the document itself is well-formed");
    suite(false).judge(&document, document.fences.len() - 1).map_err(|malformed| malformed.to_string())
}

/// The document as blessing leaves it.
fn blessed(text: &str) -> String {
    let document = document(text);
    let mut text = text.to_owned();
    for index in (0..document.fences.len()).rev() {
        if let Judged::Blessed(edit) = suite(true).judge(&document, index).expect("the fence is well-formed")
        {
            text.replace_range(edit.range, &edit.text);
        }
    }
    text
}

const GRAPH: &str = "# Title\n\n## Part\n\n```graph\ng (float[N, 4] x, float[4, 5] w) => (y) {\n   y = MatMul(x, w)  # y: float[N, 5]\n}\n```\n";

#[test]
fn tests_are_named_after_document_headings_and_kind() {
    let text = "# Title\n\n```types\n```\n\n## A\n\n### B `c`\n\n```types\n```\n\n```types\n```\n\n## D\n\n```tree\n```\n";
    let names: Vec<String> = document(text).fences.into_iter().map(|fence| fence.name).collect();
    assert_eq!(
        names,
        [
            "operators/some: Title (types)",
            "operators/some: A: B c (types)",
            "operators/some: A: B c (types) #2",
            "operators/some: D (tree)"
        ]
    );
}

#[test]
fn a_fence_of_an_unknown_kind_is_an_error_with_its_line() {
    let document = document("# Title\n\n```grpah\n```\n\n```rust\nfn main() {}\n```\n");
    let messages: Vec<String> = document.malformed.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 1, "a fence for readers is none: {messages:?}");
    assert!(messages[0].starts_with("spec/operators/some.md:3: `grpah` is no kind of fence"), "{messages:?}");
    assert_eq!(document.fences.len(), 0);
}

#[test]
fn settings_and_views_are_checked() {
    for info in [
        "graph opset=new",
        "graph loud",
        "graph seed=x",
        "snapshot",
        "snapshot pretty",
        "types now",
        "tree a b",
    ] {
        let document = document(&format!("```{info}\n```\n"));
        assert_eq!(document.malformed.len(), 1, "`{info}` passes");
    }
}

#[test]
fn an_indented_fence_is_an_error() {
    assert_eq!(document("- item\n\n  ```types\n  a <: b\n  ```\n").malformed.len(), 1);
    assert_eq!(document("```types\nany <: any\n").malformed.len(), 1, "a fence must be closed");
}

#[test]
fn a_true_fence_passes_and_a_false_one_fails_with_the_difference() {
    assert_eq!(judge(GRAPH), Ok(Judged::True));
    let Ok(Judged::False(message)) = judge(&GRAPH.replace("float[N, 5]", "float[N, 6]")) else {
        panic!("a wrong type is found")
    };
    assert!(message.starts_with("spec/operators/some.md:5: this `graph` is not true"), "{message}");
    assert!(message.contains("-    y = MatMul(x, w)  # y: float[N, 6]\n"), "{message}");
    assert!(message.contains("+    y = MatMul(x, w)  # y: float[N, 5]\n"), "{message}");
}

#[test]
fn a_false_fact_is_reported_with_its_line_and_is_not_blessed() {
    let text =
        "```types\nany <: any\ntensor.f32 <: scalar\n\nnot any <: any\ntensor.f32 \\/ scalar = tensor\n```\n";
    let message = judge(text).unwrap_err();
    assert_eq!(
        message,
        "spec/operators/some.md:3: `tensor.f32 <: scalar` does not hold\n\
         line 5: `any <: any` holds\n\
         line 6: `tensor.f32 \\/ scalar = tensor` does not hold: it is `any`"
    );
    assert!(suite(true).judge(&document(text), 0).is_err());
    assert!(
        judge("```types\ntensor.f23 <: any\n```\n")
            .unwrap_err()
            .contains("2: the tree has no node `tensor.f23`")
    );
    assert!(
        judge("```types\ntensor.f32 is any\n```\n")
            .unwrap_err()
            .contains("2: `tensor.f32 is any` is no fact")
    );
}

#[test]
fn dims_of_one_fence_share_their_symbols() {
    assert_eq!(
        judge("```types\ndim n + 1 != n\ndim n ?= m\nnot dim n = m\ndim 2*n = 6 gives n = 3\n```\n"),
        Ok(Judged::True)
    );
    assert!(judge("```types\ndim n = m\n```\n").unwrap_err().contains("that is not decided"));
    assert!(judge("```types\ndim n//0 = m\n```\n").unwrap_err().contains("divides by zero"));
}

#[test]
fn a_problem_that_is_not_stated_fails_the_graph() {
    let wrong = GRAPH.replace("float[4, 5] w", "float[3, 5] w");
    let Ok(Judged::False(message)) = judge(&wrong) else { panic!("the problem is found") };
    assert!(message.contains("+ # error[dim-mismatch]: `MatMul` needs equal dims"), "{message}");
    let blessed = blessed(&wrong);
    assert_eq!(judge(&blessed), Ok(Judged::True), "{blessed}");
}

#[test]
fn a_stated_problem_that_is_not_there_fails_the_graph() {
    let stated = GRAPH.replace("}\n```", "}\n# error[cycle]: `a` waits\n```");
    assert!(matches!(judge(&stated), Ok(Judged::False(_))));
    assert_eq!(blessed(&stated), GRAPH, "the line goes away");
}

#[test]
fn an_elided_message_stays_when_it_is_true() {
    let text = "```graph\ng (float[2] x, float[3] w) => (y) {\n   y = Add(x, w)  # error[dim-mismatch]: `Add` needs ... is 3\n}\n```\n";
    assert_eq!(judge(text), Ok(Judged::True));
    assert_eq!(blessed(text), text);
}

#[test]
fn a_problem_is_stated_on_the_line_of_its_node() {
    let text = "```graph\ng (float[2] x, float[3] w) => (y, z) {\n   y = Add(x, w)\n   z = Add(x, x)  # error[dim-mismatch]: ...\n}\n```\n";
    let message = judge(text).unwrap_err();
    assert!(message.starts_with("spec/operators/some.md:4: "), "{message}");
    assert!(message.ends_with("is a problem of node #0 (`Add`), not of the node on this line"), "{message}");
}

#[test]
fn invalid_models_and_values_are_reported_with_their_line() {
    let message = judge("```graph\ng (float[2] x) => (y) {\n   y = Add(x x)\n}\n```\n").unwrap_err();
    assert!(message.starts_with("spec/operators/some.md:3: this is no model"), "{message}");
    let message = judge(&GRAPH.replace("# y:", "# yy:")).unwrap_err();
    assert!(message.starts_with("spec/operators/some.md:7: the model has no value `yy`"), "{message}");
    let message = judge(&GRAPH.replace("# y: float[N, 5]", "# the product")).unwrap_err();
    assert!(
        message.starts_with("spec/operators/some.md:7: the comment `the product` states nothing"),
        "{message}"
    );
}

#[test]
fn a_snapshot_shows_the_graph_of_its_section() {
    let text = format!("{GRAPH}\n```snapshot infer\n...\noutputs\n  y  float[N, 5]  MatMul\n```\n");
    assert_eq!(judge(&text), Ok(Judged::True));
    let elsewhere = text.replace("\n```snapshot", "\n## Elsewhere\n\n```snapshot");
    assert!(judge(&elsewhere).unwrap_err().contains("its section has none"));
}

#[test]
fn an_empty_snapshot_is_filled_by_blessing() {
    let text = format!("{GRAPH}\n```snapshot infer\n```\n");
    let blessed = blessed(&text);
    assert!(blessed.ends_with("  y  float[N, 5]  MatMul\n```\n"), "{blessed}");
    assert_eq!(judge(&blessed), Ok(Judged::True));
}

#[test]
fn seeds_and_mode_reach_the_model() {
    let model = "\ng (x) => (y) {\n   y = Relu(x)  # y: float[3]\n}\n```\n";
    assert_eq!(judge(&format!("```graph seed=x:float[3]{model}")), Ok(Judged::True));
    assert_eq!(
        judge(&format!("```graph permissive{}", model.replace("float[3]", "?[...]"))),
        Ok(Judged::True)
    );
    assert!(matches!(judge(&format!("```graph{model}")), Ok(Judged::False(_))));
}

#[test]
fn primitives_are_typed_by_seeds() {
    let text = "```primitives\nseed x: tensor.f16\ny = Neg(x)  # y: tensor.f16\n```\n";
    assert_eq!(judge(text), Ok(Judged::True));
    assert!(matches!(judge(&text.replace("y: tensor.f16", "y: tensor.f32")), Ok(Judged::False(_))));
    assert!(matches!(judge("```primitives\ny = Neg(x)\n```\n"), Ok(Judged::False(_))), "strict");
    assert_eq!(judge("```primitives permissive\ny = Neg(x)\n```\n"), Ok(Judged::True));
}

#[test]
fn only_typeloom_is_run() {
    assert!(judge("```console\n$ rm -r .\n```\n").unwrap_err().contains("2: only `typeloom` can be run"));
    assert!(judge("```console\ntypeloom ops\n```\n").unwrap_err().contains("2: a command starts with"));
    assert!(judge("```console\n```\n").unwrap_err().contains("there is no command"));
    assert!(judge("```console\n$ typeloom check 'x\n```\n").unwrap_err().contains("a quote is not closed"));
}

#[test]
fn every_operator_family_has_a_page() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rules = std::fs::read_to_string(repository.join("crates/ops/src/rules.rs")).unwrap();
    let families: Vec<&str> =
        rules.lines().filter_map(|line| line.trim().strip_suffix("::OPERATORS,")).collect();
    assert!(families.len() > 10, "the list of families has moved: {families:?}");
    let index = std::fs::read_to_string(repository.join("spec/operators/README.md")).unwrap();
    for family in families.into_iter().filter(|family| *family != "control_flow") {
        assert!(repository.join(format!("spec/operators/{family}.md")).is_file(), "no page for `{family}`");
        assert!(index.contains(&format!("[{family}]({family}.md)")), "the index leaves out `{family}`");
    }
}

#[test]
fn edits_of_one_file_do_not_disturb_each_other() {
    let folder = std::env::temp_dir().join(format!("typeloom-testing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.md"), "one two three").unwrap();
    let edit = |range, text: &str| bless::Edit { file: "a.md".into(), range, text: text.to_owned() };
    bless::apply(&folder, vec![edit(0..3, "first"), edit(8..13, "3")]).unwrap();
    let text = std::fs::read_to_string(folder.join("a.md")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(text, "first two 3");
}

const PAGE: &str = "# Page\n\n```onnx fails=dim-mismatch\n<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2, 4] x, float[5] \
                    \"<b&>\") => (y) { y = Add(x, \"<b&>\") }\n```\n\n```snapshot\nerror[dim-mismatch]: ...\n...\n```\n";

#[test]
fn a_picture_shows_the_problems_of_the_model_before_it_and_escapes_its_text() {
    let pictures = pictures::of_document(Path::new("docs/page.md"), PAGE).expect("the snapshot is true");
    let [picture] = &pictures[..] else { panic!("one snapshot has one picture: {pictures:?}") };
    assert_eq!(pictures::file_name(Path::new("docs/page.md"), picture), Path::new("docs/page-0.svg"));
    assert!(
        picture.svg.contains("dim-mismatch") && picture.svg.contains("&lt;b&amp;&gt;"),
        "{}",
        picture.svg
    );
    assert!(!picture.svg.contains("<b&>") && !picture.svg.contains('\u{1b}'), "{}", picture.svg);
}

#[test]
fn a_snapshot_with_other_problems_has_no_picture() {
    let error = pictures::of_document(Path::new("docs/page.md"), &PAGE.replace("error[dim", "error[rank"));
    let message = error.expect_err("the text is false").to_string();
    assert!(message.starts_with("docs/page.md:8: the problems of the model are"), "{message}");
}

#[test]
fn every_snapshot_of_the_repository_has_a_picture() {
    let repository = suite(false).repository;
    let mut found = 0;
    for folder in ["spec", "docs/start", "docs/how-to", "crates/solver/pages"] {
        let mut open = vec![repository.join(folder)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder of documents") {
                let path = entry.expect("a file of the folder").path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    let text = std::fs::read_to_string(&path).expect("a document");
                    found +=
                        pictures::of_document(&path, &text).unwrap_or_else(|error| panic!("{error}")).len();
                }
            }
        }
    }
    assert!(found > 50, "only {found} pictures");
}
