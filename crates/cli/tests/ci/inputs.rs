use super::support::{CLEAN, Folder, MIXED, Run, text_of};

/// The files of the records of `check --format json`.
fn files(run: &Run) -> Vec<String> {
    let record = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("a record") };
    run.out.lines().map(|line| record(line)["file"].as_str().expect("a file").to_owned()).collect()
}

fn checked(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let run = folder.run(&[&["check", "--format", "json"], arguments].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {run:?}");
    files(&run)
}

fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let run = folder.run(&[&["check", "--format", "json"], arguments].concat());
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments:?}: {run:?}");
    run.err
}

fn tree(name: &str) -> Folder {
    let folder = Folder::new(name);
    for file in
        ["a.onnx", "b.onnx", "models/c.onnx", "models/v1/d.onnx", "models/v2/e.onnx", "models/v2/f.pb"]
    {
        folder.model(file, CLEAN);
    }
    folder.write("models/v1/notes.txt", "not a model");
    folder
}

#[test]
fn a_glob_selects_the_models_that_match_in_the_order_of_names() {
    let folder = tree("globs");
    assert_eq!(checked(&folder, &["*.onnx"]), ["a.onnx", "b.onnx"]);
    let all = ["models/c.onnx", "models/v1/d.onnx", "models/v2/e.onnx"];
    assert_eq!(checked(&folder, &["models/**/*.onnx"]), all);
    assert_eq!(checked(&folder, &["models/**"]), all);
    assert_eq!(checked(&folder, &["models/v*"]), all[1..]);
    assert_eq!(checked(&folder, &["models/v[13]", "?.onnx"]), ["models/v1/d.onnx", "a.onnx", "b.onnx"]);
    assert_eq!(checked(&folder, &["models/v2/*.{onnx,pb}"]), ["models/v2/e.onnx", "models/v2/f.pb"]);
    let pattern = format!("{}/mod*/*.onnx", folder.0.display());
    assert_eq!(checked(&folder, &[&pattern]), [format!("{}/models/c.onnx", folder.0.display())]);
}

#[test]
fn a_file_with_the_name_of_a_glob_is_that_file() {
    let folder = tree("literal");
    folder.model("[ab].onnx", CLEAN);
    assert_eq!(checked(&folder, &["[ab].onnx"]), ["[ab].onnx"]);
}

#[test]
fn an_argument_that_selects_nothing_is_an_error_with_its_name() {
    let folder = tree("nothing");
    folder.write("empty/notes.txt", "");
    for (argument, text) in [
        ("models/*.onxx", "no model matches `models/*.onxx`"),
        ("missing/**", "no model matches `missing/**`"),
        ("empty", "there is no model (*.onnx, *.onnxtxt, *.onnxtext, *.onnx.txt) in `empty`"),
        ("models/[", "`models/[` is not a glob"),
    ] {
        let err = refused(&folder, &["a.onnx", argument]);
        assert!(err.contains(text), "{argument}: {err}");
    }
    // A named file is checked, so the others are reported.
    let run = folder.run(&["check", "--format", "json", "a.onnx", "missing.onnx"]);
    assert_eq!((run.code, files(&run).len()), (2, 2), "{run:?}");
}

#[test]
fn excluded_models_are_left_out_wherever_they_were_named() {
    let folder = tree("exclude");
    assert_eq!(checked(&folder, &[".", "--exclude", "models"]), ["./a.onnx", "./b.onnx"]);
    assert_eq!(
        checked(&folder, &[".", "--exclude", "v1", "--exclude", "/?.onnx"]),
        ["./models/c.onnx", "./models/v2/e.onnx"]
    );
    assert_eq!(checked(&folder, &["a.onnx", "b.onnx", "--exclude", "b.*"]), ["a.onnx"]);
    assert_eq!(
        checked(&folder, &["models/**", "--exclude", "models/v2"]),
        ["models/c.onnx", "models/v1/d.onnx"]
    );
    let err = refused(&folder, &["models", "--exclude", "models/**"]);
    assert!(err.contains("all models of `models` are excluded"), "{err}");
    let err = refused(&folder, &["a.onnx", "--exclude", "*"]);
    assert!(err.contains("--exclude leaves out all models"), "{err}");
    let err = refused(&folder, &["a.onnx", "--exclude", "["]);
    assert!(err.contains("--exclude: `[` is not a glob"), "{err}");
    let run = folder.run(&["infer", "models", "--format", "json", "--exclude", "v?"]);
    assert_eq!((run.code, files(&run)), (0, vec!["models/c.onnx".to_owned()]));
}

#[test]
fn without_arguments_the_current_folder_is_checked() {
    let folder = tree("current");
    let all = ["a.onnx", "b.onnx", "models/c.onnx", "models/v1/d.onnx", "models/v2/e.onnx"];
    assert_eq!(checked(&folder, &[]), all);
    assert_eq!(checked(&folder, &["--exclude", "v?"]), all[..3]);
    let empty = Folder::new("current-empty");
    assert!(
        refused(&empty, &[]).contains("there is no model (*.onnx, *.onnxtxt, *.onnxtext, *.onnx.txt) in `.`")
    );
}

#[test]
fn ignored_files_and_folders_of_packages_are_left_out_unless_they_are_named() {
    let folder = tree("ignored");
    let foreign = [".venv/lib/m.onnx", "node_modules/m.onnx", "py/site-packages/m.onnx"];
    for file in foreign.into_iter().chain(["models/v2/keep.onnx"]) {
        folder.model(file, CLEAN);
    }
    folder.write(".gitignore", "/b.onnx\nmodels/v*\n!models/v2\n");
    folder.write("models/v2/.gitignore", "e.*\n");
    assert_eq!(checked(&folder, &[]), ["a.onnx", "models/c.onnx", "models/v2/keep.onnx"]);
    assert_eq!(checked(&folder, &["models"]), ["models/c.onnx", "models/v2/keep.onnx"]);
    assert_eq!(checked(&folder, &["b.onnx", "node_modules"]), ["b.onnx", "node_modules/m.onnx"]);
    assert_eq!(checked(&folder, &["--no-ignore"]).len(), 9);
    let run = folder.run(&["infer", "models", "--format", "json"]);
    assert_eq!(files(&run), ["models/c.onnx", "models/v2/keep.onnx"]);
    folder.write(".gitignore", "*.onnx\n");
    folder.rename("models/v2/.gitignore", "models/v2/ignored");
    let err = refused(&folder, &["models"]);
    assert!(err.contains("all models in `models` (4) are ignored") && err.contains("--no-ignore"), "{err}");
}

#[test]
fn a_missing_file_and_an_address_have_advice() {
    let folder = tree("advice");
    for (arguments, advice) in [
        (&["check", "models/d.onnx"][..], "did you mean `models/c.onnx`?"),
        (&["infer", "models/v1/d"], "did you mean `models/v1/d.onnx`?"),
        (&["describe", "a.onx"], "did you mean `a.onnx` or `b.onnx`?"),
        (&["check", "s3://bucket/*.onnx"], "`typeloom.fleet.check(\"s3://bucket/*.onnx\")`"),
        #[cfg(not(feature = "cloud"))]
        (&["check", "s3://bucket/m.onnx"], "builds with the feature `cloud` read models in object stores"),
        (&["view", "https://example.com/m.onnx"], "download the model"),
        (&["check", "file:///m.onnx"], "use the path"),
    ] {
        let run = folder.run(arguments);
        assert!(run.code == 2 && run.err.contains(advice), "{arguments:?}: {run:?}");
    }
    assert!(!folder.run(&["check", "nothing-like-it"]).err.contains("did you mean"));
}

/// Starts a store that has one object for any address but those of `missing.onnx`; returns its URL.
#[cfg(feature = "cloud")]
fn store(object: Vec<u8>) -> String {
    use std::io::{BufRead as _, BufReader, Write as _};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let is_missing = head.first().is_none_or(|line| line.contains("missing.onnx"));
            let (status, body) =
                if is_missing { ("404 Not Found", &[][..]) } else { ("200 OK", &object[..]) };
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\nETag: \"1\"\r\n\
                 Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n",
                body.len()
            );
            (&stream).write_all(&[head.as_bytes(), body].concat()).expect("the client waits");
        }
    });
    url
}

#[test]
#[cfg(feature = "cloud")]
fn a_model_in_an_object_store_is_read_whole() {
    let folder = tree("objects");
    let url = store(std::fs::read(folder.0.join("a.onnx")).expect("the model is there"));
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_typeloom"))
            .args(arguments)
            .current_dir(&folder.0)
            .envs([("AWS_ENDPOINT", &*url), ("AWS_REGION", "us-east-1"), ("AWS_ALLOW_HTTP", "true")])
            .env("AWS_SKIP_SIGNATURE", "true")
            .output()
            .expect("the command starts");
        (
            output.status.code(),
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()),
        )
    };
    let (code, [out, err]) = run(&["check", "s3://models/a.onnx"]);
    assert!(code == Some(0) && out.contains("s3://models/a.onnx: ok"), "{out}{err}");
    let (code, [out, err]) = run(&["infer", "s3://models/a.onnx", "y"]);
    assert!(code == Some(0) && out.contains("float[N, 4]"), "{out}{err}");
    let (code, [out, err]) = run(&["check", "s3://models/missing.onnx"]);
    assert!(code == Some(2) && err.contains("there is no such object"), "{out}{err}");
}

#[test]
fn excludes_of_the_settings_apply_to_globs_and_not_to_named_files() {
    let folder = tree("exclude-settings");
    folder.write("typeloom.toml", "exclude = [\"v1\"]\n");
    assert_eq!(checked(&folder, &["models/**"]), ["models/c.onnx", "models/v2/e.onnx"]);
    assert_eq!(checked(&folder, &["models/v1/d.onnx"]), ["models/v1/d.onnx"]);
}

#[test]
fn the_settings_show_the_excludes_of_the_command_line() {
    let folder = tree("exclude-config");
    folder.write("typeloom.toml", "exclude = [\"v1\"]\n");
    let run = folder.run(&["config", "a.onnx", "--exclude", "v2"]);
    assert_eq!(run.code, 0, "{run:?}");
    let lines: Vec<&str> = run.out.lines().skip(1).collect();
    assert_eq!(lines, ["exclude = [\"v1\"]  # typeloom.toml:1", "exclude = [\"v2\"]  # command line"]);
}

#[test]
fn a_list_has_one_argument_on_each_line() {
    let folder = tree("lists");
    folder.write("lists/all", "b.onnx\r\n\nmodels/v2\n*.onnx\n");
    assert_eq!(checked(&folder, &["@lists/all"]), ["b.onnx", "models/v2/e.onnx", "a.onnx", "b.onnx"]);
    assert_eq!(checked(&folder, &["a.onnx", "@lists/all", "--exclude", "b.onnx"]).len(), 3);
    folder.model("@model", CLEAN);
    assert_eq!(checked(&folder, &["./@model"]), ["./@model"]);
    let run = folder.run_with_input(&["check", "--format", "json", "@-"], "a.onnx\nmodels/c.onnx\n");
    assert_eq!((run.code, files(&run)), (0, vec!["a.onnx".to_owned(), "models/c.onnx".to_owned()]));
}

#[test]
fn a_wrong_list_is_an_error_with_its_name_and_line() {
    let folder = tree("wrong-lists");
    folder.write("outer", "a.onnx\n@inner\n");
    folder.write("inner", "b.onnx\n");
    folder.write("empty-folder/notes", "");
    folder.write("wrong", "a.onnx\n\nempty-folder\n");
    folder.write("binary", b"\xff\xfe");
    for (list, texts) in [
        ("@missing", ["cannot read the list of arguments `missing`", "`./@missing`"]),
        ("@models", ["cannot read the list of arguments `models`", "it is a folder"]),
        ("@binary", ["cannot read the list of arguments `binary`", "utf-8"]),
        ("@outer", ["`outer`, line 2", "a list cannot contain the list `@inner`"]),
        ("@wrong", ["`wrong`, line 3", "in `empty-folder`"]),
    ] {
        let err = refused(&folder, &[list]);
        assert!(texts.iter().all(|text| err.contains(text)), "{list}: {err}");
    }
}

#[test]
fn texts_are_models() {
    let folder = Folder::new("texts");
    let (clean, mixed) = (text_of("", CLEAN), text_of("", MIXED));
    for name in ["a.onnxtxt", "b.onnx.txt", "c.onnxtext", "d.onnx", "notes.md"] {
        folder.write(name, &clean);
    }
    assert_eq!(checked(&folder, &["."]), ["./a.onnxtxt", "./b.onnx.txt", "./c.onnxtext", "./d.onnx"]);
    assert_eq!(checked(&folder, &["notes.md"]), ["notes.md"], "the contents are those of a model");
    folder.write("mixed.onnxtxt", format!("# exported by hand\n{mixed}"));
    let problems = folder.problems(&["mixed.onnxtxt"]);
    assert!(problems[0].starts_with("mixed.onnxtxt: second: element-type-mismatch: "), "{problems:?}");
    let run = folder.run(&["infer", "a.onnxtxt"]);
    assert!(run.code == 0 && run.out.contains("float[N, 4]"), "{run:?}");
    let run = folder.run(&["explain", "a.onnxtxt", "y"]);
    assert!(run.code == 0 && run.out.contains("float[N, 4]"), "{run:?}");
}

#[test]
fn standard_input_is_a_model_or_a_text() {
    let folder = tree("stdin");
    let bytes = std::fs::read(folder.0.join("a.onnx")).expect("the model is written");
    for input in [bytes, text_of("", CLEAN).into_bytes()] {
        let run = folder.run_with_input(&["check", "b.onnx", "-", "--format", "json"], input);
        assert_eq!((run.code, files(&run)), (0, vec!["b.onnx".to_owned(), "<stdin>".to_owned()]));
    }
    let run = folder.run_with_input(&["check", "-"], text_of("", MIXED));
    assert!(run.code == 1 && run.out.contains("element-type-mismatch"), "{run:?}");
    for arguments in [["-", "-"], ["@-", "-"], ["-", "@-"]] {
        let run = folder.run_with_input(&[&["check"], &arguments[..]].concat(), "");
        assert!(run.code == 2 && run.err.contains("standard input can only be read once"), "{run:?}");
    }
}

#[test]
fn a_text_that_is_no_model_is_a_problem_with_its_position() {
    let folder = Folder::new("malformed-text");
    folder.write(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (y) { y = Relu(x }",
    );
    let problems = folder.problems(&["m.onnxtxt"]);
    let expected = "m.onnxtxt: model: malformed-file: the text is malformed: line 2, column 36: expected";
    assert!(problems.len() == 1 && problems[0].starts_with(expected), "{problems:?}");
    assert_eq!(folder.run(&["check", "m.onnxtxt"]).code, 1);
    assert_eq!(folder.run(&["infer", "m.onnxtxt"]).code, 1);
    let run = folder.run(&["describe", "m.onnxtxt"]);
    assert!(run.code == 2 && run.err.contains("line 2, column 36"), "{run:?}");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    folder.write("pointer.onnxtxt", pointer);
    assert!(folder.problems(&["pointer.onnxtxt"])[0].contains(": lfs-pointer: "));
}

#[test]
fn a_file_in_another_format_is_named_with_advice() {
    let folder = Folder::new("other-formats");
    folder.model("m.onnx", CLEAN);
    let model = std::fs::read(folder.0.join("m.onnx")).expect("the model is read");
    folder.write("cut.onnx", &model[..model.len() / 2]);
    let mut archive = b"PK\x03\x04".to_vec();
    archive.resize(26, 0);
    archive.extend([16, 0, 0, 0]);
    archive.extend(b"archive/data.pkl");
    folder.write("m.pt", &archive);
    folder.write("m.zip", &archive[..26]);
    folder.write("export.py", "import torch\ntorch.onnx.export(model, x, 'm.onnx')\n");
    folder.write("page.onnx", "<!DOCTYPE html>\n<html></html>\n");
    for (file, message, help) in [
        ("m.pt", "the file is a file of PyTorch (`.pt`), not an ONNX model", "torch.onnx.export("),
        ("m.zip", "the file is a ZIP archive, not an ONNX model", "unpack it"),
        ("export.py", "the file is a program in Python, not an ONNX model", "run it"),
        ("page.onnx", "the file is a page of a web site, not an ONNX model", "download"),
        ("cut.onnx", "the file is cut off: it has ", "export or download it again"),
    ] {
        let run = folder.run(&["check", file]);
        assert!(run.code == 1 && run.out.contains(message) && run.out.contains(help), "{file}: {run:?}");
        for command in ["infer", "describe"] {
            let run = folder.run(&[command, file]);
            assert!(format!("{}{}", run.out, run.err).contains(message), "{command} {file}: {run:?}");
        }
    }
}

#[test]
fn a_text_is_not_replaced_by_a_model_in_binary_form() {
    let folder = Folder::new("binary-form");
    let text = text_of("", CLEAN);
    folder.write("m.onnxtxt", &text);
    folder.model("m.onnx", CLEAN);
    for arguments in [
        ["annotate", "m.onnxtxt", "--in-place"].as_slice(),
        &["fix", "m.onnxtxt", "--in-place"],
        &["annotate", "m.onnx", "-o", "new.onnxtxt"],
    ] {
        let run = folder.run(arguments);
        assert!(run.code == 2 && run.err.contains("in binary form"), "{arguments:?}: {run:?}");
    }
    assert_eq!(folder.read("m.onnxtxt"), text);
    assert!(!folder.exists("new.onnxtxt"));
    let run = folder.run(&["annotate", "m.onnxtxt", "-o", "new.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(checked(&folder, &["new.onnx"]), ["new.onnx"]);
}
