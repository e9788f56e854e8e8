//! `typeloom annotate FILE -o FILE`: writes the types of all values into the model.

use std::borrow::Cow;

use anyhow::Context as _;
use typeloom_rewrite::annotate::{AnnotationForm, annotate, strip};

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
    let bytes = source.open()?;
    let show = |pieces: &[Cow<'_, [u8]>]| match &view {
        Some(page) => {
            scenes::write_changes(&args.solve, &source, [&bytes, &pieces.concat()], page, Some(&target))
        }
        None => Ok(()),
    };
    if args.strip {
        let stripped = strip(&bytes).with_context(|| format!("cannot strip `{}`", source.name))?;
        target.write_changed(&bytes, stripped.file.pieces())?;
        let counts = format!("{} removed, {} restored", stripped.removed, stripped.restored);
        target.announce(&source, &counts)?;
        show(stripped.file.pieces())?;
        return Ok(Outcome::Typed);
    }
    let mut checker = crate::settings::checker(&args.solve, &source)?;
    checker.options.functions = true;
    let form = if args.no_marks { AnnotationForm::Untagged } else { AnnotationForm::Tagged };
    // A file that cannot be read is reported by the check.
    let replaced =
        if args.replace { checker.with_true_declarations(&source, &bytes, form).ok() } else { None };
    let replaced = replaced.unwrap_or_default();
    let model = replaced.file.as_deref().unwrap_or(&bytes);
    let mut checked = match checker.well_typed(model, checker.check(&source, model)?) {
        Ok(checked) => checked,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "not annotated"),
    };
    let annotated =
        annotate(&mut checked, form).with_context(|| format!("cannot annotate `{}`", source.name))?;
    target.write_changed(&bytes, annotated.file.pieces())?;
    let mut counts = format!("{} added, {} filled in", annotated.added, annotated.filled);
    if args.replace {
        counts.push_str(&format!(", {} replaced", replaced.reshaped.len()));
    }
    target.announce(&source, &counts)?;
    show(annotated.file.pieces())?;
    Ok(Outcome::Typed)
}
