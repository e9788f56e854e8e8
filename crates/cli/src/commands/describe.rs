//! `typeloom describe FILE`: what callers have to know, on the screen and in a bundle.

use serde_json::{Map, Value, json};
use typeloom_onnx::text::escape;
use typeloom_pool::Pool;
use typeloom_report as report;

use crate::args::{DescribeArgs, TextFormat};
use crate::input;
use crate::interfaces::{self, Found};
use crate::output::{Outcome, write};
use crate::target::Target;

pub(crate) fn run(args: &DescribeArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let interfaces = match interfaces::read(&source, &input::solve(&args.solve)?)? {
        Found::Interfaces(interfaces) => interfaces,
        Found::Types(bytes) => return types(args, &source.name, &bytes),
        Found::Problems(diagnostics) => {
            write(&report::human::diagnostics(&source.name, &diagnostics, args.color.paint()))?;
            write(&format!("{}: no interface\n", source.name))?;
            return Ok(Outcome::Problems);
        }
    };
    let target = args.output.as_deref().map(Target::named);
    if let Some(target) = &target {
        target.write(typeloom_interface::bundle::export_interfaces(&interfaces)?.as_bytes())?;
    }
    // What goes to standard output is the bundle then, and nothing else.
    if target.as_ref().is_some_and(Target::is_stdout) {
        return Ok(Outcome::Typed);
    }
    for exported in &interfaces {
        let (label, digest) = (&exported.label, exported.digest.to_string());
        write(&match args.format {
            TextFormat::Human => report::interface::human(label, &exported.interface, &digest),
            TextFormat::Json => {
                let mut object = Map::new();
                object.insert("file".to_owned(), Value::String(source.name.clone()));
                let rest = report::interface::value(label, &exported.interface, &digest, &exported.signature);
                object.extend(rest);
                report::json::text(&Value::Object(object)) + "\n"
            }
        })?;
    }
    Ok(Outcome::Typed)
}

/// The types of a bundle that holds no interfaces, each with its label and digest.
fn types(args: &DescribeArgs, file: &str, bytes: &[u8]) -> anyhow::Result<Outcome> {
    let target = args.output.as_deref().map(Target::named);
    if let Some(target) = &target {
        target.write(bytes)?;
    }
    if target.as_ref().is_some_and(Target::is_stdout) {
        return Ok(Outcome::Typed);
    }
    let mut pool = Pool::new();
    for root in pool.import(bytes)? {
        let (signature, digest) = (pool.signature(root.ty), root.digest.to_string());
        write(&match args.format {
            TextFormat::Human => {
                format!("{}: {}\n  digest {digest}\n", escape(&root.label), escape(&signature))
            }
            TextFormat::Json => {
                let line =
                    json!({"file": file, "name": root.label, "digest": digest, "signature": signature});
                report::json::text(&line) + "\n"
            }
        })?;
    }
    Ok(Outcome::Typed)
}
