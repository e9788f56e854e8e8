use super::schemas;
use super::support::{CLEAN, Folder, MIXED};

#[test]
fn the_last_severity_decides() {
    let folder = Folder::new("levels");
    folder.model("m.onnx", MIXED);
    let code = |arguments: &[&str]| folder.run(&[&["check", "m.onnx"], arguments].concat()).code;
    assert_eq!(code(&[]), 1);
    assert_eq!(code(&["--allow", "types"]), 0);
    assert_eq!(code(&["--allow", "*-mismatch"]), 0);
    assert_eq!(code(&["-A", "all", "-D", "element-type-mismatch"]), 1);
    assert_eq!(code(&["-W", "all"]), 0);
    assert_eq!(code(&["-W", "all", "-D", "warnings"]), 1);
    assert_eq!(code(&["-D", "warnings", "-W", "all"]), 0);
    let warned = folder.problems(&["m.onnx", "-W", "types"]);
    assert!(warned[0].contains(": element-type-mismatch: warning: "), "{warned:?}");
}

#[test]
fn an_unknown_code_is_an_error_of_the_command_line() {
    let folder = Folder::new("unknown-code");
    folder.model("m.onnx", CLEAN);
    let run = folder.run(&["check", "m.onnx", "--deny", "element-type-mismach"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("did you mean `element-type-mismatch`?"), "{run:?}");
    assert_eq!(folder.run(&["check", "m.onnx", "--format", "sraif"]).code, 2);
}

#[test]
fn the_nearest_settings_file_counts_and_the_command_line_precedes_it() {
    let folder = Folder::new("nearest");
    folder.write("typeloom.toml", "severities = { types = \"warn\" }\n");
    folder.write("near/pyproject.toml", "[tool.typeloom.severities]\ntypes = \"allow\"\n");
    folder.write("near/other/pyproject.toml", "[project]\nname = \"typeloom-user\"\n");
    for name in ["m.onnx", "near/m.onnx", "near/other/m.onnx"] {
        folder.model(name, MIXED);
    }
    let status = |file: &str, arguments: &[&str]| {
        let run = folder.run(&[&["check", "--format", "json", file], arguments].concat());
        let record: serde_json::Value = serde_json::from_str(&run.out).expect("a record");
        (run.code, record["status"].as_str().unwrap_or_default().to_owned())
    };
    let expect = |code: i32, status: &str| (code, status.to_owned());
    assert_eq!(status("m.onnx", &[]), expect(0, "warnings"));
    assert_eq!(status("near/m.onnx", &[]), expect(0, "clean"));
    assert_eq!(status("near/other/m.onnx", &[]), expect(0, "clean"), "a file without the table is passed");
    assert_eq!(status("near/m.onnx", &["-D", "types"]), expect(1, "errors"));
    assert_eq!(status("near/m.onnx", &["--no-config"]), expect(1, "errors"));
    assert_eq!(status("near/m.onnx", &["--config", "typeloom.toml"]), expect(0, "warnings"));
}

#[test]
fn overrides_give_seeds_and_assumptions_to_some_files() {
    let folder = Folder::new("overrides");
    folder.write(
        "typeloom.toml",
        "[[overrides]]\nfiles = [\"fixed/*.onnx\"]\nassume = { N = 3 }\nseeds = { x = \"float[...]\" }\n",
    );
    folder.model("free.onnx", CLEAN);
    folder.model("fixed/m.onnx", CLEAN);
    let infer = |file: &str| folder.run(&["infer", file]).out;
    assert!(infer("free.onnx").contains("float[N, 4]"));
    assert!(infer("fixed/m.onnx").contains("float[3, 4]"), "{}", infer("fixed/m.onnx"));
}

#[test]
fn excluded_files_are_not_found_in_folders_but_can_be_named() {
    let folder = Folder::new("exclude");
    folder.write("typeloom.toml", "exclude = [\"vendor\", \"*.tmp.onnx\"]\n");
    for name in ["a.onnx", "b.tmp.onnx", "deep/vendor/c.onnx"] {
        folder.model(name, MIXED);
    }
    let found = folder.problems(&["."]);
    assert!(matches!(&found[..], [line] if line.starts_with("./a.onnx: ")), "{found:?}");
    assert_eq!(folder.problems(&["b.tmp.onnx"]).len(), 1);
}

#[test]
fn an_error_of_a_settings_file_has_its_position() {
    let folder = Folder::new("broken");
    folder.model("m.onnx", CLEAN);
    folder.write("typeloom.toml", "permissive = true\nseverites = {}\n");
    let run = folder.run(&["check", "m.onnx"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("typeloom.toml:2:1: unknown key `severites`; did you mean `severities`?"),
        "{run:?}"
    );
    assert_eq!(folder.run(&["check", "m.onnx", "--no-config"]).code, 0);
}

#[test]
fn config_prints_the_settings_with_their_sources() {
    let folder = Folder::new("config");
    folder.write(
        "typeloom.toml",
        "exclude = [\"vendor\"]\nmax-problems = 5\n[severities]\nshapes = \"warn\"\n[[overrides]]\nfiles = [\"a\"]\n\
         targets = [\"onnxruntime-1.31\"]\n",
    );
    let run = folder.run(&["config", "a/m.onnx", "-D", "warnings", "--assume", "N=4"]);
    let lines: Vec<String> =
        run.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        lines,
        [
            "# a/m.onnx: typeloom.toml",
            "severities.shapes = \"warn\" # typeloom.toml:4",
            "severities.warnings = \"deny\" # command line",
            "assume.N = \"4\" # command line",
            "targets = [\"onnxruntime-1.31\"] # typeloom.toml:7",
            "max-problems = 5 # typeloom.toml:2",
            "exclude = [\"vendor\"] # typeloom.toml:1",
        ]
    );
}

#[test]
fn the_schema_of_settings_agrees_with_the_reader() {
    let folder = Folder::new("settings-schema");
    for (text, is_valid) in [
        ("", true),
        ("severities = { warnings = \"deny\", \"*-mismatch\" = \"warn\" }", true),
        ("severities = { warnings = \"error\" }", false),
        ("severities = [\"warnings\"]", false),
        ("seeds = { x = \"float[batch, 3]\" }", true),
        ("seeds = { x = 3 }", false),
        ("assume = { batch = 4, total = \"past + seq\" }", true),
        ("assume = { batch = 2.5 }", false),
        ("ops = []\ntargets = [\"onnxruntime-1.31\"]", true),
        ("targets = \"onnxruntime-1.31\"", false),
        ("target-files = [\"board.txt\"]", true),
        ("target-files = \"board.txt\"", false),
        ("permissive = true\nmerge-symbols = true\nexternal-data = false\ninline = false", true),
        ("permissive = 1", false),
        ("merge_symbols = true", false),
        ("max-problems = 0", true),
        ("max-problems = -1", false),
        ("baseline = \"known.json\"\nregistry = \"s3://bucket/types\"\nexclude = [\"vendor\"]", true),
        ("exclude = \"vendor\"", false),
        ("[[overrides]]\nfiles = [\"legacy\"]\nmax-problems = 3\nassume = { n = 1 }", true),
        ("[[overrides]]\nmax-problems = 3", false),
        ("[[overrides]]\nfiles = [\"legacy\"]\nbaseline = \"known.json\"", false),
        ("[overrides]\nfiles = [\"legacy\"]", false),
    ] {
        folder.write("typeloom.toml", text);
        let run = folder.run(&["config", "m.onnx"]);
        assert_eq!(run.code == 0, is_valid, "{text}: {run:?}");
        assert_eq!(schemas::accepts_settings(text), is_valid, "{text}");
    }
}

#[test]
fn the_schema_of_settings_has_the_keys_that_the_guide_lists() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci.md");
    let guide = std::fs::read_to_string(guide).expect("the guide is read");
    let rows = guide.lines().skip_while(|line| *line != "| key | meaning | option |").skip(2);
    let rows = rows.take_while(|line| !line.is_empty());
    let mut listed: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let schema = schemas::settings();
    let mut keys: Vec<&str> =
        schema["properties"].as_object().expect("an object").keys().map(String::as_str).collect();
    listed.sort_unstable();
    keys.sort_unstable();
    assert_eq!(keys, listed);
}
