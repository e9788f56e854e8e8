//! Runs one model for `compare.py`: `typeloom-bench-operators MODEL [NAME=TENSOR.pb]...`.
//!
//! The process prints a line when the model is loaded, and answers each line of its input with one line:
//!
//! - `run N` runs the model N times and returns the total in nanoseconds.
//! - `memory` returns the peak memory of the process and its memory before the model was loaded, in bytes.
//! - `output FOLDER` runs the model, writes the elements of output `i` to the file `i` of the folder, and
//!   returns the types of the outputs, for example `F32:2,3`.
//!
//! An answer starts with `ok` or `no`. `RAYON_NUM_THREADS` sets the number of threads.

#![expect(clippy::print_stdout, reason = "the protocol uses the standard streams")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use typeloom_bench_process::memory::{peak, reset_peak};
use typeloom_bench_process::one_line;
use typeloom_cpu::decode;
use typeloom_onnx::messages::TensorProto;
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::prost::bytes::Bytes;
use typeloom_runtime::options::{RunLimits, Verify};
use typeloom_runtime::session::Session;
use typeloom_solver::model::Options;
use typeloom_tensor::datum::Datum;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().context("the first argument is the path of a model")?;
    let mut inputs = HashMap::new();
    for argument in arguments {
        let (name, path) = argument.split_once('=').context("an input is NAME=PATH")?;
        let tensor = TensorProto::decode(&fs::read(path)?[..])?;
        inputs.insert(name.to_owned(), Datum::Tensor(decode::tensor(&tensor)?));
    }
    let idle = reset_peak();
    let start = Instant::now();
    match load(Path::new(&model)) {
        Ok(session) => {
            println!("ok\t{}", start.elapsed().as_nanos());
            serve(&session, &inputs, idle)
        }
        Err(problem) => {
            println!("no\t{}", one_line(&format!("{problem:#}")));
            Ok(())
        }
    }
}

/// Checks and prepares a mapped model, as the command does.
fn load(path: &Path) -> Result<Session> {
    let bytes = Bytes::from_owner(map(&File::open(path)?)?);
    let mut checked = typeloom_ops::check::check(&bytes, &Options::default())?;
    if !checked.is_ok() {
        bail!("the model does not check");
    }
    let no_files = |_: &_| Err("no other files are read".to_owned());
    Ok(Session::of_checked_file(&mut checked, &bytes, &no_files, RunLimits::default())?)
}

#[expect(unsafe_code, reason = "as the command does, so that no weights are read before they are needed")]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: `compare.py` wrote the file and does not modify it while this process runs.
    unsafe { memmap2::Mmap::map(file) }
}

fn serve(session: &Session, inputs: &HashMap<String, Datum>, idle: u64) -> Result<()> {
    let mut replies = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            Some(("run", times)) => run(session, inputs, times.parse()?),
            Some(("output", folder)) => output(session, inputs, Path::new(folder)),
            None if line == "memory" => Ok(format!("{}\t{idle}", peak())),
            Some(_) | None => bail!("not a request: {line}"),
        };
        match answer {
            Ok(answer) => writeln!(replies, "ok\t{answer}")?,
            Err(problem) => writeln!(replies, "no\t{}", one_line(&format!("{problem:#}")))?,
        }
        replies.flush()?;
    }
    Ok(())
}

fn run(session: &Session, inputs: &HashMap<String, Datum>, times: usize) -> Result<String> {
    let start = Instant::now();
    for _ in 0..times {
        black_box(session.run(inputs.clone(), Verify::Inputs)?);
    }
    Ok(start.elapsed().as_nanos().to_string())
}

fn output(session: &Session, inputs: &HashMap<String, Datum>, folder: &Path) -> Result<String> {
    let outcome = session.run(inputs.clone(), Verify::Inputs)?;
    let mut types = Vec::new();
    for (at, (_, value)) in outcome.outputs.iter().enumerate() {
        let Some(tensor) = value.as_tensor() else {
            types.push("other".to_owned());
            continue;
        };
        fs::write(folder.join(at.to_string()), tensor.bytes())?;
        let extents: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
        types.push(format!("{:?}:{}", tensor.dtype(), extents.join(",")));
    }
    Ok(types.join("\t"))
}
