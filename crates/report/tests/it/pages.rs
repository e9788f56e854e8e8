//! Tests the pages of the codes: every example fails with its code and the printed report, and every fix
//! passes.
//!
//! `TYPELOOM_BLESS=1 cargo test -p typeloom-report --test pages` updates the pages.

use std::path::PathBuf;

use crate::support::{Seeds, check_text, seeds_of};
use typeloom_report::human::{self, Color};
use typeloom_solver::diagnostic::Code;

/// Codes whose situation a model in textual syntax cannot show, and why.
const WITHOUT_EXAMPLE: [(Code, &str); 25] = [
    (Code::RelationFailed, "needs an operator that is described to the checker"),
    (Code::MalformedFile, "is about bytes"),
    (Code::LfsPointer, "is about bytes"),
    (Code::LimitReached, "would be thousands of elements long"),
    (Code::TooManyInstances, "would be 1,025 calls long"),
    (Code::NestingTooDeep, "would be 65 graphs long"),
    (Code::MissingExternalData, "is found when the files are opened"),
    (Code::InvalidModule, "is about a recording in Rust"),
    (Code::SlotBinding, "needs a module with slots"),
    (Code::LossyCast, "is found by the compiler"),
    (Code::MissingSend, "needs a module with peers"),
    (Code::UnsupportedNode, "depends on the backend"),
    (Code::NodeFailed, "is found by a run"),
    (Code::ProgramTooLarge, "would be thousands of calls long"),
    (Code::ProgramInterface, "needs a compiled program"),
    (Code::TargetIrVersion, "needs a target"),
    (Code::TargetOpset, "needs a target"),
    (Code::TargetOperator, "needs a target"),
    (Code::TargetKernel, "needs a target"),
    (Code::TargetElementType, "needs a target"),
    (Code::TargetAttribute, "needs a target"),
    (Code::TargetNode, "needs a target"),
    (Code::TargetFallback, "needs a target"),
    (Code::TargetCondition, "needs a target"),
    (Code::TargetUndecided, "needs a target"),
];

/// A fenced block of a page.
struct Fence<'p> {
    info: &'p str,
    text: &'p str,
}

fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (info, body) = after.split_once('\n').expect("a fence has lines");
        let (text, after) = match body.strip_prefix("```") {
            Some(after) => ("", after),
            None => body.split_once("\n```").expect("a fence ends"),
        };
        found.push(Fence { info, text });
        rest = after;
    }
    found
}

fn file_of(code: Code) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(code.page_path())
}

fn bless() -> bool {
    std::env::var_os("TYPELOOM_BLESS").is_some()
}

/// The page with another text in its `snapshot` fence.
fn with_snapshot(page: &str, text: &str) -> String {
    let (before, after) = page.split_once("\n```snapshot\n").expect("the page has a snapshot");
    let (_, after) = after.split_once("```").expect("a fence ends");
    format!("{before}\n```snapshot\n{text}```{after}")
}

#[test]
fn every_page_has_its_parts() {
    for code in Code::ALL.iter().copied() {
        let text = code.page();
        assert!(text.starts_with(&format!("# `{}`\n", code.name())), "{code}: the title is the code");
        for part in ["\n## Why\n", "\n## Fix\n"] {
            assert!(text.contains(part), "{code}: {part} is missing");
        }
    }
}

#[test]
fn every_example_fails_with_its_code_and_in_the_words_shown() {
    let mut wrong = Vec::new();
    for code in Code::ALL.iter().copied().filter(|code| !is_without_example(*code)) {
        let fences = fences(code.page());
        let Some(example) = fences.iter().find(|fence| fence.info.starts_with("onnx fails=")) else {
            wrong.push(format!("{code}: no example"));
            continue;
        };
        let mut words = example.info.split(' ').skip(1);
        assert_eq!(words.next(), Some(format!("fails={}", code.name()).as_str()));
        let found = check_text(example.text, &seeds_of(words));
        let codes: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
        let rendered = human::diagnostics("model.onnx", &found, Color::Never);
        if codes != [code] {
            wrong.push(format!("{code}: yields {codes:?}\n{rendered}"));
            continue;
        }
        let snapshot = fences.iter().find(|fence| fence.info == "snapshot").expect("the page has a snapshot");
        if snapshot.text.trim_end() != rendered.trim_end() {
            if bless() {
                std::fs::write(file_of(code), with_snapshot(code.page(), &rendered)).unwrap();
            } else {
                wrong.push(format!("{code}: the rendered text is\n{rendered}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fix_passes() {
    for code in Code::ALL.iter().copied().filter(|code| !is_without_example(*code)) {
        let fences = fences(code.page());
        let fix = fences.iter().find(|fence| fence.info == "onnx passes").expect("the page has a fix");
        let found = check_text(fix.text, &Seeds::new());
        assert!(found.is_empty(), "{code}:\n{}", human::diagnostics("model.onnx", &found, Color::Never));
    }
}

#[test]
fn pages_without_an_example_have_a_reason() {
    for (code, reason) in WITHOUT_EXAMPLE {
        assert!(fences(code.page()).is_empty(), "{code} has an example, although it {reason}");
    }
}

fn is_without_example(code: Code) -> bool {
    WITHOUT_EXAMPLE.iter().any(|(other, _)| *other == code)
}

#[test]
fn the_index_lists_every_code() {
    let mut index = "# Diagnostic codes\n\nEach kind of problem has a stable code, and a page with its meaning, its consequences and \
                     its repair. `typeloom explain CODE`\nprints the page. The examples on the pages are checked by the \
                     tests. Settings select codes by name, by glob or by group, see `docs/ci.md`.\n\n| code | | group | |\n|---|---|---|---|\n"
        .to_owned();
    for code in Code::ALL {
        let name = code.name();
        let (severity, group, summary) = (code.severity(), code.group(), code.summary());
        index.push_str(&format!("| [`{name}`]({name}.md) | {severity} | `{group}` | {summary} |\n"));
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../crates/solver/pages/README.md");
    if bless() {
        std::fs::write(&file, &index).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), index);
}
