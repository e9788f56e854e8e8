//! Compares the pool with the published design in one run: `cargo run --release -- pool`.
//!
//! Times are medians of interleaved runs, in nanoseconds per type; ratios are pool / baseline, so below 1 is
//! faster. Known types are interned again in the order of construction and then in a random order; only the
//! random order counts for the verdict.
//!
//! By default, the system's allocator keeps the pages of small pools and returns those of large ones, so that
//! only large pools pay for new pages in every run. The benchmark sets environment variables that make it
//! keep all pages, for both designs.

mod baseline;

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use baseline::{Baseline, Plain};
use typeloom_bench_families::pool::{Calls, Interner, Plan, interface, names_in, plan, pool_calls, shuffled};
use typeloom_pool::{Idx, Pool, Tag};

/// An interner that stores nothing. Its ids depend on the arguments, so that the compiler cannot remove their
/// computation.
#[derive(Default)]
struct Nothing(u32);

impl Nothing {
    fn next(&mut self, seen: u32) -> u32 {
        self.0 += 1;
        self.0 ^ seen
    }
}

impl Interner for Nothing {
    type Id = u32;
    type Name = u32;

    fn primitive(&mut self, tag: Tag) -> u32 {
        self.next(tag as u32)
    }

    fn container(&mut self, tag: Tag, child: u32) -> u32 {
        self.next(tag as u32 ^ child)
    }

    fn map(&mut self, key: u32, value: u32) -> u32 {
        self.next(key ^ value)
    }

    fn function(&mut self, params: &[u32], returns: u32) -> u32 {
        self.next(params.len() as u32 ^ returns)
    }

    fn tuple(&mut self, elements: &[u32]) -> u32 {
        self.next(elements.len() as u32)
    }

    fn structure(&mut self, name: u32, fields: &[(u32, u32)]) -> u32 {
        self.next(name ^ fields.len() as u32)
    }
}

fn baseline_calls<I: Interner<Id = u32, Name = u32> + Default>(plan: &Plan) -> Calls<I> {
    let names: Vec<u32> = (0..plan.names.len() as u32).collect();
    Calls::new(plan, &mut I::default(), &names)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed(count: usize, f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64() * 1e9 / count as f64
}

/// Performance targets of a pool, judged by the measurements of this run.
#[derive(Default)]
struct Promises {
    judged: usize,
    broken: Vec<String>,
}

impl Promises {
    fn judge(&mut self, count: usize, what: &str, measured: f64, most: f64) {
        self.judged += 1;
        if measured > most {
            self.broken.push(format!("{what} at {count} types: {measured:.2}, at most {most} promised"));
        }
    }

    fn print(&self) {
        println!("{} of {} promises kept", self.judged - self.broken.len(), self.judged);
        for broken in &self.broken {
            println!("  {broken}");
        }
    }
}

/// Repeats one phase for a profiler or for counting instructions: `-- known 10000 20` runs the phase 20
/// times. The difference between two numbers of rounds is the cost of the phase alone.
fn repeat(phase: &str, count: usize, rounds: usize) {
    let plan = plan(count);
    let calls = pool_calls(&plan);
    let base_calls = baseline_calls::<Baseline>(&plan);
    let mut ids = Vec::with_capacity(count);
    let mut base_ids = Vec::with_capacity(count);
    let mut pool = Pool::new();
    names_in(&plan, &mut pool);
    let empty = pool.clone();
    let mut base: Baseline = Baseline::default();
    let order = shuffled(count);
    let mut run: Box<dyn FnMut()> = match phase {
        "new" => Box::new(|| calls.run(&mut empty.clone(), &mut ids)),
        "known" => Box::new(|| calls.run(&mut pool, &mut ids)),
        "any" => {
            calls.run(&mut pool, &mut ids);
            Box::new(|| calls.run_in(&order, &mut pool, &mut ids))
        }
        "baseline-any" => {
            base_calls.run(&mut base, &mut base_ids);
            Box::new(|| base_calls.run_in(&order, &mut base, &mut base_ids))
        }
        "baseline-new" => Box::new(|| base_calls.run(&mut <Baseline>::default(), &mut base_ids)),
        "baseline-known" => Box::new(|| base_calls.run(&mut base, &mut base_ids)),
        "export" | "import" | "reimport" => {
            calls.run(&mut pool, &mut ids);
            let (labels, roots) = interface(&mut pool, &ids);
            let labelled: Vec<(&str, Idx)> = labels.iter().map(String::as_str).zip(roots).collect();
            let bundle = pool.export(&labelled).expect("exports");
            for _ in 0..rounds {
                match phase {
                    "export" => drop(black_box(pool.export(&labelled).expect("exports"))),
                    "import" => drop(black_box(Pool::new().import(bundle.as_bytes()).expect("imports"))),
                    _ => drop(black_box(pool.import(bundle.as_bytes()).expect("imports"))),
                }
            }
            return;
        }
        _ => panic!("phases: new known any baseline-new baseline-known baseline-any export import reimport"),
    };
    for _ in 0..rounds {
        run();
    }
}

/// Environment in which the GNU allocator keeps its pages.
const KEEP_PAGES: [(&str, &str); 2] =
    [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "18446744073709551615")];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [phase, count, rounds] = &args[..] {
        let number = |text: &String| text.parse().expect("a number");
        return repeat(phase, number(count), number(rounds));
    }
    if std::env::var_os(KEEP_PAGES[0].0).is_none() {
        let own = std::env::current_exe().expect("this program has a file");
        let mut again = std::process::Command::new(own);
        let status = again.args(std::env::args_os().skip(1)).envs(KEEP_PAGES).status().expect("it starts");
        std::process::exit(status.code().unwrap_or(1));
    }
    // `-- 100000` measures this size only.
    let only: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let wanted = |count: &usize| only.is_empty() || only.contains(count);
    let mut promises = Promises::default();
    let mut baseline_new = HashMap::new();
    println!(
        "{:>9}  {:>32}  {:>32}  {:>32}  {:>22}  {:>23}  {:>17}",
        "types",
        "intern new, ns (baseline, ratio)",
        "known, ns",
        "known, in any order, ns",
        "(plain baseline, ratio)",
        "loop, ns (in any order)",
        "bytes a type"
    );
    for count in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(wanted) {
        let plan = plan(count);
        let calls = pool_calls(&plan);
        let base_calls = baseline_calls::<Baseline>(&plan);
        let plain_calls = baseline_calls::<Plain>(&plan);
        let no_calls = baseline_calls::<Nothing>(&plan);
        let rounds = (3_000_000 / count).clamp(5, 301);
        let order = shuffled(count);
        let mut times = [const { Vec::new() }; 9];
        let (mut ids, mut base_ids) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut bytes = (0.0, 0.0);
        for _ in 0..rounds {
            let mut pool = Pool::new();
            names_in(&plan, &mut pool);
            let before = pool.allocated_bytes();
            times[0].push(timed(count, || calls.run(&mut pool, &mut ids)));
            times[2].push(timed(count, || calls.run(&mut pool, &mut ids)));
            times[4].push(timed(count, || calls.run_in(&order, &mut pool, &mut ids)));
            assert_eq!(pool.len(), count);
            bytes.0 = (pool.allocated_bytes() - before) as f64 / count as f64;
            black_box(&pool);
            drop(pool);
            let mut base: Baseline = Baseline::default();
            times[1].push(timed(count, || base_calls.run(&mut base, &mut base_ids)));
            times[3].push(timed(count, || base_calls.run(&mut base, &mut base_ids)));
            times[5].push(timed(count, || base_calls.run_in(&order, &mut base, &mut base_ids)));
            bytes.1 = base.bytes() as f64 / count as f64;
            black_box(&base);
            drop(base);
            let mut plain = Plain::default();
            plain_calls.run(&mut plain, &mut base_ids);
            plain_calls.run(&mut plain, &mut base_ids);
            times[6].push(timed(count, || plain_calls.run_in(&order, &mut plain, &mut base_ids)));
            black_box(&plain);
            let mut nothing = Nothing::default();
            times[7].push(timed(count, || no_calls.run(&mut nothing, &mut base_ids)));
            times[8].push(timed(count, || no_calls.run_in(&order, &mut nothing, &mut base_ids)));
        }
        let [times @ .., in_order, in_any] = times.each_mut().map(|times| median(times));
        let [new, base_new, known, base_known] = [0, 1, 2, 3].map(|at: usize| times[at] - in_order);
        let [any, base_any, plain_any] = [4, 5, 6].map(|at: usize| times[at] - in_any);
        let with_baseline =
            |ours: f64, base: f64| format!("{ours:>10.1} ({base:>9.1}, {:>6.2}x)", ours / base);
        println!(
            "{count:>9}  {}  {}  {}  {:>22}  {:>23}  {:>6.1} ({:>6.1})",
            with_baseline(new, base_new),
            with_baseline(known, base_known),
            with_baseline(any, base_any),
            format!("({plain_any:.1}, {:.2}x)", any / plain_any),
            format!("{in_order:.1} ({in_any:.1})"),
            bytes.0,
            bytes.1
        );
        promises.judge(count, "new / baseline", new / base_new, 1.3);
        promises.judge(count, "known in any order / baseline", any / base_any, 1.6);
        baseline_new.insert(count, base_new);
        promises.judge(count, "bytes a type", bytes.0, 50.0);
    }
    println!();
    println!(
        "{:>9}  {:>10}  {:>12}  {:>13}  {:>13}  {:>11}",
        "types", "wire bytes", "digests, ns", "export, ns", "import, ns", "known, ns"
    );
    for count in [1_000, 10_000, 100_000].into_iter().filter(wanted) {
        let plan = plan(count);
        let calls = pool_calls(&plan);
        let rounds = (1_000_000 / count).clamp(7, 101);
        let mut times = [const { Vec::new() }; 4];
        let mut wire = 0.0;
        for _ in 0..rounds {
            let mut pool = Pool::new();
            names_in(&plan, &mut pool);
            let mut ids = Vec::with_capacity(count);
            calls.run(&mut pool, &mut ids);
            let (labels, roots) = interface(&mut pool, &ids);
            let labelled: Vec<(&str, Idx)> = labels.iter().map(String::as_str).zip(roots).collect();
            let types = pool.len();
            times[0].push(timed(types, || pool.compute_all_digests()));
            let mut bundle = None;
            times[1].push(timed(types, || bundle = Some(pool.export(&labelled).expect("exports"))));
            let bundle = bundle.expect("exported");
            wire = bundle.as_bytes().len() as f64 / types as f64;
            let mut other = Pool::new();
            times[2].push(timed(types, || {
                black_box(other.import(bundle.as_bytes()).expect("imports"));
            }));
            times[3].push(timed(types, || {
                black_box(other.import(bundle.as_bytes()).expect("imports"));
            }));
            assert_eq!(other.len(), types);
        }
        let [digests, export, import, again] = times.each_mut().map(|times| median(times));
        println!("{count:>9}  {wire:>10.1}  {digests:>12.1}  {export:>13.1}  {import:>13.1}  {again:>11.1}");
        promises.judge(count, "bytes on the wire", wire, 17.0);
        if let Some(base_new) = baseline_new.get(&count)
            && count == 10_000
        {
            promises.judge(count, "export / new of the baseline", export / base_new, 2.0);
            promises.judge(count, "verified import / new of the baseline", import / base_new, 6.5);
        }
    }
    println!();
    promises.print();
}
