//! `typeloom explain CODE`, `typeloom explain FILE VALUE` and `typeloom explain --list`.

use anyhow::bail;
use typeloom_project::check::SideFiles;
use typeloom_project::folder::Ignored;
use typeloom_project::parts::report;
use typeloom_project::parts::settings::effective::Settings;
use typeloom_project::parts::solver::diagnostic::text::suggestion;
use typeloom_project::parts::solver::diagnostic::{Code, Group};
use typeloom_project::parts::types::suggest::nearest;

use crate::args::{Color, ExplainArgs};
use crate::exit::Outcome;

use crate::output::write;
use crate::settings::{plan, resolver};
use crate::sources::sources;

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Outcome> {
    match (&args.subject, &args.value) {
        (None, _) => list_codes(),
        (Some(subject), None) => explain_code(subject),
        (Some(subject), Some(value)) => explain_type(args, subject, value),
    }
}

/// Lists the codes by group, with their severities.
fn list_codes() -> anyhow::Result<Outcome> {
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or_default();
    for group in Group::ALL {
        write(&format!("{group}: {}\n", group.summary()))?;
        for code in group.codes() {
            write(&format!("  {:width$}  {:7}  {}\n", code.name(), code.severity().name(), code.summary()))?;
        }
    }
    Ok(Outcome::Typed)
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

fn explain_type(args: &ExplainArgs, subject: &str, value: &str) -> anyhow::Result<Outcome> {
    let sources =
        sources(&[subject.to_owned()], Ignored::LeftOut, &mut resolver(&args.solve, Settings::default())?)?;
    let mut sources = sources.iter();
    let (Some(source), None) = (sources.next(), sources.next()) else {
        bail!("`{subject}` is not one model");
    };
    let mut plan = plan(&args.solve, &source)?;
    plan.options.trace = true;
    let file = source.open()?;
    let mut checked = match plan.solve(&file, SideFiles::Unchecked)? {
        Ok(checked) => checked,
        Err(problem) => bail!("cannot check `{}`: {}", source.name, problem.message),
    };
    let Some(explanation) = checked.explain(value) else {
        let near = suggestion(&checked.solved().names_like(value));
        bail!("`{}` has no value `{value}`{near}", source.name);
    };
    write(&report::human::explanation(&source.name, &explanation, Color::Auto.paint()))?;
    Ok(Outcome::Typed)
}
