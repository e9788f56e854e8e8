//! Options of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use typeloom_cpu::work;
use typeloom_onnx::messages::TensorProto;
use typeloom_tensor::any_tensor::budget;

/// The values that a run checks against their solved types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// The inputs.
    #[default]
    Inputs,
    /// The inputs and the results of every node.
    EveryValue,
}

/// Limits of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunLimits {
    /// Iterations of all loops together. A loop whose condition is always true does not end by itself.
    pub iterations: u64,
    /// Steps of the run. Each execution of a node and each iteration counts as one step. In nested graphs and
    /// functions, which can run any number of times, so does every [`STEP_BYTES`] of tensors that a node
    /// reads or an iteration creates. The number of function calls can be exponential in the size of a model.
    pub steps: u64,
    /// Bytes of all tensors of the process while the model is prepared and run, see
    /// [`budget`]. Weights in a mapped file do not count.
    pub memory: usize,
    /// Units of work of all kernels, see [`work`]. A unit is about a nanosecond of one core. A kernel whose
    /// shapes ask for more than is left does not start.
    pub work: u64,
}

impl RunLimits {
    /// Runs a closure within the limits of memory and work.
    pub(crate) fn within<T>(&self, run: impl FnOnce() -> T) -> T {
        budget::within(self.memory, || work::within(self.work, run))
    }
}

/// Number of bytes that count as one step.
pub const STEP_BYTES: u64 = 1 << 12;

impl Default for RunLimits {
    fn default() -> Self {
        Self { iterations: 1 << 26, steps: u64::MAX, memory: usize::MAX, work: u64::MAX }
    }
}

/// Ends runs from another thread. Clones share one state.
///
/// A run asks before each node of its program, and ends with an error. A node that runs is not interrupted;
/// [`RunLimits::work`] bounds its time.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Ends all runs that have this interrupt or a clone of it, now and later.
    pub fn trigger(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether runs shall end.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads the bytes of a tensor that is stored in another file, or returns the reason why it cannot.
pub type ExternalData<'a> = dyn Fn(&TensorProto) -> Result<Bytes, String> + 'a;

/// Rejects tensors in other files.
pub(crate) const NO_EXTERNAL_DATA: &ExternalData<'static> = &|_| Err("no other files are read".to_owned());
