//! Serving side of the protocol of the runtime benchmark: one contender with one model in one process.
//!
//! `run N` runs the model N times and returns the total in nanoseconds. `memory` returns the peak memory of
//! the process and its memory before the model was loaded, in bytes. `output` returns the bits of the
//! elements of the first output.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::memory::{peak, reset_peak};
use crate::one_line;

/// A loaded model with its inputs; returns the elements of the first output on request.
pub type Running = Box<dyn FnMut(Wanted) -> Result<Vec<f32>>>;

/// Whether a run returns the output, which is not free for every contender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Runs without returning the output.
    Run,
    /// Runs and returns the output.
    Output,
}

/// An input with its extents and elements.
#[derive(Clone, Debug)]
pub struct Input {
    pub name: String,
    pub shape: Vec<usize>,
    /// The elements, the same for every contender.
    pub elements: Vec<f32>,
}

/// Parses inputs on the command line of a contender: `NAME=1,3,224,224`.
///
/// # Errors
///
/// Any other form.
pub fn inputs(arguments: &[String]) -> Result<Vec<Input>> {
    let input = |argument: &String| {
        let (name, extents) = argument.rsplit_once('=').context("an input is NAME=EXTENTS")?;
        let extents = extents.split(',').filter(|extent| !extent.is_empty());
        let shape: Vec<usize> = extents.map(str::parse).collect::<Result<_, _>>()?;
        let elements = elements(shape.iter().product());
        Ok(Input { name: name.to_owned(), shape, elements })
    };
    arguments.iter().map(input).collect()
}

/// Loads the model and answers requests until the input ends.
///
/// # Errors
///
/// Errors of the streams. A load error is sent as a reply.
pub fn serve(
    model: &Path,
    inputs: &[Input],
    load: impl FnOnce(&Path, &[Input]) -> Result<Running>,
) -> Result<()> {
    let mut replies = io::stdout().lock();
    let idle = reset_peak();
    let start = Instant::now();
    let mut running = match load(model, inputs) {
        Ok(running) => running,
        Err(problem) => {
            writeln!(replies, "no\t{}", one_line(&format!("{problem:#}")))?;
            return Ok(());
        }
    };
    writeln!(replies, "ok\t{}", start.elapsed().as_nanos())?;
    replies.flush()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split_once('\t') {
            Some(("run", times)) => run(&mut running, times.parse()?),
            None if line == "memory" => Ok(format!("{}\t{idle}", peak())),
            None if line == "output" => {
                let bits = |it: Vec<f32>| it.iter().map(|it| it.to_bits().to_string()).collect::<Vec<_>>();
                running(Wanted::Output).map(|it| bits(it).join("\t"))
            }
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

fn run(running: &mut Running, times: usize) -> Result<String> {
    let start = Instant::now();
    for _ in 0..times {
        black_box(running(Wanted::Run)?);
    }
    Ok(start.elapsed().as_nanos().to_string())
}

/// Numbers of one magnitude and both signs, the same for every contender.
fn elements(count: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 7919 + 13) % 1009) as f32 / 504.5 - 1.0).collect()
}
