//! JSON views edited by hand: invalid views are rejected with a path, valid ones give the same bundle.

use serde_json::{Value, json};
use typeloom_pool::{Bundle, ImportError, ImportLimits, JsonError, Pool, Tag};
use typeloom_testing::number;

type Edit<'e> = &'e dyn Fn(&mut Value);

fn view(edit: &dyn Fn(&mut Value)) -> Value {
    let mut view = json!({
        "format": "typeloom-bundle", "version": 2, "hash": "blake3-256", "imports": [],
        "types": [
            {"kind": "int"},
            {"kind": "symbol", "name": "N"},
            {"kind": "tensor", "element": 0, "dims": [1]},
            {"kind": "struct", "name": "S", "fields": [{"name": "a", "type": 0}, {"name": "b", "type": 2}]},
            {"group": [
                {"kind": "option", "of": {"member": 1}},
                {"kind": "struct", "name": "Node", "fields": [{"name": "value", "type": 3}, {"name": "next", "type": {"member": 0}}]},
            ]},
        ],
        "roots": [{"label": "r", "type": 4, "digest": "00".repeat(32)}],
    });
    edit(&mut view);
    view
}

fn error(edit: &dyn Fn(&mut Value)) -> String {
    match Bundle::from_json(&view(edit).to_string(), &ImportLimits::default()) {
        Err(error) => error.to_string(),
        Ok(bundle) => match Pool::new().import(bundle.as_bytes()) {
            Err(error @ ImportError::Invalid { .. }) => format!("import: {error}"),
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn invalid_edits_are_refused_with_their_path() {
    let cases: &[(Edit<'_>, &str)] = &[
        (&|v| v["version"] = json!(1), "version: expected version 2 or 3"),
        (&|v| v["version"] = json!(2.0), "version: expected version 2 or 3"),
        (&|v| v["format"] = json!("typeloom"), "format: expected \"typeloom-bundle\""),
        (&|v| v["hash"] = json!("sha256"), "hash: expected \"blake3-256\""),
        (&|v| v["more"] = json!(1), "more: there is no such field"),
        (&|v| *v = json!([]), "the view: expected an object"),
        (&|v| *v = json!({}), "format: expected a value"),
        (&|v| v["types"] = json!({}), "types: expected an array"),
        (&|v| v["imports"] = json!(["AB"]), "imports[0]: expected 64 lower-case hexadecimal digits"),
        (
            &|v| v["imports"] = json!(["AB".repeat(32)]),
            "imports[0]: expected 64 lower-case hexadecimal digits",
        ),
        (&|v| v["types"][0] = json!("int"), "types[0]: expected an object with a kind"),
        (&|v| v["types"][0] = json!({"kind": "integer"}), "types[0]: expected a known kind"),
        (&|v| v["types"][0] = json!({"kind": 6}), "types[0]: expected an object with a kind"),
        (
            &|v| v["types"][0] = json!({"kind": "infer", "number": 0, "sort": "type"}),
            "types[0]: expected a kind that can be exported",
        ),
        (&|v| v["types"][0]["of"] = json!(0), "types[0].of: there is no such field"),
        (&|v| v["types"][2]["dims"] = json!(null), "types[2].dims: expected an array"),
        (&|v| v["types"][2]["dims"] = json!([1.0]), "types[2].dims[0]: expected an integer of 32 bits"),
        (&|v| v["types"][2]["dims"] = json!([-1]), "types[2].dims[0]: expected an integer of 32 bits"),
        (&|v| v["types"][2]["dims"] = json!([u64::MAX]), "types[2].dims[0]: expected an integer of 32 bits"),
        (&|v| v["types"][2]["dims"] = json!([2]), "types[2]: item 2 does not come before this one"),
        (&|v| v["types"][2]["dims"] = json!([3]), "types[2]: item 3 does not come before this one"),
        (&|v| v["types"][2]["dims"] = json!([{"member": 0}]), "types[2]: there is no member 0 here"),
        (&|v| v["types"][2]["element"] = json!({"item": 0}), "types[2].element.item: there is no such field"),
        (&|v| v["types"][2]["element"] = json!(true), "types[2].element: expected an integer of 32 bits"),
        (&|v| v["types"][3]["name"] = json!(7), "types[3].name: expected a string"),
        (
            &|v| v["types"][3]["fields"][0] = json!({"type": 0}),
            "types[3].fields: expected names for all fields or for none",
        ),
        (&|v| v["types"][3]["fields"][0] = json!({"name": "a"}), "types[3].fields[0].type: expected a value"),
        (
            &|v| v["types"][4]["group"][0]["of"] = json!({"member": 2}),
            "types[4].group[0]: there is no member 2 here",
        ),
        (
            &|v| v["types"][4]["group"][0]["of"] = json!(5),
            "types[4].group[0]: item 5 does not come before this one",
        ),
        (&|v| v["types"][4]["kind"] = json!("int"), "types[4].kind: there is no such field"),
        (&|v| v["types"][4] = json!({"group": 3}), "types[4].group: expected an array"),
        (&|v| v["roots"][0]["type"] = json!("4"), "roots[0].type: expected an integer of 32 bits"),
        (
            &|v| v["roots"][0]["digest"] = json!(""),
            "roots[0].digest: expected 64 lower-case hexadecimal digits",
        ),
        (&|v| v["roots"][0]["labels"] = json!([]), "roots[0].labels: there is no such field"),
        // Valid views of invalid bundles are rejected on import.
        (&|v| v["types"][4] = json!({"group": []}), "types[4].group: expected at least one member"),
        (&|v| v["types"][3]["name"] = json!(""), "import: bad name: a name cannot be empty (at byte 11)"),
        (
            &|v| v["types"][3]["fields"][1]["name"] = json!("a"),
            "import: the field `a` occurs twice (at byte 40)",
        ),
        (
            &|v| v["roots"][0]["type"] = json!(9),
            "import: a reference to a type that does not exist (at byte 65)",
        ),
        (
            &|v| v["roots"][0]["label"] = json!("a\u{7}"),
            "import: bad name: a name cannot contain the control character U+0007 (at byte 63)",
        ),
        (&|_| {}, "import: the digest of root `r` is not that of its type (at byte 63)"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(edit, expected)| (error(*edit), expected))
        .filter(|(found, expected)| found != *expected)
        .map(|(found, expected)| format!("found    {found}\nexpected {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_that_is_no_json_is_refused_with_line_and_column() {
    let refused = |text: &str| Bundle::from_json(text, &ImportLimits::default()).unwrap_err();
    let cases = [
        ("", "line 1, column 0: not JSON: EOF while parsing a value"),
        ("{\n \"version\": 1,\n \"version\": 1}", "line 3, column 10: the field \"version\" occurs twice"),
        (
            "{\"types\": [{\"kind\": \"int\", \"kind\": \"str\"}]}",
            "line 1, column 33: the field \"kind\" occurs twice",
        ),
        ("{\"a\": \"\\ud800\"}", "line 1, column 14: not JSON: unexpected end of hex escape"),
        ("{\"a\": \"\\x\"}", "line 1, column 9: not JSON: invalid escape"),
        ("{\"a\": 01}", "line 1, column 8: not JSON: invalid number"),
        ("{\"a\": 1e999}", "line 1, column 11: not JSON: number out of range"),
        ("{} {}", "line 1, column 4: not JSON: trailing characters"),
        ("\u{feff}{}", "line 1, column 1: not JSON: expected value"),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text).to_string(), expected);
    }
    for open in ["[", "{\"a\":"] {
        let deep = refused(&open.repeat(1_000_000)).to_string();
        assert!(deep.ends_with("not JSON: recursion limit exceeded"), "{deep}");
    }
}

/// Every value inside a view, with its path.
fn paths(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                paths(item, &format!("{here}/{at}"), all);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                paths(item, &format!("{here}/{name}"), all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_view_with_one_value_removed_or_replaced_is_refused_or_unchanged_by_a_round_trip() {
    let mut files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json") && !path.ends_with("random.json"))
        .collect();
    files.sort();
    let with = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(7),
        json!(-1),
        json!(0.5),
        json!(1e30),
        json!(u32::MAX),
        json!(i64::MIN),
        json!(""),
        json!("x"),
        json!("int"),
        json!([]),
        json!([0]),
        json!({}),
        json!({"member": 0}),
        json!({"kind": "int"}),
    ];
    let (mut refused, mut accepted) = (0, 0);
    for file in files {
        let view: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut all = Vec::new();
        paths(&view, "", &mut all);
        for place in all.iter().skip(1).step_by(number(5, 1)) {
            let (parent, last) = place.rsplit_once('/').unwrap();
            let mut edits = Vec::new();
            let mut without = view.clone();
            match without.pointer_mut(parent).unwrap() {
                Value::Array(items) => drop(items.remove(last.parse().unwrap())),
                Value::Object(fields) => drop(fields.shift_remove(last)),
                other => panic!("{other} has no parts"),
            }
            edits.push(without);
            for value in &with {
                let mut replaced = view.clone();
                *replaced.pointer_mut(place).unwrap() = value.clone();
                edits.push(replaced);
            }
            for edited in edits {
                let bundle = match Bundle::from_json(&edited.to_string(), &ImportLimits::default()) {
                    Ok(bundle) => bundle,
                    Err(
                        JsonError::Syntax { .. }
                        | JsonError::DuplicateField { .. }
                        | JsonError::TooLong { .. },
                    ) => {
                        panic!("{place} is JSON")
                    }
                    Err(error) => {
                        assert!(!error.to_string().starts_with(':'));
                        refused += 1;
                        continue;
                    }
                };
                let mut pool = Pool::new();
                match pool.import(bundle.as_bytes()) {
                    Ok(_) => {
                        let back: Value = serde_json::from_str(&bundle.to_json().unwrap()).unwrap();
                        assert_eq!(back, edited);
                        accepted += 1;
                    }
                    Err(_) => {
                        assert!(pool.is_empty());
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > number(1000, 5000) && accepted > number(2, 10), "{refused} {accepted}");
}

#[test]
fn a_type_that_doubles_sixty_four_times_is_bounded_in_every_face() {
    let mut pool = Pool::new();
    let mut types = [Tag::Int, Tag::Str].map(|tag| pool.primitive(tag).unwrap());
    for _ in 0..64 {
        types = types.map(|ty| pool.tuple(&[ty, ty]).unwrap());
    }
    let [old, new] = types;
    let bundle = pool.export(&[("t", old)]).unwrap();
    let json = bundle.to_json().unwrap();
    assert!(json.len() < 20_000 && Bundle::from_json(&json, &ImportLimits::default()).unwrap() == bundle);
    assert!(pool.signature(old).len() < 5_000 && pool.tree(old).len() < 50_000);
    let answer = pool.compat(old, new, typeloom_pool::compat::Direction::Full);
    assert!(!answer.is_compatible() && answer.breaking.len() <= typeloom_pool::compat::MAX_DIFFERENCES);
    assert!(pool.diff(old, new).len() < 2_000_000);
    assert_eq!(pool.describe_transitive(old).unwrap().len(), 65);
    assert!(format!("{:?}", pool.describe(old).unwrap()).len() < 1000);
    assert!(pool.shape_digest(old).is_ok());
    let cx = typeloom_term::Boxed::new();
    let mut symbols = typeloom_term::Symbols::new();
    let term = pool.term(&cx, &mut symbols, old).unwrap();
    assert_eq!(pool.intern_term(&cx, &symbols, &term), Ok(old));
}
