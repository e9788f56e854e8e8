//! Built-in contenders: each loads a model and runs it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use tract_onnx::prelude::{
    Framework as _, InferenceModelExt as _, IntoRunnable as _, IntoTValue, TValue, TVec, Tensor,
};
use typeloom::run::Datum;
use typeloom_bench_process::protocol::{Input, Running, Wanted, inputs, serve as answer};
use typeloom_onnx::prost::bytes::Bytes;
use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::options::RunLimits;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Port;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Checked, Options};
use typeloom_tensor::any_tensor::AnyTensor;

use crate::contender::Contender;
use crate::library;

/// Answers requests for one contender, which may use `threads` threads.
pub fn serve(contender: Contender, threads: usize, model: &Path, arguments: &[String]) -> Result<()> {
    answer(model, &inputs(arguments)?, |model, inputs| match contender {
        Contender::Cpu => cpu(model, inputs),
        Contender::OverOrt => {
            let engine = typeloom_ort::Ort::load(&library::find()?)?.with_threads(threads);
            hosted(Arc::new(engine), model, inputs)
        }
        Contender::OverTract => hosted(Arc::new(typeloom_tract::Tract), model, inputs),
        Contender::Tract => tract(model, inputs),
        Contender::Ort => ort(threads, model, inputs),
        Contender::Candle => bail!("candle is a program of its own"),
    })
}

/// Checks a mapped model, as the command does, and builds its executor.
fn checked<T>(model: &Path, make: impl FnOnce(&mut Checked<'_>, &Bytes) -> Result<T>) -> Result<T> {
    let bytes = Bytes::from_owner(map(&File::open(model)?)?);
    let mut checked = typeloom_ops::check::check(&bytes, &Options::default())?;
    if !checked.is_ok() {
        bail!("the model does not check");
    }
    make(&mut checked, &bytes)
}

#[expect(unsafe_code, reason = "as the command does, so that no weights are read before they are needed")]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the bench wrote the file, and it is not modified while the bench runs.
    unsafe { memmap2::Mmap::map(file) }
}

fn tensors(ports: &[Port], inputs: &[Input]) -> Result<Vec<AnyTensor>> {
    let mut tensors = Vec::new();
    for port in ports.iter().filter(|port| !port.has_default) {
        let input = inputs.iter().find(|input| input.name == port.name).context("an input is missing")?;
        tensors.push(AnyTensor::from_slice(&input.shape, &input.elements)?);
    }
    Ok(tensors)
}

fn cpu(model: &Path, inputs: &[Input]) -> Result<Running> {
    let session = checked(model, |checked, file| {
        let no_files = |_: &_| Err("no other files are read".to_owned());
        Ok(Session::of_checked_file(checked, file, &no_files, RunLimits::default())?)
    })?;
    let tensors = tensors(session.inputs(), inputs)?;
    let given: HashMap<String, Datum> = session
        .inputs()
        .iter()
        .filter(|port| !port.has_default)
        .map(|port| port.name.clone())
        .zip(tensors.into_iter().map(Datum::Tensor))
        .collect();
    Ok(Box::new(move |wanted| {
        let outcome = session.run(given.clone(), Verify::Inputs)?;
        let first = outcome.outputs.first().and_then(|(_, value)| value.as_tensor());
        out(wanted, first)
    }))
}

fn hosted(engine: Arc<dyn Engine>, model: &Path, inputs: &[Input]) -> Result<Running> {
    let session = checked(model, |checked, _| {
        let no_files = |_: &_| Err("no other files are read".to_owned());
        Ok(EngineSession::of_checked(engine, checked, &no_files, Verify::Inputs)?)
    })?;
    let tensors = tensors(session.inputs(), inputs)?;
    Ok(Box::new(move |wanted| out(wanted, session.run_in_order(tensors.clone())?.first())))
}

fn out(wanted: Wanted, tensor: Option<&AnyTensor>) -> Result<Vec<f32>> {
    match wanted {
        Wanted::Run => Ok(Vec::new()),
        Wanted::Output => Ok(tensor.context("there is no output")?.to_vec()?),
    }
}

fn tract(model: &Path, inputs: &[Input]) -> Result<Running> {
    let model = tract_onnx::onnx().model_for_path(model)?.into_optimized()?.into_runnable()?;
    let tensors = inputs.iter().map(|input| Tensor::from_shape(&input.shape, &input.elements));
    let tensors: TVec<TValue> =
        tensors.map(|tensor| tensor.map(IntoTValue::into_tvalue)).collect::<Result<_, _>>()?;
    Ok(Box::new(move |wanted| {
        let outputs = model.run(tensors.clone())?;
        match wanted {
            Wanted::Run => Ok(Vec::new()),
            Wanted::Output => {
                let first = outputs.first().context("there is no output")?;
                Ok(first.to_plain_array_view::<f32>()?.iter().copied().collect())
            }
        }
    }))
}

fn ort(threads: usize, model: &Path, inputs: &[Input]) -> Result<Running> {
    use ort::session::{Session, SessionInputValue};
    use ort::value::TensorRef;
    let environment = ort::init_from(library::find()?)?.build()?;
    // The error contains the builder, which is not `Send`.
    let builder = Session::builder(&environment)?.with_intra_threads(threads);
    let mut builder = builder.map_err(|error| anyhow!("{error}"))?;
    let mut session = builder.commit_from_file(model)?;
    let inputs = inputs.to_vec();
    Ok(Box::new(move |wanted| {
        let _lives = &environment;
        let lent = inputs.iter().map(|input| {
            let view = TensorRef::from_array_view((input.shape.clone(), &input.elements[..]));
            view.map(SessionInputValue::from)
        });
        let lent = lent.collect::<Result<Vec<_>, _>>()?;
        let outputs = session.run(&lent[..])?;
        match wanted {
            Wanted::Run => Ok(Vec::new()),
            Wanted::Output => Ok(outputs[0].try_extract_tensor::<f32>()?.1.to_vec()),
        }
    }))
}
