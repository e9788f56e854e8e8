//! Completions and manual pages.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::support::Folder;

/// The output of a program; a missing one is reported.
#[expect(clippy::print_stderr, reason = "reports that a test is skipped")]
fn program(command: &mut Command) -> Option<Output> {
    let output = command.stdin(Stdio::null()).output();
    output.inspect_err(|error| eprintln!("skipped: {:?}: {error}", command.get_program())).ok()
}

/// The commands that `--help` lists, without `help`.
fn listed(folder: &Folder, command: &[&str]) -> BTreeSet<String> {
    let help = folder.run(&[command, &["--help"]].concat()).out;
    let lines = help.lines().skip_while(|line| *line != "Commands:");
    let lines = lines.take_while(|line| *line != "Options:");
    // Continuation lines are indented further.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|it| *it != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    let folder = Folder::new("bash");
    let script = folder.run(&["completions", "bash"]);
    assert_eq!((script.code, script.err.as_str()), (0, ""));
    folder.write("typeloom.bash", &script.out);
    let bash = |arguments: &[&str]| program(Command::new("bash").args(arguments).current_dir(&folder.0));
    let Some(syntax) = bash(&["-n", "typeloom.bash"]) else { return };
    assert!(syntax.status.success(), "{}", String::from_utf8_lossy(&syntax.stderr));
    let completions = |words: &[&str]| {
        let last = words.len() - 1;
        let (current, previous) = (words[last], words[last - 1]);
        let line = format!(
            "source typeloom.bash; function=$(complete -p typeloom | sed 's/.*-F \\([^ ]*\\).*/\\1/'); COMP_WORDS=({}); \
             COMP_CWORD={last}; $function typeloom '{current}' '{previous}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        );
        let output = bash(&["--norc", "-c", &line]).expect("bash has started before");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let found = String::from_utf8(output.stdout).expect("the completions are text");
        found.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completions(&["typeloom", "inf"]), ["infer"]);
    assert_eq!(completions(&["typeloom", "run", "--random"]), ["--random-seed"]);
    assert_eq!(completions(&["typeloom", "rust", "di"]), ["diff"]);
    assert_eq!(completions(&["typeloom", "infer", "--format", "j"]), ["json"]);
    assert_eq!(completions(&["typeloom", "check", "--target", "qnn-n"]), ["qnn-npu"]);
    assert_eq!(completions(&["typeloom", "check", "--target", "windows"]), ["windows-npu", "windows-gpu"]);
    assert!(completions(&["typeloom", "infer", "-"]).contains(&"--filter".to_owned()));
}

#[test]
fn every_shell_has_a_script_with_all_commands() {
    let folder = Folder::new("shells");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(&["completions", shell]);
        assert_eq!(script.code, 0, "{shell}");
        for command in listed(&folder, &[]) {
            assert!(script.out.contains(&command), "{shell} has no `{command}`");
        }
    }
    let unknown = folder.run(&["completions", "dash"]);
    assert!(unknown.code == 2 && unknown.err.contains("elvish"), "{}", unknown.err);
}

#[test]
fn every_command_has_a_manual_page_without_warnings() {
    let folder = Folder::new("man");
    let written = folder.run(&["man", "--output", "man1"]);
    assert_eq!(written.code, 0, "{}", written.err);
    let mut expected = BTreeSet::from(["typeloom.1".to_owned()]);
    for command in listed(&folder, &[]) {
        expected.insert(format!("typeloom-{command}.1"));
        for inner in listed(&folder, &[&command]) {
            expected.insert(format!("typeloom-{command}-{inner}.1"));
        }
    }
    assert!(expected.contains("typeloom-rust-diff.1") && expected.len() > 15, "{expected:?}");
    let files = std::fs::read_dir(folder.0.join("man1")).expect("the folder is made");
    let found: BTreeSet<String> =
        files.map(|file| file.expect("listed").file_name().into_string().expect("a name is text")).collect();
    assert_eq!(found, expected);
    for page in &expected {
        let path = Path::new("man1").join(page);
        // The program with which `man` formats pages.
        let mut groff = Command::new("groff");
        groff.args(["-man", "-ww", "-Kutf8", "-Tutf8"]).arg(&path).current_dir(&folder.0);
        let Some(output) = program(&mut groff) else { return };
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{page}: {warnings}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(page.trim_end_matches(".1")), "{page}: {text}");
    }
}

#[test]
fn a_page_is_printed_by_the_name_of_its_command() {
    let folder = Folder::new("page");
    assert!(folder.run(&["man"]).out.contains(".TH typeloom 1"));
    assert!(folder.run(&["man", "rust", "diff"]).out.contains(".TH typeloom-rust-diff 1"));
    let unknown = folder.run(&["man", "chek"]);
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (2, "typeloom: `typeloom` has no command `chek`; did you mean `check`?\n")
    );
}

/// The commands below a heading of a help page.
fn below(help: &str, heading: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_page_of_commands_has_the_rows_of_the_help() {
    let folder = Folder::new("rows");
    let help = folder.run(&["--help"]).out;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/command.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    for heading in ["Commands", "More commands"] {
        let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect("the page has the heading");
        let (section, _) = section.split_once("\n## ").expect("another heading follows");
        let rows =
            section.lines().filter_map(|line| line.strip_prefix("| `typeloom ")?.split([' ', '`']).next());
        let mut rows: Vec<&str> = rows.collect();
        rows.dedup();
        assert_eq!(rows, below(&help, &format!("{heading}:")), "`docs/command.md`, {heading}");
    }
}

#[test]
fn the_help_begins_with_nine_commands() {
    let folder = Folder::new("help");
    let help = folder.run(&["--help"]).out;
    let names = |heading: &str| below(&help, heading);
    let first = ["check", "infer", "explain", "fix", "view", "describe", "diff", "run", "registry"];
    assert_eq!(names("Commands:"), first);
    let more = names("More commands:");
    assert!(more.contains(&"annotate".to_owned()) && more.contains(&"help".to_owned()), "{more:?}");
    assert!(!help.contains("graph  ") && !help.contains("header  "), "{help}");
    for arguments in [&["help", "annotate"][..], &["annotate", "--help"]] {
        assert!(folder.run(arguments).out.contains("Usage: typeloom annotate"));
    }
}

#[test]
fn common_options_are_below_headings() {
    let folder = Folder::new("headings");
    let help = folder.run(&["check", "-h"]).out;
    let heading_of = |option: &str| {
        let mut heading = "";
        for line in help.lines() {
            if line.ends_with(':') && !line.starts_with(' ') {
                heading = line;
            }
            if line.trim_start().split([' ', ',']).any(|word| word == option) && line.contains("  -") {
                return heading;
            }
        }
        panic!("{option} is not in {help}")
    };
    for (option, heading) in [
        ("--format", "Report:"),
        ("--color", "Report:"),
        ("--seed", "Types and symbols:"),
        ("--config", "Operators and settings:"),
        ("--deny", "Severities and exceptions:"),
        ("--against", "Comparisons:"),
        ("--exclude", "Files:"),
    ] {
        assert_eq!(heading_of(option), heading, "{option}");
    }
}

#[test]
fn names_of_other_tools_lead_to_the_command() {
    let folder = Folder::new("elsewhere");
    folder.write("model", "");
    for (arguments, tip) in [
        (
            &["merge", "a.onnx", "b.onnx"][..],
            "tip: `typeloom link A.onnx B.onnx -o AB.onnx` joins two models",
        ),
        (&["lint"], "tip: `typeloom check FILE` "),
        (&["convert-types", "a.onnx"], "tip: `typeloom fix FILE -o NEW` "),
        (&["shape-inference"], "tip: `typeloom annotate FILE -o NEW` "),
        (&["absent.onnx"], "tip: `typeloom check absent.onnx` "),
        (&["model"], "tip: `typeloom check model` "),
        (&["chek"], "tip: a similar subcommand exists: 'check'"),
        (&["check", "m.onnx", "--json"], "tip: `--format json`"),
        (&["check", "m.onnx", "--sarif"], "tip: `--format sarif`"),
        (&["infer", "m.onnx", "--output-format=json"], "tip: the option is `--format`: table, json"),
        (&["diff", "a", "b", "--output-format", "json"], "tip: the option is `--format`: human, concise"),
        (&["check", "m.onnx", "--quite"], "tip: a similar argument exists: '--quiet'"),
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments:?}");
        assert!(run.err.contains(tip), "{arguments:?}: {}", run.err);
    }
}
