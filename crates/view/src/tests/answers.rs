//! The TypeScript types of requests and answers, generated from the Rust types. `TYPELOOM_BLESS=1` records
//! them.

use std::path::Path;

use serde_json::json;
use ts_rs::{Config, TS};

use crate::engine::Engine;
use crate::scene::Assignment;
use crate::testing::{add_target, ask, scene_of_text};

use crate::engine::answers::{
    Answer, AxisOrigin, Cause, Causes, ChangeEntry, ChangedItem, Changes, Coverage, Details, DrawnBox,
    Excerpt, ExcerptLine, ExcerptPart, Failure, File, Finding, Found, Groups, Hit, InnerGroup, Kind, Level,
    Message, NamedItem, Neighbour, Neighbours, OperatorCount, OtherNode, Partition, Picture, PlaceCount,
    Port, Results, Reveal, Row, Section, Sizes, Summary, Symbol, TargetName, TargetView,
};
use crate::engine::request::{Request, View};

const HEADER: &str = "// Requests to the engine and its answers. Generated from the Rust types by\n// `TYPELOOM_BLESS=1 \
                      cargo test -p typeloom-view answers`; do not edit.\n";

/// The type of the answer to each request.
const ANSWERS: [(&str, &str); 11] = [
    ("summary", "Summary"),
    ("draw", "Picture"),
    ("export", "File"),
    ("details", "Details"),
    ("causes", "Causes"),
    ("reveal", "Reveal"),
    ("search", "Results"),
    ("groups", "Groups"),
    ("find", "Found"),
    ("target", "TargetView"),
    ("neighbours", "Neighbours"),
];

fn declaration<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    format!("\n{docs}export {}\n", T::decl(config))
}

fn generated() -> String {
    let config = Config::default();
    let mut text = HEADER.to_owned();
    macro_rules! declare {
        ($($ty:ty),* $(,)?) => { $(text.push_str(&declaration::<$ty>(&config));)* };
    }
    declare!(
        Request, View, Answer, Failure, Summary, Coverage, Finding, Level, Symbol, Port, Picture, DrawnBox
    );
    declare!(File, Kind, Details, Section, Row, Causes, Cause, AxisOrigin, Reveal, Results, Hit, Found);
    declare!(Neighbours, Neighbour, Changes, ChangeEntry, ChangedItem, Sizes, OperatorCount);
    declare!(TargetName, TargetView, PlaceCount, Partition, OtherNode);
    declare!(Message, Excerpt, ExcerptLine, ExcerptPart, NamedItem, Groups, InnerGroup);
    text.push_str(
        "\n/**\n * The answer to each request, if it is not a failure.\n */\nexport type Answers = {\n",
    );
    ANSWERS.iter().for_each(|(ask, ty)| text.push_str(&format!("\"{ask}\": {ty},\n")));
    text.push_str("};\n");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

#[test]
fn the_types_of_the_page_are_those_of_the_engine() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/src/answers.ts");
    let text = generated();
    if std::env::var_os("TYPELOOM_BLESS").is_some() {
        std::fs::write(&file, &text).expect("the file is written");
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(recorded == text, "{} differs; TYPELOOM_BLESS=1 records it", file.display());
}

/// Every type that an answer refers to is declared.
#[test]
fn the_types_of_the_page_are_complete() {
    let text = generated();
    let mut missing = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let is_type = text.contains(&format!(": {word},")) || text.contains(&format!("<{word}>"));
        let is_own = word.chars().next().is_some_and(|c| c.is_ascii_uppercase()) && word != "Array";
        if is_own && is_type && !text.contains(&format!("export type {word} ")) {
            missing.push(word);
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_answer_has_the_fields_of_its_type() {
    let mut scene = scene_of_text("g (float[N] x) => (y) { y = Relu(x) }");
    add_target(&mut scene, "device", &[Assignment::Device]);
    let mut engine = Engine::of(scene);
    let text = generated();
    for (name, ty) in ANSWERS {
        let mut request = json!({"ask": name});
        match name {
            "details" | "causes" | "reveal" | "neighbours" => request["item"] = json!("v0"),
            "search" => request["query"] = json!("x"),
            "groups" => request["place"] = json!(""),
            "target" => request["name"] = json!("device"),
            "find" => request["link"] = json!("value/x"),
            _ => {}
        }
        let answer = ask(&mut engine, request);
        let (_, declared) = text.split_once(&format!("export type {ty} = ")).expect("the type is declared");
        let (declared, _) = declared.split_once("};").expect("a type has an end");
        let fields = declared
            .lines()
            .filter_map(|line| line.split_once(": ").map(|(field, _)| field.trim_matches('"')));
        let fields: Vec<&str> =
            fields.filter(|field| field.chars().all(|c| c.is_ascii_lowercase() || c == '_')).collect();
        let keys: Vec<&str> = answer.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, fields, "{name}");
    }
}
