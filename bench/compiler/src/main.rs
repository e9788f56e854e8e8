//! Time to record and compile modules, by number of nodes: `cargo run --release -- compiler`.
//!
//! Compile time covers all steps from the recorded module to the artifact: all passes, strict, with a backend
//! bound to the slot of every second node. Targets: 50,000 nodes in under 0.2 s; ten times as many in at most
//! twelve times as long. A module of 5,000 nodes fits in the caches and larger ones do not, so the growth up
//! to 50,000 is printed and not judged.
//!
//! Sizes are interleaved, so that disturbances of the machine affect all of them, and a small module is
//! compiled many times per measurement. The GNU allocator keeps its pages between runs, as in the main
//! benchmark: by default it keeps those of small modules and returns those of large ones, and growth would
//! include the system's paging. A separate column shows the time of a process that compiles once, including
//! paging; memory is measured in that process.
//!
//! With a number of nodes as argument, the program compiles one module of that size and prints nothing, for
//! profilers: `valgrind --tool=callgrind ../target/lto/typeloom-bench-compiler 50000`. `once N` prints the
//! values for the columns of a new process.

use std::hint::black_box;
use std::process::Command;

use cpu_time::ThreadTime;
use typeloom_bench_families::modules::{compiler, record};
use typeloom_bench_process::KEEP_PAGES;
use typeloom_bench_process::memory::peak;
use typeloom_compiler::compiler::Compiler;

const SIZES: [usize; 3] = [5_000, 50_000, 500_000];

/// Number of measurements of every size.
const ROUNDS: usize = 9;

/// Maximum growth of the time for ten times as many nodes, if neither module fits in the caches.
const MAX_GROWTH: f64 = 12.0;

/// Maximum time for 50,000 nodes, in seconds.
const MAX_SECONDS: f64 = 0.2;

/// Measures processor seconds of this thread, so that other load on the machine does not count. Reads the
/// clock by the system call: `/proc` is updated only at scheduler ticks, and a small module takes about one
/// tick.
fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = ThreadTime::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}

/// Times of one size, in seconds per module.
#[derive(Default)]
struct Row {
    record: Vec<f64>,
    compile: Vec<f64>,
    discard: Vec<f64>,
}

impl Row {
    /// Records, compiles and drops a batch of modules of this size.
    fn measure(&mut self, compiler: &Compiler, nodes: usize) {
        let batch = (SIZES[1] / nodes).max(1);
        let each = |seconds: f64| seconds / batch as f64;
        let (seconds, irs) = timed(|| (0..batch).map(|_| record(nodes)).collect::<Vec<_>>());
        self.record.push(each(seconds));
        // One at a time, as in a program: a batch of live artifacts would use the memory of a larger module.
        let (mut compile, mut discard) = (0.0, 0.0);
        drop(irs);
        for _ in 0..batch {
            let ir = record(nodes);
            let (seconds, artifact) = timed(|| compiler.compile_ir(ir).expect("the module compiles"));
            compile += seconds;
            discard += timed(|| drop(black_box(artifact))).0;
        }
        self.compile.push(each(compile));
        self.discard.push(each(discard));
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Compiles once in a new process: seconds, and bytes at the peak.
fn in_new_process(nodes: usize) -> (f64, f64) {
    let own = std::env::current_exe().expect("this program has a file");
    let output = Command::new(own)
        .args(["once", &nodes.to_string()])
        .env_remove(KEEP_PAGES[0].0)
        .env_remove(KEEP_PAGES[1].0)
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it prints numbers");
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    (numbers[0], numbers[1])
}

fn main() {
    let compiler = compiler();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] if std::env::var_os(KEEP_PAGES[0].0).is_none() => {
            let own = std::env::current_exe().expect("this program has a file");
            let status = Command::new(own).envs(KEEP_PAGES).status().expect("it starts");
            std::process::exit(status.code().unwrap_or(1));
        }
        [] => table(&compiler),
        ["once", nodes] => {
            let nodes = nodes.parse().expect("a number of nodes");
            let ir = record(nodes);
            let (seconds, artifact) = timed(|| compiler.compile_ir(ir).expect("the module compiles"));
            black_box(artifact);
            println!("{seconds} {}", peak());
        }
        [nodes, ..] => {
            let nodes = nodes.parse().expect("a number of nodes");
            black_box(compiler.compile_ir(record(nodes)).expect("the module compiles"));
        }
    }
}

fn table(compiler: &Compiler) {
    let mut rows: [Row; SIZES.len()] = Default::default();
    let mut fresh = vec![(Vec::new(), Vec::new()); SIZES.len()];
    for _ in 0..ROUNDS {
        for (at, nodes) in SIZES.into_iter().enumerate() {
            rows[at].measure(compiler, nodes);
            let (seconds, bytes) = in_new_process(nodes);
            fresh[at].0.push(seconds);
            fresh[at].1.push(bytes);
        }
    }
    // Memory of a process with a minimal module.
    let nothing = in_new_process(1).1;
    println!(
        "| nodes | record | compile | compile, a node | growth | drop | compile, new process | memory a node |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut kept = median(&rows[1].compile) < MAX_SECONDS;
    for (at, nodes) in SIZES.into_iter().enumerate() {
        let Row { record, compile, discard } = &rows[at];
        let compile = median(compile);
        let growth = match at {
            0 => String::new(),
            _ => {
                let growth = compile / median(&rows[at - 1].compile);
                kept &= at == 1 || growth <= MAX_GROWTH;
                format!("{growth:.1} times")
            }
        };
        println!(
            "| {nodes} | {:.2} ms | {:.2} ms | {:.2} us | {growth} | {:.2} ms | {:.2} ms | {:.0} B |",
            median(record) * 1e3,
            compile * 1e3,
            compile * 1e6 / nodes as f64,
            median(discard) * 1e3,
            median(&fresh[at].0) * 1e3,
            (median(&fresh[at].1) - nothing) / nodes as f64,
        );
    }
    println!();
    let verdict = if kept { "kept" } else { "broken" };
    println!(
        "Promised: 50,000 nodes in under {MAX_SECONDS} s, ten times as many in at most {MAX_GROWTH} times that: {verdict}."
    );
}
