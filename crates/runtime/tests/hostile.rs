//! Calls of every operator with hostile shapes and numbers, and with refused memory.
//!
//! The recorded calls are altered: extents of 0 next to huge ones, large extents, and extreme numbers in
//! attributes and in inputs. An altered call returns a result or an error, does not panic, and takes no more
//! memory than its budget.
//!
//! A test of its own, because it measures the memory of the process. `TYPELOOM_OPS=Relu,Conv` restricts it to
//! these operators. `TYPELOOM_PATIENCE=20` ends the process, with the call, if a call takes more than 20
//! seconds.

#[path = "hostile/altered.rs"]
mod altered;
#[path = "hostile/calls.rs"]
mod calls;
#[path = "backend/cases.rs"]
#[allow(dead_code, reason = "other tests compare outputs")]
#[expect(clippy::print_stdout, reason = "a skipped test is reported")]
mod cases;
#[path = "backend/compare.rs"]
#[allow(dead_code, reason = "other tests compare values")]
mod compare;
#[path = "hostile/measured.rs"]
mod measured;
#[path = "runtime_values.rs"]
#[allow(dead_code, reason = "its test runs in another binary")]
mod runtime_values;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use altered::alterations;
use calls::{Baseline, baselines};
use measured::Watch;
use typeloom_cpu::error::KernelErrorKind;
use typeloom_cpu::work;
use typeloom_tensor::any_tensor::budget;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_testing::number;

/// Bytes that an altered call may take.
const MEMORY: usize = 64 << 20;

/// Units of work that an altered call may take: a fraction of a second in a debug build.
const WORK: u64 = 1 << 20;

/// Rounds of altered calls for each recorded one; `TYPELOOM_ROUNDS` sets another number.
fn rounds() -> usize {
    let given = std::env::var("TYPELOOM_ROUNDS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| number(2, 6))
}

/// Maximum growth of the process: lists that are admitted, but not counted together, and memory of the
/// allocator.
const MAX_GROWTH: u64 = 3 * MEMORY as u64;

/// Tests of this file run one after the other, so that one does not change the memory that another measures.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn altered_calls_return_within_their_budget() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let watch = Watch::start();
    let mut wrong = BTreeSet::new();
    for baseline in baselines(number(8, 2)) {
        for altered in alterations(&baseline, rounds()) {
            let shown = || format!("{} {altered:?}", baseline.name);
            let before = watch.begin(&shown);
            let run = || {
                budget::within(budget::held() + MEMORY, || work::within(WORK, || altered.run()));
            };
            if catch_unwind(AssertUnwindSafe(run)).is_err() && wrong.insert((baseline.op(), "panics")) {
                measured::show(&format!("panics: {}", shown()));
            }
            let taken = watch.end(before, &shown);
            if taken.is_some_and(|taken| taken > MAX_GROWTH) && wrong.insert((baseline.op(), "memory")) {
                measured::show(&format!("takes {} MiB: {}", taken.unwrap_or(0) >> 20, shown()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn refused_memory_is_an_error_wherever_it_is_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut wrong = BTreeSet::new();
    for baseline in baselines(number(8, 2)) {
        for requests in 0.. {
            let run = || budget::failing_after(requests, || baseline.run());
            let Ok((result, is_refused)) = catch_unwind(AssertUnwindSafe(run)) else {
                wrong.insert(format!("{} panics at request {requests}", baseline.name));
                break;
            };
            match result {
                Ok(_) if !is_refused => break,
                Err(error) if is_refused => {
                    let is_budget =
                        matches!(error.kind, KernelErrorKind::Tensor(TensorError::OverBudget { .. }));
                    if !is_budget {
                        wrong.insert(format!("{} at request {requests}: {error}", baseline.name));
                    }
                }
                // A kernel may do without memory that was refused.
                Ok(_) => {}
                Err(error) => {
                    wrong.insert(format!("{}: {error}", baseline.name));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

impl Baseline {
    fn op(&self) -> &'static str {
        self.operator.name()
    }
}
