//! `typeloom annotate FILE -o FILE`: the types of all values, in the model itself.

use anyhow::{Context as _, bail};
use typeloom_report as report;
use typeloom_rewrite::annotate::{AnnotationForm, annotate, strip};
use typeloom_solver::diagnostic::{Diagnostic, diagnose_error};

use crate::args::AnnotateArgs;
use crate::input::{self, Source};
use crate::output::{Outcome, write};
use crate::target::Target;

pub(crate) fn run(args: &AnnotateArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let target = Target::of(&args.target, &source)?;
    let bytes = source.open()?;
    if args.strip {
        let stripped = strip(&bytes).with_context(|| format!("cannot strip `{}`", source.name))?;
        target.write_changed(&bytes, stripped.file.pieces())?;
        let counts = format!("{} removed, {} restored", stripped.removed, stripped.restored);
        return done(&source, &target, &counts);
    }
    let mut solve = input::solve(&args.solve)?;
    solve.options.functions = true;
    let mut checked = match solve.check(&bytes) {
        Ok(checked) => checked,
        Err(error) => match diagnose_error(&error) {
            Some(diagnostic) => return refuse(args, &source, &[diagnostic]),
            None => bail!("cannot check `{}`: {error}", source.name),
        },
    };
    if !checked.is_ok() {
        let diagnostics = solve.diagnose(&bytes, &mut checked);
        return refuse(args, &source, &diagnostics);
    }
    let form = if args.no_marks { AnnotationForm::Untagged } else { AnnotationForm::Tagged };
    let annotated =
        annotate(&mut checked, form).with_context(|| format!("cannot annotate `{}`", source.name))?;
    target.write_changed(&bytes, annotated.file.pieces())?;
    done(&source, &target, &format!("{} added, {} filled in", annotated.added, annotated.filled))
}

/// Types of a model that is wrong somewhere are not written anywhere.
fn refuse(args: &AnnotateArgs, source: &Source, diagnostics: &[Diagnostic]) -> anyhow::Result<Outcome> {
    write(&report::human::diagnostics(&source.name, diagnostics, args.color.paint()))?;
    write(&format!("{}: not annotated\n", source.name))?;
    Ok(Outcome::Problems)
}

fn done(source: &Source, target: &Target, counts: &str) -> anyhow::Result<Outcome> {
    if !target.is_stdout() {
        write(&format!("{} -> {}: {counts}\n", source.name, target.name()))?;
    }
    Ok(Outcome::Typed)
}
