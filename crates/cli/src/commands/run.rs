//! `typeloom run FILE`: computes the outputs of a model on given or generated inputs.
//!
//! The steps: check the model as `typeloom check` does, prepare it, read the inputs that are given and
//! generate the others, run, and print or store the outputs. A model with errors is not run.
//!
//! A generated input has the proven type of its port. A symbol has the size that a given input determines,
//! that of `--size`, or a small default. Numbers come from a seed that is an option, so that two runs agree.
//! If a value of a type cannot be generated, the error names the input.
//!
//! `--compare` runs the same inputs in ONNX Runtime, or in another model with the same interface. Two results
//! agree if they differ by no more than the least precise element type on the way to the output allows, in
//! either model (`typeloom_project::run::precision`), or by `--tolerance`.
//!
//! **Invariant:** work, steps and memory are limited before anything is computed (`run/budget.rs`), from the
//! size of the file and the options. Exit codes are those of `exit.rs`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, bail};
use typeloom_project::parts::cpu::ops::generate::Random;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::runtime::named::UnknownName;
use typeloom_project::parts::runtime::session::Port;
use typeloom_project::parts::tensor::any_tensor;
use typeloom_project::parts::tensor::datum::Datum;
use typeloom_project::parts::tensor::value_check::SymbolBindings;
use typeloom_project::parts::tensor::value_type::{Dim, Element, ValueType};
use typeloom_project::run::{literal, random};

use crate::args::{CPU, ReferenceArg, RunArgs};
use crate::exit::Outcome;
use crate::input;
use crate::output::write;
use crate::progress::progress;
use crate::run::engine::{self, Make};
use crate::run::loaded::{Loaded, fail};
use crate::run::{comparison, store, summary};

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
    let mut model = match Loaded::new(args, &args.file, engine.clone())? {
        Ok(model) => model,
        Err(outcome) => return Ok(outcome),
    };
    let other = match &args.compare {
        Some(ReferenceArg::Model(file)) => match Loaded::new(args, file, engine)? {
            Ok(other) => {
                comparison::same_interface(&mut model, &other)?;
                Some(other)
            }
            Err(outcome) => return Ok(outcome),
        },
        Some(ReferenceArg::Ort) | None => None,
    };
    let (inputs, generated) =
        any_tensor::budget::within(model.limits.memory, || inputs(args, &model.inputs))?;
    if let Some(other) = &other {
        comparison::inputs_fit(other, &inputs)?;
    }
    let mut shown = String::new();
    if !generated.is_empty() {
        shown += &format!("inputs, generated from seed {}\n{}", args.random_seed, summary::table(&generated));
    }
    let progress = progress(None, "{spinner} running {wide_msg} {elapsed}");
    progress.set_message(model.source.name.clone());
    let compared = args.compare.as_ref().map(|_| inputs.clone());
    let ran = model.prepared.run(inputs);
    let (outcome, held) = match ran {
        Ok(done) => done,
        Err(failure) => {
            progress.finish_and_clear();
            write(&shown)?;
            return fail(args, &model.source, &failure, "failed");
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
    let compared = match (compared, &other) {
        (None, _) => Ok(Ok((String::new(), Outcome::Typed))),
        (Some(inputs), Some(other)) => {
            progress.set_message(other.source.name.clone());
            let ran = other.prepared.run(inputs).map_err(|failure| (other, failure));
            ran.map(|(others, _)| {
                Ok(comparison::with_model(args, [&model, other], [outcome.outputs, others.outputs]))
            })
        }
        (Some(inputs), None) => Ok(comparison::with_ort(args, &model, &inputs, &outcome.outputs)),
    };
    progress.finish_and_clear();
    // The outputs are shown even if the comparison fails.
    write(&shown)?;
    match compared {
        Ok(compared) => {
            let (table, verdict) = compared?;
            write(&table)?;
            Ok(verdict)
        }
        Err((other, failure)) => fail(args, &other.source, &failure, "failed"),
    }
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
            bail!("the model has {}", UnknownName::of(name, ports));
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
