//! `typeloom annotate FILE -o FILE`: writes the types of all values into the model.

use anyhow::Context as _;
use typeloom_rewrite::annotate::{AnnotationForm, annotate, strip};

use crate::args::AnnotateArgs;
use crate::exit::Outcome;
use crate::input;
use crate::output::refuse;
use crate::target::Target;

pub(crate) fn run(args: &AnnotateArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let target = Target::of(&args.target, &source)?;
    let bytes = source.open()?;
    if args.strip {
        let stripped = strip(&bytes).with_context(|| format!("cannot strip `{}`", source.name))?;
        target.write_changed(&bytes, stripped.file.pieces())?;
        let counts = format!("{} removed, {} restored", stripped.removed, stripped.restored);
        target.announce(&source, &counts)?;
        return Ok(Outcome::Typed);
    }
    let mut checker = crate::settings::checker(&args.solve, &source)?;
    checker.options.functions = true;
    let mut checked = match checker.well_typed(&bytes, checker.check(&source, &bytes)?) {
        Ok(checked) => checked,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "not annotated"),
    };
    let form = if args.no_marks { AnnotationForm::Untagged } else { AnnotationForm::Tagged };
    let annotated =
        annotate(&mut checked, form).with_context(|| format!("cannot annotate `{}`", source.name))?;
    target.write_changed(&bytes, annotated.file.pieces())?;
    target.announce(&source, &format!("{} added, {} filled in", annotated.added, annotated.filled))?;
    Ok(Outcome::Typed)
}
