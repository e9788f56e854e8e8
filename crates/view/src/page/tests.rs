//! The page of a model: its policy, its data, its size, and hostile texts.

use typeloom_onnx::messages::GraphProto;

use super::*;
use crate::testing::{float, node, scene_of_graph, scene_of_text};

/// Syntax of HTML, scripts and styles, control characters, and characters that reverse or hide text.
const HOSTILE: &str = "a\"'>--><script>alert(1)</script><img src=x onerror=alert(1)>&#x41;</style></title>\n\0\u{1b}[31m\u{202e}\u{200b}\u{feff}end";

fn chain(length: usize) -> Scene {
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    let nodes = (0..length).map(|at| node("Relu", "", &[&name(at)], &[&name(at + 1)])).collect();
    scene_of_graph(GraphProto {
        node: nodes,
        input: vec![float("x")],
        output: vec![float(&name(length))],
        ..GraphProto::default()
    })
}

/// The text between two others.
fn between<'p>(page: &'p str, start: &str, end: &str) -> Option<&'p str> {
    Some(page.split_once(start)?.1.split_once(end)?.0)
}

#[test]
fn the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() {
    let page = render(&chain(1), "m.onnx", Delivery::File);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"").expect("the page has a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    for forbidden in ["unsafe-inline", "unsafe-eval'", "http", "connect-src", "*"] {
        let is_wasm = forbidden == "unsafe-eval'" && policy.matches(forbidden).count() == 1;
        assert!(is_wasm || !policy.contains(forbidden), "{forbidden}: {policy}");
    }
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("the page has no {text}"));
    assert!(at("Content-Security-Policy") < at("<style>"), "the policy precedes the style");
    // Nothing is loaded: the only link is the empty icon.
    let markup = page.replace(SCRIPT, "").replace(STYLE, "");
    assert_eq!(markup.matches("href=").count(), 1);
    assert!(!markup.contains(" src=") && !markup.contains("url(") && !markup.contains(" style="));
}

#[test]
fn the_title_is_the_name_of_the_file_and_has_the_path() {
    let page = render(&chain(1), "some/folder/m.onnx", Delivery::File);
    assert!(page.contains("<title>m.onnx - typeloom</title>"));
    assert!(page.contains("<h1 title=\"some/folder/m.onnx\">m.onnx</h1>"));
}

#[test]
fn pages_of_servers_ask_for_changes_and_files_do_not() {
    let scene = chain(1);
    let served = render(&scene, "m.onnx", Delivery::Server { version: 17 });
    assert!(served.contains("<meta name=\"typeloom-version\" content=\"17\">"));
    assert!(served.contains("connect-src 'self';"));
    assert!(!render(&scene, "m.onnx", Delivery::File).contains("typeloom-version\" content"));
}

#[test]
fn text_of_a_model_is_escaped() {
    let mut made = node(HOSTILE, HOSTILE, &[HOSTILE], &["y"]);
    made.domain = HOSTILE.into();
    let graph = GraphProto {
        node: vec![made],
        input: vec![float(HOSTILE)],
        output: vec![float("y")],
        ..GraphProto::default()
    };
    let page = render(&scene_of_graph(graph), HOSTILE, Delivery::File).replace(SCRIPT, "");
    // The two data blocks and the script of the page.
    assert_eq!([page.matches("<script").count(), page.matches("</script").count()], [3, 3]);
    assert_eq!([page.matches("<style").count(), page.matches("</style").count()], [1, 1]);
    assert_eq!([page.matches("<title").count(), page.matches("</title").count()], [1, 1]);
    assert!(!page.contains("<img") && page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    let is_safe =
        |c: char| c == '\n' || !(c.is_control() || matches!(c, '\u{202e}' | '\u{200b}' | '\u{feff}'));
    let found = page.chars().find(|c| !is_safe(*c));
    assert_eq!(found, None);
}

#[test]
fn the_table_has_the_values_and_problems() {
    let scene = scene_of_text("g (float[N] x, double[N] w) => (y) { y = Mul(x, w) }");
    let page = render(&scene, "m.onnx", Delivery::File);
    for row in [
        "<tr><td class=\"error\">error</td><td>element-type-mismatch</td><td>",
        "<tr><td>x</td><td>float[N]</td><td>proven</td><td>input</td></tr>",
        "<td>Mul, output</td></tr>",
    ] {
        assert!(page.contains(row), "{row}");
    }
    let clean = render(&chain(1), "m.onnx", Delivery::File);
    assert!(clean.contains("<p>The model has no problems.</p>"));
    let mut known = chain(1);
    known.about.unreported = "2 known".to_owned();
    let known = render(&known, "m.onnx", Delivery::File);
    assert!(known.contains("<p>Not reported: 2 known.</p>") && !known.contains("<p>The model has no"));
}

#[test]
fn tables_and_texts_are_bounded() {
    let scene = chain(3 * table::MAX_ROWS);
    let page = render(&scene, "m.onnx", Delivery::File);
    assert_eq!(page.matches("<tr><td>").count(), table::MAX_ROWS);
    assert!(
        page.contains("6001 values; the first 2000 are listed"),
        "{:?}",
        between(&page, "<caption>", "<")
    );
    let long = "x".repeat(1 << 20);
    let graph = GraphProto {
        node: vec![node("Relu", &long, &[&long], &["y"])],
        input: vec![float(&long)],
        output: vec![float("y")],
        ..GraphProto::default()
    };
    let extra = render(&scene_of_graph(graph), &long, Delivery::File).len();
    assert!(extra < render(&chain(1), "m.onnx", Delivery::File).len() + (1 << 14), "{extra} bytes");
}

#[test]
fn the_scene_is_in_the_page_and_the_same_scene_gives_the_same_page() {
    let scene = chain(3);
    let page = render(&scene, "m.onnx", Delivery::File);
    let data = between(&page, "id=\"scene\">", "<").expect("the page has a scene");
    let compressed = STANDARD.decode(data).expect("the scene is base64");
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&compressed).expect("the scene is compressed");
    assert_eq!(bytes, wire::encode(&scene));
    assert_eq!(page, render(&chain(3), "m.onnx", Delivery::File));
}
