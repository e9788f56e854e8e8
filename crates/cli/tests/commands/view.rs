//! `typeloom view`: outputs, files that are not replaced, and a served page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::support::{Folder, Process};

/// A model without problems, as a text.
const TEXT: &str = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => (y) { y = Neg(x) }";

/// Another model with one problem.
const BROKEN: &str =
    "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x, double[N] w) => (y) { y = Mul(x, w) }";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("m.onnxtxt", TEXT);
    folder
}

#[test]
fn a_page_is_written_into_the_current_folder_under_the_name_of_the_model() {
    let folder = folder("view-default");
    for _ in 0..2 {
        let run = folder.run(&["view", "m.onnxtxt"]);
        assert_eq!((run.code, run.out), (0, "m.onnxtxt -> m.html: 1 node\n".to_owned()), "{}", run.err);
        let page = folder.read("m.html");
        assert!(page.starts_with("<!doctype html>") && page.contains("<td>float[N]</td>"), "{page:.400}");
    }
}

#[test]
fn a_file_that_is_no_page_is_replaced_only_on_request() {
    let folder = folder("view-replace");
    folder.write("m.html", "<p>notes</p>");
    let run = folder.run(&["view", "m.onnxtxt"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("`m.html` exists and is no page of this command; use --output"), "{}", run.err);
    assert_eq!(folder.read("m.html"), "<p>notes</p>");
    assert_eq!(folder.run(&["view", "m.onnxtxt", "-o", "m.html"]).code, 0);
    assert!(folder.read("m.html").starts_with("<!doctype html>"));
    let run = folder.run(&["view", "m.onnxtxt", "-o", "m.onnxtxt"]);
    assert!(run.code == 2 && run.err.contains("is the model itself"), "{}", run.err);
}

#[test]
fn a_model_with_problems_has_a_page_and_the_exit_code_of_problems() {
    let folder = folder("view-problems");
    folder.write("broken.onnxtxt", BROKEN);
    let run = folder.run(&["view", "broken.onnxtxt", "-o", "-"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("<td>element-type-mismatch</td>") && run.out.ends_with("</html>\n"));
}

#[test]
fn the_picture_is_that_of_graph() {
    let folder = folder("view-svg");
    let picture = folder.run(&["view", "m.onnxtxt", "--svg"]);
    assert_eq!(picture.out, folder.run(&["graph", "m.onnxtxt", "--svg"]).out);
    assert!(picture.out.starts_with("<svg "));
}

#[cfg(target_os = "linux")]
#[test]
fn a_browser_that_does_not_start_leaves_the_page_with_a_note() {
    let folder = folder("view-open");
    for is_started in [false, true] {
        // The folder is the only one in which programs are looked for.
        if is_started {
            folder.write("xdg-open", "#!/bin/sh\n");
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.0.join("xdg-open"), permissions).expect("it can be executed");
        }
        let mut command = folder.command(&["view", "m.onnxtxt", "--open"]);
        let output = command.env("PATH", &folder.0).output().expect("the command starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), &*out), (Some(0), "m.onnxtxt -> m.html: 1 node\n"), "{err}");
        assert_eq!(!err.contains("note: cannot start a browser"), is_started, "{err}");
    }
    assert!(folder.read("m.html").starts_with("<!doctype html>"));
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let folder = folder("view-options");
    for arguments in [
        &["--serve", "-o", "a.html"][..],
        &["--svg", "--serve"],
        &["--svg", "--open"],
        &["--port", "8000"],
        &["-o", "-", "--open"],
    ] {
        let run = folder.run(&[&["view", "m.onnxtxt"][..], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.out);
    }
    let run = folder.run(&["view", "-", "--serve"]);
    assert!(run.code == 2 && run.err.contains("--serve needs a file"), "{}", run.err);
}

/// A running server, which is ended with the test.
struct Served {
    process: Process,
    port: u16,
}

impl Served {
    fn start(folder: &Folder) -> Self {
        Self::of(folder.command(&["view", "m.onnxtxt", "--serve"]))
    }

    fn of(mut command: Command) -> Self {
        let mut process = Process::start(command.stdout(Stdio::piped()));
        let mut line = String::new();
        let out = process.0.stdout.take().expect("the output is a pipe");
        BufReader::new(out).read_line(&mut line).expect("the command prints its address");
        let port = line.split(&[':', '/'][..]).filter_map(|part| part.parse().ok()).next();
        Self { process, port: port.unwrap_or_else(|| panic!("no port in {line:?}")) }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("the limit is set");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        answer
    }
}

#[test]
fn a_served_page_follows_the_model() {
    let folder = folder("view-serve");
    let served = Served::start(&folder);
    let page = served.get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("<td>float[N]</td>"), "{page:.400}");
    let version = |answer: String| answer.rsplit("\r\n").next().unwrap_or_default().to_owned();
    let first = version(served.get("/version"));
    assert!(page.contains(&format!("<meta name=\"typeloom-version\" content=\"{first}\">")), "{first}");
    assert_eq!(version(served.get("/version")), first);

    folder.write("m.onnxtxt", BROKEN);
    let second = version(served.get("/version"));
    assert_ne!(second, first);
    assert!(served.get("/").contains("<td>element-type-mismatch</td>"));

    // A file that is no model leaves the page as it is.
    folder.write("m.onnxtxt", "no model");
    assert_eq!(version(served.get("/version")), second);
    assert!(served.get("/").contains("<td>element-type-mismatch</td>"));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_server_that_a_shell_starts_in_the_background() {
    let folder = folder("view-signals");
    for signal in ["INT", "TERM"] {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT TERM; exec \"$0\" view m.onnxtxt --serve"]);
        command.arg(env!("CARGO_BIN_EXE_typeloom")).current_dir(&folder.0);
        let mut served = Served::of(command);
        served.process.signal(signal);
        assert_eq!(served.process.end().code(), Some(130));
    }
}

#[test]
fn a_page_shows_the_problems_that_a_check_reports() {
    let folder = Folder::new("view-findings");
    let head = "<ir_version: 10, opset_import: [\"\" : 21], metadata_props: [\"typeloom.allow\" : \"restricted-symbol\"]>";
    let graph = "g (float[A] a, float[B] b) => (y, z) <float[2] w = [\"location\" : \"w.bin\"]> { y = Add(a, b) z = Neg(w) }";
    folder.write("m.onnxtxt", format!("{head} {graph}"));
    let problems = |arguments: &[&str]| {
        let run = folder.run(&[&["view", "m.onnxtxt"], arguments].concat());
        let page = folder.read("m.html");
        let codes = ["missing-external-data", "restricted-symbol"];
        let found = codes.into_iter().filter(|code| page.contains(&format!("<td>{code}</td>")));
        (run.code, found.collect::<Vec<_>>())
    };
    assert_eq!(problems(&[]), (1, vec!["missing-external-data"]));
    folder.write("typeloom.toml", "external-data = false\n");
    assert_eq!(problems(&[]), (0, vec![]));
    folder.write("typeloom.toml", "external-data = false\ninline = false\n");
    assert_eq!(problems(&[]), (0, vec!["restricted-symbol"]));
    folder.write(
        "typeloom.toml",
        "external-data = false\ninline = false\nseverities = { warnings = \"deny\" }\n",
    );
    assert_eq!(problems(&[]), (1, vec!["restricted-symbol"]));
    assert_eq!(folder.run(&["check", "m.onnxtxt", "--baseline", "known.json", "--update-baseline"]).code, 0);
    folder.write("typeloom.toml", "external-data = false\ninline = false\nbaseline = \"known.json\"\n");
    assert_eq!(problems(&[]), (0, vec![]));
    assert_eq!(problems(&["--no-config"]), (1, vec!["missing-external-data"]));
    let inferred = folder.run(&["infer", "m.onnxtxt", "--no-config"]);
    assert_eq!(inferred.code, 0, "types do not depend on weights: {inferred:?}");
}
