//! The budget of a run: limits that the caller gives, or defaults.
//!
//! A model is not trusted: a few bytes can request terabytes, or a loop without end. A default grows with the
//! size of the model and of its inputs, so it suits ordinary models of any size, and a small model that
//! requests much more is rejected before anything is allocated.
//!
//! ```
//! use typeloom_project::budget::{Budget, Size};
//!
//! let size = Size { model: 1 << 20, external: 0, inputs: 1 << 20 };
//! let limits = Budget::default().limits(size);
//! assert_eq!(limits.memory, (192 << 20) + 8 * (2 << 20));
//! assert_eq!(Budget { memory: Some(1024), ..Budget::default() }.limits(size).memory, 1024);
//! ```

use typeloom::run::RunLimits;

/// Memory limit for an empty model.
const BASE_MEMORY: u64 = 192 << 20;

/// Additional bytes of memory per byte of input.
const MEMORY_PER_BYTE: u64 = 8;

/// Work limit for an empty model.
const BASE_WORK: u64 = 1 << 31;

/// Additional units of work per byte of input. Convolutions of large images take up to some thousand products
/// per byte of weights.
const WORK_PER_BYTE: u64 = 1 << 10;

/// Step limit for an empty model.
const BASE_STEPS: u64 = 1 << 20;

/// Approximate minimum file size of a node, in bytes.
const BYTES_PER_STEP: u64 = 16;

/// The given limits; `None` for the default. The units are those of [`RunLimits`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budget {
    pub iterations: Option<u64>,
    pub steps: Option<u64>,
    pub memory: Option<u64>,
    pub work: Option<u64>,
}

/// Bytes that a run reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Length of the model.
    pub model: u64,
    /// Tensors of the model in other files.
    pub external: u64,
    pub inputs: u64,
}

impl Budget {
    /// The limits of a run.
    #[must_use]
    pub fn limits(&self, size: Size) -> RunLimits {
        let Size { model, external, inputs } = size;
        let total = model.saturating_add(external).saturating_add(inputs);
        let grown = |base: u64, per_byte: u64| base.saturating_add(total.saturating_mul(per_byte));
        let memory = self.memory.unwrap_or_else(|| grown(BASE_MEMORY, MEMORY_PER_BYTE));
        RunLimits {
            iterations: self.iterations.unwrap_or(RunLimits::default().iterations),
            steps: self.steps.unwrap_or(BASE_STEPS + model / BYTES_PER_STEP),
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            work: self.work.unwrap_or_else(|| grown(BASE_WORK, WORK_PER_BYTE)),
        }
    }
}
