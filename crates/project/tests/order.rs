//! The order of the steps, and what each of them leaves in the findings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use typeloom::check::Operators;
use typeloom_project::baselines::{BaselineMode, Baselines};
use typeloom_project::check::SideFiles;
use typeloom_project::file::{File, Source};
use typeloom_project::findings::Findings;
use typeloom_project::plan::Plan;
use typeloom_settings::effective::{Settings, Sourced};
use typeloom_settings::levels::{Level, Rule, Selector};

const TARGETS: [&str; 2] = ["onnxruntime-1.31", "onnxruntime-1.24"];

/// A model that no target runs, with a warning of its own.
fn file(allowed: &str) -> File {
    let text = format!(
        r#"<ir_version: 8, opset_import: ["" : 17], metadata_props: ["typeloom.allow" : "{allowed}"]>
        g (float[A] a, float[B] b, int16[2] x) => (y, z) {{ y = Add(a, b) z = Min(x, x) }}"#
    );
    File::of_bytes("m", text.into_bytes())
}

fn settings(rules: &[(&str, Level)]) -> Settings {
    let rule = |(selector, level): &(&str, Level)| {
        let selector = Selector::parse(selector).expect("the rule selects codes");
        Sourced::of_command_line(Rule { selector, level: *level })
    };
    Settings {
        severities: rules.iter().map(rule).collect(),
        targets: TARGETS.map(|name| Sourced::of_command_line(name.to_owned())).into(),
        ..Settings::default()
    }
}

fn found(settings: Settings, file: &File) -> Findings {
    let plan = Plan::new(settings, Arc::new(Operators::standard()), Vec::new()).expect("the targets exist");
    plan.check(file, SideFiles::InFolder).expect("there are no options").findings
}

/// The code of each problem with its target.
fn shown(findings: &Findings) -> Vec<(&str, Option<&str>)> {
    let targets = findings.targets().map(|target| target.map(typeloom::targets::Target::name));
    findings.diagnostics().map(|it| it.code.name()).zip(targets).collect()
}

#[test]
fn reasons_of_targets_follow_the_problems_of_the_model_and_keep_their_target() {
    let own = ("restricted-symbol", None);
    let [newer, older] = TARGETS.map(|name| ("target-kernel", Some(name)));
    assert_eq!(shown(&found(settings(&[]), &file("wrong-rank"))), [own, newer, older]);
    let allowed = settings(&[("restricted-symbol", Level::Allow)]);
    assert_eq!(shown(&found(allowed, &file("wrong-rank"))), [newer, older]);
    let excepted = found(settings(&[]), &file("target-kernel"));
    assert_eq!(shown(&excepted), [own]);
    assert_eq!(excepted.excepted.codes.values().sum::<usize>(), 2);
    assert_eq!(excepted.verdicts.len(), 2, "a verdict stays without its reasons");
}

#[test]
fn an_exception_holds_at_any_level() {
    let denied = settings(&[("all", Level::Deny)]);
    assert_eq!(shown(&found(denied, &file("all"))), []);
}

#[test]
fn a_baseline_has_the_problems_that_are_reported_and_no_others() {
    fn absent(path: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::new(std::io::ErrorKind::NotFound, path.display().to_string()))
    }
    fn written(_: &Path) -> std::io::Result<Vec<u8>> {
        let mut baselines = Baselines::new(BaselineMode::Update, PathBuf::from("/models"), absent);
        let mut findings = found(settings(&[]), &file("target-kernel"));
        let model = Source::at(PathBuf::from("m.onnx"));
        baselines.apply(Path::new("known.json"), &model, &mut findings).expect("the baseline is new");
        assert!(findings.is_empty() && findings.known == 1);
        let updated = baselines.updated().remove(0);
        assert_eq!((updated.total, updated.new, updated.fixed), (1, 1, 0));
        Ok(updated.text.expect("the file is new").into_bytes())
    }
    let mut baselines = Baselines::new(BaselineMode::Compare, PathBuf::from("/models"), written);
    let mut findings = found(settings(&[]), &file("wrong-rank"));
    let model = Source::at(PathBuf::from("m.onnx"));
    baselines.apply(Path::new("known.json"), &model, &mut findings).expect("the baseline is one");
    assert_eq!(shown(&findings), TARGETS.map(|name| ("target-kernel", Some(name))));
    assert_eq!((findings.known, baselines.fixed()), (1, Some(0)));
}
