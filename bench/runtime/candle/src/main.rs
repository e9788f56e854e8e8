//! candle with its ONNX importer, as a contender of the runtime benchmark. The importer has no stage that
//! prepares a model: it walks the graph on every run.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use candle_core::{Device, Tensor};
use typeloom_bench_process::protocol::{Input, Running, Wanted, inputs, serve};

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    // candle reads the number of threads from an environment variable.
    arguments.next();
    let model = PathBuf::from(arguments.next().context("the path of a model is missing")?);
    serve(&model, &inputs(&arguments.collect::<Vec<_>>())?, load)
}

fn load(model: &Path, inputs: &[Input]) -> Result<Running> {
    let model = candle_onnx::read_file(model)?;
    let graph = model.graph.as_ref().context("the model has no graph")?;
    let output = graph.output.first().context("there is no output")?.name.clone();
    let tensor = |Input { name, shape, elements }: &Input| {
        Ok((name.clone(), Tensor::from_slice(elements, shape.as_slice(), &Device::Cpu)?))
    };
    let tensors: HashMap<String, Tensor> = inputs.iter().map(tensor).collect::<Result<_>>()?;
    // The first run fails if the importer lacks an operator of the model.
    candle_onnx::simple_eval(&model, tensors.clone())?;
    Ok(Box::new(move |wanted| {
        let outputs = candle_onnx::simple_eval(&model, tensors.clone())?;
        match wanted {
            Wanted::Run => Ok(Vec::new()),
            Wanted::Output => Ok(outputs[&output].flatten_all()?.to_vec1()?),
        }
    }))
}
