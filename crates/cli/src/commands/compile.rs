//! `typeloom compile FILE -o FILE`: runs the passes of the compiler on a model.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Context as _;
use typeloom::module::passes::{Pass, Unit};
use typeloom::module::{BuildError, Coercion, Compiler};
use typeloom_project::parts::onnx::prost::Message as _;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::types::plural::counted;

use crate::args::{CastPolicy, CompileArgs, SolveArgs};
use crate::exit::Outcome;
use crate::input;
use crate::output::{refuse, write};
use crate::scenes;
use crate::target::Target;

pub(crate) fn run(args: &CompileArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let file = source.open()?;
    let mut compiler = Compiler::new().with_coercion(match args.cast {
        CastPolicy::Never => Coercion::Never,
        CastPolicy::Lossless => Coercion::Lossless,
        CastPolicy::AsDeclared => Coercion::AsDeclared,
    });
    if args.permissive {
        compiler = compiler.with_permissive_types();
    }
    for name in &args.without {
        compiler = compiler.without_pass(name);
    }
    for name in &args.after {
        compiler = compiler.print_after(name);
    }
    let target = args.output.as_deref().map(Target::output).transpose()?;
    let view = scenes::target(args.view.as_deref(), target.as_ref())?;
    let kept = Kept::default();
    if let (Some(_), Some(pass)) = (&view, args.after.last()) {
        compiler = compiler.with_pass_after(pass, kept.clone());
    }
    let artifact = match compiler.compile(&file.model()[..]) {
        Ok(artifact) => artifact,
        Err(error) => {
            let diagnostics = error.diagnostics();
            // An error without diagnostics is one of the arguments.
            if diagnostics.is_empty() {
                return Err(error.into());
            }
            return refuse(&source.name, &diagnostics, args.color, "not compiled");
        }
    };
    for (pass, text) in &artifact.report.printed {
        // Names and strings are quoted and escaped by the printer.
        write(&format!("after {pass}:\n{}\n", text.trim_end()))?;
    }
    for cast in &artifact.report.casts {
        write(&format!("{}\n", escape(&cast.to_string())))?;
    }
    if let Some(target) = &target {
        let file = artifact.to_bytes().with_context(|| format!("cannot compile `{}`", source.name))?;
        target.write(&file)?;
        let passes = artifact.report.passes.iter().filter(|pass| *pass != KEEP);
        target.announce(&source, &counted(passes.count(), "pass"))?;
    }
    if let Some(page) = &view {
        let model = kept.0.borrow_mut().take().unwrap_or_default();
        scenes::write_changes(&SolveArgs::default(), &source, [&file, &file.with_model(model)], page, None)?;
    }
    Ok(Outcome::Typed)
}

/// The name of the pass that keeps the model for `--view`.
const KEEP: &str = "view";

/// A pass that keeps the bytes of the model.
#[derive(Clone, Debug, Default)]
struct Kept(Rc<RefCell<Option<Vec<u8>>>>);

impl Pass for Kept {
    fn name(&self) -> &str {
        KEEP
    }

    fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
        *self.0.borrow_mut() = Some(unit.model().encode_to_vec());
        Ok(())
    }
}
