//! `typeloom describe FILE`: shows the interface of a model, or exports it as a bundle, a contract or code.

mod c_abi;
mod contract;

use anyhow::bail;
use serde_json::json;
use typeloom::pool::Pool;
use typeloom_project::interfaces::{self, Content};
use typeloom_project::parts::interface::bundle::export_interfaces;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::report;

use crate::args::{As, DescribeArgs, TextFormat};
use crate::exit::Outcome;
use crate::input;
use crate::output::{refuse, write};
use crate::target::export;

pub(crate) fn run(args: &DescribeArgs) -> anyhow::Result<Outcome> {
    let Some(file) = &args.file else {
        return match args.contract.format {
            Some(As::CAbi) => c_abi::without_program(args),
            Some(As::Contract(format)) => bail!("`--as {format}` needs a FILE"),
            None => bail!("`describe` needs a FILE"),
        };
    };
    let source = input::source(file);
    let interfaces = match interfaces::read(&source.open()?, &crate::settings::plan(&args.solve, &source)?)? {
        Ok(Content::Interfaces(interfaces)) => match args.contract.format {
            Some(As::Contract(format)) => return contract::run(args, format, &source, &interfaces),
            Some(As::CAbi) => return c_abi::run(args, &source, &interfaces),
            None => interfaces.functions,
        },
        Ok(Content::Types(_)) if args.contract.format.is_some() => {
            bail!("`{}` has types, but no interfaces", source.name)
        }
        Ok(Content::Types(types)) => return write_types(args, &source.name, types.bundle.as_bytes()),
        Err(diagnostics) => {
            return refuse(&source.name, &diagnostics, args.color, "no interface");
        }
    };
    if export(args.output.as_deref(), || Ok(export_interfaces(&interfaces)?.as_bytes().to_vec()))? {
        return Ok(Outcome::Typed);
    }
    for exported in &interfaces {
        let (label, digest) = (&exported.label, exported.digest.to_string());
        write(&match args.format {
            TextFormat::Human => report::interface::human(label, &exported.interface, &digest),
            TextFormat::Json => {
                let interface =
                    report::interface::value(label, &exported.interface, &digest, &exported.signature);
                report::json::line(&source.name, interface)
            }
        })?;
    }
    Ok(Outcome::Typed)
}

/// Writes the types of a bundle without interfaces, each with its label and digest.
fn write_types(args: &DescribeArgs, file: &str, bytes: &[u8]) -> anyhow::Result<Outcome> {
    if export(args.output.as_deref(), || Ok(bytes.to_vec()))? {
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
