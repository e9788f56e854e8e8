//! `typeloom rust`: output and exit codes of the command itself.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The rustdoc JSON of a crate with one function of this signature, without the items that rustdoc adds.
fn json(signature: &str) -> String {
    let function = format!(
        r#"{{"id":1,"crate_id":0,"name":"f","span":null,"visibility":"public","docs":null,"links":{{}},"attrs":[],
        "deprecation":null,"inner":{{"function":{{"sig":{signature},"generics":{{"params":[],"where_predicates":[]}},
        "header":{{"is_const":false,"is_unsafe":false,"is_async":false,"abi":"Rust"}},"has_body":true}}}}}}"#
    );
    format!(
        r#"{{"root":0,"crate_version":"1.0.0","includes_private":false,"index":{{"0":{{"id":0,"crate_id":0,
        "name":"sample","span":null,"visibility":"public","docs":null,"links":{{}},"attrs":[],"deprecation":null,
        "inner":{{"module":{{"is_crate":true,"items":[1],"is_stripped":false}}}}}},"1":{function}}},"paths":{{}},
        "external_crates":{{}},"target":{{"triple":"","target_features":[]}},"format_version":57}}"#
    )
}

/// The rustdoc JSON of a crate whose function takes a `&str` with this lifetime.
fn takes(lifetime: &str) -> String {
    let ty = format!(
        r#"{{"borrowed_ref":{{"lifetime":{lifetime},"is_mutable":false,"type":{{"primitive":"str"}}}}}}"#
    );
    json(&format!(r#"{{"inputs":[["x",{ty}]],"output":null,"is_c_variadic":false}}"#))
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-cli-rust-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for temporary files can be written to");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("the folder was just made");
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let run =
            Command::new(env!("CARGO_BIN_EXE_typeloom")).arg("rust").args(args).current_dir(&self.0).output();
        let Output { status, stdout, stderr } = run.expect("the command was built");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command writes text");
        (status.code(), text(stdout), text(stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_exit_code_is_1_for_a_breaking_change_and_0_for_other_changes() {
    let folder = Folder::new("diff");
    folder.write("any.json", &takes("null"));
    folder.write("static.json", &takes("\"'static\""));
    let (code, out, _) = folder.run(&["diff", "any.json", "static.json", "--format", "json"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        out,
        "{\"changes\":[{\"item\":\"sample::f\",\"change\":\"narrowed\",\"breaking\":true,\
         \"path\":\"parameter `x` > lifetime\",\"old\":\"'_\",\"new\":\"'static\"}]}\n"
    );
    let (code, out, _) = folder.run(&["diff", "static.json", "any.json", "--format", "json"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("\"change\":\"widened\",\"breaking\":false"), "{out}");
    let (code, out, _) = folder.run(&["diff", "any.json", "any.json", "--format", "json"]);
    assert_eq!((code, out.as_str()), (Some(0), "{\"changes\":[]}\n"));
    let (code, out, _) = folder.run(&["diff", "any.json", "static.json"]);
    assert_eq!(code, Some(1));
    assert!(out.starts_with("breaking: function sample::f was narrowed\n"), "{out}");
}

#[test]
fn signatures_are_listed_and_written_into_a_bundle() {
    let folder = Folder::new("describe");
    folder.write("sample.json", &takes("null"));
    let (code, out, _) = folder.run(&["describe", "sample.json", "-o", "sample.bundle"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("fn sample::f(x: &str)\n"), "{out}");
    assert!(out.ends_with("0 unknown\n"), "{out}");
    let bundle = std::fs::read(folder.0.join("sample.bundle")).expect("the bundle was written");
    let roots = typeloom::pool::Pool::new().import(&bundle).expect("a bundle");
    assert_eq!(roots.iter().map(|root| root.label.as_str()).collect::<Vec<_>>(), ["sample::f"]);
}

#[test]
fn unusable_files_are_exit_code_2_with_the_reason() {
    let folder = Folder::new("unusable");
    let good = takes("null");
    folder.write("good.json", &good);
    folder.write("cut.json", &good[..good.len() / 2]);
    folder.write("version.json", &good.replace("\"format_version\":57", "\"format_version\":12"));
    folder.write("kind.json", &good.replace("\"function\":", "\"hologram\":"));
    for (file, reason) in [
        ("cut.json", "cut off"),
        ("version.json", "format version 12, but this program reads version 57"),
        ("kind.json", "unknown variant `hologram`"),
        ("absent.json", "cannot read"),
    ] {
        for args in [&["describe", file][..], &["diff", "good.json", file], &["diff", file, "good.json"]] {
            let (code, out, err) = folder.run(args);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
            assert!(err.contains(reason) && err.contains(file), "{args:?}: {err}");
        }
    }
}

#[test]
fn the_edition_is_an_option_and_a_note_is_written_if_its_default_matters() {
    let folder = Folder::new("edition");
    let opaque = |bounds: &str| {
        let input =
            r#"["x",{"borrowed_ref":{"lifetime":null,"is_mutable":false,"type":{"primitive":"u8"}}}]"#;
        json(&format!(r#"{{"inputs":[{input}],"output":{{"impl_trait":[{bounds}]}},"is_c_variadic":false}}"#))
    };
    folder.write("free.json", &opaque(""));
    folder.write("borrows.json", &opaque(r#"{"outlives":"'_"}"#));
    let args = ["diff", "free.json", "borrows.json", "--format", "json"];
    let run = |more: &[&str]| folder.run(&[&args, more].concat());
    for year in ["2015", "2018", "2021"] {
        let (code, out, err) = run(&["--edition", year]);
        assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
        assert!(out.contains("\"captured lifetimes\",\"old\":\"use<>\",\"new\":\"use<'_>\""), "{out}");
    }
    let (code, out, err) = run(&["--edition", "2024"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let (code, same, err) = run(&[]);
    assert_eq!((code, same), (Some(0), out));
    assert!(err.starts_with("note: ") && err.contains("--edition 2021`: `sample::f`"), "{err}");
    let moved = ["diff", "free.json", "free.json", "--edition", "2021", "--new-edition", "2024"];
    assert_eq!(folder.run(&moved).0, Some(1));
    let (code, out, _) = run(&["--edition", "1999"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    let described = |year| {
        let run = folder.run(&["describe", "free.json", "--edition", year, "-o", year]);
        assert_eq!(run.0, Some(0), "{run:?}");
        std::fs::read(folder.0.join(year)).expect("the bundle was written")
    };
    assert_ne!(described("2021"), described("2024"));
}
