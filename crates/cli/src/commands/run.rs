//! `typeloom run FILE`: computes the outputs of a model on given or generated inputs.
//!
//! The steps: check the model as `typeloom check` does, prepare it, read the inputs that are given and
//! generate the others, run, and print or store the outputs. A model with errors is not run.
//!
//! A generated input has the proven type of its port. A symbol has the size that a given input determines,
//! that of `--size`, or a small default. Numbers come from a seed that is an option, so that two runs agree.
//! If a value of a type cannot be generated, the error names the input.
//!
//! `--compare` runs the same inputs in ONNX Runtime. Two results agree if they differ by no more than the
//! least precise element type on the way to the output allows (`typeloom_project::run::precision`), or by `--tolerance`.
//!
//! **Invariant:** work, steps and memory are limited before anything is computed (`run/budget.rs`), from the
//! size of the file and the options. Exit codes are those of `exit.rs`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, bail};
use typeloom_project::parts::cpu::ops::generate::Random;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::runtime::session::Port;
use typeloom_project::parts::solver::model::Checked;
use typeloom_project::parts::solver::program::ValueId;
use typeloom_project::parts::tensor::any_tensor;
use typeloom_project::parts::tensor::datum::Datum;
use typeloom_project::parts::tensor::value_check::SymbolBindings;
use typeloom_project::parts::tensor::value_type::{Dim, Element, ValueType};
use typeloom_project::parts::types::dtype::Dtype;

use typeloom_project::parts::io::files::SideFiles;
use typeloom_project::run::difference::{self, Precision};
use typeloom_project::run::{literal, precision, random};

use crate::args::{CPU, ReferenceArg, RunArgs};
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::{MAX_COLUMN, refuse, write};
use crate::progress::progress;
use crate::run::engine::{self, Make};
use crate::run::prepared::{Prepared, RunFailure};
use crate::run::reference::{self, Model, Reference};
use crate::run::{budget, store, summary};

/// The number of bytes by which a model and its file are compared.
const MAX_START: usize = 4096;

/// Runs a model on the embedded backend, or starts the command of another one with `arguments`.
pub(crate) fn start(args: &RunArgs, arguments: &[OsString]) -> anyhow::Result<Outcome> {
    if args.backend == CPU { run(args, None) } else { engine::start(&args.backend, arguments) }
}

/// Runs a model on the embedded backend, or on the engine that `make` gives.
pub(crate) fn run(args: &RunArgs, make: Option<Make<'_>>) -> anyhow::Result<Outcome> {
    if make.is_none() && args.library.is_some() {
        bail!("the backend `{}` loads no library", args.backend);
    }
    if make.is_some() && args.max_iterations.is_some() {
        bail!("engines of others count no turns of loops");
    }
    if make.is_some() && (args.max_steps.is_some() || args.max_memory.is_some() || args.max_work.is_some()) {
        bail!("engines of others count neither steps nor memory nor work");
    }
    let engine = make.map(|make| make(args.library.as_deref())).transpose()?;
    let source = input::source(&args.file);
    let mut plan = crate::settings::plan(&args.solve, &source)?;
    plan.options.functions |= args.compare.is_some();
    let mut file = source.open()?;
    let mended = plan.file_to_run(&file);
    let is_mended = mended.is_some();
    if let Some(mended) = mended {
        file = mended;
    }
    let bytes = file.model().shared();
    let mut checked = match source.with_side_files(|side| plan.well_typed(&file, side))? {
        Ok(checked) => checked,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "not run"),
    };
    let checked = checked.solved();
    let side_files = SideFiles::new(source.folder());
    let read = |tensor: &_| side_files.read(tensor);
    let limits = budget::limits(args, checked, bytes.len(), source.folder());
    let narrowed = narrowed(checked);
    let narrowest = args.compare.map(|_| precision::narrowest(checked)).unwrap_or_default();
    let prepared = match engine {
        None => Prepared::embedded(checked, bytes, &read, limits, args.verify),
        Some(engine) => Prepared::hosted(engine, checked, &read, args.verify),
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return fail(args, &source, &failure, "not run"),
    };
    let mut ports = prepared.inputs().to_vec();
    for port in &mut ports {
        if let Some(ty) = narrowed.get(&port.name) {
            port.ty = ty.clone();
        }
    }
    let (inputs, generated) = any_tensor::budget::within(limits.memory, || inputs(args, &ports))?;
    let mut shown = String::new();
    if !generated.is_empty() {
        shown += &format!("inputs, generated from seed {}\n{}", args.random_seed, summary::table(&generated));
    }
    let progress = progress(None, "{spinner} running {wide_msg} {elapsed}");
    progress.set_message(source.name.clone());
    let compared = args.compare.map(|reference| (reference, inputs.clone()));
    let ran = prepared.run(inputs);
    let (outcome, held) = match ran {
        Ok(done) => done,
        Err(failure) => {
            progress.finish_and_clear();
            write(&shown)?;
            return fail(args, &source, &failure, "failed");
        }
    };
    shown += &format!("outputs\n{}", summary::table(&outcome.outputs));
    let symbols: Vec<String> =
        outcome.symbols.iter().map(|(name, value)| format!("{} = {value}", escape(name))).collect();
    if !symbols.is_empty() {
        shown += &format!("symbols\n  {}\n", symbols.join(", "));
    }
    if args.verify {
        shown += &held;
    }
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        for (name, value) in &outcome.outputs {
            for file in store::write(folder, name, value)? {
                let path = folder.join(file).display().to_string();
                shown += &format!("saved {}\n", escape(&path));
            }
        }
    }
    let mut verdict = Outcome::Typed;
    if let Some((ReferenceArg::Ort, inputs)) = compared {
        let model = match source.path() {
            Some(path) if !is_mended && is_content(path, bytes)? => Model::File(path),
            _ => Model::Bytes(bytes, source.folder()),
        };
        // The outputs are shown even if the comparison fails.
        let comparison = compare(args, &model, &inputs, &outcome.outputs, &narrowest)
            .inspect_err(|_| drop(write(&shown)))?;
        shown += &comparison.0;
        verdict = comparison.1;
    }
    progress.finish_and_clear();
    write(&shown)?;
    Ok(verdict)
}

/// Whether these bytes are the content of a file: standard input and converted files are not.
fn is_content(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    let cannot = || format!("cannot read `{}`", path.display());
    let file = typeloom_project::parts::io::files::open(path).with_context(cannot)?;
    // A mapped file is not read as a whole: texts and models differ in length or at their beginnings.
    let start = |bytes: &[u8]| bytes.get(..bytes.len().min(MAX_START)).map(<[u8]>::to_vec);
    Ok(file.len() == bytes.len() && start(&file) == start(bytes))
}

/// Compares the outputs with those of ONNX Runtime. Returns a table and the outcome.
fn compare(
    args: &RunArgs,
    model: &Model<'_>,
    inputs: &HashMap<String, Datum>,
    outputs: &[(String, Datum)],
    narrowest: &HashMap<String, Dtype>,
) -> anyhow::Result<(String, Outcome)> {
    let names: Vec<String> = outputs.iter().map(|(name, _)| name.clone()).collect();
    let (version, others) = match reference::run(model, inputs, &names)? {
        Reference::Outputs { version, outputs } => (version, outputs),
        Reference::Rejected(message) => return Ok((format!("{}\n", escape(&message)), Outcome::Problems)),
    };
    let mut is_close = true;
    let mut rows = Vec::new();
    for ((name, own), other) in outputs.iter().zip(others) {
        let text = match other {
            Ok(other) => {
                let precision = Precision { given: args.tolerance, narrowest: narrowest.get(name).copied() };
                let comparison = difference::compare(own, &other, precision);
                is_close &= comparison.is_close();
                comparison.to_string()
            }
            Err(reason) => {
                is_close = false;
                format!("not compared, because ONNX Runtime gives {reason}")
            }
        };
        rows.push([escape(name).into_owned(), escape(&text).into_owned()]);
    }
    let width = rows.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0).min(MAX_COLUMN);
    let rows = rows.iter().map(|[name, text]| format!("  {name:<width$}  {text}\n"));
    let table = format!("differences from ONNX Runtime {}\n{}", escape(&version), rows.collect::<String>());
    Ok((table, if is_close { Outcome::Typed } else { Outcome::Problems }))
}

/// The types of the inputs as the caller narrows them by `--seed` and `--assume`.
fn narrowed(checked: &mut Checked<'_>) -> HashMap<String, ValueType> {
    let inputs = checked.body().graph(checked.body().root()).inputs.clone();
    let narrowed = |input: ValueId| {
        let ty = checked.type_of(input);
        let ty = ty.value_type(checked.universe(), checked.dims());
        ty.is_concrete().then(|| (checked.body().value_name(input).to_owned(), ty))
    };
    inputs.into_iter().filter_map(narrowed).collect()
}

/// Shows why a model was not run to its end.
fn fail(args: &RunArgs, source: &Source, failure: &RunFailure, verdict: &str) -> anyhow::Result<Outcome> {
    if failure.diagnostics.is_empty() {
        write(&format!("{}: {}\n", source.name, escape(&failure.message)))?;
    } else {
        refuse(&source.name, &failure.diagnostics, args.color, verdict)?;
    }
    Ok(failure.outcome)
}

/// All inputs by name; the generated ones, in the order of the model.
type Inputs = (HashMap<String, Datum>, Vec<(String, Datum)>);

/// Reads given inputs and generates the others with shapes that fit them.
fn inputs(args: &RunArgs, ports: &[Port]) -> anyhow::Result<Inputs> {
    let mut symbols = SymbolBindings::default();
    let mut inputs = HashMap::new();
    for argument in &args.inputs {
        // Names and texts can contain `=`: the longest name of an input counts.
        let with_name =
            |port: &&Port| argument.strip_prefix(&port.name).is_some_and(|rest| rest.starts_with('='));
        let port = ports.iter().filter(with_name).max_by_key(|port| port.name.len());
        let split = port.and_then(|port| argument.split_at_checked(port.name.len()));
        let split = split.map(|(name, value)| (name, &value[1..])).or_else(|| argument.split_once('='));
        let Some((name, text)) = split else {
            bail!("an input is written NAME=VALUE or NAME=FILE, not `{argument}`");
        };
        let Some(port) = port else {
            let names: Vec<String> = ports.iter().map(|port| format!("`{}`", port.name)).collect();
            match &names[..] {
                [] => bail!("the model has no input `{name}`, and no others"),
                _ => bail!("the model has no input `{name}`; it has {}", names.join(", ")),
            }
        };
        if inputs.contains_key(name) {
            bail!("input `{name}` is given twice");
        }
        let value = match store::file_of(text) {
            Some(file) => store::read(file, &port.ty)?,
            None if Path::new(text).exists() => {
                bail!("input `{name}`: `{text}` is neither a value nor a `.npy` or `.pb` file")
            }
            None => literal::read(text, &port.ty).with_context(|| format!("input `{name}`"))?,
        };
        if let Err(mismatch) = symbols.check(&value, &port.ty) {
            bail!("input `{name}`: {mismatch}");
        }
        inputs.insert(name.to_owned(), value);
    }
    for argument in &args.sizes {
        let read = input::read_assumption(argument).ok();
        let size = read.as_ref().and_then(|(symbol, size)| Some((symbol.as_str(), size.parse().ok()?)));
        let Some((symbol, size)) = size else { bail!("a size is written SYMBOL=NUMBER, not `{argument}`") };
        if !ports.iter().any(|port| speaks_of(&port.ty, symbol)) {
            bail!("no input of the model speaks of a symbol `{symbol}`");
        }
        match symbols.get(symbol) {
            Some(bound) if bound != size => {
                bail!("the inputs determine that {symbol} is {bound}, not {size}")
            }
            Some(_) | None => symbols.bind(symbol, size),
        }
    }
    let mut random = Random::new(Some(args.random_seed as f64));
    let mut generated = Vec::new();
    for port in ports {
        if inputs.contains_key(&port.name) || port.has_default {
            continue;
        }
        let value = random::value(&port.ty, &mut symbols, &mut random)
            .with_context(|| format!("input `{}` has to be given", port.name))?;
        generated.push((port.name.clone(), value.clone()));
        inputs.insert(port.name.clone(), value);
    }
    Ok((inputs, generated))
}

/// Whether an extent of a type is this symbol, or an expression with it; `?` is an extent without a name.
fn speaks_of(ty: &ValueType, symbol: &str) -> bool {
    if let Element::Sequence(inner) | Element::Optional(inner) | Element::Map(_, inner) = &ty.element {
        return speaks_of(inner, symbol);
    }
    ty.shape.iter().flat_map(|shape| shape.iter()).any(|dim| match dim {
        Dim::Unknown => symbol == random::UNNAMED,
        dim => SymbolBindings::default().unbound(dim).any(|name| name == symbol),
    })
}
