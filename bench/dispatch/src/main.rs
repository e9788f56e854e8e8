//! Cost of dispatch: nanoseconds per node in excess of the bare kernel, in chains of operators on one
//! element: `cargo run --release -- dispatch`.
//!
//! A chain is run by the runtime and, interleaved with it, as a loop over the bare kernel: the same calls of
//! [`Operator::run`] with the same inputs, moved at their last use. A run without nodes also has a cost:
//! inputs are looked up by name and checked against their types, and registers are allocated. The first table
//! shows this cost, which is subtracted from each run. The remainder per node, minus the kernel, is reported
//! as dispatch. `--limit 200` fails if a node costs more.
//!
//! `--run module-slot 1000 100` only runs such a chain a hundred times, for counting instructions
//! (`valgrind --tool=callgrind`).

use std::hint::black_box;
use std::time::Instant;

use typeloom_bench_families::dispatch::{
    ADD, CONTENDERS, Chain, HARD, LEAKY, Outcome, kernel, module, session,
};
use typeloom_tensor::any_tensor::AnyTensor;

/// Numbers of nodes in a chain.
const CHAINS: [usize; 3] = [10, 1_000, 100_000];

/// Number of nodes per time measurement, for chains that are not longer. It is small enough that most
/// measurements are not interrupted.
const NODES: usize = 2_000;

/// Maximum number of alternate measurements of chain and kernel, and the total of nodes that limits it.
const TIMES: usize = 1_001;
const MAX_NODES: usize = 5_000_000;

/// Number of measurements of a run without nodes, and number of runs in each.
const EMPTY: usize = 1_001;
const RUNS: usize = 200;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Nanoseconds per node: of the chain, and of the kernel alone.
fn measured(chain: &Chain, kernel: &Chain, nodes: usize) -> Outcome<(f64, f64)> {
    let x = AnyTensor::from([1.0_f32]);
    if chain(&x)? != kernel(&x)? {
        return Err("the chain and its kernel differ".into());
    }
    let runs = (NODES / nodes).max(1);
    let time = |run: &Chain| -> Outcome<f64> {
        let start = Instant::now();
        for _ in 0..runs {
            black_box(run(black_box(&x))?);
        }
        Ok(start.elapsed().as_secs_f64() * 1e9 / (runs * nodes) as f64)
    };
    let (mut chains, mut kernels) = (Vec::new(), Vec::new());
    for _ in 0..TIMES.min(MAX_NODES / (runs * nodes)) {
        chains.push(time(chain)?);
        kernels.push(time(kernel)?);
    }
    Ok((median(chains), median(kernels)))
}

/// Nanoseconds of a run without nodes.
fn empty(chain: &Chain) -> Outcome<f64> {
    let x = AnyTensor::from([1.0_f32]);
    let mut times = Vec::new();
    for _ in 0..EMPTY {
        let start = Instant::now();
        for _ in 0..RUNS {
            black_box(chain(black_box(&x))?);
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / RUNS as f64);
    }
    Ok(median(times))
}

/// Runs one chain `times` times.
fn run(name: &str, nodes: usize, times: usize) -> Outcome<()> {
    let found = CONTENDERS.iter().find(|(own, ..)| *own == name);
    let chain = match found {
        Some((.., make)) => make(nodes)?,
        None => {
            let link = name.strip_prefix("kernel-").and_then(|op| match op {
                "add" => Some(ADD),
                "leaky" => Some(LEAKY),
                "hard" => Some(HARD),
                _ => None,
            });
            kernel(link.ok_or_else(|| format!("there is no `{name}`"))?, nodes)?
        }
    };
    let x = AnyTensor::from([1.0_f32]);
    for _ in 0..times {
        black_box(chain(black_box(&x))?);
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let limit = match &arguments[..] {
        [] => f64::INFINITY,
        [flag, limit] if flag == "--limit" => limit.parse()?,
        [flag, name, nodes, times] if flag == "--run" => return run(name, nodes.parse()?, times.parse()?),
        _ => return Err("usage: [--limit NANOSECONDS | --run NAME NODES TIMES]".into()),
    };
    let (session, module) = (empty(&session(ADD, 0)?)?, empty(&module(false, 0)?)?);
    println!("| a run without nodes | ns |\n|---|--:|");
    println!("| session | {session:.0} |\n| module | {module:.0} |\n");
    println!("| contender | nodes | a node, ns | its kernel, ns | dispatch, ns |");
    println!("|---|--:|--:|--:|--:|");
    let mut worst = 0.0_f64;
    for (name, what, link, make) in CONTENDERS {
        let own = if name.starts_with("session") { session } else { module };
        for nodes in CHAINS {
            let (chain, kernel) = measured(&make(nodes)?, &kernel(link, nodes)?, nodes)?;
            let chain = chain - own / nodes as f64;
            println!("| {what} | {nodes} | {chain:.0} | {kernel:.0} | {:.0} |", chain - kernel);
            worst = worst.max(chain - kernel);
        }
    }
    if worst > limit {
        return Err(format!("a node costs {worst:.0} ns to dispatch, more than {limit}").into());
    }
    Ok(())
}
