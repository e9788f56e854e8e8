//! `typeloom compile FILE -o FILE`: a model through the passes of the compiler.

use anyhow::Context as _;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::unit::Coercion;
use typeloom_onnx::text::escape;
use typeloom_report as report;

use crate::args::{CastPolicy, CompileArgs};
use crate::input;
use crate::output::{Outcome, write};
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
        Err(error @ (BuildError::UnknownPass { .. } | BuildError::RequiredPass { .. })) => {
            anyhow::bail!(error.to_string())
        }
        Err(error) => {
            let diagnostics = error.diagnostics();
            if diagnostics.is_empty() {
                for line in error.lines() {
                    write(&format!("{}: {line}\n", source.name))?;
                }
            } else {
                write(&report::human::diagnostics(&source.name, diagnostics, args.color.paint()))?;
            }
            write(&format!("{}: not compiled\n", source.name))?;
            return Ok(Outcome::Problems);
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
        if !target.is_stdout() {
            write(&format!(
                "{} -> {}: {} passes\n",
                source.name,
                target.name(),
                artifact.report.passes.len()
            ))?;
        }
    }
    Ok(Outcome::Typed)
}
