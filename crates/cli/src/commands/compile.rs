//! `typeloom compile FILE -o FILE`: runs the passes of the compiler on a model.

use anyhow::Context as _;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::unit::Coercion;
use typeloom_onnx::text::escape;

use crate::args::{CastPolicy, CompileArgs};
use crate::exit::Outcome;
use crate::input;
use crate::output::{refuse, write};
use crate::target::Target;

pub(crate) fn run(args: &CompileArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let bytes = source.open()?;
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
    let artifact = match compiler.compile(&bytes[..]) {
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
    if let Some(output) = &args.output {
        let target = Target::named(output);
        let file = artifact.to_bytes().with_context(|| format!("cannot compile `{}`", source.name))?;
        target.write(&file)?;
        target.announce(&source, &format!("{} passes", artifact.report.passes.len()))?;
    }
    Ok(Outcome::Typed)
}
