//! `typeloom explain CODE` and `typeloom explain FILE VALUE`.

use anyhow::{Context as _, bail};
use typeloom_report as report;
use typeloom_solver::diagnostic::text::suggestion;
use typeloom_solver::diagnostic::{Code, explain_value};
use typeloom_solver::suggest::nearest;

use crate::args::{Color, ExplainArgs};
use crate::input;
use crate::output::{Outcome, write};

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Outcome> {
    match &args.value {
        None => explain_code(&args.subject),
        Some(value) => explain_type(args, value),
    }
}

fn explain_code(name: &str) -> anyhow::Result<Outcome> {
    let Some(code) = Code::from_name(name) else {
        if std::path::Path::new(name).exists() {
            bail!("which value of `{name}` shall be explained? (typeloom explain FILE VALUE)");
        }
        let near = nearest(name, Code::ALL.iter().map(|code| code.name()));
        bail!("there is no diagnostic code `{name}`{}", suggestion(&near));
    };
    write(code.page())?;
    Ok(Outcome::Typed)
}

fn explain_type(args: &ExplainArgs, value: &str) -> anyhow::Result<Outcome> {
    let mut checker = input::checker(&args.solve)?;
    checker.options.trace = true;
    let sources = input::sources(std::slice::from_ref(&args.subject))?;
    let [source] = &sources[..] else { bail!("`{}` is not one model", args.subject) };
    let bytes = source.open()?;
    let mut checked =
        checker.check_bytes(&bytes).with_context(|| format!("cannot check `{}`", source.name))?;
    let Some(explanation) = explain_value(&mut checked, value) else {
        let near = suggestion(&checked.names_like(value));
        bail!("`{}` has no value `{value}`{near}", source.name);
    };
    write(&report::human::explanation(&source.name, &explanation, Color::Auto.paint()))?;
    Ok(Outcome::Typed)
}
