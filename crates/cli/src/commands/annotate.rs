//! `typeloom annotate FILE -o FILE`: writes the types of all values into the model.

use std::borrow::Cow;

use anyhow::Context as _;
use typeloom_project::check::SideFiles;
use typeloom_project::parts::rewrite::annotate::{AnnotationForm, annotate, strip};

use crate::args::AnnotateArgs;
use crate::exit::Outcome;
use crate::input;
use crate::output::refuse;
use crate::scenes;
use crate::target::Target;

pub(crate) fn run(args: &AnnotateArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let target = Target::of(&args.target, &source)?;
    let view = scenes::target(args.view.as_deref(), Some(&target))?;
    let file = source.open()?;
    let show = |pieces: &[Cow<'_, [u8]>]| match &view {
        Some(page) => {
            let changed = file.with_model(pieces.concat());
            scenes::write_changes(&args.solve, &source, [&file, &changed], page, Some(&target))
        }
        None => Ok(()),
    };
    if args.strip {
        let stripped = strip(file.model()).with_context(|| format!("cannot strip `{}`", source.name))?;
        target.write_changed(file.model(), stripped.file.pieces())?;
        let counts = format!("{} removed, {} restored", stripped.removed, stripped.restored);
        target.announce(&source, &counts)?;
        show(stripped.file.pieces())?;
        return Ok(Outcome::Typed);
    }
    let mut plan = crate::settings::plan(&args.solve, &source)?;
    plan.options.functions = true;
    let form = if args.no_marks { AnnotationForm::Untagged } else { AnnotationForm::Tagged };
    // A file that cannot be read is reported by the check.
    let replaced = if args.replace { plan.with_true_declarations(&file, form).ok() } else { None };
    let mut replaced = replaced.unwrap_or_default();
    let changed = replaced.file.take().map(|model| file.with_model(model));
    let mut checked = match plan.well_typed(changed.as_ref().unwrap_or(&file), SideFiles::Unchecked)? {
        Ok(checked) => checked,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "not annotated"),
    };
    let annotated =
        annotate(checked.solved(), form).with_context(|| format!("cannot annotate `{}`", source.name))?;
    target.write_changed(file.model(), annotated.file.pieces())?;
    let mut counts = format!("{} added, {} filled in", annotated.added, annotated.filled);
    if args.replace {
        counts.push_str(&format!(", {} replaced", replaced.reshaped.len()));
    }
    target.announce(&source, &counts)?;
    show(annotated.file.pieces())?;
    Ok(Outcome::Typed)
}
